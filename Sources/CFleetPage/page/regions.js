/** The regions view: shows, edits, assigns and removes regions. */
import * as L from "/vendor/leaflet/leaflet.esm.min.js";
import { explained } from "./api.js";
import { button, fill, h, setText } from "./dom.js";
import { confirmed, field, outcome } from "./dialog.js";
import { amount, count, metres, safeName, speed } from "./format.js";
import { byName } from "./filters.js";
import { pushRegion, takeRegion } from "./region-push.js";
import { RegionDraw } from "./region-draw.js";
import { draftOf, featureOf, newDraft, problemOf } from "./region-geometry.js";
import { routeAddress } from "./router.js";
import { View } from "./view.js";

/**
 * The fields of the form that are updated while a region is drawn.
 * @typedef {Object} Fields
 * @property {HTMLSelectElement} target
 * @property {HTMLInputElement} radius
 * @property {HTMLInputElement} latitude
 * @property {HTMLInputElement} longitude
 * @property {HTMLElement} problem
 * @property {HTMLButtonElement} cancel
 * @property {HTMLButtonElement} push
 */

export class RegionsView extends View {
  #api; #store; #map; #session; #selection; #router; #layer = L.layerGroup(); #draw; #canControl;
  #list = h("ul", { class: "region-list" }); #editor = h("div"); #status = h("p", { class: "note", role: "status" }); #new;
  /** @type {Region[]} */ #regions = [];
  /**
   * The region that is drawn or edited.
   * @type {Draft|undefined}
   */
  #draft;
  /**
   * The vehicles of the edited region.
   * @type {VehicleName[]}
   */
  #vehicles = [];
  /** @type {Fields|undefined} */ #fields;
  /**
   * The identifier of the shown region.
   * @type {string|undefined}
   */
  #chosen;
  /**
   * The identifier of the region in the address, also while another region is drawn.
   * @type {string|undefined}
   */
  #wanted;

