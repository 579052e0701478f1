/** The map: the base that there is, the vehicles on it, what the pointer and the keys do there. */
import * as L from "/vendor/leaflet/leaflet.esm.min.js";
import { baseTiles } from "./base-tiles.js";
import { button, h, limited, setText } from "./dom.js";
import { FleetLayer } from "./fleet-layer.js";
import { age, count, moment, place, safeName, speed } from "./format.js";
import { graticule } from "./graticule.js";
import { turned, worldX, worldY } from "./mercator.js";
import { recordedWays } from "./ways.js";
import { onTheme, reducedMotion } from "./theme.js";
import { reckoned } from "./reckoning.js";
import { activities, activityWords, activity, speedOf } from "./vehicle.js";

/** Zoom at which a street fills the map. */
const streetZoom = 16;

export class FleetMap {
  #store; #api; #on; #tip; #summary; #hover = null; #fitted = false; #insets = () => ({});
  following = false;

  /**
   * @param {HTMLElement} element
   * @param {import("./store.js").Store} store
   * @param {import("./api.js").API} api
   * @param {{select: (key: string) => void, moved: () => void, together: (keys: string[]) => void, insets: () => any}} on
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
    for (const [name, index] of [["graticule", 190], ["ways", 210], ["regions", 400], ["track", 420], ["fleet", 450], ["draft", 500]]) {
      const pane = this.map.createPane(name);
      pane.style.zIndex = index;
      if (name !== "regions" && name !== "draft") pane.style.pointerEvents = "none";
    }
    L.control.scale({ imperial: false, maxWidth: 140, position: "bottomleft" }).addTo(this.map);
    this.fleet = new FleetLayer(store);
    this.fleet.layer.addTo(this.map);
    // Below the tiles: seen where there are none.
    const lines = graticule();
    onTheme(lines.restyle);
    lines.layer.addTo(this.map);
    onTheme(() => this.fleet.restyle());
    store.on("vehicles", (changes) => {
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

  #tiles;
  /** The base map, once somebody looks who may see it. */
  async showTiles() {
    if (this.#tiles) return;
    let tiles;
    try {
      ({ tiles } = (await this.#api.get("map", { quiet: true })) ?? {});
    } catch {
      // Without an answer there is no base map: the graticule stands in for it.
    }
    if (!tiles?.url || this.#tiles) return;
    this.#tiles = baseTiles(tiles).addTo(this.map);
    if (tiles.attribution) this.element.append(h("p", { class: "attribution" }, plain(tiles.attribution)));
  }

  #ways;
  /** The fleet's own recorded ways below all, where there is a recording. */
  showWays() {
    if (this.#ways) return;
    this.#ways = recordedWays(this.#api);
    onTheme(this.#ways.restyle);
    this.#ways.layer.addTo(this.map);
  }

  #controls() {
    // Around the middle of what no panel hides, where the vehicle is that one looks at.
    const zoom = (by) => () => {
      const { left = 0, right = 0, top = 0, bottom = 0 } = this.#insets(), size = this.map.getSize();
      this.map.setZoomAround(L.point((left + size.x - right) / 2, (top + size.y - bottom) / 2), this.map.getZoom() + by);
    };
    this.element.append(h("div", { class: "map-buttons", role: "group", "aria-label": "Map" },
      button("+", zoom(1), { "aria-label": "Zoom in", title: "Zoom in (+)" }),
      button("−", zoom(-1), { "aria-label": "Zoom out", title: "Zoom out (−)" }),
      button("⤢", () => this.fitAll(), { "aria-label": "Show the whole fleet", title: "Show the whole fleet (0)" })));
    this.#tip = h("div", { class: "map-tip", "aria-hidden": "true", hidden: true });
    this.#summary = h("p", { class: "visually-hidden", id: "map-summary" });
    this.element.append(this.#tip, this.#summary);
    this.element.setAttribute("aria-describedby", "map-summary");
    L.DomEvent.disableClickPropagation(this.element.querySelector(".map-buttons"));
  }

  #pointer() {
    this.map.on("mousemove", limited(40, (event) => this.#point(event.containerPoint)));
    this.map.on("mouseout", () => this.#point(null));
    this.map.on("movestart zoomstart moveend", () => this.#point(null));
    this.map.on("click", (event) => {
      if (!this.interactive) return;
      const target = this.fleet.at(event.containerPoint);
      if (target?.entry) this.#on.select(target.entry.key);
      else if (target?.cell) this.#open(target.cell);
    });
  }

  /** Whether a click chooses vehicles; not while a region is drawn. */
  interactive = true;

  #open(cell) {
    const [southWest, northEast] = FleetLayer.bounds(cell);
    const bounds = L.latLngBounds(southWest, northEast);
    const zoom = this.map.getBoundsZoom(bounds);
    if (zoom > this.map.getZoom()) this.map.fitBounds(bounds, { ...this.#padding(), maxZoom: streetZoom });
    else this.map.setView(bounds.getCenter(), Math.min(20, this.map.getZoom() + 2));
  }

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
    setText(this.#tip, target.entry ? this.#wordsOf(target.entry.vehicle) : wordsOfCell(target.cell));
    this.#tip.style.transform = `translate(${Math.round(target.x)}px, ${Math.round(target.y - target.radius - 6)}px) translate(-50%, -100%)`;
  }

  #wordsOf(vehicle) {
    const now = this.#store.now(), position = vehicle.position;
    return [
      safeName(vehicle.vehicle, 60), activityWords[activity(vehicle)], speed(speedOf(vehicle)), age(moment(position?.time), now),
    ].filter(Boolean).join(" · ");
  }

  /** Tells a screen reader, when it asks, what the map shows. */
  #describe = limited(1500, () => {
    const total = this.#store.vehicles.size;
    setText(this.#summary, total === 0
      ? "No vehicle has been heard from yet."
      : `${count(this.fleet.visible, "vehicle")} of ${total} in view. The list of vehicles tells the same in words.`);
  });

  /** The fleet is shown once when its first vehicles are known, unless the address says what to look at. */
  #fitOnce = limited(250, () => {
    const size = this.fleet.grid.entries.size;
    if (this.#fitted || size <= this.#fittedSize) return;
    this.#fittedSize = size;
    this.fitAll(false);
    // The server tells a fleet in pieces; all of them are waited for, unless somebody moves the map meanwhile.
    this.#fitTimer ??= setTimeout(() => this.keepView(), 3000);
  });
  #fitTimer;
  #fittedSize = 0;

  keepView() { this.#fitted = true; }

  fitAll(animate = true) {
    const grid = this.fleet.grid;
    if (!grid.entries.size) return;
    const bounds = FleetLayer.bounds({ members: grid.entries.values() });
    this.fit(bounds, { animate, maxZoom: streetZoom });
  }

  fit(bounds, options = {}) {
    this.follow(false);
    this.map.fitBounds(bounds, { ...this.#padding(), animate: !reducedMotion(), maxZoom: streetZoom + 1, ...options });
  }

  #padding() {
    const { left = 0, right = 0, top = 0, bottom = 0 } = this.#insets();
    return { paddingTopLeft: [left + 30, top + 30], paddingBottomRight: [right + 30, bottom + 30] };
  }

  /** Shows a place in the middle of what no panel hides. */
  show(latitude, longitude, zoom = Math.max(this.map.getZoom(), 14)) {
    const { left = 0, right = 0, top = 0, bottom = 0 } = this.#insets();
    // In the world's copy that is looked at: who follows across the 180th meridian is not taken all the way round.
    const from = this.map.getCenter().lng, near = from + 360 * turned((longitude - from) / 360);
    const centre = this.map.project([latitude, near], zoom).add([(right - left) / 2, (bottom - top) / 2]);
    this.map.setView(this.map.unproject(centre, zoom), zoom, { animate: !reducedMotion() });
  }

  #regions = L.layerGroup();
  #regionsTold = "";
  /** What a vehicle is to watch. @param {any} collection GeoJSON; without one they are taken away */
  showRegions(collection) {
    const told = collection?.features?.length ? JSON.stringify(collection) : "";
    if (told === this.#regionsTold) return;
    this.#regionsTold = told;
    this.#regions.clearLayers();
    if (!told) return;
    try {
      L.geoJSON(collection, { pane: "regions", interactive: false, style: { className: "region-shape" } }).addTo(this.#regions.addTo(this.map));
    } catch {
      // An outline that cannot be drawn stands in the list all the same.
    }
  }

  /** @param {string|undefined} key */
  select(key, { centre = false } = {}) {
    this.fleet.selected = key;
    this.fleet.trail = [];
    const vehicle = key && this.#store.vehicles.get(key);
    if (vehicle?.position && centre) {
      const place = reckoned(vehicle, this.#store.now());
      this.show(place.latitude, place.longitude);
    }
    this.fleet.redraw();
  }

  /** Whether a vehicle is where one sees it, and near enough to tell it from others. */
  isInSight(vehicle) {
    if (this.map.getZoom() < 11) return false;
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
  /** A place that an address or an alert names: a ring with its degrees. @param {[number, number]} [at] without one it is taken away */
  showPin(at) {
    this.#pin.clearLayers();
    if (!at) return;
    this.#pin.addTo(this.map);
    L.circleMarker(at, { radius: 15, className: "pin-shape", pane: "regions", interactive: false }).addTo(this.#pin);
    L.circleMarker(at, { radius: 3, className: "pin-shape", pane: "regions", interactive: false }).addTo(this.#pin);
    const label = h("p", { class: "pin-label" }, place(...at));
    L.marker(at, { icon: L.divIcon({ html: label, className: "pin-box", iconSize: [0, 0] }), pane: "draft", interactive: false, keyboard: false }).addTo(this.#pin);
  }

  follow(isOn) {
    if (this.following === isOn) return;
    this.following = isOn;
    this.onFollow?.(isOn);
    if (isOn) this.#follow();
  }

  #follow() {
    const vehicle = this.#store.vehicles.get(this.fleet.selected);
    const place = vehicle && reckoned(vehicle, this.#store.now());
    if (place) this.show(place.latitude, place.longitude, Math.max(this.map.getZoom(), 14));
  }

  #told;
  /**
   * "w,s,e,n" of what is seen, with a margin, for the server. Undefined while what was told last still holds all of it, at the same
   * zoom: who follows a vehicle would tell the server of each step.
   */
  boundsToTell() {
    const zoom = this.map.getZoom();
    if (this.#told?.zoom === zoom && this.#told.bounds.contains(this.map.getBounds())) return undefined;
    return this.bounds();
  }

  bounds() {
    const seen = this.map.getBounds().pad(0.25);
    this.#told = { zoom: this.map.getZoom(), bounds: seen };
    // Beyond the 180th meridian longitudes go on, as the server takes them.
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

function wordsOfCell(cell) {
  const parts = activities.map((name, kind) => cell.kinds[kind] ? `${cell.kinds[kind]} ${activityWords[name].toLowerCase()}` : null);
  return `${cell.members.size} vehicles: ${parts.filter(Boolean).join(", ")}`;
}

/** Attributions are often written in HTML: its text alone is shown. */
function plain(text) {
  return new DOMParser().parseFromString(String(text), "text/html").body.textContent ?? "";
}

