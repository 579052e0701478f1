/** The panel of the selected vehicle. */
import { button, fill, h, setText } from "./dom.js";
import { age, moment, safeName } from "./format.js";
import { Horizon } from "./horizon.js";
import { sign } from "./markers.js";
import { routeAddress } from "./router.js";
import {
  connectionSection, deviceSection, eventSection, journeySection, positionSection, powerSection, regionSection, sensorSection, signalSection,
} from "./detail-sections.js";
import { onPreference } from "./preferences.js";
import { onTheme } from "./theme.js";
import { every, limited } from "./timers.js";
import { activity, activityWords, concerns } from "./vehicle.js";
import { View } from "./view.js";

/** @type {[title: string, make: (known: Facts) => Child][]} */
const sections = [
  ["Position", positionSection], ["Connection", connectionSection], ["Power", powerSection], ["Trip", journeySection],
  ["Events", eventSection], ["Sensors", sensorSection], ["Signals", signalSection], ["Regions", regionSection], ["Device", deviceSection],
];
/** The sections that a shared link shows. The server sends no data for the other sections. */
const linkSections = new Set(/** @type {((known: Facts) => Child)[]} */ ([positionSection, connectionSection, powerSection]));

export class DetailsPanel extends View {
  #store; #title; #name = h("bdi"); #fleet; #state; #concerns; #parts; #horizon = new Horizon(); #attitude; #raw; #rawText; #actions; #follow; #history;
  /** Elements for users who may operate the vehicle; those that a shared link does not show; those for remote management. */
  #operate; #look; #control;
  #role = { mayOperate: false, isLink: false, canControl: false };

