/** A canvas over the map that is redrawn after each move. All layers of the map use it. */
import * as L from "/vendor/leaflet/leaflet.esm.min.js";
import { contextOf, h } from "./dom.js";
import { worldSize } from "./mercator.js";
import { inNextFrame } from "./timers.js";

/**
 * The part of the world that a canvas shows, in CSS pixels.
 * @typedef {Object} View
 * @property {number} zoom
 * @property {number} size width of the world
 * @property {number} left left edge of the canvas, in pixels of the world
 * @property {number} top
 * @property {number} width
 * @property {number} height
 */

export class CanvasLayer extends L.Layer {
  // Hidden from screen readers: lists contain the same data as text.
  #canvas = h("canvas", { class: "leaflet-zoom-animated", "aria-hidden": "true" });
  #context = contextOf(this.#canvas);
  #frame = inNextFrame(() => { if (this._map && !this._map._animatingZoom) this.#paint(this._map); });
  #draw; #padding;
  #width = 0; #height = 0; #ratio = 1;
  /**
   * The geographic position of the canvas's corner; undefined before the first drawing.
   * @type {L.LatLng|undefined}
   */
  #corner;
  #isZooming = false;

  /**
   * @param {(context: Context, view: View) => void} draw
   * @param {{pane: string, padding?: number}} options padding: margin on each side as a fraction of the map's size; with a margin the
   *   layer is redrawn only after a move has ended
   */
  constructor(draw, { pane, padding = 0 }) {
    super();
    L.setOptions(this, { pane });
    this.#draw = draw;
    this.#padding = padding;
  }

  /** @override */
  onAdd() {
    this.getPane().append(this.#canvas);
    this.#resize();
  }

  /** @override */
  onRemove() {
    this.#frame.stop();
    this.#canvas.remove();
  }

  /**
   * The handlers of the map's events; Leaflet calls them while the layer is on the map.
   * @override
   */
  getEvents() {
    const reset = () => this.#reset();
    return {
      resize: () => this.#resize(),
      [this.#padding ? "moveend" : "move"]: reset,
      viewreset: reset,
      zoomend: reset,
      zoomanim: (/** @type {{zoom: number, center: L.LatLng}} */ event) => this.#animate(event),
    };
  }

  #resize() {
    if (!this._map) return;
    const size = this._map.getSize(), scale = 1 + 2 * this.#padding;
    this.#ratio = Math.min(2, window.devicePixelRatio || 1);
    this.#width = Math.round(size.x * scale);
    this.#height = Math.round(size.y * scale);
    this.#canvas.width = this.#width * this.#ratio;
    this.#canvas.height = this.#height * this.#ratio;
    this.#canvas.style.width = `${this.#width}px`;
    this.#canvas.style.height = `${this.#height}px`;
    this.#reset();
  }

  #reset() {
    if (this.#isZooming) {
      this.#isZooming = this._map?._animatingZoom === true;
      if (this.#isZooming) return;
    }
    this.redraw();
  }

  /** Requests a redraw in the next frame. Several requests cause one redraw. */
  redraw() {
    if (this._map) this.#frame.request();
  }

  /** @param {L.Map} map */
  #paint(map) {
    const size = map.getSize(), zoom = map.getZoom();
    const corner = L.point(-size.x * this.#padding, -size.y * this.#padding).round();
    L.DomUtil.setPosition(this.#canvas, map.containerPointToLayerPoint(corner));
    const origin = map.getPixelBounds().min.add(corner);
    this.#corner = map.unproject(origin, zoom);
    this.#context.setTransform(this.#ratio, 0, 0, this.#ratio, 0, 0);
    this.#context.clearRect(0, 0, this.#width, this.#height);
    this.#draw(this.#context, { zoom, size: worldSize(zoom), left: origin.x, top: origin.y, width: this.#width, height: this.#height });
  }

  /** @param {{zoom: number, center: L.LatLng}} event */
  #animate({ zoom, center }) {
    if (!this.#corner || !this._map) return;
    const scale = this._map.getZoomScale(zoom, this._map.getZoom());
    L.DomUtil.setTransform(this.#canvas, this._map._latLngToNewLayerPoint(this.#corner, zoom, center), scale);
    this.#isZooming = true;
  }
}
