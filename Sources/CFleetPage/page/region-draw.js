/** A region under the hand: its outline on the map, with handles to move its parts. */
import * as L from "/vendor/leaflet/leaflet.esm.min.js";

export class RegionDraw {
  #map; #group = L.layerGroup(); #draft; #onChange;

  /** @param {L.Map} map @param {() => void} onChange */
  constructor(map, onChange) {
    [this.#map, this.#onChange] = [map, onChange];
  }

  get isOn() { return Boolean(this.#draft); }

  /** @param {import("./region-geometry.js").Draft} draft is changed in place */
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

  #click(event) {
    this.add(event.latlng.lat, event.latlng.wrap().lng);
  }

  /** A centre, or one more corner. */
  add(latitude, longitude) {
    if (this.#draft.form === "circle") this.#draft.centre = { latitude, longitude };
    else this.#draft.corners.push({ latitude, longitude });
    this.#changed();
  }

  addCentreOfMap() {
    const { lat, lng } = this.#map.getCenter().wrap();
    this.add(lat, lng);
  }

  undo() {
    if (this.#draft.form === "circle") this.#draft.centre = undefined;
    else this.#draft.corners.pop();
    this.#changed();
  }

  #changed() {
    this.redraw();
    this.#onChange();
  }

  redraw() {
    this.#group.clearLayers();
    const draft = this.#draft;
    if (draft.form === "circle") {
      if (!draft.centre) return;
      const centre = [draft.centre.latitude, draft.centre.longitude];
      const circle = L.circle(centre, { radius: draft.radius, className: "draft-shape", pane: "draft", interactive: false }).addTo(this.#group);
      this.#handle(centre, (place, isDone) => {
        draft.centre = { latitude: place.lat, longitude: place.lng };
        circle.setLatLng(place);
        if (isDone) this.#changed();
      });
      const edge = L.latLng(centre[0], circle.getBounds().getEast());
      this.#handle(edge, (place, isDone) => {
        draft.radius = Math.max(1, Math.round(this.#map.distance([draft.centre.latitude, draft.centre.longitude], place)));
        circle.setRadius(draft.radius);
        if (isDone) this.#changed();
      });
      return;
    }
    const places = draft.corners.map((corner) => [corner.latitude, corner.longitude]);
    const shape = (places.length > 2 ? L.polygon : L.polyline)(places, { className: "draft-shape", pane: "draft", interactive: false }).addTo(this.#group);
    draft.corners.forEach((corner, index) => this.#handle(places[index], (place, isDone) => {
      Object.assign(corner, { latitude: place.lat, longitude: place.lng });
      shape.setLatLngs(draft.corners.map((each) => [each.latitude, each.longitude]));
      if (isDone) this.#changed();
    }));
  }

  #handle(place, moved) {
    const marker = L.marker(place, {
      draggable: true, keyboard: false, pane: "draft", icon: L.divIcon({ className: "handle", iconSize: [18, 18] }),
    }).addTo(this.#group);
    marker.on("drag", () => moved(marker.getLatLng().wrap(), false));
    marker.on("dragend", () => moved(marker.getLatLng().wrap(), true));
  }
}
