/** The list of vehicles beside the map. */
import { button, drawing, fill, h, setText } from "./dom.js";
import { age, amount, count, moment, percent, safeName, speed } from "./format.js";
import { orders, tally } from "./filters.js";
import { shapes, sign } from "./markers.js";
import { activities, activity, activityWords, concerns, lateWaking, speedOf } from "./vehicle.js";
import { every, limited, settled } from "./timers.js";
import { View } from "./view.js";
import { VirtualRows } from "./virtual-rows.js";
import { announce } from "./announce.js";

/** Icon: an eye. */
const look = "M8 3C4.5 3 1.9 5.3.8 8c1.1 2.7 3.7 5 7.2 5s6.1-2.3 7.2-5C14.1 5.3 11.5 3 8 3ZM8 5.2a2.8 2.8 0 1 1 0 5.6a2.8 2.8 0 1 1 0-5.6Z";

/**
 * Search, state, fleet and order.
 * @param {Store} store @param {VehicleSelection} selection
 */
export function filterControls(store, selection, { compact = false } = {}) {
  // Set while the user types, so that an external change does not overwrite the text.
  let isTyping = false;
  const search = h("input", {
    type: "search", class: "search", placeholder: "Search", "aria-label": "Search vehicles by name, fleet, region or event",
    autocomplete: "off", spellcheck: "false", maxlength: 100,
    on: { input: () => { isTyping = true; typed(); } },
  });
  const typed = settled(120, () => {
    isTyping = false;
    selection.setFilter({ text: search.value });
  });
  const chips = activities.map((name) => {
    const number = h("span", { class: "number" }, "0");
    const chip = button("", () => {
      const on = new Set(selection.filter.activities);
      if (!on.delete(name)) on.add(name);
      selection.setFilter({ activities: [...on] });
    }, { class: "chip", "aria-pressed": "false" });
    chip.append(sign(name), h("span", { class: "word" }, activityWords[name]), number);
    return { name, chip, number };
  });
  const concernedNumber = h("span", { class: "number" }, "0");
  const concerned = button("", () => selection.setFilter({ concerned: !selection.filter.concerned }), { class: "chip", "aria-pressed": "false" });
  concerned.append(drawing([{ d: look, "fill-rule": "evenodd" }]), h("span", { class: "word" }, "Attention"), concernedNumber);
  const clear = button("Show all", () => {
    search.value = "";
    selection.clearFilter();
  }, { class: "chip clear", hidden: true });
  const chipBox = h("div", { class: "chips", role: "group", "aria-label": "Show only" }, concerned, chips.map(({ chip }) => chip), clear);
  /** @type {HTMLSelectElement} */
  const fleet = h("select", { "aria-label": "Fleet", on: { change: () => selection.setFilter({ fleet: fleet.value }) } });
  /** @type {HTMLSelectElement} */
  const order = h("select", { "aria-label": "Order", on: { change: () => selection.setOrder(order.value) } },
    Object.entries(orders).map(([value, text]) => h("option", { value }, text)));
  const showFleets = () => {
    const fleets = store.fleets();
    const chosen = selection.filter.fleet;
    // The fleet in an address may have no vehicle yet, but must be among the choices.
    if (chosen && !fleets.includes(chosen)) fleets.push(chosen);
    fleet.hidden = fleets.length < 2 && !chosen;
    fill(fleet, h("option", { value: "" }, "All fleets"), fleets.map((/** @type {string} */ name) => h("option", { value: name }, safeName(name))));
    fleet.value = selection.filter.fleet;
  };
  store.on("set", limited(500, showFleets));
  const showCounts = limited(1000, () => {
    const counts = tally(store.vehicles.values());
    // Each count is wide enough for the number of all vehicles, so that the buttons do not move.
    const width = `${amount(store.vehicles.size)?.length}ch`;
    for (const { name, chip, number } of [...chips, { name: "concerned", chip: concerned, number: concernedNumber }]) {
      setText(number, amount(counts[name]) ?? "");
      number.style.minWidth = width;
      chip.classList.toggle("none", counts[name] === 0);
    }
  });
  store.on("vehicles", showCounts);
  selection.onChange(() => {
    if (search.value !== selection.filter.text && document.activeElement !== search && !isTyping) search.value = selection.filter.text;
    for (const { name, chip } of chips) chip.setAttribute("aria-pressed", String(selection.filter.activities.includes(name)));
    concerned.setAttribute("aria-pressed", String(selection.filter.concerned));
    clear.hidden = !selection.isFiltered;
    if (Object.hasOwn(orders, selection.order)) order.value = selection.order;
    if (fleet.value !== selection.filter.fleet) showFleets();
  });
  if (Object.hasOwn(orders, selection.order)) order.value = selection.order;
  search.value = selection.filter.text;
  showFleets();
  return h("div", { class: `filters${compact ? " compact" : ""}`, role: "search", "aria-label": "Vehicles" },
    search, h("div", { class: "selects" }, order, fleet),
    chipBox);
}

let identifiers = 0;

/** @typedef {Record<"glyph"|"name"|"fleet"|"state"|"age"|"speed"|"battery"|"concern", HTMLElement>} Parts */
/** @typedef {HTMLElement & {doing?: string, parts: Parts}} Row */

export class VehicleList extends View {
  #store; #selection; #rows; #viewport; #status; #open;
  /**
   * The key of the vehicle under the keyboard's cursor.
   * @type {string|undefined}
   */
  #cursor;
  #manyFleets = false; #prefix = `row${(identifiers += 1)}-`;

