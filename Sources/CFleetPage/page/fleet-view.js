/** The fleet view: states, traffic, delay, and statistics of the recording. */
import { APIError, explained, query } from "./api.js";
import { facts, fill, h } from "./dom.js";
import { table } from "./detail-sections.js";
import { tally } from "./filters.js";
import { amount, boundsOfDay, bytes, count, dayAfter, dayOf, duration, metres, moment, safeName, words } from "./format.js";
import { sign } from "./markers.js";
import { every } from "./timers.js";
import { isUTC, timeElement } from "./times.js";
import { activities, activityWords } from "./vehicle.js";
import { View } from "./view.js";

/** Maximum number of rows of the daily table, so that the page remains fast. */
const rowsAtMost = 500;

export class FleetView extends View {
  #api; #store; #hasHistory; #states = h("div", { class: "tiles" }); #traffic = h("div"); #history = h("div");

  /** @param {API} api @param {Store} store @param {() => boolean} hasHistory */
  constructor(api, store, hasHistory) {
    super();
    this.#api = api;
    this.#store = store;
    this.#hasHistory = hasHistory;
    this.elements = [h("section", { class: "wide fleet-view", tabindex: "0", "aria-labelledby": "fleet-title" },
      h("h1", { id: "fleet-title", tabindex: "-1" }, "Fleet"), this.#states,
      h("section", { "aria-labelledby": "fleet-traffic" }, h("h2", { id: "fleet-traffic" }, "Traffic"), this.#traffic),
      h("section", { "aria-labelledby": "fleet-history" }, h("h2", { id: "fleet-history" }, "The last seven days"), this.#history))];
  }

  /** @override */
  subscriptions() { return [every(2, () => this.#showPresent())]; }

  /** @override */
  show() {
    this.#showPresent();
    this.#showHistory();
  }

  async #showPresent() {
    const counts = tally(this.#store.vehicles.values());
    fill(this.#states, activities.map((name) => h("div", { class: "tile" }, sign(name), h("b", {}, amount(counts[name])), h("span", {}, activityWords[name]))));
    try {
      const told = await this.#api.get("statistics");
      fill(this.#traffic, facts(traffic(told, this.#store.now())));
    } catch (error) {
      fill(this.#traffic, h("p", { class: "note" }, explained(error)));
    }
  }

  /**
   * Distances of today and the `before` days before, per vehicle and local day.
   * @param {number} before
   */
  async #driven(before) {
    const now = this.#store.now();
    const today = dayOf(now, isUTC());
    /** @param {number} shift */
    const begins = (shift) => boundsOfDay(dayAfter(today, shift, isUTC()), isUTC())?.from ?? now;
    /** @param {number} time */
    const offset = (time) => isUTC() ? 0 : -60 * new Date(time).getTimezoneOffset();
    /** @param {number} from @param {number} to */
    const ask = async (from, to) => (await this.#api.get(`history/statistics${query({
      from: new Date(from).toISOString(), to: new Date(to).toISOString(), offset: offset(from) })}`)).days ?? [];
    if (offset(begins(-before)) === offset(now)) return ask(begins(-before), now);
    /** @type {{day: string, rows: DayRow[]}[]} */ const days = [];
    for (let shift = -before; shift <= 0; shift += 1) {
      days.push({ day: dayAfter(today, shift, isUTC()), rows: await ask(begins(shift), shift < 0 ? begins(shift + 1) : now) });
    }
    return joinedDays(days);
  }

  async #showHistory() {
    if (!this.#hasHistory()) {
      fill(this.#history, h("p", { class: "note" }, "No recording. Start the server with --recording to store the history."));
      return;
    }
    try {
      // For a large fleet, seven days exceed the server's limit of rows; then only today is shown.
      /** @type {DayRow[]} */ const rows = await this.#driven(6).catch((error) => {
        if (!(error instanceof APIError && error.code === "too-much")) throw error;
        return this.#driven(0);
      });
      const hasFleets = new Set(rows.map((row) => row.fleet)).size > 1;
      /** @param {DayRow} row */
      const name = (/** @type {DayRow} */ row) => [
        h("bdi", {}, safeName(row.vehicle, 60)), hasFleets ? [" ", h("span", { class: "note" }, h("bdi", {}, safeName(row.fleet, 60)))] : null,
      ];
      fill(this.#history, rows.length ? h("div", { class: "scroll table-box", tabindex: "0", role: "group", "aria-label": "By vehicle and day" },
        table("By vehicle and day", ["Vehicle", "Day", "Kind", "Distance", "Trips", "In motion"], rows.slice(0, rowsAtMost).map((row) => [
          name(row), row.day, words(row.kind), metres(row.distance), amount(row.trips), duration(row.moving)])),
        rows.length > rowsAtMost
          ? h("p", { class: "note" }, `${amount(rowsAtMost)} of ${count(rows.length, "row")} shown. All rows: /api/v1/history/statistics`) : null)
        : h("p", { class: "note" }, "No data recorded."));
    } catch (error) {
      fill(this.#history, h("p", { class: "note" }, explained(error)));
    }
  }
}

/**
 * Joins statistics that were requested separately for each day, because summer time started or ended within the period. The server
 * divides a request into days with one constant offset from UTC. The additional or missing hour belongs to the requested day.
 * @param {{day: string, rows: DayRow[]}[]} days
 */
export function joinedDays(days) {
  /** @type {Map<string, DayRow>} */ const rows = new Map();
  for (const { day, rows: told } of days) {
    for (const row of told) {
      const key = JSON.stringify([row.fleet, row.vehicle, day, row.kind]);
      const before = rows.get(key);
      rows.set(key, before === undefined ? { ...row, day }
        : {
          ...before, distance: (before.distance ?? 0) + (row.distance ?? 0), trips: before.trips + row.trips,
          moving: (before.moving ?? 0) + (row.moving ?? 0),
        });
    }
  }
  return [...rows.values()];
}

/**
 * A delay as text: in milliseconds if it is below 10 s, otherwise as a duration.
 * @param {number|undefined} seconds
 */
const delay = (seconds) => seconds === undefined ? undefined : seconds < 10 ? amount(seconds * 1000, 0, "ms") : duration(seconds);

/**
 * The server's statistics as rows. Values that the user may not see are omitted.
 * @param {any} statistics @param {number} now milliseconds
 * @returns {import("./dom.js").Row[]}
 */
function traffic({ broker, messages, delay: delays, recording, server }, now) {
  const rate = messages && amount(messages.perSecond, 1);
  return [
    broker && ["Broker", broker.connected ? "connected" : "disconnected: no new messages",
      moment(broker.since) === undefined ? null : ["since ", timeElement(broker.since, now)]],
    broker?.trouble && ["Problem", safeName(broker.trouble, 300)],
    messages && ["Messages", rate === undefined ? undefined : `${rate} a second`, `${bytes(messages.bytesPerSecond) ?? "?"} a second`],
    messages && ["Since server start", count(messages.count, "message"), bytes(messages.bytes)],
    delays && ["Delay", delay(delays.median) === undefined ? undefined : `median ${delay(delays.median)}`,
      [delay(delays.p95) && `95 % within ${delay(delays.p95)}`, delay(delays.p99) && `99 % within ${delay(delays.p99)}`].filter(Boolean).join(", ")],
    messages && ["Discarded", ["duplicates", "outdated", "unreadable", "ignored", "refused"].filter((name) => messages[name])
      .map((name) => `${amount(messages[name])} ${name.replace(/s$/, messages[name] === 1 ? "" : "s")}`).join(", ") || "none"],
    recording && ["Recording", recording.refused ? "incomplete: the broker rejects a subscription"
      : recording.failed ? "cannot be written: messages wait at the broker"
      : `${count(recording.stored, "message")} stored since server start`],
    server && ["Open pages", amount(server.streams), server.streamsDropped ? `${amount(server.streamsDropped)} reconnected because they were too slow` : null],
    server && ["Memory", bytes(server.memory)],
    server && ["Version", safeName(server.version, 60)],
  ];
}
