/** All vehicles as a table. */
import { button, h, setText } from "./dom.js";
import { age, amount, metres, moment, percent, place, safeName, speed } from "./format.js";
import { filterControls } from "./list.js";
import { shapes, sign } from "./markers.js";
import { statedRadius } from "./reckoning.js";
import { activity, activityWords, isOutdated, positionKind, speedOf } from "./vehicle.js";
import { every, limited } from "./timers.js";
import { View } from "./view.js";
import { VirtualRows } from "./virtual-rows.js";

const kinds = { fix: "receiver", fused: "fused", inertial: "inertial", coarse: "coarse", suspect: "suspect", stale: "old" };

/**
 * @typedef {Object} Column
 * @property {string} name
 * @property {string} [order] by which a click sorts
 * @property {string} kind class names
 * @property {boolean} [narrow] true if the column is shown on a phone, too
 * @property {(vehicle: Summary, now: number) => string|undefined} [text]
 */
/** @typedef {HTMLElement & {doing?: string, parts: {cells: HTMLElement[], glyph: SVGSVGElement, state: HTMLElement}}} Row */

/** @param {number|undefined} within */
const radius = (within) => within === undefined ? undefined : `± ${metres(within)}`;

/** @type {Column[]} */
const columns = [
  { name: "Vehicle", order: "name", kind: "name", narrow: true },
  { name: "State", order: "state", kind: "state", narrow: true },
  { name: "Speed", order: "speed", kind: "figure", text: (v) => v.state === "online" ? speed(speedOf(v)) : "–" },
  { name: "Coordinates", kind: "figure wide", text: (v) => place(v.position?.latitude, v.position?.longitude) },
  { name: "Accuracy", order: "accuracy", kind: "figure", text: (v, now) => radius(statedRadius(v, now)) },
  { name: "Source", kind: "word", text: (v) => isOutdated(v) || v.position?.suspect || v.position?.source ? kinds[positionKind(v) ?? "fix"] : undefined },
  { name: "Measured", kind: "figure", text: (v, now) => age(moment(v.position?.time), now) },
  { name: "Last seen", order: "heard", kind: "figure", narrow: true, text: (v, now) => age(moment(v.heard), now) },
  { name: "Battery", order: "battery", kind: "figure", text: (v) => percent(v.battery?.level) },
  { name: "Queue", order: "queue", kind: "figure", text: (v) => amount(v.queue) },
  { name: "Inside", kind: "word wide", text: (v) => v.inside?.length ? v.inside.map((name) => safeName(name, 40)).join(", ") : "–" },
];

export class VehicleTable extends View {
  #store; #selection; #rows; #viewport; #open; #headers;
  /**
   * The key of the vehicle under the keyboard's cursor.
   * @type {string|undefined}
   */
  #cursor;

