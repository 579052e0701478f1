/** The journal of a day: trips, stops, events, regions and traces. */
import { explained, isAborted, path, query, vehiclePath } from "./api.js";
import { button, fill, h } from "./dom.js";
import { amount, count, duration, metres, moment, place, safeName, speed, words } from "./format.js";
import { timeElement } from "./times.js";

/** @type {Listing[]} */
const kinds = ["Trips", "Stops", "Events", "Regions", "Traces"];
const limit = 500;
/** Maximum number of entries of a kind. */
const most = 5000;
/** @type {Record<string, string>} */
const crossings = { enter: "Entered", exit: "Left", dwell: "Stayed in" };

/** Milliseconds without a message after which a trip whose end was not received counts as closed: a day. */
const openLimit = 86_400_000;

/**
 * Sets `isFollowed` of the trips of a vehicle: true if there is a later trip.
 * @param {Trip[]} trips
 */
export function markFollowed(trips) {
  /** @param {Trip} trip */
  const start = (trip) => moment(trip.start?.time) ?? -Infinity;
  const newest = trips.reduce((latest, trip) => Math.max(latest, start(trip)), -Infinity);
  for (const trip of trips) trip.isFollowed = start(trip) < newest;
}

/**
 * The state of a trip at a time: "ended", "underway", or "unfinished" for one whose end was never received.
 * @param {{phase?: string, end?: {time?: string}, time?: string, isFollowed?: boolean}} trip @param {number} now milliseconds
 */