  /** @param {Store} store @param {VehicleSelection} selection @param {(key: string) => void} open */
  constructor(store, selection, open) {
    super();
    this.#store = store;
    this.#selection = selection;
    this.#open = open;
    const space = h("div", { class: "rows", role: "presentation" });
    this.#viewport = h("div", {
      class: "scroll", role: "listbox", tabindex: "0", "aria-label": "Vehicles",
      on: {
        keydown: (event) => this.#key(event),
        focus: () => this.#focus(),
        click: (event) => this.#click(event),
        pointerenter: () => { selection.held = true; },
        pointerleave: () => { selection.held = false; },
        blur: () => { selection.held = false; },
      },
    }, space);
    this.#status = h("p", { class: "list-status" });
    const section = h("section", { class: "vehicle-list", "aria-label": "Vehicles" },
      filterControls(store, selection, { compact: true }), this.#status, this.#viewport);
    const sample = h("div", { class: "vehicle-row sample", "aria-hidden": "true" });
    section.append(sample);
    this.elements = [section];
    this.#rows = new VirtualRows(this.#viewport, space, () => sample.offsetHeight || 52, () => this.#make(), (row, key, index) => this.#show(row, key, index));
    // The number of vehicles is announced while other views are open, too: they have the same filter.
    selection.onChange(() => this.#changed());
    this.#changed();
  }

  /** @override */
  subscriptions() {
    const render = () => { if (this.isOpen) this.#rows.render(); };
    return [
      this.#store.on("vehicles", limited(500, render)), this.#store.on("selected", render),
      // Ages also change without a message.
      every(1, render),
    ];
  }

  /** @override */
  show() { this.#rows.render(); }

  focus() { this.#viewport.focus({ preventScroll: true }); }

  #changed() {
    this.#manyFleets = this.#store.fleets().length > 1;
    this.#rows.setItems(this.#selection.items);
    const total = this.#store.vehicles.size, shown = this.#selection.items.length;
    setText(this.#status, total === 0 ? "No messages from vehicles yet."
      : shown === total ? count(total, "vehicle") : `${amount(shown)} of ${count(total, "vehicle")}`);
    if (this.#selection.isFiltered) this.#announce(this.#status.textContent ?? "");
  }

  #announce = settled(800, announce);

  #make() {
    const row = h("div", { class: "vehicle-row", role: "option" });
    const parts = {
      glyph: h("span", { class: "glyph-box" }), name: h("bdi", { class: "name" }), fleet: h("span", { class: "fleet" }),
      state: h("span", { class: "state" }), age: h("span", { class: "age" }), speed: h("span", { class: "speed" }),
      battery: h("span", { class: "battery" }), concern: h("span", { class: "concern" }),
    };
    parts.glyph.append(sign("unknown"));
    row.append(parts.glyph, h("span", { class: "first" }, parts.name, parts.fleet), parts.speed,
      h("span", { class: "second" }, parts.state, parts.age, parts.concern), parts.battery);
    return Object.assign(row, { parts });
  }

  /** @param {Row} row @param {string} key @param {number} index */
  #show(row, key, index) {
    const vehicle = this.#store.vehicles.get(key);
    if (!vehicle) return;
    const { parts } = row, now = this.#store.now(), doing = activity(vehicle);
    if (row.doing !== doing) {
      row.doing = doing;
      const glyph = parts.glyph.firstElementChild;
      glyph?.setAttribute("class", `glyph state-${doing}`);
      glyph?.firstElementChild?.setAttribute("d", shapes[doing]);
    }
    setText(parts.name, safeName(vehicle.vehicle));
    setText(parts.fleet, this.#manyFleets ? safeName(vehicle.fleet, 40) : "");
    setText(parts.state, activityWords[doing]);
    setText(parts.age, ` · ${age(moment(vehicle.heard), now) ?? "no message"}`);
    setText(parts.speed, doing === "moving" ? speed(speedOf(vehicle)) ?? "" : "");
    setText(parts.battery, vehicle.battery?.level === undefined ? "" : `${percent(vehicle.battery.level)}${vehicle.battery.charging ? " ⚡︎" : ""}`);
    // The state "Overdue" already shows a late wake-up.
    const concern = concerns(vehicle).find((text) => text !== lateWaking);
    setText(parts.concern, concern ? ` · ${concern}` : "");
    row.id = this.#prefix + index;
    row.setAttribute("aria-posinset", String(index + 1));
    row.setAttribute("aria-setsize", String(this.#selection.items.length));
    row.setAttribute("aria-selected", String(key === this.#store.selected));
    row.classList.toggle("cursor", key === this.#cursor && document.activeElement === this.#viewport);
  }

  /** @param {MouseEvent} event */
  #click(event) {
    const index = this.#rows.indexOf(event.target);
    if (index < 0) return;
    this.#cursor = this.#selection.items[index];
    this.#open(this.#cursor);
  }

  #focus() {
    this.#selection.held = true;
    if (!this.#selection.items.includes(this.#cursor ?? "")) this.#cursor = this.#store.selected;
    this.#move(Math.max(0, this.#selection.items.indexOf(this.#cursor ?? "")));
  }

  /** @param {number} index */
  #move(index) {
    const items = this.#selection.items;
    if (!items.length) return;
    const next = Math.max(0, Math.min(items.length - 1, index));
    this.#cursor = items[next];
    this.#rows.reveal(next);
    this.#viewport.setAttribute("aria-activedescendant", this.#prefix + next);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = this.#selection.items.indexOf(this.#cursor ?? ""), page = this.#rows.rowsInSight;
    /** @type {Record<string, number>} */
    const moves = {
      ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: Infinity,
    };
    if (event.key in moves) this.#move(moves[event.key]);
    else if ((event.key === "Enter" || event.key === " ") && this.#cursor) this.#open(this.#cursor);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
