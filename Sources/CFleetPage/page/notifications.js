/** Notifications of new alerts by the browser, while the page is open. */
import { announce } from "./announce.js";
import { h, setText } from "./dom.js";
import { count, moment, safeName } from "./format.js";
import { preference, setPreference } from "./preferences.js";

const setting = "notifications";
/** The maximum number of notifications for alerts that arrive together. More alerts cause one notification with their number. */
const togetherLimit = 5;
/** The maximum number of remembered alerts. */
const knownLimit = 5000;

export class AlertNotifications {
  /** The setting, for the alerts view. */
  element;
  #store; #on; #box; #note;
  /** The identifiers of the alerts that were received, the latest last. */
  #known = new Set();
  /**
   * The server's time of the first list of alerts in milliseconds. Alerts that were noticed before it are not new.
   * @type {number|undefined}
   */
  #since;
  /** True if this tab shows the notifications. */
  #isNotifier = false;
  /**
   * Lets another tab show the notifications.
   * @type {(() => void)|undefined}
   */
  #resign;

  /**
   * @param {Store} store
   * @param {{open: (alert: Alert|undefined) => void, notify: (isNotifier: boolean) => void}} on open: called after a click on a notification, without an
   * alert if it is about several; notify: called when this tab starts or stops to show notifications
   */
  constructor(store, on) {
    this.#store = store;
    this.#on = on;
    // Browsers offer both only to pages from HTTPS or from this machine.
    const isAvailable = isSecureContext && "Notification" in window && "locks" in navigator;
    /** @type {HTMLInputElement} */
    this.#box = h("input", { type: "checkbox", disabled: !isAvailable, on: { change: () => this.#choose() } });
    this.#note = h("p", { class: "note" });
    const label = h("label", { class: "check" }, this.#box, " Show new alerts as notifications of this browser while the page is open");
    this.element = h("div", {}, label, this.#note);
    if (!isAvailable) this.#note.append("This browser shows notifications only for pages from HTTPS.");
    else this.#apply();
    store.on("alerts", () => this.#receive());
  }

  async #choose() {
    let isAllowed = false;
    if (this.#box.checked) isAllowed = await Notification.requestPermission() === "granted";
    this.#tell(this.#box.checked && !isAllowed ? "The browser blocks notifications of this page. Permit them in the browser's site settings." : "");
    setPreference(setting, isAllowed);
    this.#apply();
  }

  /** @param {string} problem empty if there is none */
  #tell(problem) {
    setText(this.#note, problem);
    if (problem) announce(problem);
  }

  /** Applies the setting. Of several tabs, the one with the lock shows the notifications. Another tab follows when it is closed. */
  #apply() {
    this.#resign?.();
    this.#resign = undefined;
    this.#box.checked = preference(setting, false) && Notification.permission === "granted";
    if (!this.#box.checked) return;
    /** @type {Promise<void>} */
    const resigned = new Promise((resolve) => { this.#resign = resolve; });
    navigator.locks.request("odograph-notifications", async () => {
      this.#setNotifier(true);
      await resigned;
      this.#setNotifier(false);
    });
  }

  /** @param {boolean} isNotifier */
  #setNotifier(isNotifier) {
    // Another tab has shown the earlier alerts.
    if (this.#since !== undefined) this.#since = this.#store.now();
    this.#isNotifier = isNotifier;
    this.#on.notify(isNotifier);
  }

  #receive() {
    const { alerts, count: total } = this.#store.alertTotals, now = this.#store.now();
    // The store was cleared.
    if (!alerts || total === undefined) return;
    const since = this.#since ??= now;
    const fresh = alerts.filter((alert) => !this.#known.has(alert.id) && (moment(alert.noticed ?? alert.began) ?? 0) >= since
      && !alert.ended && (moment(alert.silenced) ?? 0) <= now);
    for (const { id } of alerts) {
      this.#known.delete(id);
      this.#known.add(id);
    }
    for (const id of this.#known) {
      if (this.#known.size <= knownLimit) break;
      this.#known.delete(id);
    }
    if (!this.#isNotifier) return;
    if (fresh.length > togetherLimit) this.#show(count(fresh.length, "new alert") ?? "", "", undefined);
    else for (const alert of fresh) {
      const { vehicle, summary, rule, severity = "warning" } = alert;
      this.#show(`${safeName(vehicle, 60)}: ${safeName(summary ?? rule, 200)}`, `Rule ${safeName(rule, 80)}, ${safeName(severity, 20)}`, alert);
    }
  }

  /** @param {string} title @param {string} body @param {Alert|undefined} alert */
  #show(title, body, alert) {
    try {
      // A browser shows one notification for each tag.
      const notification = new Notification(title, { body, tag: `odograph-${alert?.id ?? "alerts"}`, icon: "/icon.svg" });
      notification.onclick = () => {
        window.focus();
        notification.close();
        this.#on.open(alert);
      };
    } catch {
      // Browsers of phones permit notifications only to service workers.
      setPreference(setting, false);
      this.#apply();
      this.#tell("This browser cannot show notifications of pages.");
    }
  }
}
