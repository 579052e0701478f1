/** The regions view: shows, edits, assigns and removes regions. */
import * as L from "/vendor/leaflet/leaflet.esm.min.js";
import { button, fill, h, setText } from "./dom.js";
import { confirmed, field, outcome } from "./dialog.js";
import { amount, count, metres, safeName, speed } from "./format.js";
import { byName } from "./filters.js";
import { pushRegion, takeRegion } from "./region-push.js";
import { RegionDraw } from "./region-draw.js";
import { draftOf, featureOf, newDraft, problemOf } from "./region-geometry.js";
import { routeAddress } from "./router.js";

export class RegionsView {
  #api; #store; #map; #session; #selection; #router; #regions = []; #layer = L.layerGroup(); #draw; #draft; #shown = false; #chosen; #canControl;
  #list; #editor; #status; #new; #form;

  /** @param {() => boolean} canControl returns true if the server can assign regions */
  constructor(api, store, map, session, selection, router, canControl) {
    this.#canControl = canControl;
    [this.#api, this.#store, this.#map, this.#session, this.#selection, this.#router] = [api, store, map, session, selection, router];
    this.#draw = new RegionDraw(map.map, () => this.#showForm());
    selection.onChange(() => { if (this.#draft) this.#showForm(); });
    this.#list = h("ul", { class: "region-list" });
    this.#status = h("p", { class: "note", role: "status" });
    this.#editor = h("div");
    this.#new = h("div", { class: "actions" }, button("New circle", () => this.#begin(newDraft("circle"))), button("New polygon", () => this.#begin(newDraft("polygon"))));
    this.panel = h("section", { class: "panel-content regions-panel", "aria-labelledby": "regions-title", hidden: true },
      h("header", {}, h("h1", { id: "regions-title", tabindex: "-1" }, "Regions")), this.#new, this.#editor, this.#status,
      h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "All regions" }, this.#list));
  }

  async open(identifier) {
    const isOpening = !this.#shown;
    this.#shown = true;
    this.panel.hidden = false;
    this.#new.hidden = !this.#session.mayOperate || !this.#canControl();
    this.#layer.addTo(this.#map.map);
    this.#map.fleet.dimmed = true;
    this.#map.fleet.redraw();
    if (isOpening || !this.#regions.length) await this.#load();
    if (!this.#shown) return;
    this.#wanted = identifier;
    if (!this.#draft) this.#choose(identifier);
  }

  close() {
    if (!this.#shown) return;
    this.#shown = false;
    this.panel.hidden = true;
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
      setText(this.#status, error.explanation ?? error.message);
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
      const inside = region.vehicles.filter((vehicle) => vehicle.state === "inside").length;
      return h("li", {}, h("a", { class: "entry", href: routeAddress({ view: "regions", region: region.identifier, query: {} }), "aria-current": isChosen ? "true" : null },
        h("b", {}, h("bdi", {}, safeName(region.identifier, 64))),
        h("span", { class: "note" }, [describe(region.variants[0]), count(region.vehicles.length, "vehicle"), inside ? `${amount(inside)} inside` : null,
          region.variants.length > 1 ? `${region.variants.length} different outlines` : null].filter(Boolean).join(" · "))));
    }));
  }

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

  #begin(draft, vehicles = []) {
    this.#draft = draft;
    this.#vehicles = vehicles;
    this.#map.interactive = false;
    this.#draw.start(draft);
    this.#makeForm();
    this.#showForm();
    this.#form.querySelector("input").focus();
  }

  #vehicles = [];
  /** The identifier of the region in the address, also while another region is drawn. */
  #wanted;

  #end() {
    this.#draft = undefined;
    this.#draw.stop();
    this.#map.interactive = true;
    fill(this.#editor);
  }

  #fields = {};
  #makeForm() {
    const draft = this.#draft, result = outcome();
    const number = (name, factor, options) => h("input", {
      type: "number", step: "any", min: 0, value: draft.properties[name] === undefined ? "" : Math.round(draft.properties[name] * factor * 1000) / 1000, ...options,
      on: { input: (event) => { draft.properties[name] = event.target.value === "" ? undefined : Number(event.target.value) / factor; this.#showForm(); } },
    });
    const check = (name, text) => {
      const box = h("input", {
        type: "checkbox", checked: draft.properties[name] !== false,
        on: { change: () => { draft.properties[name] = box.checked ? undefined : false; } },
      });
      return h("label", { class: "check" }, box, ` ${text}`);
    };
    const name = h("input", { type: "text", required: true, maxlength: 64, autocomplete: "off", value: draft.identifier, on: { input: () => { draft.identifier = name.value.trim(); this.#showForm(); } } });
    const coordinate = (part) => h("input", {
      type: "number", step: "any", min: part === "latitude" ? -90 : -180, max: part === "latitude" ? 90 : 180,
      on: { change: (event) => {
        draft.centre = { latitude: 0, longitude: 0, ...draft.centre, [part]: Number(event.target.value) };
        this.#draw.redraw();
        this.#showForm();
      } },
    });
    const radius = h("input", { type: "number", min: 1, step: 1, on: { input: () => { draft.radius = Number(radius.value); this.#draw.redraw(); this.#showForm(); } } });
    const cancel = button("Cancel", () => this.#cancel());
    this.#fields = { target: undefined, radius, cancel, latitude: coordinate("latitude"), longitude: coordinate("longitude"), problem: h("p", { class: "note", role: "status" }) };
    const target = h("select", { on: { change: () => this.#showForm() } }, this.#targets().map(([value, text]) => h("option", { value }, text)));
    this.#fields.target = target;
    this.#fields.push = h("button", { type: "submit", class: "strong" }, "Assign to vehicles…");
    this.#form = h("form", { class: "fields", "aria-label": "Region", on: { submit: (event) => { event.preventDefault(); this.#push(target.value, result); } } },
      field("Name", name),
      h("p", { class: "note" }, draft.form === "circle" ? "Click the map to set the centre. Drag the edge to set the radius, or use the arrow keys." : "Click the map to add corners. Drag a corner to move it, or focus it and use the arrow keys. Delete removes it."),
      h("div", { class: "actions" }, button(draft.form === "circle" ? "Centre at the map's centre" : "Corner at the map's centre", () => this.#draw.addCentreOfMap()), button("Undo", () => this.#draw.undo())),
      draft.form === "circle" ? [field("Radius (m)", radius), h("div", { class: "pair" }, field("Latitude", this.#fields.latitude), field("Longitude", this.#fields.longitude))] : null,
      field("Dwell event after (s)", number("dwell", 1)), field("Speed limit (km/h)", number("speedLimit", 3.6)),
      check("notifyOnEntry", "Report entering"), check("notifyOnExit", "Report leaving"),
      field("Assign to", target), this.#fields.problem, result.element,
      h("div", { class: "actions end" }, cancel, this.#fields.push));
    fill(this.#editor, this.#form);
  }

  #cancel() {
    this.#end();
    this.#choose(this.#wanted);
  }

  #targets() {
    const shown = this.#selection.items.length, selected = this.#store.vehicles.get(this.#store.selected);
    return [
      this.#vehicles.length ? ["owners", `${count(this.#vehicles.length, "vehicle")} with this region`] : null,
      selected ? ["selected", `${safeName(selected.vehicle, 60)} (selected)`] : null,
      ["shown", this.#selection.isFiltered ? `${count(shown, "vehicle")} in the filtered list` : shown === 1 ? "the only vehicle" : `all ${count(shown, "vehicle")}`],
    ].filter(Boolean);
  }

  #showForm() {
    const draft = this.#draft, { target, radius, latitude, longitude, problem, push } = this.#fields;
    if (document.activeElement !== radius) radius.value = draft.radius;
    if (draft.centre) {
      if (document.activeElement !== latitude) latitude.value = draft.centre.latitude.toFixed(6);
      if (document.activeElement !== longitude) longitude.value = draft.centre.longitude.toFixed(6);
    }
    const found = problemOf(draft) ?? (this.#vehiclesOf(target.value).length ? undefined : "No vehicle is selected.");
    setText(problem, found ?? (draft.form === "circle" ? `Circle with a radius of ${metres(draft.radius)}.` : `${draft.corners.length} corners.`));
    push.disabled = Boolean(found);
  }

  #vehiclesOf(target) {
    if (target === "owners") return this.#vehicles;
    if (target === "selected") return [this.#store.vehicles.get(this.#store.selected)].filter(Boolean);
    return this.#selection.items.map((key) => this.#store.vehicles.get(key)).filter(Boolean);
  }

  async #push(target, result) {
    const feature = featureOf(this.#draft), vehicles = this.#vehiclesOf(target);
    if (!await confirmed("Assign the region?",
      `${count(vehicles.length, "vehicle")} will monitor “${safeName(feature.id, 64)}” in addition to the present regions. A region with the same name is replaced.`, "Assign")) return;
    this.#fields.push.disabled = true;
    await pushRegion(this.#api, vehicles, feature, result, (element) => this.#showAnswers(element));
    this.#fields.push.disabled = false;
    // Sending cannot be undone: offer to close the form instead of cancelling it.
    this.#fields.cancel.textContent = "Close";
    this.#regions = [];
    await this.#load();
  }

  #showAnswers(element) {
    this.#editor.querySelector(".answers")?.remove();
    this.#editor.append(element);
    element.scrollIntoView({ block: "nearest" });
  }

  async #takeAway(region, result) {
    if (!await confirmed("Remove the region?",
      `${count(region.vehicles.length, "vehicle")} will no longer monitor “${safeName(region.identifier, 64)}”.`, "Remove")) return;
    await takeRegion(this.#api, region.vehicles, region.identifier, result, (element) => this.#showAnswers(element));
    this.#regions = [];
    await this.#load();
  }
}

/** Groups the server's answer by identifier: `{identifier, variants: features, vehicles: [{fleet, vehicle, accepted, state, reason}]}`. */
function regionsOf(answer) {
  const found = new Map();
  for (const { region: identifier, feature, vehicles } of answer?.regions ?? []) {
    if (!found.has(identifier)) found.set(identifier, { identifier, variants: [], vehicles: [] });
    const region = found.get(identifier);
    region.variants.push(feature);
    region.vehicles.push(...vehicles);
  }
  for (const region of found.values()) region.vehicles.sort(byName);
  return [...found.values()].sort((a, b) => byName({ vehicle: a.identifier, fleet: "" }, { vehicle: b.identifier, fleet: "" }));
}

function answerWords(vehicle) {
  if (vehicle.reason) return `refused: ${safeName(vehicle.reason, 200)}`;
  if (!vehicle.accepted) return "no answer yet";
  return vehicle.state ? vehicle.state === "inside" || vehicle.state === "outside" ? vehicle.state : "accepted, state unknown" : "accepted";
}

function describe(feature) {
  const draft = draftOf(feature);
  const limit = speed(feature.properties?.speedLimit), end = limit ? `, at most ${limit}` : "";
  if (!draft) return `several parts${end}`;
  return (draft.form === "circle" ? `circle of ${metres(draft.radius)} radius` : `polygon of ${draft.corners.length} corners`) + end;
}

function shapeOf(feature, isChosen = false) {
  const options = { className: `region-shape${isChosen ? " chosen" : ""}`, pane: "regions" };
  const draft = draftOf(feature);
  if (draft?.form === "circle") return L.circle([draft.centre.latitude, draft.centre.longitude], { radius: draft.radius, ...options });
  try {
    return L.geoJSON(feature, { style: options, pane: "regions" });
  } catch {
    return undefined;
  }
}