  /**
   * @param {import("./store.js").Store} store
   * @param {{close: () => void, centre: () => void, follow: () => void, share: () => void, commands: () => void,
   *   settings: () => void, regions: () => void}} on
   */
  constructor(store, on) {
    super();
    this.#store = store;
    this.#title = h("h2", { tabindex: "-1" }, this.#name);
    this.#fleet = h("span", { class: "fleet" });
    this.#state = h("p", { class: "state-line" });
    this.#concerns = h("ul", { class: "concerns" });
    this.#follow = button("Follow", on.follow, { "aria-pressed": "false" });
    this.#history = h("a", { class: "button" }, "History");
    const [commands, regions, settings] = [button("Command…", on.commands), button("Regions", on.regions), button("Settings…", on.settings)];
    this.#operate = [commands, button("Share…", on.share)];
    this.#look = [this.#history, regions, settings];
    this.#control = [commands, regions, settings];
    this.#actions = h("div", { class: "actions", role: "group", "aria-label": "Actions" },
      this.#follow, button("Centre", on.centre), ...this.#look, ...this.#operate);
    this.#parts = sections.map(([title, make]) => {
      const body = h("div");
      const id = `section-${title.toLowerCase()}`;
      const section = h("section", { "aria-labelledby": id }, h("h3", { id }, title), body);
      return { make, body, section };
    });
    this.#attitude = h("section", { "aria-labelledby": "section-attitude" }, h("h3", { id: "section-attitude" }, "Attitude"), this.#horizon.element);
    this.#rawText = h("pre", { tabindex: "0", role: "group", "aria-label": "Raw data" });
    this.#raw = h("details", { class: "raw", on: { toggle: () => this.show() } }, h("summary", {}, "Raw data"), this.#rawText);
    this.element = h("aside", { class: "details panel", "aria-label": "Vehicle", tabindex: "-1" },
      h("header", {}, h("div", { class: "title" }, this.#title, this.#fleet),
        button("×", on.close, { class: "close", "aria-label": "Close the vehicle's panel", title: "Close (Escape)" }), this.#state,
        // The concerns are below the buttons, so that a new concern does not move the buttons.
        this.#actions, this.#concerns),
      h("div", { class: "sections scroll", tabindex: "0", role: "group", "aria-label": "Vehicle data" },
        this.#parts[0].section, this.#attitude, this.#parts.slice(1).map(({ section }) => section), this.#raw));
    this.elements = [this.element];
    this.#showActions();
  }

  /** @override */
  subscriptions() {
    const show = () => this.show(), later = limited(400, show), store = this.#store;
    return [
      store.on("details", later), store.on("alerts", later), store.on("selected", show),
      store.on("vehicles", (/** @type {Change[]} */ changes) => {
        if (!changes.some(({ key }) => key === store.selected)) return;
        if (this.#actions.hidden) show();
        else later();
      }),
      onPreference("utc", show), onTheme(show), every(1, show),
    ];
  }

  /** @param {boolean} isLink true for a shared link, which shows only the present state @param {boolean} mayOperate */
  setRole(mayOperate, isLink = false) {
    Object.assign(this.#role, { mayOperate, isLink });
    this.#showActions();
  }

  /** @param {boolean} canControl true if the server supports remote management; otherwise the buttons for commands, regions and settings are hidden */
  setControl(canControl) {
    this.#role.canControl = canControl;
    this.#showActions();
  }

  #showActions() {
    const { mayOperate, isLink, canControl } = this.#role;
    for (const element of this.#operate) element.hidden = !mayOperate;
    for (const element of this.#look) element.hidden = isLink;
    if (!canControl) for (const element of this.#control) element.hidden = true;
  }

  /** @param {boolean} isOn */
  setFollowing(isOn) { this.#follow.setAttribute("aria-pressed", String(isOn)); }

  focus() { this.#title.focus({ preventScroll: true }); }

  /** @override */
  show() {
    const key = this.#store.selected;
    if (!key || !this.isOpen) return;
    const summary = this.#store.vehicles.get(key), now = this.#store.now();
    const [fleet, ...rest] = key.split("/");
    setText(this.#name, safeName(summary?.vehicle ?? rest.join("/")));
    setText(this.#fleet, safeName(summary?.fleet ?? fleet, 60));
    if (!summary) {
      fill(this.#state, "No message received from this vehicle, or you have no permission to see it.");
      fill(this.#concerns);
      for (const part of this.#parts) part.section.hidden = true;
      this.#attitude.hidden = this.#raw.hidden = this.#actions.hidden = true;
      return;
    }
    this.#actions.hidden = this.#raw.hidden = false;
    const doing = activity(summary);
    const line = `${doing} ${age(moment(summary.heard), now)}`;
    if (this.#state.dataset.line !== line) {
      this.#state.dataset.line = line;
      fill(this.#state, sign(doing), ` ${activityWords[doing]}`,
        h("span", { class: "age" }, ` · last message ${age(moment(summary.heard), now) ?? "unknown"}`));
    }
    const open = this.#store.alerts.filter((alert) => !alert.ended && alert.fleet === summary.fleet && alert.vehicle === summary.vehicle);
    const found = JSON.stringify([concerns(summary), open.map((alert) => [alert.id, alert.summary])]);
    if (this.#concerns.dataset.line !== found) {
      this.#concerns.dataset.line = found;
      fill(this.#concerns, open.map((alert) => h("li", {}, h("a", { href: routeAddress({ view: "alerts", query: { alert: String(alert.id) } }) },
        `Alert: ${safeName(alert.summary ?? alert.rule, 200)}`))), concerns(summary).map((text) => h("li", {}, text)));
    }
    this.#history.href = routeAddress({ view: "history", fleet: summary.fleet, vehicle: summary.vehicle });
    const { isLink } = this.#role, known = { summary, details: this.#store.details, now, isLink };
    for (const part of this.#parts) {
      /** @type {Child} */ let made;
      try {
        made = isLink && !linkSections.has(part.make) ? undefined : part.make(known);
      } catch {
        // The server forwards a vehicle's status unchanged, so that its values can have any type.
        made = [h("p", { class: "unknown" }, "Invalid data received.")];
      }
      part.section.hidden = !made;
      if (!made) continue;
      const next = h("div", {}, made);
      // The elements of an unchanged section remain, with selected text and the position of a screen reader.
      if (next.isEqualNode(part.body)) continue;
      part.body.replaceWith(next);
      part.body = next;
    }
    const attitude = this.#store.details?.attitude;
    this.#attitude.hidden = !attitude;
    this.#horizon.show(attitude);
    if (this.#raw.open) setText(this.#rawText, JSON.stringify({ ...summary, ...this.#store.details }, null, 2));
  }
}
