/** The map: base map, vehicles, pointer and keyboard. */
import * as L from "/vendor/leaflet/leaflet.esm.min.js";
import { baseTiles } from "./base-tiles.js";
import { button, h, setText } from "./dom.js";
import { FleetLayer } from "./fleet-layer.js";
import { age, amount, count, moment, place, safeName, speed } from "./format.js";
import { graticule } from "./graticule.js";
import { turned, worldX, worldY } from "./mercator.js";
import { recordedWays } from "./ways.js";
import { onTheme, reducedMotion } from "./theme.js";
import { after, limited } from "./timers.js";
import { reckoned } from "./reckoning.js";
import { activities, activityWords, activity, speedOf } from "./vehicle.js";

/** Zoom level of a street. */
const streetZoom = 16;

export class FleetMap {
  #store; #api; #on; #insets; #fitted = false;
  // Hidden from screen readers, which read the summary and the list.
  #tip = h("div", { class: "map-tip", "aria-hidden": "true", hidden: true });
  #summary = h("p", { class: "visually-hidden", id: "map-summary" });
  following = false;
  /** Called when following a vehicle starts or stops. */
  onFollow = (/** @type {boolean} */ _isOn) => {};

  /**
   * @param {HTMLElement} element
   * @param {import("./store.js").Store} store
   * @param {import("./api.js").API} api
   * @param {{select: (key: string) => void, moved: () => void, insets: () => {left?: number, right?: number, top?: number, bottom?: number}}} on
   */
  constructor(element, store, api, on) {
    this.#store = store;
    this.#api = api;
    this.#on = on;
    this.#insets = on.insets;
    this.element = element;
    this.map = L.map(element, {
      attributionControl: false, zoomControl: false, worldCopyJump: true, minZoom: 2, maxZoom: 20,
      zoomAnimation: !reducedMotion(), fadeAnimation: false, markerZoomAnimation: false, inertia: !reducedMotion(),
      center: [30, 10], zoom: 2, tap: false,
    });
    for (const [name, index] of Object.entries({ graticule: 190, ways: 210, regions: 400, track: 420, fleet: 450, draft: 500 })) {
      const pane = this.map.createPane(name);
      pane.style.zIndex = String(index);
      if (name !== "regions" && name !== "draft") pane.style.pointerEvents = "none";
    }
    L.control.scale({ imperial: false, maxWidth: 140, position: "bottomleft" }).addTo(this.map);
    this.fleet = new FleetLayer(store);
    this.fleet.layer.addTo(this.map);
    // The graticule is below the tiles, so that it is visible where tiles are missing.
    const lines = graticule();
    onTheme(lines.restyle);
    lines.layer.addTo(this.map);
    onTheme(() => this.fleet.restyle());
    store.on("vehicles", (/** @type {Change[]} */ changes) => {
      this.fleet.update(changes);
      this.#fitOnce();
      if (this.following) this.#follow();
      this.#describe();
    });
    this.#pointer();
    this.map.on("moveend", () => {
      this.#on.moved();
      this.#describe();
    });
    this.map.on("dragstart", () => this.follow(false));
    for (const name of ["pointerdown", "wheel", "keydown"]) element.addEventListener(name, () => this.keepView(), { passive: true });
    this.#controls();
    new ResizeObserver(() => this.map.invalidateSize({ animate: false, pan: false })).observe(element);
  }