  /**
   * @param {API} api @param {Store} store @param {FleetMap} map @param {Session} session @param {VehicleSelection} selection @param {Router} router
   * @param {() => boolean} canControl returns true if the server can assign regions
   */
  constructor(api, store, map, session, selection, router, canControl) {
    super();
    this.#canControl = canControl;
    this.#api = api;
    this.#store = store;
    this.#map = map;
    this.#session = session;
    this.#selection = selection;
    this.#router = router;
    this.#draw = new RegionDraw(map.map, () => this.#showForm());
    this.#new = h("div", { class: "actions" }, button("New circle", () => this.#begin(newDraft("circle"))),
      button("New polygon", () => this.#begin(newDraft("polygon"))));
    this.panel = h("section", { class: "panel-content regions-panel", "aria-labelledby": "regions-title" },
      h("header", {}, h("h1", { id: "regions-title", tabindex: "-1" }, "Regions")), this.#new, this.#editor, this.#status,
      h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "All regions" }, this.#list));
    this.elements = [this.panel];
  }

  /** @override */
  subscriptions() { return [this.#selection.onChange(() => { if (this.#draft) this.#showForm(); })]; }

  /** @override @param {Route} route @param {boolean} isOpening */
  async show({ region }, isOpening) {
    this.#new.hidden = !this.#session.mayOperate || !this.#canControl();
    this.#layer.addTo(this.#map.map);
    this.#map.fleet.dimmed = true;
    this.#map.fleet.redraw();
    if (isOpening || !this.#regions.length) await this.#load();
    if (!this.isOpen) return;
    this.#wanted = region;
    if (!this.#draft) this.#choose(region);
  }

  /** @override */
  closed() {
    this.#layer.remove();
    this.#end();
    this.#map.fleet.dimmed = false;
    this.#map.fleet.redraw();
  }

  async #load() {
    if (!this.#canControl()) {
      setText(this.#status, "This server cannot assign regions: its message profile does not support them.");
      return;
    }
    setText(this.#status, "Loading…");
    try {
      this.#regions = regionsOf(await this.#api.get("regions"));
      setText(this.#status, this.#regions.length ? count(this.#regions.length, "region") : "No regions assigned yet.");
    } catch (error) {
      setText(this.#status, explained(error));
    }
    this.#showList();
  }

  #showList() {
    this.#layer.clearLayers();
    fill(this.#list, this.#regions.map((region) => {
      const isChosen = region.identifier === this.#chosen;
      for (const feature of region.variants) {
        const shape = shapeOf(feature, isChosen);
        shape?.on("click", (event) => {
          if (this.#draw.isOn) return;
          L.DomEvent.stop(event);
          this.#router.go({ view: "regions", region: region.identifier, query: {} });
        });
        shape?.addTo(this.#layer);
      }
      const inside = region.vehicles.filter((/** @type {AssignedVehicle} */ vehicle) => vehicle.state === "inside").length;
      const href = routeAddress({ view: "regions", region: region.identifier });
      return h("li", {}, h("a", { class: "entry", href, "aria-current": isChosen ? "true" : null },
        h("b", {}, h("bdi", {}, safeName(region.identifier, 64))),
        h("span", { class: "note" }, [describe(region.variants[0]), count(region.vehicles.length, "vehicle"), inside ? `${amount(inside)} inside` : null,
          region.variants.length > 1 ? `${region.variants.length} different outlines` : null].filter(Boolean).join(" · "))));
    }));
  }

  /** @param {string|undefined} identifier */
  #choose(identifier) {
    this.#chosen = identifier;
    this.#showList();
    const region = this.#regions.find((each) => each.identifier === identifier);
    if (!region) {
      fill(this.#editor);
      return;
    }
    const shape = shapeOf(region.variants[0]);
    const bounds = shape?.addTo(this.#map.map).getBounds();
    if (bounds?.isValid()) this.#map.fit(bounds);
    shape?.remove();
    const draft = draftOf(region.variants[0]);
    const result = outcome();
    fill(this.#editor, h("section", { class: "region-card", "aria-labelledby": "region-name" },
      h("h2", { id: "region-name", tabindex: "-1" }, h("bdi", {}, safeName(identifier, 64))),
      h("p", { class: "note" }, describe(region.variants[0])),
      this.#session.mayOperate ? h("div", { class: "actions" },
        draft ? button("Edit", () => this.#begin(draft, region.vehicles)) : null,
        button("Remove…", () => this.#takeAway(region, result)), button("Close", () => this.#router.go({ view: "regions", query: {} }))) : null,
      result.element,
      h("ul", { class: "plain who scroll", tabindex: "0", "aria-label": "Vehicles with this region" }, region.vehicles.map((vehicle) => h("li", {},
        h("a", { href: routeAddress({ view: "vehicle", fleet: vehicle.fleet, vehicle: vehicle.vehicle }) }, h("bdi", {}, safeName(vehicle.vehicle, 60))),
        h("span", { class: "note" }, ` ${answerWords(vehicle)}`))))));
  }

  /** @param {Draft} draft @param {VehicleName[]} vehicles */
  #begin(draft, vehicles = []) {
    this.#draft = draft;
    this.#vehicles = vehicles;
    this.#map.interactive = false;
    this.#draw.start(draft);
    this.#makeForm(draft);
    this.#showForm();
    this.#editor.querySelector("input")?.focus();
  }

  #end() {
    this.#draft = undefined;
    this.#draw.stop();
    this.#map.interactive = true;
    fill(this.#editor);
  }

  /** @param {Draft} draft */
  #makeForm(draft) {
    const result = outcome();
    /** @param {string} name @param {number} factor */
    const number = (name, factor) => h("input", {
      type: "number", step: "any", min: 0, value: draft.properties[name] === undefined ? "" : Math.round(draft.properties[name] * factor * 1000) / 1000,
      on: { input: (event) => { draft.properties[name] = valueOf(event) === "" ? undefined : Number(valueOf(event)) / factor; this.#showForm(); } },
    });
    /** @param {string} name @param {string} text */
    const check = (name, text) => {
      /** @type {HTMLInputElement} */ const box = h("input", {
        type: "checkbox", checked: draft.properties[name] !== false,
        on: { change: () => { draft.properties[name] = box.checked ? undefined : false; } },
      });
      return h("label", { class: "check" }, box, ` ${text}`);
    };
    /** @type {HTMLInputElement} */
    const name = h("input", {
      type: "text", required: true, maxlength: 64, autocomplete: "off", value: draft.identifier,
      on: { input: () => { draft.identifier = name.value.trim(); this.#showForm(); } },
    });
    /** @param {"latitude"|"longitude"} part */
    const coordinate = (part) => h("input", {
      type: "number", step: "any", min: part === "latitude" ? -90 : -180, max: part === "latitude" ? 90 : 180,
      on: { change: (event) => {
        draft.centre = { latitude: 0, longitude: 0, ...draft.centre, [part]: Number(valueOf(event)) };
        this.#draw.redraw();
        this.#showForm();
      } },
    });
    /** @type {HTMLInputElement} */
    const radius = h("input", {
      type: "number", min: 1, step: 1, on: { input: () => { draft.radius = Number(radius.value); this.#draw.redraw(); this.#showForm(); } },
    });
    const cancel = button("Cancel", () => this.#cancel()), push = h("button", { type: "submit", class: "strong" }, "Assign to vehicles…");
    const latitude = coordinate("latitude"), longitude = coordinate("longitude"), problem = h("p", { class: "note", role: "status" });
    const target = h("select", { on: { change: () => this.#showForm() } }, this.#targets().map(([value, text]) => h("option", { value }, text)));
    this.#fields = { target, radius, latitude, longitude, problem, cancel, push };
    const submit = (/** @type {Event} */ event) => {
      event.preventDefault();
      this.#push(target.value, result);
    };
    fill(this.#editor, h("form", { class: "fields", "aria-label": "Region", on: { submit } },
      field("Name", name),
      h("p", { class: "note" }, draft.form === "circle"
        ? "Click the map to set the centre. Drag the edge to set the radius, or use the arrow keys."
        : "Click the map to add corners. Drag a corner to move it, or focus it and use the arrow keys. Delete removes it."),
      h("div", { class: "actions" },
        button(draft.form === "circle" ? "Centre at the map's centre" : "Corner at the map's centre", () => this.#draw.addCentreOfMap()),
        button("Undo", () => this.#draw.undo())),
      draft.form === "circle" ? [field("Radius (m)", radius), h("div", { class: "pair" }, field("Latitude", latitude), field("Longitude", longitude))] : null,
      field("Dwell event after (s)", number("dwell", 1)), field("Speed limit (km/h)", number("speedLimit", 3.6)),
      check("notifyOnEntry", "Report entering"), check("notifyOnExit", "Report leaving"),
      field("Assign to", target), problem, result.element,
      h("div", { class: "actions end" }, cancel, push)));
  }

  #cancel() {
    this.#end();
    this.#choose(this.#wanted);
  }

  #targets() {
    const shown = this.#selection.items.length, selected = this.#selectedVehicle();
    return [
      ...this.#vehicles.length ? [["owners", `${count(this.#vehicles.length, "vehicle")} with this region`]] : [],
      ...selected ? [["selected", `${safeName(selected.vehicle, 60)} (selected)`]] : [],
      ["shown", this.#selection.isFiltered ? `${count(shown, "vehicle")} in the filtered list`
        : shown === 1 ? "the only vehicle" : `all ${count(shown, "vehicle")}`],
    ];
  }

  #showForm() {
    const draft = this.#draft;
    if (!draft || !this.#fields) return;
    const { target, radius, latitude, longitude, problem, push } = this.#fields;
    if (document.activeElement !== radius) radius.value = String(draft.radius);
    if (draft.centre) {
      if (document.activeElement !== latitude) latitude.value = draft.centre.latitude.toFixed(6);
      if (document.activeElement !== longitude) longitude.value = draft.centre.longitude.toFixed(6);
    }
    const found = problemOf(draft) ?? (this.#vehiclesOf(target.value).length ? undefined : "No vehicle is selected.");
    setText(problem, found ?? (draft.form === "circle" ? `Circle with a radius of ${metres(draft.radius)}.` : `${draft.corners.length} corners.`));
    push.disabled = Boolean(found);
  }

  /** @param {string} target */
  #vehiclesOf(target) {
    if (target === "owners") return this.#vehicles;
    const keys = target === "selected" ? [this.#store.selected ?? ""] : this.#selection.items;
    return keys.flatMap((key) => this.#store.vehicles.get(key) ?? []);
  }

  #selectedVehicle() { return this.#store.vehicles.get(this.#store.selected ?? ""); }

  /** @param {string} target @param {Outcome} result */
  async #push(target, result) {
    const fields = this.#fields;
    if (!this.#draft || !fields) return;
    const feature = featureOf(this.#draft), vehicles = this.#vehiclesOf(target);
    if (!await confirmed("Assign the region?",
      `${count(vehicles.length, "vehicle")} will monitor “${safeName(feature.id, 64)}” in addition to the present regions. `
        + "A region with the same name is replaced.", "Assign")) return;
    fields.push.disabled = true;
    await pushRegion(this.#api, vehicles, feature, result, (/** @type {HTMLElement} */ element) => this.#showAnswers(element));
    fields.push.disabled = false;
    // Sending cannot be undone: offer to close the form instead of cancelling it.
    fields.cancel.textContent = "Close";
    this.#regions = [];
    await this.#load();
  }

  /** @param {HTMLElement} element */
  #showAnswers(element) {
    this.#editor.querySelector(".answers")?.remove();
    this.#editor.append(element);
    element.scrollIntoView({ block: "nearest" });
  }

  /** @param {Region} region @param {Outcome} result */
  async #takeAway(region, result) {
    if (!await confirmed("Remove the region?",
      `${count(region.vehicles.length, "vehicle")} will no longer monitor “${safeName(region.identifier, 64)}”.`, "Remove")) return;
    await takeRegion(this.#api, region.vehicles, region.identifier, result, (/** @type {HTMLElement} */ element) => this.#showAnswers(element));
    this.#regions = [];
    await this.#load();
  }
}

/**
 * Groups the server's answer by identifier: `{identifier, variants: features, vehicles: [{fleet, vehicle, accepted, state, reason}]}`.
 * @param {any} answer
 */
function regionsOf(answer) {
  /** @type {Map<string, Region>} */ const found = new Map();
  /** @type {{region: string, feature: any, vehicles: AssignedVehicle[]}[]} */ const all = answer?.regions ?? [];
  for (const { region: identifier, feature, vehicles } of all) {
    const region = found.get(identifier) ?? { identifier, variants: [], vehicles: [] };
    found.set(identifier, region);
    region.variants.push(feature);
    region.vehicles.push(...vehicles);
  }
  for (const region of found.values()) region.vehicles.sort(byName);
  return [...found.values()].sort((a, b) => byName({ vehicle: a.identifier, fleet: "" }, { vehicle: b.identifier, fleet: "" }));
}

/**
 * The value of the field that an event is about.
 * @param {Event} event
 */
const valueOf = (event) => /** @type {HTMLInputElement} */ (event.target).value;

/** @param {AssignedVehicle} vehicle */
function answerWords(vehicle) {
  if (vehicle.reason) return `refused: ${safeName(vehicle.reason, 200)}`;
  if (!vehicle.accepted) return "no answer yet";
  return vehicle.state ? vehicle.state === "inside" || vehicle.state === "outside" ? vehicle.state : "accepted, state unknown" : "accepted";
}

/** @param {any} feature */
function describe(feature) {
  const draft = draftOf(feature);
  const limit = speed(feature.properties?.speedLimit), end = limit ? `, at most ${limit}` : "";
  if (!draft) return `several parts${end}`;
  return (draft.form === "circle" ? `circle of ${metres(draft.radius)} radius` : `polygon of ${draft.corners.length} corners`) + end;
}

/** @param {any} feature */
function shapeOf(feature, isChosen = false) {
  const options = { className: `region-shape${isChosen ? " chosen" : ""}`, pane: "regions" };
  const draft = draftOf(feature);
  if (draft?.form === "circle" && draft.centre) return L.circle([draft.centre.latitude, draft.centre.longitude], { radius: draft.radius, ...options });
  try {
    return L.geoJSON(feature, { style: options, pane: "regions" });
  } catch {
    return undefined;
  }
}

