/** The server's event stream. */
import { after, every } from "./timers.js";

/**
 * @typedef {Object} StreamHandlers
 * @property {(hello: any) => void} hello
 * @property {(event: any) => void} vehicles
 * @property {(details: any) => void} vehicle
 * @property {(event: any) => void} alerts
 * @property {(abilities: {recording?: boolean, control?: boolean}) => void} server optional features of this server
 * @property {(link: any) => void} broker state of the server's connection to the broker
 * @property {(state: "connecting"|"open"|"lost"|"paused", silence?: number) => void} state silence: seconds since the last event, if lost
 * @property {() => Promise<boolean>} mayRetry called after the stream has ended: false if a login is required
 */

/** Milliseconds after which a hidden tab closes its connection. A browser permits six connections per server for all tabs. */
const hiddenPatience = 30_000;

/** Seconds without an event after which the connection counts as lost. The server sends an event at least every 10 s. */
const silenceLimit = 25;

export class Stream {
  #api; #handlers; #failures = 0;
  /** Seconds since the last event or the start of the connection. Time in which the tab is suspended, or hidden and not `#staysOpen`, does not count. */
  #silence = 0;
  /** @type {EventSource|undefined} */ #source;
  /** @type {string|undefined} */ #identifier;
  /**
   * Cancels the next attempt to connect.
   * @type {Stop|undefined}
   */
  #cancelRetry;
  /** True if the stream is requested. */
  #isWanted = false;
  /** True if the stream is closed because the tab is hidden. */
  #isPaused = false;
  /** True if the stream remains open while the tab is hidden. */
  #staysOpen = false;
  /**
   * Cancels closing the stream in a hidden tab.
   * @type {Stop|undefined}
   */
  #cancelPause;
  /** @type {{bounds?: string, selected?: string}} */ #view = {};

  /** @param {import("./api.js").API} api @param {StreamHandlers} handlers */
  constructor(api, handlers) {
    this.#api = api;
    this.#handlers = handlers;
    document.addEventListener("visibilitychange", () => this.#looked());
    every(1, () => this.#checkSilence(), { evenHidden: true });
  }

  #checkSilence() {
    if (!this.#source || (document.hidden && !this.#staysOpen)) return;
    this.#silence += 1;
    if (this.#silence >= silenceLimit) this.#lost();
  }

  open() {
    this.close();
    this.#isWanted = true;
    this.#looked();
    if (!this.#isPaused) this.#connect();
  }

  /** @param {boolean} isOn true if the stream remains open while the tab is hidden */
  stayOpen(isOn) {
    this.#staysOpen = isOn;
    this.#looked();
  }

  #looked() {
    if (document.hidden && !this.#staysOpen) {
      this.#cancelPause ??= after(hiddenPatience, () => this.#pause());
      return;
    }
    this.#cancelPause?.();
    this.#cancelPause = undefined;
    if (!this.#isPaused) return;
    this.#isPaused = false;
    if (this.#isWanted) this.#connect();
  }

  #pause() {
    this.#isPaused = true;
    if (!this.#isWanted) return;
    this.#drop();
    this.#handlers.state("paused");
  }

  #connect() {
    this.#drop();
    const { bounds, selected } = this.#view;
    const query = new URLSearchParams();
    if (bounds) query.set("bounds", bounds);
    if (selected) query.set("selected", selected);
    const source = new EventSource(`/api/v1/stream?${query}`);
    this.#source = source;
    this.#silence = 0;
    this.#handlers.state("connecting");
    source.addEventListener("open", () => {
      this.#silence = this.#failures = 0;
      this.#handlers.state("open");
    });
    /** @param {string} name @param {(value: any) => void} run */
    const on = (name, run) => source.addEventListener(name, (event) => {
      this.#silence = 0;
      const value = parsed(event.data);
      if (value !== undefined) run(value);
    });
    on("hello", (value) => {
      this.#identifier = value.id;
      this.#handlers.hello(value);
      if (value.broker) this.#handlers.broker(value.broker);
      // The view can have changed while the stream was opened.
      if (this.#view.bounds !== bounds || this.#view.selected !== selected) this.#tell();
    });
    on("vehicles", this.#handlers.vehicles);
    on("vehicle", this.#handlers.vehicle);
    on("alerts", this.#handlers.alerts);
    on("broker", this.#handlers.broker);
    on("server", this.#handlers.server);
    on("bye", () => this.#lost());
    source.addEventListener("error", () => this.#lost());
  }

  close() {
    this.#isWanted = false;
    this.#drop();
  }

  #drop() {
    this.#cancelRetry?.();
    this.#source?.close();
    this.#source = undefined;
    this.#identifier = undefined;
  }

  /** @param {{bounds?: string, selected?: string}} view bounds as "w,s,e,n" */
  look(view) {
    const next = { ...this.#view, ...view };
    if (next.bounds === this.#view.bounds && next.selected === this.#view.selected) return;
    this.#view = next;
    this.#tell();
  }

  async #tell() {
    const identifier = this.#identifier;
    if (identifier === undefined) return;
    try {
      await this.#api.post(`stream/${encodeURIComponent(identifier)}`, {
        ...(this.#view.bounds ? { bounds: this.#view.bounds.split(",").map(Number) } : {}),
        selected: this.#view.selected || null,
      });
    } catch {
      // The stream or the server has ended. A new stream starts with the present view.
      if (this.#identifier === identifier) this.#connect();
    }
  }

  #lost() {
    this.#drop();
    this.#handlers.state("lost", this.#silence);
    // Exponential backoff up to 30 s with jitter, so that pages do not reconnect simultaneously.
    const wait = Math.min(30_000, 500 * 2 ** this.#failures) * (0.75 + Math.random() / 2);
    this.#failures += 1;
    this.#cancelRetry = after(wait, () => this.#retry());
  }

  async #retry() {
    const source = this.#source;
    const may = await this.#handlers.mayRetry();
    // Since the error, a login can have opened another stream, or the tab can have been hidden.
    if (this.#source !== source || !this.#isWanted || this.#isPaused) return;
    if (may) this.#connect();
    else this.#lost();
  }
}

/** @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
