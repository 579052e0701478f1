/** The state of the page: vehicle summaries, details of the selected vehicle, alerts. */
import { byName } from "./filters.js";
import { freshUntil, keyOf } from "./vehicle.js";
import { moment } from "./format.js";
import { every } from "./timers.js";

/** @typedef {"vehicles"|"details"|"selected"|"alerts"|"set"} Topic `set`: vehicles were added or removed */

export class Store {
  /** @type {Map<string, import("./vehicle.js").Summary>} */
  vehicles = new Map();
  /**
   * The key of the selected vehicle.
   * @type {string|undefined}
   */
  selected;
  /**
   * The details of the selected vehicle; undefined until received.
   * @type {Details|undefined}
   */
  details;
  /**
   * Open alerts: the most severe and newest ones, and those of the selected vehicle.
   * @type {Alert[]}
   */
  alerts = [];
  /**
   * Totals of all open alerts.
   * @type {AlertTotals}
   */
  alertTotals = {};
  /** @type {Alert[]} */ #toldAlerts = [];
  /** @type {Alert[]} */ #ownAlerts = [];
  revision = 0;
  /** Offset of the server's clock from the browser's clock in milliseconds: the largest offset of the last minute. */
  #skew = 0;
  /** Largest offsets of the current and of the previous half minute, and the start of the current one. */
  #skews = { current: -Infinity, previous: -Infinity, start: -Infinity };
  /**
   * Keys sorted by name; cached until a vehicle is added or removed.
   * @type {string[]|undefined}
   */
  #named;
  /** @type {Map<Topic, Set<(value: any) => void>>} */ #listeners = new Map();
  /**
   * Time until which the position of a vehicle is current, see `freshUntil`.
   * @type {Map<string, number>}
   */
  #fresh = new Map();

  constructor() {
    every(1, () => this.age(), { evenHidden: true });
  }

  /** Sets `isFresh` to false for vehicles whose position is no longer current. Map, list, statistics and filters use this property. */
  age(now = this.now()) {
    /** @type {Change[]} */ const changed = [];
    for (const [key, end] of this.#fresh) {
      if (now < end) continue;
      this.#fresh.delete(key);
      const vehicle = this.vehicles.get(key);
      if (!vehicle) continue;
      vehicle.isFresh = false;
      changed.push({ key, vehicle });
    }
    if (changed.length) this.#tell("vehicles", changed);
  }

  /** The time of the server's clock in milliseconds. */
  now() { return Date.now() + this.#skew; }

  /**
   * Measures the offset of the clocks by a message of the server.
   * @param {string|undefined} text RFC 3339
   */
  learnTime(text) {
    const told = moment(text);
    if (told === undefined) return;
    const skew = told - Date.now(), skews = this.#skews, now = performance.now(), age = now - skews.start;
    if (age >= 30_000) this.#skews = { current: -Infinity, previous: age < 60_000 ? skews.current : -Infinity, start: now };
    // A difference of a minute means that a clock was set. Smaller steps forward are noticed after a minute.
    if (this.#skew - skew > 60_000) this.#skews.current = this.#skews.previous = -Infinity;
    // A delayed message shows a smaller offset.
    this.#skews.current = Math.max(this.#skews.current, skew);
    this.#skew = Math.max(this.#skews.current, this.#skews.previous);
  }

  /** @param {Topic} what @param {(value: any) => void} run @returns {Stop} */
  on(what, run) {
    const listeners = this.#listeners.get(what) ?? new Set();
    this.#listeners.set(what, listeners.add(run));
    return () => { listeners.delete(run); };
  }

  /** @param {Topic} what @param {any} [value] */
  #tell(what, value) {
    for (const run of this.#listeners.get(what) ?? []) run(value);
  }

  /** @param {{revision?: number, now?: string, vehicles?: (Summary & {removed?: boolean})[]}} event of the stream */
  apply(event) {
    this.learnTime(event.now);
    this.revision = event.revision ?? this.revision;
    /** @type {Change[]} */ const changed = [];
    const now = this.now();
    let isOther = false;
    for (const vehicle of event.vehicles ?? []) {
      const key = keyOf(vehicle);
      if (vehicle.removed) {
        isOther = this.vehicles.delete(key) || isOther;
        this.#fresh.delete(key);
        changed.push({ key, vehicle: undefined });
        continue;
      }
      if (!this.vehicles.has(key)) isOther = true;
      const end = freshUntil(vehicle);
      vehicle.isFresh = end > now;
      if (vehicle.isFresh) this.#fresh.set(key, end);
      else this.#fresh.delete(key);
      this.vehicles.set(key, vehicle);
      changed.push({ key, vehicle });
    }
    if (isOther) this.#named = undefined;
    if (changed.length) this.#tell("vehicles", changed);
    if (isOther) this.#tell("set");
  }

  /** Removes all data, for example after a logout. */
  clear() {
    const changed = [...this.vehicles.keys()].map((key) => ({ key, vehicle: undefined }));
    this.vehicles.clear();
    this.#fresh.clear();
    this.#named = undefined;
    this.details = undefined;
    this.#ownAlerts = [];
    this.applyAlerts({ alerts: [] });
    this.#tell("vehicles", changed);
    this.#tell("set");
  }

  /** All vehicles, sorted by name. */
  named() {
    this.#named ??= [...this.vehicles.values()].sort(byName).map(keyOf);
    return this.#named.flatMap((key) => this.vehicles.get(key) ?? []);
  }

  fleets() {
    return [...new Set([...this.vehicles.values()].map((vehicle) => vehicle.fleet))].sort();
  }

  /** @param {string|undefined} key */
  select(key) {
    if (this.selected === key) return;
    this.selected = key;
    this.details = undefined;
    this.#tell("selected", key);
    this.#tell("details");
  }

  /** @param {Details} details */
  applyDetails(details) {
    this.learnTime(details.now);
    if (keyOf(details) !== this.selected) return;
    this.details = details;
    this.#tell("details");
  }

  /** @param {AlertTotals} event an event of the stream */
  applyAlerts(event) {
    this.#toldAlerts = event.alerts ?? [];
    this.alertTotals = event;
    this.#joinAlerts();
  }

  /**
   * Adds open alerts of the selected vehicle, which the stream may not contain.
   * @param {Alert[]} alerts
   */
  applyOwnAlerts(alerts) {
    this.#ownAlerts = alerts;
    this.#joinAlerts();
  }

  #joinAlerts() {
    const before = this.alerts, told = new Set(this.#toldAlerts.map((alert) => alert.id));
    this.alerts = [...this.#toldAlerts, ...this.#ownAlerts.filter((alert) => !told.has(alert.id))];
    this.#tell("alerts", before);
  }
}
