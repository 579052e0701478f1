/** The header: views, connection state, and clock. */
import { button, drawing, fill, h, setText } from "./dom.js";
import { amount, clock, dayOf, duration, moment, safeName } from "./format.js";
import { every } from "./timers.js";
import { isUTC, setUTC, shown, zoneName } from "./times.js";
import { chooseTheme, isDark, onTheme } from "./theme.js";
import { onPreference } from "./preferences.js";
import { announce } from "./announce.js";
import { sentence } from "./api.js";

/** Signs of the connection's state. */
const signs = {
  lost: "M3 3 13 13M13 3 3 13", open: "M8 4a4 4 0 1 1 0 8a4 4 0 1 1 0-8Z", waiting: "M8 4.5a3.5 3.5 0 1 1 0 7a3.5 3.5 0 1 1 0-7Z",
};

const brand = [
  { d: "M8 1a7 7 0 1 1 0 14a7 7 0 1 1 0-14Z", class: "ring" }, { d: "M8 3.2 11.4 12 8 10 4.6 12Z", class: "needle" },
];

export class Header {
  #links; #badge; #live; #clock; #theme; #zone; #store; #state = "connecting"; #banner;
  /**
   * The time of the browser's clock since which there is no connection.
   * @type {number|null}
   */
  #lostAt = null;
  /**
   * The time since which the connection is closed because the tab was hidden.
   * @type {number|null}
   */
  #pausedAt = null;