  /** @param {Store} store @param {VehicleSelection} selection @param {(key: string) => void} open */
  constructor(store, selection, open) {
    super();
    this.#store = store;
    this.#selection = selection;
    this.#open = open;
    const space = h("div", { class: "rows", role: "rowgroup" });
    this.#headers = columns.map((column) => {
      const content = column.order ? button(column.name, () => this.#sort(column.order ?? "name"), { class: "sort" }) : column.name;
      return h("div", { role: "columnheader", class: `cell ${column.kind}${column.narrow ? "" : " extra"}` }, content);
    });
    this.#viewport = h("div", {
      class: "scroll table-scroll", role: "grid", tabindex: "0", "aria-label": "Vehicles", "aria-colcount": columns.length,
      on: {
        keydown: (event) => this.#key(event),
        focus: () => { selection.held = true; this.#move(Math.max(0, selection.items.indexOf(this.#cursor ?? ""))); },
        blur: () => { selection.held = false; },
        click: (event) => {
          const index = this.#rows.indexOf(event.target);
          if (index >= 0) open(selection.items[index]);
        },
        pointerenter: () => { selection.held = true; },
        pointerleave: () => { selection.held = false; },
      },
    }, h("div", { role: "rowgroup", class: "table-head" }, h("div", { role: "row", class: "table-row", "aria-rowindex": 1 }, this.#headers)), space);
    const sample = h("div", { class: "table-row sample", "aria-hidden": "true" });
    const section = h("section", { class: "wide vehicles-view", "aria-labelledby": "vehicles-title" },
      h("h1", { id: "vehicles-title", tabindex: "-1" }, "Vehicles"), filterControls(store, selection), this.#viewport, sample);
    this.elements = [section];
    this.#rows = new VirtualRows(this.#viewport, space, () => sample.offsetHeight || 36, () => this.#make(), (row, key, index) => this.#show(row, key, index));
  }

  /** @override */
  subscriptions() {
    const render = () => { if (this.isOpen) this.#rows.render(); };
    return [
      this.#selection.onChange(() => this.#changed()), this.#store.on("vehicles", limited(500, render)),
      // Ages also change without a message.
      every(1, render),
    ];
  }

  /** @override */
  show() { this.#changed(); }

  /** @param {string} order */
  #sort(order) {
    this.#selection.setOrder(order, this.#selection.order === order && !this.#selection.reversed);
  }

  #changed() {
    columns.forEach((column, index) => {
      const isOrder = column.order && column.order === this.#selection.order;
      this.#headers[index].setAttribute("aria-sort", !isOrder ? "none" : this.#selection.reversed ? "descending" : "ascending");
    });
    this.#viewport.setAttribute("aria-rowcount", String(this.#selection.items.length + 1));
    this.#rows.setItems(this.#selection.items);
  }

  #make() {
    const glyph = sign("unknown"), state = h("span");
    const cells = columns.map((column) => h("div", { role: "gridcell", class: `cell ${column.kind}${column.narrow ? "" : " extra"}` }));
    cells[0].append(h("bdi"));
    cells[1].append(glyph, state);
    return Object.assign(h("div", { class: "table-row", role: "row" }, cells), { parts: { cells, glyph, state } });
  }

  /** @param {Row} row @param {string} key @param {number} index */
  #show(row, key, index) {
    const vehicle = this.#store.vehicles.get(key);
    if (!vehicle) return;
    const { cells, glyph, state } = row.parts, now = this.#store.now(), doing = activity(vehicle);
    if (row.doing !== doing) {
      row.doing = doing;
      glyph.setAttribute("class", `glyph state-${doing}`);
      glyph.firstElementChild?.setAttribute("d", shapes[doing]);
      setText(state, activityWords[doing]);
    }
    setText(cells[0].children[0], safeName(vehicle.vehicle));
    columns.forEach((column, at) => { if (column.text) setText(cells[at], column.text(vehicle, now) ?? "unknown"); });
    columns.forEach((column, at) => { if (column.text) cells[at].classList.toggle("unknown", cells[at].textContent === "unknown"); });
    row.id = `table-row-${index}`;
    row.setAttribute("aria-rowindex", String(index + 2));
    row.setAttribute("aria-selected", String(key === this.#store.selected));
    row.classList.toggle("cursor", key === this.#cursor && document.activeElement === this.#viewport);
    row.classList.toggle("odd", index % 2 === 1);
  }

  /** @param {number} index */
  #move(index) {
    const items = this.#selection.items;
    if (!items.length) return;
    const next = Math.max(0, Math.min(items.length - 1, index));
    this.#cursor = items[next];
    this.#rows.reveal(next);
    this.#viewport.setAttribute("aria-activedescendant", `table-row-${next}`);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.target !== this.#viewport || event.ctrlKey || event.metaKey || event.altKey) return;
    const at = this.#selection.items.indexOf(this.#cursor ?? ""), page = this.#rows.rowsInSight;
    /** @type {Record<string, number>} */
    const moves = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: Infinity };
    if (event.key in moves) this.#move(moves[event.key]);
    else if ((event.key === "Enter" || event.key === " ") && this.#cursor) this.#open(this.#cursor);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
