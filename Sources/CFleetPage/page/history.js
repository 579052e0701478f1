/** The history view: a vehicle's day with track, charts, journal and playback. */
import { explained, isAborted, query, vehiclePath } from "./api.js";
import { button, fill, h, setText } from "./dom.js";
import { amount, boundsOfDay, clock, dayAfter, dayOf, direction, duration, metres, moment, place, safeName, speed } from "./format.js";
import { saveText, toCSV, toGPX } from "./downloads.js";
import { Journal, tripFigures, tripSpan } from "./journal.js";
import { Plots } from "./plots.js";
import { routeAddress } from "./router.js";
import { isUTC, shown, zoneName } from "./times.js";
import { Track } from "./track.js";
import { TrackLayer } from "./track-layer.js";
import { onTheme } from "./theme.js";
import { onPreference } from "./preferences.js";
import { inEachFrame, settled } from "./timers.js";
import { View } from "./view.js";

const points = 2000;
/** Minimum span of the charts, and margin before and after the positions, in milliseconds. */
const leastSpan = 600_000, spanMargin = 30_000;
/** Maximum number of positions per request; a day at 1 Hz has 86,400. */
const allPoints = 100_000;
const paces = [[1, "1×"], [10, "10×"], [60, "60×"], [300, "300×"]];
/** Text per source of a recorded position. */
/** @type {Record<string, string>} */
const sources = { location: "sent live", track: "sent later", coarse: "access points or cells", suspect: "suspect" };

export class HistoryView extends View {
  #api; #store; #map; #router; #hasRecording; #track = new Track(); #dayTrack = new Track();
  /** Aborts the requests for the shown day. */
  #controller = new AbortController();
  /** @type {Route} */ #route = { view: "history", query: {} };
  /** @type {VehicleName} */ #vehicle = { fleet: "", vehicle: "" };
  /** The shown day, and its start and end in milliseconds. */
  #day = ""; #bounds = { from: 0, to: 0 };
  /** The time of the slider in milliseconds. */
  #time = 0;
  /**
   * Stops the playback; undefined while it does not run.
   * @type {Stop|undefined}
   */
  #stopPlayback;