  /**
   * @param {HTMLElement} element @param {HTMLElement} banner @param {Store} store
   * @param {{name: string, title: string}[]} views
   * @param {{menu: () => void, help: () => void}} on
   */
  constructor(element, banner, store, views, on) {
    this.#store = store;
    this.#banner = banner;
    this.#badge = h("span", { class: "badge", hidden: true });
    this.#links = views.map(({ name: view, title: text }) => h("a", { href: `#/${view}`, data: { view } }, text, view === "alerts" ? this.#badge : null));
    this.#live = h("span", { class: "live" });
    this.#clock = h("time", { class: "clock" });
    this.#zone = button("", () => setUTC(!isUTC()), { class: "zone" });
    this.#theme = button("", () => chooseTheme(isDark() ? "light" : "dark"), { class: "icon" });
    fill(element, h("a", { class: "brand", href: "#/map", "aria-label": "Odograph: map" }, drawing(brand, "glyph brand-sign"), h("span", {}, "Odograph")),
      h("nav", { "aria-label": "Views" }, this.#links),
      h("div", { class: "tools" }, this.#live, this.#clock, this.#zone, this.#theme,
        button("?", on.help, { class: "icon", "aria-label": "Keyboard shortcuts", title: "Keyboard shortcuts (?)" }),
        button("☰", on.menu, { class: "icon", "aria-label": "Page settings", title: "Page settings" })));
    const theme = () => {
      this.#theme.textContent = isDark() ? "☀" : "☾";
      const text = isDark() ? "Light colours" : "Dark colours";
      this.#theme.setAttribute("aria-label", text);
      this.#theme.title = `${text} (d)`;
    };
    onTheme(theme);
    theme();
    onPreference("utc", () => this.#tick());
    every(1, () => this.#tick(), { evenHidden: true });
    this.#tick();
  }

  #tick() {
    const now = this.#store.now();
    setText(this.#clock, clock(now, { utc: isUTC(), now }).replace("Z", ""));
    this.#clock.dateTime = new Date(now).toISOString();
    this.#clock.title = `${dayOf(now, isUTC())}, ${clock(now, { utc: !isUTC(), now })}${isUTC() ? " local" : ""}`;
    setText(this.#zone, isUTC() ? "UTC" : "Local");
    this.#zone.setAttribute("aria-label", `Times in ${zoneName()}: change to ${isUTC() ? "local time" : "UTC"}`);
    this.#zone.title = `Times in ${zoneName()} (u)`;
    this.#showBanner();
  }

  #showBanner() {
    const now = this.#store.now(), since = this.#lostAt ?? this.#pausedAt;
    this.#banner.hidden = since === null && !this.#link;
    if (this.#banner.hidden) return;
    const gone = since === null ? undefined : Date.now() - since;
    const shownAsOf = gone === undefined ? "" : `Data as of ${shown(now - gone, { now })}.`;
    setText(this.#banner, this.#lostAt !== null ? `No connection to the server for ${duration((gone ?? 0) / 1000)}. ${shownAsOf}`
      : since !== null || !this.#link ? `Paused while the tab was hidden. Reconnecting… ${shownAsOf}` : brokerWords(this.#link, now));
  }

  /** @param {boolean} canControl true if the server can assign regions */
  setAbilities(canControl) {
    for (const link of this.#links) if (link.dataset.view === "regions") link.hidden = !canControl;
  }

  /** @param {string} view */
  show(view) {
    for (const link of this.#links) {
      const isHere = link.dataset.view === view || ((view === "vehicle" || view === "history") && link.dataset.view === "map");
      if (isHere) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
  }

  /** @param {number} count */
  showAlerts(count) {
    this.#badge.hidden = count === 0;
    setText(this.#badge, amount(count) ?? "");
    this.#badge.setAttribute("aria-label", `${count} open`);
  }

  /**
   * @param {"connecting"|"open"|"lost"|"paused"} state paused: the tab has been hidden and the connection was closed
   * @param {number} [silence] seconds since the last event, if lost
   */
  connection(state, silence = 0) {
    // If the connection was lost before the pause, the data are as old as this loss.
    if (state === "paused") this.#pausedAt ??= this.#lostAt ?? Date.now();
    if (state === "paused") this.#lostAt = null;
    if (state === "lost") this.#lostAt ??= this.#pausedAt ?? Date.now() - silence * 1000;
    if (state === "open") {
      if (this.#lostAt !== null && this.#state !== "open" && Date.now() - this.#lostAt > 3000) announce("Reconnected.");
      this.#lostAt = this.#pausedAt = null;
    }
    this.#showBanner();
    if (state === "lost" && this.#state === "open") announce("Connection to the server lost.");
    if (state !== "connecting" || this.#lostAt === null) this.#state = state;
    this.#showLive();
  }

  #showLive() {
    const isLost = this.#lostAt !== null || this.#link?.connected === false, state = this.#state;
    this.#live.className = `live ${isLost ? "lost" : state}`;
    const isOpen = !isLost && state === "open";
    fill(this.#live, drawing([{ d: isLost ? signs.lost : isOpen ? signs.open : signs.waiting, class: isOpen ? "full" : "line" }]),
      h("span", {}, isLost ? "Not live" : state === "open" ? "Live" : state === "paused" ? "Paused" : "Connecting"));
  }

  /**
   * The state of the server's connection to the broker; null without a problem.
   * @type {BrokerLink|null}
   */
  #link = null;
  /** @param {{connected: boolean, trouble?: string, since?: string}} link the server's connection to the broker */
  broker(link) {
    const before = this.#link;
    this.#link = link.connected === false || link.trouble ? link : null;
    if (link.connected === false && before?.connected !== false) announce("The server has lost the connection to the broker.");
    this.#showLive();
    this.#tick();
  }

  noConnection() {
    this.#lostAt = this.#pausedAt = null;
    this.#banner.hidden = true;
  }
}

/** @param {BrokerLink} link @param {number} now milliseconds */
function brokerWords(link, now) {
  const trouble = sentence(safeName(link.trouble ?? "", 300));
  if (link.connected) return `Messages may be missing. ${trouble}`;
  const since = moment(link.since);
  const from = since === undefined ? "" : ` since ${shown(since, { now })}`;
  return `The server has no connection to the broker${from}. No new messages.${trouble ? ` ${trouble}` : ""}`;
}
