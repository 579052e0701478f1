/** The fleet as figures: states, traffic, delay, and what the recording adds up. */
import { query } from "./api.js";
import { facts, fill, h } from "./dom.js";
import { table } from "./detail-sections.js";
import { tally } from "./filters.js";
import { amount, boundsOfDay, bytes, dayAfter, dayOf, duration, metres, safeName, words } from "./format.js";
import { sign } from "./markers.js";
import { isUTC } from "./times.js";
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
      fill(this.#traffic, facts(flat(told).map(([name, value]) => [name, value])));
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

/** Members and members of members, with what their names say of the unit. */
function flat(value, prefix = "") {
  return Object.entries(value ?? {}).flatMap(([name, inner]) => {
    const title = prefix ? `${prefix}, ${words(name)}` : words(name);
    if (inner && typeof inner === "object") return Array.isArray(inner) ? [] : flat(inner, title);
    if (typeof inner !== "number") return [[title, safeName(inner, 100)]];
    const text = /bytes|memory|resident/i.test(name) ? bytes(inner) : amount(inner, Number.isInteger(inner) ? 0 : 2);
    return [[title, text]];
  });
}
