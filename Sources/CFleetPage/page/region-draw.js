/** Draws and edits a region's outline on the map. Pointer and arrow keys move its handles. */
import * as L from "/vendor/leaflet/leaflet.esm.min.js";

/** Pixels per arrow key press; 1 with Shift. */
const arrowStep = 10;
/** @type {Record<string, [number, number]>} */
const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export class RegionDraw {
  #map; #group = L.layerGroup(); #onChange;
  /** @type {Draft|undefined} */ #draft;
  /** @type {L.Marker[]} */ #handles = [];

  /** @param {L.Map} map @param {() => void} onChange */
  constructor(map, onChange) {
    this.#map = map;
    this.#onChange = onChange;
  }

  get isOn() { return Boolean(this.#draft); }

  /** @param {import("./region-geometry.js").Draft} draft modified in place */
  start(draft) {
    this.stop();
    this.#draft = draft;
    this.#group.addTo(this.#map);
    this.#map.on("click", this.#click, this);
    this.#map.getContainer().classList.add("drawing");
    this.redraw();
  }

  stop() {
    this.#map.off("click", this.#click, this);
    this.#map.getContainer().classList.remove("drawing");
    this.#group.remove();
    this.#draft = undefined;
  }

  /** @param {any} event */
  #click(event) {
    this.add(event.latlng.lat, event.latlng.wrap().lng);
  }

  /**
   * Sets the centre of a circle, or adds a corner to a polygon.
   * @param {number} latitude @param {number} longitude
   */
  add(latitude, longitude) {
    if (this.#draft?.form === "circle") this.#draft.centre = { latitude, longitude };
    else this.#draft?.corners.push({ latitude, longitude });
    this.#changed();
  }

  addCentreOfMap() {
    const { lat, lng } = this.#map.getCenter().wrap();
    this.add(lat, lng);
  }

  undo() {
    if (this.#draft?.form === "circle") this.#draft.centre = undefined;
    else this.#draft?.corners.pop();
    this.#changed();
  }

  /** @param {number} [focused] index of the handle to focus afterwards */
  #changed(focused) {
    this.redraw();
    if (focused !== undefined) this.#handles[focused]?.getElement()?.focus({ preventScroll: true });
    this.#onChange();
  }

  redraw() {
    this.#handles = [];
    this.#group.clearLayers();
    const draft = this.#draft;
    if (!draft) return;
    if (draft.form === "circle") {
      if (!draft.centre) return;
      /** @type {[number, number]} */ const centre = [draft.centre.latitude, draft.centre.longitude];
      const circle = L.circle(centre, { radius: draft.radius, className: "draft-shape", pane: "draft", interactive: false }).addTo(this.#group);
      this.#handle(centre, "Centre", (place) => {
        draft.centre = { latitude: place.lat, longitude: place.lng };
        circle.setLatLng(place);
      });
      const edge = L.latLng(centre[0], circle.getBounds().getEast());
      this.#handle(edge, "Edge", (place) => {
        draft.radius = Math.max(1, Math.round(this.#map.distance(circle.getLatLng(), place)));
        circle.setRadius(draft.radius);
      });
      return;
    }
    const placeOf = (/** @type {Place} */ corner) => /** @type {[number, number]} */ ([corner.latitude, corner.longitude]);
    const places = draft.corners.map(placeOf);
    const shape = (places.length > 2 ? L.polygon : L.polyline)(places, { className: "draft-shape", pane: "draft", interactive: false }).addTo(this.#group);
    draft.corners.forEach((corner, index) => this.#handle(places[index], `Corner ${index + 1}`, (place) => {
      Object.assign(corner, { latitude: place.lat, longitude: place.lng });
      shape.setLatLngs(draft.corners.map(placeOf));
    }, () => draft.corners.splice(index, 1)));
  }

  /**
   * @param {string} name
   * @param {(place: L.LatLng) => void} moved
   * @param {() => void} [remove] deletes the handle; undefined if it cannot be deleted
   * @param {[number, number]|L.LatLng} place
   */
  #handle(place, name, moved, remove) {
    const index = this.#handles.length;
    const marker = L.marker(place, {
      draggable: true, pane: "draft", icon: L.divIcon({ className: "handle", iconSize: [18, 18] }),
    }).addTo(this.#group);
    this.#handles.push(marker);
    const element = marker.getElement();
    if (!element) return;
    element.setAttribute("role", "button");
    element.setAttribute("aria-label", `${name}: move with the arrow keys${remove ? ", remove with Delete" : ""}`);
    marker.on("drag", () => moved(marker.getLatLng().wrap()));
    marker.on("dragend", () => this.#changed(index));
    element.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const arrow = arrows[event.key], step = event.shiftKey ? 1 : arrowStep;
      if (arrow) {
        const point = this.#map.latLngToContainerPoint(marker.getLatLng());
        moved(this.#map.containerPointToLatLng(point.add([arrow[0] * step, arrow[1] * step])).wrap());
      } else if (remove && (event.key === "Delete" || event.key === "Backspace")) {
        remove();
      } else {
        return;
      }
      L.DomEvent.stop(event);
      this.#changed(Math.min(index, this.#handles.length - (arrow ? 1 : 2)));
    });
  }
}