  /** @type {L.TileLayer|undefined} */ #tiles;
  /** Loads the base map, which requires a login. */
  async showTiles() {
    if (this.#tiles) return;
    let tiles;
    try {
      ({ tiles } = (await this.#api.get("map", { quiet: true })) ?? {});
    } catch {
      // Without a base map the graticule is shown.
    }
    if (!tiles?.url || this.#tiles) return;
    this.#tiles = baseTiles(tiles).addTo(this.map);
    if (tiles.attribution) this.element.append(h("p", { class: "attribution" }, plain(tiles.attribution)));
  }

  /** @type {ReturnType<typeof recordedWays>|undefined} */ #ways;
  /** Shows the recorded tracks of the fleet as a background, if the server has a recording. */
  showWays() {
    if (this.#ways) return;
    this.#ways = recordedWays(this.#api);
    onTheme(this.#ways.restyle);
    this.#ways.layer.addTo(this.map);
  }

  #controls() {
    // Zooms around the centre of the part that no panel covers.
    /** @param {number} by */
    const zoom = (by) => () => {
      const { left = 0, right = 0, top = 0, bottom = 0 } = this.#insets(), size = this.map.getSize();
      this.map.setZoomAround(L.point((left + size.x - right) / 2, (top + size.y - bottom) / 2), this.map.getZoom() + by);
    };
    const buttons = h("div", { class: "map-buttons", role: "group", "aria-label": "Map" },
      button("+", zoom(1), { "aria-label": "Zoom in", title: "Zoom in (+)" }),
      button("−", zoom(-1), { "aria-label": "Zoom out", title: "Zoom out (−)" }),
      button("⤢", () => this.fitAll(), { "aria-label": "Show the whole fleet", title: "Show the whole fleet (0)" }));
    this.element.append(buttons, this.#tip, this.#summary);
    this.element.setAttribute("aria-describedby", "map-summary");
    L.DomEvent.disableClickPropagation(buttons);
  }

  #pointer() {
    this.map.on("mousemove", limited(40, (/** @type {any} */ event) => this.#point(event.containerPoint)));
    this.map.on("mouseout", () => this.#point(null));
    this.map.on("movestart zoomstart moveend", () => this.#point(null));
    this.map.on("click", (event) => {
      if (!this.interactive) return;
      const target = this.fleet.at(event.containerPoint);
      if (target?.entry) this.#on.select(target.entry.key);
      else if (target?.cell) this.#open(target.cell);
    });
  }

  /** False while a region is drawn: clicks do not select vehicles. */
  interactive = true;

  /** @param {import("./clusters.js").Cell} cell */
  #open(cell) {
    const [southWest, northEast] = FleetLayer.bounds(cell);
    const bounds = L.latLngBounds(southWest, northEast);
    const zoom = this.map.getBoundsZoom(bounds);
    if (zoom > this.map.getZoom()) this.map.fitBounds(bounds, { ...this.#padding(), maxZoom: streetZoom });
    else this.map.setView(bounds.getCenter(), Math.min(20, this.map.getZoom() + 2));
  }

  /** @param {L.Point|null} point */
  #point(point) {
    const target = point && this.interactive ? this.fleet.at(point) : undefined;
    this.element.classList.toggle("over-vehicle", Boolean(target));
    const key = target?.entry?.key;
    if (this.fleet.hovered !== key) {
      this.fleet.hovered = key;
      this.fleet.redraw();
    }
    this.#tip.hidden = !target;
    if (!target) return;
    setText(this.#tip, target.entry ? this.#wordsOf(target.entry.vehicle) : target.cell ? wordsOfCell(target.cell) : "");
    this.#tip.style.transform = `translate(${Math.round(target.x)}px, ${Math.round(target.y - target.radius - 6)}px) translate(-50%, -100%)`;
  }

  /** @param {Summary} vehicle */
  #wordsOf(vehicle) {
    const now = this.#store.now(), position = vehicle.position;
    return [
      safeName(vehicle.vehicle, 60), activityWords[activity(vehicle)], speed(speedOf(vehicle)), age(moment(position?.time), now),
    ].filter(Boolean).join(" · ");
  }

  /** The summary of the map for screen readers. */
  #describe = limited(1500, () => {
    const total = this.#store.vehicles.size;
    setText(this.#summary, total === 0
      ? "No messages from vehicles yet."
      : `${amount(this.fleet.visible)} of ${count(total, "vehicle")} in view. The vehicle list contains the same data as text.`);
  });

  /** Zooms to the whole fleet once after loading, unless the address contains a map position. */
  #fitOnce = limited(250, () => {
    const size = this.fleet.grid.entries.size;
    if (this.#fitted || size <= this.#fittedSize) return;
    this.#fittedSize = size;
    this.fitAll(false);
    // The server sends a fleet in several events. Wait for all of them, unless the user moves the map.
    this.#stopFitting ??= after(3000, () => this.keepView());
  });
  /** @type {Stop|undefined} */ #stopFitting;
  #fittedSize = 0;

  keepView() {
    this.#fitted = true;
    this.#stopFitting?.();
  }

  fitAll(animate = true) {
    const grid = this.fleet.grid;
    if (!grid.entries.size) return;
    const bounds = FleetLayer.bounds({ members: grid.entries.values() });
    this.fit(bounds, { animate, maxZoom: streetZoom });
  }

  /** @param {L.LatLngBounds|number[][]} bounds */
  fit(bounds, options = {}) {
    this.follow(false);
    this.map.fitBounds(bounds, { ...this.#padding(), animate: !reducedMotion(), maxZoom: streetZoom + 1, ...options });
  }

  #padding() {
    const { left = 0, right = 0, top = 0, bottom = 0 } = this.#insets();
    return { paddingTopLeft: [left + 30, top + 30], paddingBottomRight: [right + 30, bottom + 30] };
  }

  /**
   * Centres a position in the part of the map that no panel covers.
   * @param {number} latitude @param {number} longitude
   */
  show(latitude, longitude, zoom = Math.max(this.map.getZoom(), 14)) {
    const { left = 0, right = 0, top = 0, bottom = 0 } = this.#insets();
    // The position is shown in the nearest copy of the world: following a vehicle across the 180th meridian does not turn the map around the globe.
    const from = this.map.getCenter().lng, near = from + 360 * turned((longitude - from) / 360);
    const centre = this.map.project([latitude, near], zoom).add([(right - left) / 2, (bottom - top) / 2]);
    this.map.setView(this.map.unproject(centre, zoom), zoom, { animate: !reducedMotion() });
  }

  #regions = L.layerGroup();
  #regionsTold = "";
  /**
   * Shows the regions of a vehicle.
   * @param {any} collection GeoJSON; undefined removes them
   */
  showRegions(collection) {
    const told = collection?.features?.length ? JSON.stringify(collection) : "";
    if (told === this.#regionsTold) return;
    this.#regionsTold = told;
    this.#regions.clearLayers();
    if (!told) return;
    try {
      L.geoJSON(collection, { pane: "regions", interactive: false, style: { className: "region-shape" } }).addTo(this.#regions.addTo(this.map));
    } catch {
      // A region whose outline cannot be drawn is still in the list of regions.
    }
  }

  /** @param {string|undefined} key */
  select(key, { centre = false } = {}) {
    this.fleet.selected = key;
    this.fleet.trail = [];
    const vehicle = key === undefined ? undefined : this.#store.vehicles.get(key);
    const place = vehicle && centre ? reckoned(vehicle, this.#store.now()) : undefined;
    if (place) this.show(place.latitude, place.longitude);
    this.fleet.redraw();
  }

  /**
   * True if a vehicle is in the visible part of the map at a sufficient zoom level.
   * @param {Summary} vehicle
   */
  isInSight(vehicle) {
    if (this.map.getZoom() < 11 || !vehicle.position) return false;
    const { right = 0, bottom = 0 } = this.#insets();
    const size = this.map.getSize(), point = this.map.latLngToContainerPoint([vehicle.position.latitude, vehicle.position.longitude]);
    return point.x > 40 && point.y > 40 && point.x < size.x - right - 40 && point.y < size.y - bottom - 40;
  }

  /** @param {[number, number][]} places longitude and latitude, oldest first */
  startTrail(places) {
    this.fleet.trail = [...places.flatMap(([longitude, latitude]) => [worldX(longitude), worldY(latitude)]), ...this.fleet.trail];
    this.fleet.redraw();
  }

  #pin = L.layerGroup();
  /**
   * Shows a ring with coordinates at the position of an address or alert.
   * @param {[number, number]} [at] undefined removes it
   */
  showPin(at) {
    this.#pin.clearLayers();
    if (!at) return;
    this.#pin.addTo(this.map);
    L.circleMarker(at, { radius: 15, className: "pin-shape", pane: "regions", interactive: false }).addTo(this.#pin);
    L.circleMarker(at, { radius: 3, className: "pin-shape", pane: "regions", interactive: false }).addTo(this.#pin);
    const label = h("p", { class: "pin-label" }, place(...at));
    const icon = L.divIcon({ html: label, className: "pin-box", iconSize: [0, 0] });
    L.marker(at, { icon, pane: "draft", interactive: false, keyboard: false }).addTo(this.#pin);
  }

  /** @param {boolean} isOn */
  follow(isOn) {
    if (this.following === isOn) return;
    this.following = isOn;
    this.onFollow(isOn);
    if (isOn) this.#follow();
  }

  #follow() {
    const vehicle = this.#store.vehicles.get(this.fleet.selected ?? "");
    const place = vehicle && reckoned(vehicle, this.#store.now());
    if (place) this.show(place.latitude, place.longitude, Math.max(this.map.getZoom(), 14));
  }

  /**
   * The bounds that the server has, and their zoom level.
   * @type {{zoom: number, bounds: L.LatLngBounds}|undefined}
   */
  #told;
  /**
   * Bounds "w,s,e,n" for the server, with a margin. Undefined if the bounds sent last contain the visible part at the same zoom
   * level, so that following a vehicle does not send a request per step.
   */
  boundsToTell() {
    const zoom = this.map.getZoom();
    if (this.#told?.zoom === zoom && this.#told.bounds.contains(this.map.getBounds())) return undefined;
    return this.bounds();
  }

  bounds() {
    const seen = this.map.getBounds().pad(0.25);
    this.#told = { zoom: this.map.getZoom(), bounds: seen };
    // The server accepts longitudes beyond the 180th meridian.
    return [
      seen.getWest(), Math.max(-90, seen.getSouth()), seen.getEast(), Math.min(90, seen.getNorth()),
    ].map((value) => value.toFixed(4)).join(",");
  }

  place() {
    const { lat, lng } = this.map.getCenter();
    const digits = Math.max(1, Math.min(6, Math.ceil(this.map.getZoom() / 3)));
    return { at: `${lat.toFixed(digits)},${lng.toFixed(digits)}`, zoom: String(this.map.getZoom()) };
  }
}

/** @param {import("./clusters.js").Cell} cell */
function wordsOfCell(cell) {
  const parts = activities.map((name, kind) => cell.kinds[kind] ? `${cell.kinds[kind]} ${activityWords[name].toLowerCase()}` : null);
  return `${cell.members.size} vehicles: ${parts.filter(Boolean).join(", ")}`;
}

/**
 * The text of an attribution, which often contains HTML.
 * @param {string} text
 */
function plain(text) {
  return new DOMParser().parseFromString(String(text), "text/html").body.textContent ?? "";
}

