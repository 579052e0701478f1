/** The history view: a vehicle's day with track, charts, journal and playback. */
import { query, vehiclePath } from "./api.js";
import { button, fill, h, setText } from "./dom.js";
import { amount, boundsOfDay, clock, dayAfter, dayOf, direction, duration, metres, moment, place, safeName, speed } from "./format.js";
import { saveText, toCSV, toGPX } from "./downloads.js";
import { Journal, tripDistance, tripSpan } from "./journal.js";
import { Plots } from "./plots.js";
import { routeAddress } from "./router.js";
import { isUTC, shown, zoneName } from "./times.js";
import { Track } from "./track.js";
import { TrackLayer } from "./track-layer.js";
import { onTheme } from "./theme.js";
import { onPreference } from "./preferences.js";

const points = 2000;
/** Minimum span of the charts, and margin before and after the positions, in milliseconds. */
const leastSpan = 600_000, spanMargin = 30_000;
/** Maximum number of positions per request; a day at 1 Hz has 86,400. */
const allPoints = 100_000;
const paces = [[1, "1×"], [10, "10×"], [60, "60×"], [300, "300×"]];
/** Text per source of a recorded position. */
const sources = { location: "sent live", track: "sent later", coarse: "access points or cells" };

export class HistoryView {
  #api; #store; #map; #router; #hasRecording; #controller = null; #track = new Track(); #dayTrack; #day; #vehicle; #bounds; #time; #timer = null; #shown = false;

