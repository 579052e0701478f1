/** The fleet as figures: states, traffic, delay, and what the recording adds up. */
import { query } from "./api.js";
import { facts, fill, h } from "./dom.js";
import { table } from "./detail-sections.js";
import { tally } from "./filters.js";
import { amount, boundsOfDay, bytes, count, dayAfter, dayOf, duration, metres, moment, safeName, words } from "./format.js";
import { sign } from "./markers.js";
import { isUTC, timeElement } from "./times.js";
import { activities, activityWords } from "./vehicle.js";

export class FleetView {
  #api; #store; #states; #traffic; #history; #timer = null; #hasHistory;

  constructor(api, store, hasHistory) {
    [this.#api, this.#store, this.#hasHistory] = [api, store, hasHistory];
    [this.#states, this.#traffic, this.#history] = [h("div", { class: "tiles" }), h("div"), h("div")];
    this.element = h("section", { class: "wide fleet-view", tabindex: "0", "aria-labelledby": "fleet-title", hidden: true },
      h("h1", { id: "fleet-title", tabindex: "-1" }, "Fleet"), this.#states,
      h("section", { "aria-labelledby": "fleet-traffic" }, h("h2", { id: "fleet-traffic" }, "Traffic"), this.#traffic),
      h("section", { "aria-labelledby": "fleet-history" }, h("h2", { id: "fleet-history" }, "The last seven days"), this.#history));
  }

  shown() {
    this.#show();
    this.#showHistory();
    clearInterval(this.#timer);
    this.#timer = setInterval(() => {
      if (this.element.hidden) clearInterval(this.#timer);
      else if (!document.hidden) this.#show();
    }, 2000);
  }

  async #show() {
    const counts = tally(this.#store.vehicles.values());
    fill(this.#states, activities.map((name) => h("div", { class: "tile" }, sign(name), h("b", {}, amount(counts[name])), h("span", {}, activityWords[name]))));
    try {
      const told = await this.#api.get("statistics");
      fill(this.#traffic, facts(traffic(told, this.#store.now())));
    } catch (error) {
      fill(this.#traffic, h("p", { class: "note" }, error.explanation ?? error.message));
    }
  }

  async #showHistory() {
    if (!this.#hasHistory()) {
      fill(this.#history, h("p", { class: "note" }, "The server has no recording: start it with --recording to have one."));
      return;
    }
    const today = dayOf(this.#store.now(), isUTC());
    try {
      const ask = (days) => this.#api.get(`history/statistics${query({
        from: new Date(boundsOfDay(dayAfter(today, -days, isUTC()), isUTC()).from).toISOString(), to: new Date(this.#store.now()).toISOString(),
        offset: isUTC() ? 0 : -60 * new Date(this.#store.now()).getTimezoneOffset(),
      })}`);
      // Of a large fleet, the server adds up fewer days at once: then it is today alone.
      const told = await ask(6).catch((error) => {
        if (error.code !== "too-much") throw error;
        return ask(0);
      });
      const rows = told.days ?? [];
      fill(this.#history, rows.length ? h("div", { class: "scroll table-box", tabindex: "0", role: "group", "aria-label": "By vehicle and day" },
        table("By vehicle and day", ["Vehicle", "Day", "Kind", "Distance", "Trips", "In motion"], rows.slice(0, 500).map((row) => [
          h("bdi", {}, safeName(row.vehicle, 60)), row.day, words(row.kind), metres(row.distance), amount(row.trips), duration(row.moving)])))
        : h("p", { class: "note" }, "Nothing was recorded."));
    } catch (error) {
      fill(this.#history, h("p", { class: "note" }, error.explanation ?? error.message));
    }
  }
}

/** Seconds as people read a delay. */
const delay = (seconds) => seconds === undefined ? undefined : seconds < 10 ? amount(seconds * 1000, 0, "ms") : duration(seconds);

/** What the server tells of itself and of what comes in, in words; what only some may know is left out for the others. */
function traffic({ broker, messages, delay: delays, server }, now) {
  const rate = messages && amount(messages.perSecond, 1);
  return [
    broker && ["Broker", broker.connected ? "connected" : "not connected: nothing new is heard", moment(broker.since) === undefined ? null : ["since ", timeElement(broker.since, now)]],
    broker?.trouble && ["Trouble", safeName(broker.trouble, 300)],
    messages && ["Messages", rate === undefined ? undefined : `${rate} a second`, `${bytes(messages.bytesPerSecond) ?? "?"} a second`],
    messages && ["Since the start", count(messages.count, "message"), bytes(messages.bytes)],
    delays && ["Delay", delay(delays.median) === undefined ? undefined : `${delay(delays.median)} for half of them`,
      [delay(delays.p95) && `95 % within ${delay(delays.p95)}`, delay(delays.p99) && `99 % within ${delay(delays.p99)}`].filter(Boolean).join(", ")],
    messages && ["Not used", ["duplicates", "outdated", "unreadable", "ignored", "refused"].filter((name) => messages[name])
      .map((name) => `${amount(messages[name])} ${name.replace(/s$/, messages[name] === 1 ? "" : "s")}`).join(", ") || "none"],
    server && ["Pages open", amount(server.streams), server.streamsDropped ? `${amount(server.streamsDropped)} were too slow and began anew` : null],
    server && ["Memory", bytes(server.memory)],
    server && ["Version", safeName(server.version, 60)],
  ];
}
