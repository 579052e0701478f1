/** The journal of a day: trips, stops, events, regions and traces. */
import { path, query, vehiclePath } from "./api.js";
import { button, fill, h } from "./dom.js";
import { amount, count, duration, metres, moment, place, safeName, speed, words } from "./format.js";
import { timeElement } from "./times.js";

const kinds = ["Trips", "Stops", "Events", "Regions", "Traces"];
const limit = 500;
/** Maximum number of entries of a kind. */
const most = 5000;
const crossings = { enter: "Entered", exit: "Left", dwell: "Stayed in" };

/** Milliseconds without a message after which a trip whose end was not received counts as closed: a day. */
const openLimit = 86_400_000;

/**
 * The state of a trip at a time: "ended", "underway", or "unfinished" for one whose end was never received.
 * @param {{phase?: string, end?: {time?: string}, time?: string}} trip @param {number} now milliseconds
 */
export function tripState(trip, now) {
  if (trip.phase === undefined || trip.phase === "ended") return "ended";
  return now - (moment(trip.end?.time ?? trip.time) ?? now) > openLimit ? "unfinished" : "underway";
}

/**
 * The distance of a trip in metres. If the trip is under way, the positions since its last message are included.
 * @param {any} trip @param {import("./track.js").Track|undefined} track of the same vehicle @param {number} now milliseconds
 */
export function tripDistance(trip, track, now) {
  const told = trip.distance ?? 0;
  return tripState(trip, now) === "underway" && track ? told + track.distance(moment(trip.end?.time ?? trip.time)) : told;
}

/**
 * Start and end of a trip in milliseconds. A trip under way ends at the newest position.
 * @param {import("./track.js").Track|undefined} track of the same vehicle @param {number} now milliseconds
 */
export function tripSpan(trip, track, now) {
  const from = moment(trip.start?.time), to = moment(trip.end?.time ?? trip.time);
  return [from, tripState(trip, now) === "underway" && track?.length ? Math.max(to, track.time.at(-1)) : to];
}

export class Journal {
  #api; #on; #tabs; #panel; #chosen = "Trips"; #data = {}; #day = { from: 0, to: 0 }; #track; #now;

  /**
   * @param {{span: (from: number, to: number) => void, moment: (time: number) => void, list: (name: string) => void}} on
   * @param {() => number} now milliseconds
   */
  constructor(api, on, now) {
    [this.#api, this.#on, this.#now] = [api, on, now];
    this.#panel = h("div", { class: "scroll journal-list", role: "tabpanel", tabindex: "0", id: "journal-panel" });
    this.#tabs = kinds.map((name) => h("button", {
      type: "button", role: "tab", id: `journal-${name}`, "aria-controls": "journal-panel",
      on: { click: () => this.choose(name, true), keydown: (event) => this.#key(event) },
    }, name));
    this.element = h("div", { class: "journal" }, h("div", { role: "tablist", class: "tabs", "aria-label": "Journal" }, this.#tabs), this.#panel);
    this.choose("Trips");
  }

  #key(event) {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const next = kinds[(kinds.indexOf(this.#chosen) + by + kinds.length) % kinds.length];
    this.choose(next, true);
    this.#tabs[kinds.indexOf(next)].focus();
  }

  /** @param {string} [name] the list to show; an unknown name shows the trips */
  choose(name = "Trips", isByHand = false) {
    this.#chosen = kinds.includes(name) ? name : "Trips";
    if (isByHand) this.#on.list(this.#chosen);
    for (const tab of this.#tabs) {
      const isChosen = tab.id === `journal-${this.#chosen}`;
      tab.setAttribute("aria-selected", isChosen);
      tab.tabIndex = isChosen ? 0 : -1;
    }
    this.#panel.setAttribute("aria-labelledby", `journal-${this.#chosen}`);
    this.#show();
  }