export function tripState(trip, now) {
  if (trip.phase === undefined || trip.phase === "ended") return "ended";
  if (trip.isFollowed) return "unfinished";
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
 * Distance, time in motion and greatest speed of a trip. Those of a trip under way are omitted if positions since its last message are
 * included in the distance.
 * @param {any} trip @param {import("./track.js").Track|undefined} track of the same vehicle @param {number} now milliseconds
 */
export function tripFigures(trip, track, now) {
  const distance = tripDistance(trip, track, now);
  const isCurrent = distance === (trip.distance ?? 0);
  return { distance, moving: isCurrent ? trip.moving : undefined, greatestSpeed: isCurrent ? trip.greatestSpeed : undefined };
}

/**
 * Start and end of a trip in milliseconds. A trip under way ends at the newest position.
 * @param {import("./track.js").Track|undefined} track of the same vehicle @param {number} now milliseconds
 * @param {Trip} trip
 * @returns {[from: number, to: number]}
 */
export function tripSpan(trip, track, now) {
  const from = moment(trip.start?.time) ?? NaN, to = moment(trip.end?.time ?? trip.time) ?? NaN;
  return [from, tripState(trip, now) === "underway" && track?.length ? Math.max(to, track.time[track.length - 1]) : to];
}

export class Journal {
  #api; #on; #tabs; #panel; #day = { from: 0, to: 0 }; #now;
  /** @type {Listing} */ #chosen = "Trips";
  /** @type {JournalEntries} */ #data = {};
  /** @type {Track|undefined} */ #track;
  /** @type {VehicleName|undefined} */ #vehicle;
  /** How an entry of each list is shown. */
  #shown = {
    Trips: (/** @type {Trip} */ trip) => this.#trip(trip), Stops: (/** @type {RecordedStop} */ stop) => this.#stop(stop),
    Events: (/** @type {any} */ event) => this.#event(event), Regions: (/** @type {any} */ item) => this.#crossing(item),
    Traces: (/** @type {any} */ trace) => this.#trace(trace),
  };

  /**
   * @param {{span: (from: number, to: number) => void, moment: (time: number) => void, list: (name: string) => void}} on
   * @param {() => number} now milliseconds
   * @param {API} api
   */
  constructor(api, on, now) {
    this.#api = api;
    this.#on = on;
    this.#now = now;
    this.#panel = h("div", { class: "scroll journal-list", role: "tabpanel", tabindex: "0", id: "journal-panel" });
    this.#tabs = kinds.map((name) => h("button", {
      type: "button", role: "tab", id: `journal-${name}`, "aria-controls": "journal-panel",
      on: { click: () => this.choose(name, true), keydown: (event) => this.#key(event) },
    }, name));
    this.element = h("div", { class: "journal" }, h("div", { role: "tablist", class: "tabs", "aria-label": "Journal" }, this.#tabs), this.#panel);
    this.choose("Trips");
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!by) return;
    event.preventDefault();
    const next = kinds[(kinds.indexOf(this.#chosen) + by + kinds.length) % kinds.length];
    this.choose(next, true);
    this.#tabs[kinds.indexOf(next)].focus();
  }

  /** @param {string} [name] the list to show; an unknown name shows the trips */
  choose(name = "Trips", isByHand = false) {
    this.#chosen = kinds.find((kind) => kind === name) ?? "Trips";
    if (isByHand) this.#on.list(this.#chosen);
    for (const tab of this.#tabs) {
      const isChosen = tab.id === `journal-${this.#chosen}`;
      tab.setAttribute("aria-selected", String(isChosen));
      tab.tabIndex = isChosen ? 0 : -1;
    }
    this.#panel.setAttribute("aria-labelledby", `journal-${this.#chosen}`);
    this.#show();
  }

  /**
   * @param {VehicleName} vehicle
   * @param {Promise<any>} first a request that must finish before the journal is requested
   * @param {number} from @param {number} to @param {AbortSignal} signal
   */
  async load(vehicle, from, to, signal, first) {
    this.#data = {};
    this.#day = { from, to };
    this.#vehicle = vehicle;
    this.#show();
    await first.catch(() => {});
    const span = { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
    const about = { fleet: vehicle.fleet, vehicle: vehicle.vehicle, ...span, limit };
    /** @type {Record<Listing, [address: string, member: string]>} */
    const asked = {
      Trips: [`trips${query(about)}`, "trips"], Stops: [`${vehiclePath(vehicle, "stops")}${query(span)}`, "stops"],
      Events: [`events${query(about)}`, "events"], Traces: [`traces${query(about)}`, "traces"],
      Regions: [`${vehiclePath(vehicle, "transitions")}${query({ ...span, limit })}`, "transitions"],
    };
    await Promise.all(kinds.map(async (name) => {
      const [address, member] = asked[name];
      try {
        let answer = await this.#api.get(address, { signal });
        const items = answer?.[member] ?? [];
        while (answer?.next && items.length < most) {
          answer = await this.#api.get(`${address}&${new URLSearchParams({ after: answer.next })}`, { signal });
          items.push(...answer?.[member] ?? []);
        }
        if (name === "Trips") markFollowed(items);
        this.#data[name] = { items, hasMore: Boolean(answer?.next) };
      } catch (error) {
        if (isAborted(error)) return;
        this.#data[name] = error instanceof Error ? error : new Error(String(error));
      }
      this.#show();
    }));
    return this.#data;
  }

  /**
   * The day's track, which determines distance and end of trips under way.
   * @param {Track|undefined} track
   */
  set track(track) {
    this.#track = track;
    this.#show();
  }

  #show() {
    this.#tabs.forEach((tab, index) => {
      const name = kinds[index], found = this.#data[name];
      tab.textContent = name + (found && !(found instanceof Error) ? ` ${found.items.length}${found.hasMore ? "+" : ""}` : "");
    });
    const found = this.#data[this.#chosen], show = this.#shown[this.#chosen];
    if (!found) fill(this.#panel, h("p", { class: "note" }, this.#vehicle ? "Loading…" : ""));
    else if (found instanceof Error) fill(this.#panel, h("p", { class: "note" }, explained(found)));
    else if (!found.items.length) {
      fill(this.#panel, h("p", { class: "note" },
        this.#chosen === "Regions" ? "No region entered or left on this day." : `No ${this.#chosen.toLowerCase()} on this day.`));
    }
    else fill(this.#panel, h("ul", { class: "journal-items" }, found.items.map((item) => h("li", {}, show(item)))));
  }

  /** @param {Trip} trip */
  #trip(trip) {
    const [from, to] = tripSpan(trip, this.#track, this.#now()), day = this.#day.from, state = tripState(trip, this.#now());
    const entry = button("", () => this.#on.span(from, to), { class: "entry" });
    const { distance, moving, greatestSpeed } = tripFigures(trip, this.#track, this.#now());
    fill(entry, h("b", {}, `Trip ${amount(trip.number)}`),
      h("span", {}, timeElement(from, day), " – ", state === "underway" ? "under way" : timeElement(to, day)),
      h("span", { class: "note" }, [
        state === "unfinished" && "end not received", metres(distance),
        duration(moving) && `${duration(moving)} in motion`, speed(greatestSpeed) && `up to ${speed(greatestSpeed)}`,
        trip.driver && safeName(trip.driver, 60),
      ].filter(Boolean).join(" · ")));
    const { series } = trip;
    if (!series) return [entry];
    return [entry, h("span", { class: "downloads" }, ["geojson", "gpx"].map((form) => this.#download(["trips", series, String(trip.number)], form)))];
  }

  /** @param {RecordedStop} stop */
  #stop(stop) {
    const from = moment(stop.from) ?? NaN, to = moment(stop.to) ?? NaN, now = this.#day.from;
    const entry = button("", () => this.#on.moment(from), { class: "entry" });
    fill(entry, h("b", {}, `${duration((to - from) / 1000)}${stop.open ? " so far" : ""}`),
      h("span", {}, timeElement(from, now), " – ", timeElement(to, now)),
      h("span", { class: "note" }, place(stop.latitude, stop.longitude)));
    return entry;
  }

  /** @param {any} event */
  #event(event) {
    const at = moment(event.time) ?? NaN, entry = button("", () => this.#on.moment(at), { class: "entry" });
    fill(entry, h("b", {}, safeName(event.summary ?? words(event.event ?? event.kind), 200)), h("span", {}, timeElement(at, this.#day.from)),
      h("span", { class: "note" }, [
        event.severity && words(event.severity), speed(event.speed), event.region && safeName(event.region, 64),
      ].filter(Boolean).join(" · ")));
    return entry;
  }

  /** @param {any} item */
  #crossing(item) {
    const at = moment(item.time) ?? NaN, entry = button("", () => this.#on.moment(at), { class: "entry" });
    // OwnTracks phones use `desc` for the region's name.
    const name = safeName(item.name ?? item.region ?? item.desc, 200);
    fill(entry, h("b", {}, `${crossings[item.event] ?? words(item.event)} ${name}`), h("span", {}, timeElement(at, this.#day.from)),
      h("span", { class: "note" }, [
        item.late && "detected later", item.confidence < 0.9 && `${Math.round(item.confidence * 100)} % confidence`,
      ].filter(Boolean).join(" · ")));
    return entry;
  }

  /** @param {any} trace */
  #trace(trace) {
    const at = moment(trace.time) ?? NaN;
    const entry = button("", () => this.#on.moment(at), { class: "entry" });
    fill(entry, h("b", {}, `Trace ${amount(trace.number)}${trace.cause ? `: ${words(trace.cause)}` : ""}`), h("span", {}, timeElement(at, this.#day.from)),
      h("span", { class: "note" }, [trace.pieces === undefined ? null : count(trace.pieces, "piece")].filter(Boolean).join(" · ")));
    const parts = ["traces", String(trace.series), String(trace.number)];
    return [entry, h("span", { class: "downloads" }, ["odotrace", "csv", "mcap"].map((form) => this.#download(parts, form)))];
  }

  /** @param {string[]} parts @param {string} form */
  #download(parts, form) {
    const address = `${this.#api.base}${this.#vehicle ? vehiclePath(this.#vehicle) : ""}/${path(...parts)}.${form}`;
    return h("a", { href: address, download: true, class: "download" }, form === "geojson" ? "GeoJSON" : form === "gpx" ? "GPX" : form);
  }
}
