// The part of Leaflet 1.7 that the page uses; Debian has no package with Leaflet's types.

type Degrees = LatLng | [number, number] | { lat: number; lng: number };
type Pixels = Point | [number, number];
type Handler = (event: any) => void;

export interface LatLng { lat: number; lng: number; wrap(): LatLng; }
export interface Point {
  x: number; y: number;
  add(other: Pixels): Point;
  round(): Point;
}
export interface Bounds { min: Point; max: Point; }
export interface LatLngBounds {
  getWest(): number; getSouth(): number; getEast(): number; getNorth(): number;
  getCenter(): LatLng;
  pad(share: number): LatLngBounds;
  contains(other: LatLngBounds): boolean;
  isValid(): boolean;
}

export interface Map {
  createPane(name: string): HTMLElement;
  on(names: string, run: Handler, context?: object): this;
  on(handlers: Record<string, Handler>, context?: object): this;
  off(names: string, run: Handler, context?: object): this;
  off(handlers: Record<string, Handler>, context?: object): this;
  getZoom(): number; getSize(): Point; getCenter(): LatLng; getBounds(): LatLngBounds; getPixelBounds(): Bounds; getContainer(): HTMLElement;
  setView(centre: Degrees, zoom?: number, options?: object): this;
  setZoomAround(point: Point, zoom: number): this;
  fitBounds(bounds: LatLngBounds | number[][], options?: object): this;
  getBoundsZoom(bounds: LatLngBounds): number;
  getZoomScale(to: number, from?: number): number;
  invalidateSize(options?: object): this;
  distance(from: Degrees, to: Degrees): number;
  project(place: Degrees, zoom?: number): Point;
  unproject(point: Point, zoom?: number): LatLng;
  latLngToContainerPoint(place: Degrees): Point;
  containerPointToLatLng(point: Point): LatLng;
  containerPointToLayerPoint(point: Point): Point;
  /** True during the animation of a zoom. Not public; the other layers of Leaflet use it, too. */
  _animatingZoom?: boolean;
  _latLngToNewLayerPoint(place: LatLng, zoom: number, centre: LatLng): Point;
}

export class Layer {
  options: any;
  getEvents?(): Record<string, Handler>;
  /** The map that the layer is on; null or undefined if it is on none. */
  _map: Map | null | undefined;
  addTo(map: Map | LayerGroup): this;
  remove(): this;
  on(names: string, run: Handler, context?: object): this;
  getPane(name?: string): HTMLElement;
  onAdd(map: Map): void;
  onRemove(map: Map): void;
}
export class TileLayer extends Layer {
  constructor(url: string, options?: object);
  createTile(place: object, done: Handler): HTMLElement;
  getTileUrl(place: object): string;
  _tileOnLoad(done: Handler, tile: HTMLElement): void;
  _tileOnError(done: Handler, tile: HTMLElement, event: Event): void;
}
export interface LayerGroup extends Layer { clearLayers(): this; }
export interface Path extends Layer { getBounds(): LatLngBounds; }
export interface Line extends Path { setLatLngs(places: Degrees[]): this; }
export interface Circle extends Path { getLatLng(): LatLng; setLatLng(place: Degrees): this; setRadius(metres: number): this; }
export interface Marker extends Layer { getLatLng(): LatLng; getElement(): HTMLElement | undefined; }

export function map(element: HTMLElement, options?: object): Map;
export function point(x: number, y: number): Point;
export function latLng(latitude: number, longitude: number): LatLng;
export function latLngBounds(southWest: [number, number], northEast: [number, number]): LatLngBounds;
export function layerGroup(): LayerGroup;
export function geoJSON(value: any, options?: object): Path;
export function circle(centre: Degrees, options?: object): Circle;
export function circleMarker(centre: Degrees, options?: object): Circle;
export function polygon(places: Degrees[], options?: object): Line;
export function polyline(places: Degrees[], options?: object): Line;
export function marker(place: Degrees, options?: object): Marker;
export function divIcon(options?: object): object;
export function setOptions(object: object, options: object): void;
export const control: { scale(options?: object): Layer };
export const DomEvent: { disableClickPropagation(element: HTMLElement): void; stop(event: any): void };
export const DomUtil: {
  setPosition(element: HTMLElement, point: Point): void;
  setTransform(element: HTMLElement, offset: Point, scale: number): void;
};
