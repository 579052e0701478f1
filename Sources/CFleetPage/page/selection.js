/** Filter, order and cursor, shared by the list beside the map and the table. */
import { matcher, noFilter, sorted } from "./filters.js";
import { preference, setPreference } from "./preferences.js";
import { every, limited } from "./timers.js";
import { keyOf } from "./vehicle.js";

/** Seconds between two sorts by changing values: rows that jump are hard to read. */
const sortInterval = 5;
/** Milliseconds between two updates after vehicles were added or removed. The server sends a large fleet in many events. */
const comingInterval = 200;

export class Selection {
  filter = { ...noFilter };
  /** @type {string} */ order = preference("order", "name");
  reversed = false;
  /**
   * The keys of the vehicles to show, in order.
   * @type {string[]}
   */
  items = [];
  /** True while the pointer or the focus is in a list; the order does not change meanwhile. */
  held = false;
  #store;
  /** @type {Set<() => void>} */ #listeners = new Set();
  /** @type {Set<string>|undefined} */ #keys;

  /** @param {Store} store */
  constructor(store) {
    this.#store = store;
    const refreshSoon = limited(comingInterval, () => this.refresh());
    // An empty fleet (after a logout) is applied immediately.
    store.on("set", () => store.vehicles.size ? refreshSoon() : this.refresh());
    every(sortInterval, () => {
      if (!this.held && (this.order !== "name" || this.isFiltered)) this.refresh();
    });
  }

  /** @param {() => void} run @returns {Stop} */
  onChange(run) {
    this.#listeners.add(run);
    return () => { this.#listeners.delete(run); };
  }

  get isFiltered() { return Boolean(this.filter.text || this.filter.activities.length || this.filter.fleet || this.filter.concerned); }

  /** Keys of the filtered vehicles; undefined: all. */
  get keys() { return this.#keys; }

  /** @param {Partial<import("./filters.js").Filter>} change */
  setFilter(change) {
    this.filter = { ...this.filter, ...change };
    this.refresh();
  }

  /** @param {{filter: import("./filters.js").Filter, order: string|undefined, reversed: boolean}} chosen values from an address */
  take({ filter, order, reversed }) {
    this.filter = { ...noFilter, ...filter };
    if (order) [this.order, this.reversed] = [order, reversed];
    this.refresh();
  }

  clearFilter() { this.setFilter(noFilter); }

  /** @param {string} order */
  setOrder(order, reversed = false) {
    this.order = order;
    this.reversed = reversed;
    setPreference("order", order);
    this.refresh();
  }

  refresh() {
    const matches = matcher(this.filter);
    const found = this.isFiltered ? this.#store.named().filter(matches) : this.#store.named();
    this.items = sorted(found, this.order, this.reversed, this.#store.now()).map(keyOf);
    this.#keys = this.isFiltered ? new Set(this.items) : undefined;
    for (const run of this.#listeners) run();
  }

}