  /**
   * @param {API} api @param {Store} store @param {FleetMap} map @param {Router} router
   * @param {() => boolean} hasRecording returns true if the server has a recording
   */
  constructor(api, store, map, router, hasRecording) {
    super();
    this.#api = api;
    this.#store = store;
    this.#map = map;
    this.#router = router;
    this.#hasRecording = hasRecording;
    this.trackLayer = new TrackLayer();
    this.plots = new Plots((time) => this.#setTime(time, true));
    this.journal = new Journal(api, {
      span: (from, to) => this.#setSpan(from, to),
      moment: (time) => { this.#setTime(time, true); this.#showPlace(); },
      list: (name) => router.note({ list: name === "Trips" ? "" : name.toLowerCase() }),
    }, () => store.now());
    this.panel = this.#makePanel();
    this.dock = this.#makeDock();
    this.elements = [this.panel, this.dock];
  }

  /** @override */
  subscriptions() {
    const restyle = () => {
      this.trackLayer.restyle();
      this.plots.redraw();
    };
    // The colours can have changed while the view was closed.
    restyle();
    return [onTheme(restyle), onPreference("utc", () => this.show({ ...this.#route, day: this.#day, query: {} }))];
  }

  #name = h("bdi"); #link = h("a", { class: "button" }, "Live");
  /** @type {HTMLInputElement} */
  #date = h("input", {
    type: "date", "aria-label": "Day", required: true, on: { change: () => { if (this.#date.value) this.#go(this.#date.value); } },
  });
  #extent = h("p", { class: "note extent" }); #summary = h("p", { class: "day-summary" }); #status = h("p", { class: "note", role: "status" });
  #geojson = h("a", { class: "download", download: true }, "GeoJSON");
  #files = h("p", { class: "downloads", role: "group", "aria-label": "Download this day" }, "Download: ", this.#geojson,
    button("GPX", () => this.#save("gpx"), { class: "link" }), button("CSV", () => this.#save("csv"), { class: "link" }));

  #makePanel() {
    return h("section", { class: "panel-content history-panel", "aria-labelledby": "history-title" },
      h("header", {}, h("h1", { id: "history-title", tabindex: "-1" }, "History of ", this.#name), this.#link),
      h("div", { class: "day-row" }, button("‹", () => this.#go(dayAfter(this.#day, -1, isUTC())), { "aria-label": "Previous day" }),
        this.#date, button("›", () => this.#go(dayAfter(this.#day, 1, isUTC())), { "aria-label": "Next day" }),
        button("Today", () => this.#go(dayOf(this.#store.now(), isUTC())))),
      this.#extent, this.#summary, this.#status, this.#files, this.journal.element);
  }

  /** @type {HTMLInputElement} */
  #slider = h("input", {
    type: "range", min: 0, max: 86_400, step: 1, value: 0, class: "time-slider", "aria-label": "Time of day",
    on: { input: () => this.#setTime(this.plots.from + Number(this.#slider.value) * 1000, true) },
  });
  #play = button("Play", () => this.#toggle(), { class: "strong", "aria-pressed": "false" });
  #pace = h("select", { "aria-label": "Playback speed" }, paces.map(([value, text]) => h("option", { value, selected: value === 60 }, text)));
  #zoomOut = button("Whole day", () => this.#setSpan(), { hidden: true });
  #readout = h("p", { class: "readout", id: "readout" });

  #makeDock() {
    return h("section", { class: "dock", "aria-label": "Time" },
      h("div", { class: "dock-row" }, this.#play, this.#pace, this.#zoomOut, this.#readout),
      this.#slider, this.plots.element);
  }

  /** @param {string} day */
  #go(day) { this.#router.go({ view: "history", ...this.#vehicle, day, query: {} }); }

  /** @override @param {Route} route */
  async show(route) {
    this.#route = route;
    const { fleet = "", vehicle = "", day, query: routeQuery } = route;
    const isOther = this.#vehicle.fleet !== fleet || this.#vehicle.vehicle !== vehicle;
    this.#vehicle = { fleet, vehicle };
    setText(this.#name, safeName(vehicle, 60));
    this.#link.href = routeAddress({ view: "vehicle", ...this.#vehicle });
    this.dock.hidden = !this.#hasRecording();
    if (!this.#hasRecording()) {
      this.#files.hidden = true;
      setText(this.#status, "No recording. Start the server with --recording to store the history.");
      return;
    }
    this.trackLayer.layer.addTo(this.#map.map);
    this.#stop();
    this.#controller.abort();
    const controller = this.#controller = new AbortController();
    if (isOther) {
      this.#extentKnown = undefined;
      setText(this.#extent, "");
    }
    const wanted = day !== undefined && boundsOfDay(day, isUTC()) ? day : await this.#lastDay(controller.signal);
    const bounds = boundsOfDay(wanted, isUTC());
    if (controller.signal.aborted || !bounds) return;
    this.#day = wanted;
    this.#date.value = wanted;
    this.#bounds = bounds;
    this.#useTrack(new Track({ from: new Date(this.#bounds.from).toISOString() }), this.#bounds.from, this.#bounds.to);
    this.journal.track = undefined;
    fill(this.#summary);
    this.#files.hidden = true;
    this.#zoomOut.hidden = true;
    this.trackLayer.span = [-Infinity, Infinity];
    this.journal.choose(routeQuery.list && routeQuery.list.charAt(0).toUpperCase() + routeQuery.list.slice(1));
    setText(this.#status, "Loading…");
    try {
      // The track is requested first, because other requests would delay it.
      const coming = this.#fetch(this.#bounds.from, this.#bounds.to, controller.signal);
      const happened = this.journal.load(this.#vehicle, this.#bounds.from, this.#bounds.to, controller.signal, coming);
      const track = this.#dayTrack = await coming;
      this.#useTrack(track, ...this.#recordedSpan());
      this.#useJournal({});
      this.#tell(track, {});
      /** @param {string|undefined} text */
      const told = (text) => text ? moment(`${wanted}T${text}${isUTC() ? "Z" : ""}`) : undefined;
      const at = told(routeQuery.time), from = told(routeQuery.from), to = told(routeQuery.to);
      // Today's history starts at the latest position.
      const isToday = wanted === dayOf(this.#store.now(), isUTC());
      this.#setTime(at ?? (isToday ? track.time.at(-1) : track.time[0]) ?? bounds.from);
      const place = track.bounds();
      if (place) this.#map.fit(place, { animate: false });
      if (!this.#extentKnown) this.#extentOf(controller.signal);
      const journal = await happened;
      if (controller.signal.aborted) return;
      this.#useJournal(journal);
      this.journal.track = track;
      this.#tell(track, journal);
      this.plots.redraw();
      this.trackLayer.redraw();
      if (from !== undefined && to !== undefined && from < to) await this.#setSpan(from, to, at);
    } catch (error) {
      if (!isAborted(error)) setText(this.#status, explained(error));
    }
  }

  /**
   * The time span of charts and slider: that of the recorded positions, or the whole day if there are none.
   * @returns {[from: number, to: number]}
   */
  #recordedSpan() {
    const track = this.#dayTrack, { from, to } = this.#bounds;
    if (!track.length) return [from, to];
    const first = track.time[0] - spanMargin, last = track.time[track.length - 1] + spanMargin, more = Math.max(0, leastSpan - (last - first)) / 2;
    return [Math.max(from, first - more), Math.min(to, last + more)];
  }

  /**
   * The first and last recorded times of the vehicle; undefined until requested.
   * @type {Promise<any>|undefined}
   */
  #extentKnown;
  /** @param {AbortSignal} signal */
  async #extentOf(signal) {
    const asked = this.#extentKnown = this.#api.get(vehiclePath(this.#vehicle, "extent"), { signal });
    try {
      const told = await asked;
      const from = moment(told?.from), to = moment(told?.to);
      if (from !== undefined && to !== undefined) {
        this.#date.min = dayOf(from, isUTC());
        setText(this.#extent, `Recorded from ${dayOf(from, isUTC())} to ${dayOf(to, isUTC())}: ${amount(told.positions)} positions. Times in ${zoneName()}.`);
      } else setText(this.#extent, "No data recorded for this vehicle.");
    } catch {
      // The request is repeated when the next day is opened.
      if (this.#extentKnown === asked) this.#extentKnown = undefined;
    }
  }

  /** @param {AbortSignal} signal */
  async #lastDay(signal) {
    if (!this.#extentKnown) this.#extentOf(signal);
    try {
      const told = await this.#extentKnown;
      return dayOf(moment(told?.to) ?? this.#store.now(), isUTC());
    } catch {
      return dayOf(this.#store.now(), isUTC());
    }
  }

  /** @param {number} from @param {number} to @param {AbortSignal} signal */
  async #fetch(from, to, signal) {
    return new Track(await this.#api.get(
      `${vehiclePath(this.#vehicle, "track")}${query({ from: new Date(from).toISOString(), to: new Date(to).toISOString(), points })}`, { signal }));
  }

  /** @param {number} many */
  #range(many) {
    return query({ from: new Date(this.#bounds.from).toISOString(), to: new Date(this.#bounds.to).toISOString(), points: many });
  }

  /**
   * Downloads the whole day at full resolution.
   * @param {string} form
   */
  async #save(form) {
    setText(this.#status, "Loading…");
    try {
      const track = new Track(await this.#api.get(`${vehiclePath(this.#vehicle, "track")}${this.#range(allPoints)}`, { signal: this.#controller.signal }));
      const name = `${this.#vehicle.vehicle} ${this.#day}`;
      // Replaces characters that file names must not contain.
      const file = `${name.replace(/[^\p{L}\p{N}._-]+/gu, "-")}.${form}`;
      if (form === "gpx") saveText(toGPX(track, name), file, "application/gpx+xml");
      else saveText(toCSV(track), file, "text/csv");
      setText(this.#status, `${file}: ${amount(track.length)} of ${amount(track.count)} positions.`);
    } catch (error) {
      if (!isAborted(error)) setText(this.#status, explained(error));
    }
  }

  /** @param {Track} track @param {JournalEntries} journal */
  #tell(track, journal) {
    this.#files.hidden = !track.length;
    this.#geojson.href = `${this.#api.base}${vehiclePath(this.#vehicle)}/track.geojson${this.#range(allPoints)}`;
    /** @type {Trip[]} */ const trips = entriesOf(journal, "Trips");
    const figures = trips.map((trip) => tripFigures(trip, track, this.#store.now()));
    const driven = figures.reduce((total, trip) => total + trip.distance, 0), moving = figures.reduce((total, trip) => total + (trip.moving ?? NaN), 0);
    setText(this.#summary, track.length ? [
      `${amount(track.count)} positions`, trips.length ? `${metres(driven)} on ${trips.length} ${trips.length === 1 ? "trip" : "trips"}` : null,
      trips.length && duration(moving) ? `${duration(moving)} in motion` : null,
    ].filter(Boolean).join(" · ") : "");
    setText(this.#status, !track.length ? "No positions recorded on this day."
      : track.count > track.length ? `Simplified line: all positions are within ${metres(track.tolerance)} of it.` : "");
  }

  /** @param {Track} track @param {number} from @param {number} to */
  #useTrack(track, from, to) {
    this.#track = track;
    Object.assign(this.plots, { track, from, to, origin: this.#bounds.from });
    this.plots.redraw();
    this.trackLayer.track = track;
    this.trackLayer.redraw();
    this.#slider.max = String(Math.max(1, Math.round((to - from) / 1000)));
  }

  /** @param {JournalEntries} journal */
  #useJournal(journal) {
    /** @param {string} name */
    this.trackLayer.stops = entriesOf(journal, "Stops");
    this.plots.spans = entriesOf(journal, "Trips").map((/** @type {Trip} */ trip) => tripSpan(trip, this.#dayTrack, this.#store.now()));
    this.plots.events = entriesOf(journal, "Events").flatMap((event) => moment(event.time) ?? []);
  }

  /**
   * Shows a part of the day at full resolution; without arguments, the whole day.
   * @param {number} [from] @param {number} [to] milliseconds @param {number} [at] the time of the slider
   */
  async #setSpan(from, to, at = from) {
    const part = from !== undefined && to !== undefined && to > from ? { from, to } : undefined;
    /** @type {[from: number, to: number]} */
    const span = part ? [part.from - spanMargin, part.to + spanMargin] : this.#recordedSpan();
    this.#zoomOut.hidden = !part;
    this.trackLayer.span = part ? [part.from, part.to] : [-Infinity, Infinity];
    if (!part) this.#useTrack(this.#dayTrack, ...span);
    else {
      try {
        const track = await this.#fetch(...span, this.#controller.signal);
        this.#useTrack(track, ...span);
      } catch (error) {
        if (!isAborted(error)) setText(this.#status, explained(error));
        return;
      }
    }
    this.#setTime(part ? at ?? part.from : this.#time);
    /** @param {number} time */
    const clockOf = (time) => this.#clock(Math.max(this.#bounds.from, Math.min(this.#bounds.to - 1000, time)));
    this.#router.note({ from: part ? clockOf(part.from) : "", to: part ? clockOf(part.to) : "" });
    const bounds = this.#track.bounds(...span);
    if (bounds) this.#map.fit(bounds);
  }

  /** @param {number} time */
  #setTime(time, isByHand = false) {
    // An entry of the journal can have no valid time.
    if (!Number.isFinite(time)) return;
    if (isByHand) this.#stop();
    this.#time = Math.max(this.plots.from, Math.min(this.plots.to, time));
    this.plots.moment = this.trackLayer.moment = this.#time;
    this.plots.redraw();
    this.trackLayer.redraw();
    this.#slider.value = String(Math.round((this.#time - this.plots.from) / 1000));
    const track = this.#track, at = track.at(this.#time), index = at?.index ?? 0, accuracy = metres(track.accuracy[index]);
    const source = track.source[index] ?? "";
    const text = !at ? "before the first position" : !at.isKnown ? "no data recorded at this time" : [
      speed(track.speed[index]) ?? "speed unknown", direction(track.course[index]), metres(track.altitude[index]),
      accuracy === undefined ? "accuracy unknown" : `± ${accuracy}`, sources[source] ?? source, place(at.latitude, at.longitude),
    ].filter(Boolean).join(" · ");
    const told = shown(this.#time, { now: this.#time });
    const element = h("time", { datetime: new Date(this.#time).toISOString(), title: clock(this.#time, { utc: !isUTC() }) }, told);
    fill(this.#readout, element, " ", h("span", {}, text));
    this.#slider.setAttribute("aria-valuetext", `${told}, ${text}`);
    if (isByHand) this.#note();
  }

  #note = settled(400, () => {
    if (this.isOpen) this.#router.note({ time: this.#clock(this.#time) });
  });

  /**
   * The time of day in the format of the address.
   * @param {number} time
   */
  #clock(time) { return clock(time, { utc: isUTC(), now: time }).replace("Z", ""); }

  #showPlace() {
    const at = this.#track.at(this.#time);
    if (at) this.#map.show(at.latitude, at.longitude);
  }

  #toggle() {
    if (this.#stopPlayback) {
      this.#stop();
      return;
    }
    if (this.#time >= this.plots.to - 1000 || this.#track.indexAt(this.#time) >= this.#track.length - 1) this.#setTime(this.plots.from);
    this.#play.textContent = "Pause";
    this.#play.setAttribute("aria-pressed", "true");
    this.#stopPlayback = inEachFrame((elapsed) => {
      // Playback skips gaps of the track.
      const next = this.#time + elapsed * Number(this.#pace.value);
      const index = this.#track.indexAt(next);
      const jump = index >= 0 && this.#track.isGap(index + 1) && next - this.#track.time[index] > 2000 ? this.#track.time[index + 1]
        : index < 0 ? this.#track.time[0] : next;
      this.#setTime(jump ?? next);
      if (this.#time >= this.plots.to || index >= this.#track.length - 1) this.#stop();
    });
  }

  #stop() {
    this.#stopPlayback?.();
    this.#stopPlayback = undefined;
    setText(this.#play, "Play");
    this.#play.setAttribute("aria-pressed", "false");
  }

  /** @override */
  closed() {
    this.#stop();
    this.#controller.abort();
    this.trackLayer.layer.remove();
    this.#vehicle = { fleet: "", vehicle: "" };
  }
}

/**
 * The entries of a list; none if they are not loaded.
 * @param {JournalEntries} journal @param {Listing} name
 */
function entriesOf(journal, name) {
  const found = journal[name];
  return found && !(found instanceof Error) ? found.items : [];
}