  /** @param {{fleet: string, vehicle: string}} vehicle @param {Promise} [first] a request that must finish before the journal is requested */
  async load(vehicle, from, to, signal, first) {
    this.#data = {};
    this.#day = { from, to };
    this.#vehicle = vehicle;
    this.#show();
    await first?.catch(() => {});
    const span = { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
    const about = { fleet: vehicle.fleet, vehicle: vehicle.vehicle, ...span, limit };
    const asked = {
      Trips: [`trips${query(about)}`, "trips"], Stops: [`${vehiclePath(vehicle, "stops")}${query(span)}`, "stops"],
      Events: [`events${query(about)}`, "events"], Traces: [`traces${query(about)}`, "traces"],
      Regions: [`${vehiclePath(vehicle, "transitions")}${query({ ...span, limit })}`, "transitions"],
    };
    await Promise.all(Object.entries(asked).map(async ([name, [address, member]]) => {
      try {
        let answer = await this.#api.get(address, { signal });
        const items = answer?.[member] ?? [];
        while (answer?.next && items.length < most) {
          answer = await this.#api.get(`${address}&${new URLSearchParams({ after: answer.next })}`, { signal });
          items.push(...answer?.[member] ?? []);
        }
        items.hasMore = Boolean(answer?.next);
        this.#data[name] = items;
      } catch (error) {
        if (error.name === "AbortError") return;
        this.#data[name] = error;
      }
      this.#show();
    }));
    return this.#data;
  }

  #vehicle;

  /** The day's track, which determines distance and end of trips under way. @param {import("./track.js").Track} track */
  set track(track) {
    this.#track = track;
    this.#show();
  }

  #show() {
    const items = this.#data[this.#chosen];
    for (const tab of this.#tabs) {
      const found = this.#data[tab.textContent.split(" ")[0]];
      tab.textContent = tab.id.slice(8) + (Array.isArray(found) ? ` ${found.length}${found.hasMore ? "+" : ""}` : "");
    }
    if (!items) fill(this.#panel, h("p", { class: "note" }, this.#vehicle ? "Loading…" : ""));
    else if (items instanceof Error) fill(this.#panel, h("p", { class: "note" }, items.explanation ?? items.message));
    else if (!items.length) fill(this.#panel, h("p", { class: "note" }, this.#chosen === "Regions" ? "No region entered or left on this day." : `No ${this.#chosen.toLowerCase()} on this day.`));
    else fill(this.#panel, h("ul", { class: "journal-items" }, items.map((item) => h("li", {}, this[`show${this.#chosen}`](item)))));
  }

  showTrips(trip) {
    const [from, to] = tripSpan(trip, this.#track, this.#now()), now = this.#day.from;
    return [button("", () => this.#on.span(from, to), { class: "entry" }, null)].map((entry) => {
      const state = tripState(trip, this.#now());
      fill(entry, h("b", {}, `Trip ${amount(trip.number)}`),
        h("span", {}, timeElement(from, now), " – ", state === "underway" ? "under way" : timeElement(to, now)),
        h("span", { class: "note" }, [state === "unfinished" && "end not received", metres(tripDistance(trip, this.#track, this.#now())), duration(trip.moving) && `${duration(trip.moving)} in motion`, speed(trip.greatestSpeed) && `up to ${speed(trip.greatestSpeed)}`, trip.driver && safeName(trip.driver, 60)].filter(Boolean).join(" · ")));
      return entry;
    }).concat(trip.series ? [h("span", { class: "downloads" }, ["geojson", "gpx"].map((form) => this.#download(["trips", trip.series, String(trip.number)], form)))] : []);
  }

  showStops(stop) {
    const from = moment(stop.from), to = moment(stop.to), now = this.#day.from;
    const entry = button("", () => this.#on.moment(from), { class: "entry" });
    fill(entry, h("b", {}, `${duration((to - from) / 1000)}${stop.open ? " so far" : ""}`), h("span", {}, timeElement(from, now), " – ", timeElement(to, now)),
      h("span", { class: "note" }, place(stop.latitude, stop.longitude)));
    return entry;
  }

  showEvents(event) {
    const at = moment(event.time), entry = button("", () => this.#on.moment(at), { class: "entry" });
    fill(entry, h("b", {}, safeName(event.summary ?? words(event.event ?? event.kind), 200)), h("span", {}, timeElement(at, this.#day.from)),
      h("span", { class: "note" }, [event.severity && words(event.severity), speed(event.speed), event.region && safeName(event.region, 64)].filter(Boolean).join(" · ")));
    return entry;
  }

  showRegions(item) {
    const at = moment(item.time), entry = button("", () => this.#on.moment(at), { class: "entry" });
    // OwnTracks phones use `desc` for the region's name.
    const name = safeName(item.name ?? item.region ?? item.desc, 200);
    fill(entry, h("b", {}, `${crossings[item.event] ?? words(item.event)} ${name}`), h("span", {}, timeElement(at, this.#day.from)),
      h("span", { class: "note" }, [item.late && "detected later", item.confidence < 0.9 && `${Math.round(item.confidence * 100)} % confidence`].filter(Boolean).join(" · ")));
    return entry;
  }

  showTraces(trace) {
    const at = moment(trace.time);
    const entry = button("", () => this.#on.moment(at), { class: "entry" });
    fill(entry, h("b", {}, `Trace ${amount(trace.number)}${trace.cause ? `: ${words(trace.cause)}` : ""}`), h("span", {}, timeElement(at, this.#day.from)),
      h("span", { class: "note" }, [trace.pieces === undefined ? null : count(trace.pieces, "piece")].filter(Boolean).join(" · ")));
    return [entry, h("span", { class: "downloads" }, ["odotrace", "csv", "mcap"].map((form) => this.#download(["traces", String(trace.series), String(trace.number)], form)))];
  }

  #download(parts, form) {
    const address = `${this.#api.base}${vehiclePath(this.#vehicle)}/${path(...parts)}.${form}`;
    return h("a", { href: address, download: true, class: "download" }, form === "geojson" ? "GeoJSON" : form === "gpx" ? "GPX" : form);
  }
}
