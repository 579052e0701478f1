/** All vehicles as a table. */
import { button, h, limited, setText } from "./dom.js";
import { age, amount, metres, moment, percent, place, safeName, speed } from "./format.js";
import { filterControls } from "./list.js";
import { shapes, sign } from "./markers.js";
import { activity, activityWords, isOutdated, sourceKind, speedOf } from "./vehicle.js";
import { VirtualRows } from "./virtual-rows.js";

const kinds = { fix: "receiver", fused: "fused", inertial: "inertial", coarse: "coarse", stale: "old" };

/** Name, order and content of each column; only `narrow` columns are shown on a phone. */
const columns = [
  { name: "Vehicle", order: "name", kind: "name", narrow: true },
  { name: "State", order: "state", kind: "state", narrow: true },
  { name: "Speed", order: "speed", kind: "figure", text: (v) => v.state === "online" ? speed(speedOf(v)) : "–" },
  { name: "Coordinates", kind: "figure wide", text: (v) => place(v.position?.latitude, v.position?.longitude) },
  { name: "Accuracy", order: "accuracy", kind: "figure", text: (v) => v.position?.accuracy === undefined ? undefined : `± ${metres(v.position.accuracy)}` },
  { name: "Source", kind: "word", text: (v) => isOutdated(v) ? kinds.stale : v.position?.source ? kinds[sourceKind(v.position)] : undefined },
  { name: "Measured", kind: "figure", text: (v, now) => age(moment(v.position?.time), now) },
  { name: "Last seen", order: "heard", kind: "figure", narrow: true, text: (v, now) => age(moment(v.heard), now) },
  { name: "Battery", order: "battery", kind: "figure", text: (v) => percent(v.battery?.level) },
  { name: "Queue", order: "queue", kind: "figure", text: (v) => amount(v.queue) },
  { name: "Inside", kind: "word wide", text: (v) => v.inside?.length ? v.inside.map((name) => safeName(name, 40)).join(", ") : "–" },
];

export class VehicleTable {
  #store; #selection; #rows; #viewport; #cursor; #open; #headers;

  /** @param {(key: string) => void} open */
  constructor(store, selection, open) {
    [this.#store, this.#selection, this.#open] = [store, selection, open];
    const space = h("div", { class: "rows", role: "rowgroup" });
    this.#headers = columns.map((column) => {
      const content = column.order ? button(column.name, () => this.#sort(column.order), { class: "sort" }) : column.name;
      return h("div", { role: "columnheader", class: `cell ${column.kind}${column.narrow ? "" : " extra"}` }, content);
    });
    this.#viewport = h("div", {
      class: "scroll table-scroll", role: "grid", tabindex: "0", "aria-label": "Vehicles", "aria-colcount": columns.length,
      on: {
        keydown: (event) => this.#key(event),
        focus: () => { selection.held = true; this.#move(Math.max(0, selection.items.indexOf(this.#cursor))); },
        blur: () => { selection.held = false; },
        click: (event) => {
          const index = this.#rows.indexOf(event.target);
          if (index >= 0) this.#open(selection.items[index]);
        },
        pointerenter: () => { selection.held = true; },
        pointerleave: () => { selection.held = false; },
      },
    }, h("div", { role: "rowgroup", class: "table-head" }, h("div", { role: "row", class: "table-row", "aria-rowindex": 1 }, this.#headers)), space);
    const sample = h("div", { class: "table-row sample", "aria-hidden": "true" });
    this.element = h("section", { class: "wide vehicles-view", "aria-labelledby": "vehicles-title", hidden: true },
      h("h1", { id: "vehicles-title", tabindex: "-1" }, "Vehicles"), filterControls(store, selection), this.#viewport, sample);
    this.#rows = new VirtualRows(this.#viewport, space, () => sample.offsetHeight || 36, () => this.#make(), (row, key, index) => this.#show(row, key, index));
    selection.onChange(() => this.#changed());
    store.on("vehicles", limited(500, () => this.#render()));
    setInterval(() => { if (!document.hidden) this.#render(); }, 1000);
  }

  #render() { if (!this.element.hidden) this.#rows.render(); }

  shown() { this.#changed(); }

  #sort(order) {
    this.#selection.setOrder(order, this.#selection.order === order && !this.#selection.reversed);
  }

  #changed() {
    if (this.element.hidden) return;
    columns.forEach((column, index) => {
      const isOrder = column.order && column.order === this.#selection.order;
      this.#headers[index].setAttribute("aria-sort", !isOrder ? "none" : this.#selection.reversed ? "descending" : "ascending");
    });
    this.#viewport.setAttribute("aria-rowcount", this.#selection.items.length + 1);
    this.#rows.setItems(this.#selection.items);
  }

  #make() {
    const glyph = sign("unknown"), state = h("span");
    const cells = columns.map((column) => h("div", { role: "gridcell", class: `cell ${column.kind}${column.narrow ? "" : " extra"}` }));
    cells[0].append(h("bdi"));
    cells[1].append(glyph, state);
    const row = h("div", { class: "table-row", role: "row" }, cells);
    row.parts = { cells, glyph, state };
    return row;
  }

  #show(row, key, index) {
    const vehicle = this.#store.vehicles.get(key);
    if (!vehicle) return;
    const { cells, glyph, state } = row.parts, now = this.#store.now(), doing = activity(vehicle);
    if (row.doing !== doing) {
      row.doing = doing;
      glyph.setAttribute("class", `glyph state-${doing}`);
      glyph.firstChild.setAttribute("d", shapes[doing]);
      setText(state, activityWords[doing]);
    }
    setText(cells[0].firstChild, safeName(vehicle.vehicle));
    columns.forEach((column, at) => { if (column.text) setText(cells[at], column.text(vehicle, now) ?? "unknown"); });
    columns.forEach((column, at) => { if (column.text) cells[at].classList.toggle("unknown", cells[at].textContent === "unknown"); });
    row.id = `table-row-${index}`;
    row.setAttribute("aria-rowindex", index + 2);
    row.setAttribute("aria-selected", key === this.#store.selected);
    row.classList.toggle("cursor", key === this.#cursor && document.activeElement === this.#viewport);
    row.classList.toggle("odd", index % 2 === 1);
  }

  #move(index) {
    const items = this.#selection.items;
    if (!items.length) return;
    const next = Math.max(0, Math.min(items.length - 1, index));
    this.#cursor = items[next];
    this.#rows.reveal(next);
    this.#viewport.setAttribute("aria-activedescendant", `table-row-${next}`);
  }

  #key(event) {
    if (event.target !== this.#viewport || event.ctrlKey || event.metaKey || event.altKey) return;
    const at = this.#selection.items.indexOf(this.#cursor), page = this.#rows.rowsInSight;
    const moves = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: Infinity };
    if (event.key in moves) this.#move(moves[event.key]);
    else if ((event.key === "Enter" || event.key === " ") && this.#cursor) this.#open(this.#cursor);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