  /** @param {() => boolean} hasRecording returns true if the server has a recording */
  constructor(api, store, map, router, hasRecording) {
    [this.#api, this.#store, this.#map, this.#router, this.#hasRecording] = [api, store, map, router, hasRecording];
    this.trackLayer = new TrackLayer();
    this.plots = new Plots((time) => this.#setTime(time, true));
    this.journal = new Journal(api, {
      span: (from, to) => this.#setSpan(from, to),
      moment: (time) => { this.#setTime(time, true); this.#showPlace(); },
      list: (name) => router.note({ list: name === "Trips" ? "" : name.toLowerCase() }),
    }, () => store.now());
    this.#makePanel();
    this.#makeDock();
    onTheme(() => { this.trackLayer.restyle(); this.plots.redraw(); });
    onPreference("utc", () => { if (this.#shown) this.open(this.#vehicle, this.#day, {}); });
  }

  #name; #date; #extent; #summary; #status; #link; #files; #geojson;
  #makePanel() {
    this.#name = h("bdi");
    this.#link = h("a", { class: "button" }, "Live");
    this.#date = h("input", { type: "date", "aria-label": "Day", required: true, on: { change: () => this.#date.value && this.#go(this.#date.value) } });
    this.#extent = h("p", { class: "note extent" });
    this.#summary = h("p", { class: "day-summary" });
    this.#status = h("p", { class: "note", role: "status" });
    this.#geojson = h("a", { class: "download", download: true }, "GeoJSON");
    this.#files = h("p", { class: "downloads", role: "group", "aria-label": "Download this day" }, "Download: ", this.#geojson,
      button("GPX", () => this.#save("gpx"), { class: "link" }), button("CSV", () => this.#save("csv"), { class: "link" }));
    this.panel = h("section", { class: "panel-content history-panel", "aria-labelledby": "history-title", hidden: true },
      h("header", {}, h("h1", { id: "history-title", tabindex: "-1" }, "History of ", this.#name), this.#link),
      h("div", { class: "day-row" }, button("‹", () => this.#go(dayAfter(this.#day, -1, isUTC())), { "aria-label": "Previous day" }),
        this.#date, button("›", () => this.#go(dayAfter(this.#day, 1, isUTC())), { "aria-label": "Next day" }),
        button("Today", () => this.#go(dayOf(this.#store.now(), isUTC())))),
      this.#extent, this.#summary, this.#status, this.#files, this.journal.element);
  }

  #slider; #play; #pace; #readout; #zoomOut;
  #makeDock() {
    this.#slider = h("input", {
      type: "range", min: 0, max: 86_400, step: 1, value: 0, class: "time-slider", "aria-label": "Time of day",
      on: { input: () => this.#setTime(this.plots.from + Number(this.#slider.value) * 1000, true) },
    });
    this.#play = button("Play", () => this.#toggle(), { class: "strong", "aria-pressed": "false" });
    this.#pace = h("select", { "aria-label": "Playback speed" }, paces.map(([value, text]) => h("option", { value, selected: value === 60 }, text)));
    this.#zoomOut = button("Whole day", () => this.#setSpan(), { hidden: true });
    this.#readout = h("p", { class: "readout", id: "readout" });
    this.dock = h("section", { class: "dock", "aria-label": "Time", hidden: true },
      h("div", { class: "dock-row" }, this.#play, this.#pace, this.#zoomOut, this.#readout),
      this.#slider, this.plots.element);
  }

  #go(day) { this.#router.go({ view: "history", ...this.#vehicle, day, query: {} }); }

  /** @param {{fleet: string, vehicle: string}} vehicle @param {string} [day] */
  async open(vehicle, day, routeQuery) {
    this.#shown = true;
    this.panel.hidden = this.dock.hidden = false;
    const isOther = this.#vehicle?.fleet !== vehicle.fleet || this.#vehicle?.vehicle !== vehicle.vehicle;
    this.#vehicle = { fleet: vehicle.fleet, vehicle: vehicle.vehicle };
    setText(this.#name, safeName(vehicle.vehicle, 60));
    this.#link.href = routeAddress({ view: "vehicle", ...this.#vehicle });
    this.dock.hidden = !this.#hasRecording();
    if (!this.#hasRecording()) {
      this.#files.hidden = true;
      setText(this.#status, "No recording. Start the server with --recording to store the history.");
      return;
    }
    this.trackLayer.layer.addTo(this.#map.map);
    this.#stop();
    this.#controller?.abort();
    const controller = this.#controller = new AbortController();
    if (isOther) {
      this.#extentKnown = undefined;
      setText(this.#extent, "");
    }
    const wanted = boundsOfDay(day, isUTC()) ? day : await this.#lastDay(controller.signal);
    if (controller.signal.aborted) return;
    this.#day = wanted;
    this.#date.value = wanted;
    this.#bounds = boundsOfDay(wanted, isUTC());
    this.#useTrack(new Track({ from: new Date(this.#bounds.from).toISOString() }), this.#bounds.from, this.#bounds.to);
    this.journal.track = undefined;
    fill(this.#summary);
    this.#files.hidden = true;
    this.#zoomOut.hidden = true;
    this.trackLayer.span = [-Infinity, Infinity];
    this.journal.choose(routeQuery?.list && routeQuery.list.charAt(0).toUpperCase() + routeQuery.list.slice(1));
    setText(this.#status, "Loading…");
    try {
      // The track is requested first, because other requests would delay it.
      const coming = this.#fetch(this.#bounds.from, this.#bounds.to, controller.signal);
      const happened = this.journal.load(this.#vehicle, this.#bounds.from, this.#bounds.to, controller.signal, coming);
      const track = this.#dayTrack = await coming;
      this.#useTrack(track, ...this.#recordedSpan());
      this.#useJournal({});
      this.#tell(track, {});
      const told = (text) => text ? moment(`${wanted}T${text}${isUTC() ? "Z" : ""}`) : undefined;
      const at = told(routeQuery?.time), from = told(routeQuery?.from), to = told(routeQuery?.to);
      // Today's history starts at the latest position.
      const isToday = wanted === dayOf(this.#store.now(), isUTC());
      this.#setTime(at ?? (isToday ? track.time.at(-1) : track.time[0]) ?? this.#bounds.from);
      const bounds = track.bounds();
      if (bounds) this.#map.fit(bounds, { animate: false });
      if (!this.#extentKnown) this.#extentOf(controller.signal);
      const journal = await happened;
      if (controller.signal.aborted) return;
      this.#useJournal(journal);
      this.journal.track = track;
      this.#tell(track, journal);
      this.plots.redraw();
      this.trackLayer.redraw();
      if (from < to) await this.#setSpan(from, to, at);
    } catch (error) {
      if (error.name !== "AbortError") setText(this.#status, error.explanation ?? error.message);
    }
  }

  /** The time span of charts and slider: that of the recorded positions, or the whole day if there are none. */
  #recordedSpan() {
    const track = this.#dayTrack, { from, to } = this.#bounds;
    if (!track?.length) return [from, to];
    const first = track.time[0] - spanMargin, last = track.time.at(-1) + spanMargin, more = Math.max(0, leastSpan - (last - first)) / 2;
    return [Math.max(from, first - more), Math.min(to, last + more)];
  }

  #extentKnown;
  async #extentOf(signal) {
    const asked = this.#extentKnown = this.#api.get(vehiclePath(this.#vehicle, "extent"), { signal });
    try {
      const told = await asked;
      const from = moment(told?.from), to = moment(told?.to);
      if (from !== undefined) {
        this.#date.min = dayOf(from, isUTC());
        setText(this.#extent, `Recorded from ${dayOf(from, isUTC())} to ${dayOf(to, isUTC())}: ${amount(told.positions)} positions. Times in ${zoneName()}.`);
      } else setText(this.#extent, "No data recorded for this vehicle.");
    } catch {
      // The request is repeated when the next day is opened.
      if (this.#extentKnown === asked) this.#extentKnown = undefined;
    }
  }

  async #lastDay(signal) {
    if (!this.#extentKnown) this.#extentOf(signal);
    try {
      const told = await this.#extentKnown;
      return dayOf(moment(told?.to) ?? this.#store.now(), isUTC());
    } catch {
      return dayOf(this.#store.now(), isUTC());
    }
  }

  async #fetch(from, to, signal) {
    return new Track(await this.#api.get(
      `${vehiclePath(this.#vehicle, "track")}${query({ from: new Date(from).toISOString(), to: new Date(to).toISOString(), points })}`, { signal }));
  }

  #range(many) {
    return query({ from: new Date(this.#bounds.from).toISOString(), to: new Date(this.#bounds.to).toISOString(), points: many });
  }

  /** Downloads the whole day at full resolution. */
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
      if (error.name !== "AbortError") setText(this.#status, error.explanation ?? error.message);
    }
  }

  #tell(track, journal) {
    this.#files.hidden = !track.length;
    this.#geojson.href = `${this.#api.base}${vehiclePath(this.#vehicle)}/track.geojson${this.#range(allPoints)}`;
    const trips = Array.isArray(journal.Trips) ? journal.Trips : [];
    const sum = (name) => trips.reduce((total, trip) => total + (trip[name] ?? 0), 0);
    const now = this.#store.now();
    const driven = trips.reduce((total, trip) => total + tripDistance(trip, track, now), 0);
    setText(this.#summary, track.length ? [
      `${amount(track.count)} positions`, trips.length ? `${metres(driven)} on ${trips.length} ${trips.length === 1 ? "trip" : "trips"}` : null,
      trips.length ? `${duration(sum("moving"))} in motion` : null,
    ].filter(Boolean).join(" · ") : "");
    setText(this.#status, !track.length ? "No positions recorded on this day."
      : track.count > track.length ? `Simplified line: all positions are within ${metres(track.tolerance)} of it.` : "");
  }

  #useTrack(track, from, to) {
    this.#track = track;
    Object.assign(this.plots, { track, from, to, origin: this.#bounds.from });
    this.plots.redraw();
    this.trackLayer.track = track;
    this.trackLayer.redraw();
    this.#slider.max = Math.max(1, Math.round((to - from) / 1000));
  }

  #useJournal(journal) {
    const of = (name) => Array.isArray(journal[name]) ? journal[name] : [];
    this.trackLayer.stops = of("Stops");
    this.plots.spans = of("Trips").map((trip) => tripSpan(trip, this.#dayTrack, this.#store.now()));
    this.plots.events = of("Events").map((event) => moment(event.time));
  }

  /** Shows a part of the day at full resolution; without arguments, the whole day. */
  async #setSpan(from, to, at = from) {
    const isWhole = from === undefined || !(to > from);
    const span = isWhole ? this.#recordedSpan() : [from - spanMargin, to + spanMargin];
    this.#zoomOut.hidden = isWhole;
    this.trackLayer.span = isWhole ? [-Infinity, Infinity] : [from, to];
    if (isWhole) this.#useTrack(this.#dayTrack, ...span);
    else {
      try {
        const track = await this.#fetch(...span, this.#controller.signal);
        this.#useTrack(track, ...span);
      } catch (error) {
        if (error.name !== "AbortError") setText(this.#status, error.explanation ?? error.message);
        return;
      }
    }
    this.#setTime(isWhole ? this.#time : at);
    const clockOf = (time) => isWhole ? "" : this.#clock(Math.max(this.#bounds.from, Math.min(this.#bounds.to - 1000, time)));
    this.#router.note({ from: clockOf(from), to: clockOf(to) });
    const bounds = this.#track.bounds(...span);
    if (bounds) this.#map.fit(bounds);
  }

  #setTime(time, isByHand = false) {
    if (isByHand) this.#stop();
    this.#time = Math.max(this.plots.from, Math.min(this.plots.to, time));
    this.plots.moment = this.trackLayer.moment = this.#time;
    this.plots.redraw();
    this.trackLayer.redraw();
    this.#slider.value = Math.round((this.#time - this.plots.from) / 1000);
    const at = this.#track.at(this.#time), index = at?.index;
    const text = !at ? "before the first position" : !at.isKnown ? "no data recorded at this time" : [
      speed(this.#track.speed[index]) ?? "speed unknown", direction(this.#track.course[index]), metres(this.#track.altitude[index]),
      this.#track.accuracy[index] === null || this.#track.accuracy[index] === undefined ? "accuracy unknown" : `± ${metres(this.#track.accuracy[index])}`,
      sources[this.#track.source[index]] ?? this.#track.source[index], place(at.latitude, at.longitude),
    ].filter(Boolean).join(" · ");
    const told = shown(this.#time, { now: this.#time });
    fill(this.#readout, h("time", { datetime: new Date(this.#time).toISOString(), title: clock(this.#time, { utc: !isUTC() }) }, told), " ", h("span", {}, text));
    this.#slider.setAttribute("aria-valuetext", `${told}, ${text}`);
    if (isByHand) this.#note();
  }

  #note() {
    clearTimeout(this.#noteTimer);
    this.#noteTimer = setTimeout(() => {
      if (this.#shown) this.#router.note({ time: this.#clock(this.#time) });
    }, 400);
  }

  /** The time of day in the format of the address. */
  #clock(time) { return clock(time, { utc: isUTC(), now: time }).replace("Z", ""); }

  #noteTimer;

  #showPlace() {
    const at = this.#track.at(this.#time);
    if (at) this.#map.show(at.latitude, at.longitude);
  }

  #toggle() {
    if (this.#timer !== null) {
      this.#stop();
      return;
    }
    if (this.#time >= this.plots.to - 1000 || this.#track.indexAt(this.#time) >= this.#track.length - 1) this.#setTime(this.plots.from);
    this.#play.textContent = "Pause";
    this.#play.setAttribute("aria-pressed", "true");
    let last = performance.now();
    const step = (now) => {
      // Playback skips gaps of the track.
      const next = this.#time + (now - last) * Number(this.#pace.value);
      last = now;
      const index = this.#track.indexAt(next);
      const jump = index >= 0 && this.#track.isGap(index + 1) && next - this.#track.time[index] > 2000 ? this.#track.time[index + 1]
        : index < 0 ? this.#track.time[0] : next;
      this.#setTime(jump ?? next);
      if (this.#time >= this.plots.to || index >= this.#track.length - 1) this.#stop();
      else this.#timer = requestAnimationFrame(step);
    };
    this.#timer = requestAnimationFrame(step);
  }

  #stop() {
    if (this.#timer !== null) cancelAnimationFrame(this.#timer);
    this.#timer = null;
    setText(this.#play, "Play");
    this.#play.setAttribute("aria-pressed", "false");
  }

  close() {
    if (!this.#shown) return;
    this.#shown = false;
    this.#stop();
    this.#controller?.abort();
    this.panel.hidden = this.dock.hidden = true;
    this.trackLayer.layer.remove();
    this.#vehicle = undefined;
  }
}
