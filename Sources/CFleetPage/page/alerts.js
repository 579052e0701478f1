/** The alerts view: open and past alerts, rules, and silencing. */
import { explained, path, query } from "./api.js";
import { button, drawing, fill, h, keep, setText } from "./dom.js";
import { field, openDialog, outcome } from "./dialog.js";
import { amount, boundsOfDay, clock, count, dayOf, duration, metres, moment, percent, place, safeName, speed, words } from "./format.js";
import { routeAddress } from "./router.js";
import { isUTC, refreshAges, timeElement } from "./times.js";
import { announce } from "./announce.js";
import { every, limited } from "./timers.js";
import { View } from "./view.js";

/** @type {Record<string, {d: string, word: string, order: number}>} */
const severities = {
  critical: { d: "M5 1h6l4 4v6l-4 4H5l-4-4V5ZM7 4v5h2V4ZM7 10.5v2h2v-2Z", word: "Critical", order: 0 },
  warning: { d: "M8 1.2 15.2 14.2H.8ZM7.1 5.4h1.8v4.6H7.1ZM7.1 11h1.8v1.7H7.1Z", word: "Warning", order: 1 },
  info: { d: "M8 1a7 7 0 1 1 0 14a7 7 0 1 1 0-14ZM7 7v5h2V7ZM7 4v2h2V4Z", word: "Information", order: 2 },
};
/** @param {string|undefined} name */
const severityOf = (name) => name !== undefined && severities[name] ? name : "warning";
/** @type {Record<string, string>} */
const reasons = { forgotten: "the vehicle was removed", rule: "the rule was changed or removed", operator: "by an operator" };
/**
 * Orders times, the newest first.
 * @param {string|undefined} a @param {string|undefined} b
 */
const newest = (a, b) => (moment(b) ?? 0) - (moment(a) ?? 0);
const silences = [[900, "15 minutes"], [3600, "1 hour"], [28_800, "8 hours"], [86_400, "1 day"]];

/** Milliseconds of history shown before and after an alert. */
const around = 600_000;

/**
 * Route to the history of the alert's vehicle at the start of the alert.
 * @param {Alert} alert
 */
function momentOf(alert) {
  const began = moment(alert.began) ?? Date.now(), utc = isUTC(), day = dayOf(began, utc);
  const bounds = boundsOfDay(day, utc) ?? { from: began, to: began };
  /** @param {number} time */
  const text = (time) => {
    const within = Math.max(bounds.from, Math.min(bounds.to - 1000, time));
    return clock(within, { utc, now: within }).replace("Z", "");
  };
  return /** @type {const} */ ({ view: "history", fleet: alert.fleet, vehicle: alert.vehicle, day,
    query: { time: text(began), from: text(began - around), to: text((moment(alert.ended) ?? began) + around) } });
}

/**
 * The limit of a rule in display units, for example km/h; null if the rule has none.
 * @param {Rule} rule
 */
function limitOf(rule) {
  /** @type {Record<string, (value: number) => string|undefined>} */
  const texts = { speed, battery: percent, accuracy: metres, queue: (value) => count(value, "message") };
  const text = texts[rule.when];
  if (!text) return null;
  return rule.above !== undefined ? `above ${text(rule.above)}` : rule.below !== undefined ? `below ${text(rule.below)}` : null;
}

/**
 * The conditions and the receivers of a rule.
 * @param {Rule} rule
 */
const describe = (rule) => [
  `${severities[severityOf(rule.severity)].word}: ${words(rule.when)}`, limitOf(rule), rule.for ? `for ${duration(rule.for)}` : null,
  rule.quiet ? `quiet hours ${safeName(rule.quiet, 80)}` : null,
  rule.receivers?.length ? `notifies ${rule.receivers.map((name) => safeName(name, 40)).join(", ")}` : "no receivers",
].filter(Boolean).join(" · ");

/**
 * Returns true if the server was informed of the start, or of the end of an ended alert, more than a minute later.
 * @param {Alert} alert
 */
const isLate = ({ began, ended, noticed }) => (moment(noticed) ?? NaN) - (moment(ended ?? began) ?? NaN) > 60_000;

/** @typedef {{rule?: string, id?: string, state?: string, after?: string}} Asked */

export class AlertsView extends View {
  #api; #store; #session; #hasHistory; #openTitle; #openList; #openFoot; #groups; #groupsLine; #groupsButtons; #groupsBack; #past; #rules;
  /** The identifiers of the announced alerts. */
  #announced = new Set(); #isFirst = true;
  /**
   * The identifier of the alert in the address.
   * @type {string|undefined}
   */
  #chosen;
  /**
   * The page of alerts that the user has requested; undefined while the alerts of the stream are shown.
   * @type {{asked: Asked, title: string, alerts: Alert[], next: string|undefined, count: number, of: string}|undefined}
   */
  #page;

  /**
   * @param {API} api @param {Store} store @param {Session} session
   * @param {() => boolean} hasHistory returns true if the server has a recording
   * @param {HTMLElement} notifications the setting for notifications of the browser
   */
  constructor(api, store, session, hasHistory, notifications) {
    super();
    this.#api = api;
    this.#store = store;
    this.#session = session;
    this.#hasHistory = hasHistory;
    this.#groupsLine = h("p", { class: "note", role: "status" });
    this.#groupsButtons = h("div", { class: "actions", role: "group", "aria-label": "Alerts by rule" });
    this.#groupsBack = h("p", { class: "actions" }, button("Show the most severe", () => {
      this.#page = undefined;
      this.#showOpen();
    }));
    this.#groups = h("div", { hidden: true }, this.#groupsLine, this.#groupsButtons, this.#groupsBack);
    this.#openList = h("ul", { class: "alert-list" });
    this.#openFoot = h("div");
    this.#openTitle = h("h2", { id: "alerts-open" }, "Open");
    this.#past = h("div");
    this.#rules = h("div");
    const section = h("section", { class: "wide alerts-view", tabindex: "0", "aria-labelledby": "alerts-title" },
      h("h1", { id: "alerts-title", tabindex: "-1" }, "Alerts"), notifications,
      h("section", { "aria-labelledby": "alerts-open" }, this.#openTitle, this.#groups, h("div", {}, this.#openList, this.#openFoot)),
      h("section", { "aria-labelledby": "alerts-past" }, h("h2", { id: "alerts-past" }, "Ended"), this.#past),
      h("section", { "aria-labelledby": "alerts-rules" }, h("h2", { id: "alerts-rules" }, "Rules"), this.#rules));
    this.elements = [section];
    // New alerts are announced in all views.
    store.on("alerts", limited(500, () => {
      this.#announceNew();
      if (this.isOpen) this.#showOpen();
    }));
    const own = limited(2000, () => this.#readOwn());
    store.on("selected", own);
    store.on("alerts", () => { if (this.#isOther()) own(); });
  }

  /** @override */
  subscriptions() {
    return [every(5, () => {
      const { count: all, next } = this.#store.alertTotals;
      if (this.#page && this.#page.of !== `${all} ${next}`) this.#ask(this.#page.asked, this.#page.title, true);
      else this.#showOpen();
    })];
  }

  /** Number of open alerts. The stream contains the most severe ones and the total. */
  get openCount() { return this.#store.alertTotals.count ?? this.#store.alerts.length; }

  #ownOf = "";
  #isOther() {
    const { count = 0, more = 0, next } = this.#store.alertTotals;
    const told = `${this.#store.selected} ${more ? `${count} ${next}` : ""}`;
    if (told === this.#ownOf) return false;
    this.#ownOf = told;
    return true;
  }

  /** Requests the alerts of the selected vehicle if the stream does not contain all alerts. */
  async #readOwn() {
    const key = this.#store.selected;
    if (!key || !this.#store.alertTotals.more) {
      if (this.#store.alerts.length > (this.#store.alertTotals.alerts ?? []).length) this.#store.applyOwnAlerts([]);
      return;
    }
    const [fleet, ...rest] = key.split("/");
    try {
      const answer = await this.#api.get(`alerts${query({ fleet, vehicle: rest.join("/"), limit: 50 })}`);
      if (key === this.#store.selected) this.#store.applyOwnAlerts(answer.alerts ?? []);
    } catch {
      // The next change of the alerts repeats the request.
    }
  }

  #announceNew() {
    // An older alert that appears because others have ended is not new.
    const since = this.#store.now() - 60_000;
    const fresh = this.#store.alerts.filter(
      (alert) => !alert.ended && !this.#announced.has(alert.id) && (moment(alert.began) ?? 0) > since);
    if (this.#announced.size > 5000) this.#announced.clear();
    for (const alert of this.#store.alerts) this.#announced.add(alert.id);
    if (this.#isFirst) {
      this.#isFirst = false;
      return;
    }
    if (fresh.length === 1) announce(`New alert: ${safeName(fresh[0].summary, 200)}`);
    else if (fresh.length) announce(count(fresh.length, "new alert"));
  }

  /** @override @param {Route} route */
  async show(route) {
    const chosen = this.#chosen = route.query.alert;
    this.#page = undefined;
    this.#told = "";
    this.#showOpen();
    this.#reveal();
    if (chosen && !(this.#store.alertTotals.alerts ?? []).some((/** @type {Alert} */ alert) => alert.id === chosen)) {
      await this.#ask({ id: chosen, state: "all" }, "the linked alert");
      this.#reveal();
    }
    const past = this.#api.get(`alerts${query({ state: "ended", limit: 200 })}`).then((/** @type {any} */ answer) => {
      const ended = (answer.alerts ?? []).sort((/** @type {Alert} */ a, /** @type {Alert} */ b) => newest(a.ended, b.ended));
      fill(this.#past, ended.length ? this.#list(ended) : h("p", { class: "note" }, "No past alerts."));
      this.#reveal();
    }, (/** @type {unknown} */ error) => fill(this.#past, h("p", { class: "note" }, explained(error))));
    const rules = this.#api.get("rules").then((/** @type {any} */ answer) => {
      /** @type {Rule[]} */ const found = answer.rules ?? [];
      this.#ruleCount = found.length;
      this.#showOpen();
      fill(this.#rules, found.length ? h("ul", { class: "rules" }, found.map((rule) => h("li", {}, h("b", {}, safeName(rule.name, 80)), ` ${describe(rule)}`)))
        : h("p", { class: "note" }, "No rules configured. Add a rule to the server's configuration file, for example [rules.fast]."));
    }, (/** @type {unknown} */ error) => fill(this.#rules, h("p", { class: "note" }, explained(error))));
    await Promise.all([past, rules]);
  }

  #told = "";
  /**
   * The number of rules; undefined until the server has answered.
   * @type {number|undefined}
   */
  #ruleCount;

  /** The text for an empty list; undefined until the rules have been loaded. */
  #calm() {
    if (this.#store.alertTotals.count) return "These alerts have ended.";
    if (this.#ruleCount === undefined) return undefined;
    return this.#ruleCount ? "No open alerts." : "No alerts: no rules are configured.";
  }

  #showOpen() {
    const totals = this.#store.alertTotals, shown = this.#page?.alerts ?? totals.alerts ?? [];
    const open = this.#page ? shown : [...shown].filter((alert) => !alert.ended)
      .sort((a, b) => severities[severityOf(a.severity)].order - severities[severityOf(b.severity)].order || newest(a.began, b.began));
    // The list is redrawn only after a change of these values. Ages are shown in minutes, so the current minute is one of them.
    const told = [Math.floor(Date.now() / 60_000), this.#session.mayOperate, this.#page?.title, totals.count, totals.next, this.#ruleCount,
      ...open.map((/** @type {Alert} */ alert) => `${alert.id} ${alert.ended ?? ""} ${alert.silenced ?? ""}`)].join("\n");
    if (told === this.#told) return;
    this.#told = told;
    this.#showGroups();
    const next = this.#page ? this.#page.next : totals.more ? totals.next : undefined;
    this.#openList.hidden = !open.length;
    this.#fillList(this.#openList, open);
    /** @type {{text?: string, next?: string}[]} */ const foot = [];
    const calm = open.length ? undefined : this.#calm();
    if (calm) foot.push({ text: calm });
    if (next) foot.push({ next });
    keep(this.#openFoot, foot, (each) => each.text ?? `${this.#page?.title} ${each.next}`,
      (each) => each.text ? h("p", { class: "calm" }, each.text)
        : h("p", { class: "actions" }, button("Next page",
          () => this.#ask({ rule: this.#page?.asked.rule, after: each.next }, this.#page?.title ?? "all rules"))));
  }

  /** If there are more alerts than shown, shows a button per rule with its number of alerts. The button shows only the alerts of this rule. */
  #showGroups() {
    const { count: all = 0, more = 0, groups = [] } = this.#store.alertTotals;
    this.#groups.hidden = !more && !this.#page;
    setText(this.#groupsLine, this.#groups.hidden ? ""
      : this.#page ? `Shown: ${this.#page.title}, ${amount(this.#page.alerts.length)} of ${count(this.#page.count, "alert")}.`
      : `${count(all, "alert")} are open. The most severe and newest are shown.`);
    this.#groupsBack.hidden = !this.#page;
    const shown = this.#groups.hidden ? [] : groups.slice(0, 50);
    keep(this.#groupsButtons, shown, (group) => group.rule,
      (group) => button("", () => this.#ask({ rule: group.rule }, safeName(group.rule, 60))));
    shown.forEach((group, /** @type {number} */ index) => {
      const [each, name, number] = [this.#groupsButtons.children[index], safeName(group.rule, 60), count(group.count, "alert")];
      setText(each, `${name}: ${number}`);
      each.setAttribute("aria-label", `Show only ${name}: ${severities[severityOf(group.severity)].word}, ${number}`);
    });
  }

  /**
   * Requests a page of alerts and shows it instead of the alerts of the stream.
   * @param {Asked} asked @param {string} title
   */
  async #ask(asked, title, isAgain = false) {
    const { count: all, next } = this.#store.alertTotals, before = this.#page;
    try {
      const answer = await this.#api.get(`alerts${query({ order: "severity", limit: 300, ...asked })}`);
      if (isAgain && this.#page !== before) return;
      this.#page = { asked, title, alerts: answer.alerts ?? [], next: answer.next, count: answer.count ?? 0, of: `${all} ${next}` };
      if (asked.id && !this.#page.alerts.length) this.#page = undefined;
      this.#showOpen();
      if (!asked.id && !isAgain) this.#openTitle.scrollIntoView({ block: "nearest" });
    } catch (error) {
      announce(explained(error));
    }
  }

  /** Scrolls to the alert in the address. */
  #reveal() {
    if (this.#chosen) this.elements[0].querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }

  /** @param {Alert[]} alerts */
  #list(alerts) {
    const list = h("ul", { class: "alert-list" });
    this.#fillList(list, alerts);
    return list;
  }

  /** @param {HTMLElement} list @param {Alert[]} alerts */
  #fillList(list, alerts) {
    const now = this.#store.now();
    const context = [this.#session.mayOperate, this.#hasHistory(), isUTC(), dayOf(now, isUTC())].join(" ");
    const keyOfItem = (/** @type {Alert} */ alert) => [
      alert.id, alert.ended, alert.silenced, (moment(alert.silenced) ?? 0) > now, String(alert.id) === this.#chosen, context,
    ].join(" ");
    keep(list, alerts, keyOfItem,
      (alert) => this.#item(alert, now));
    refreshAges(list, now);
  }

  /** @param {Alert} alert @param {number} now */
  #item(alert, now) {
    const severity = severityOf(alert.severity), sign = severities[severity];
    const silenced = (moment(alert.silenced) ?? 0) > now, at = place(alert.place?.latitude, alert.place?.longitude);
    const reason = alert.ended && alert.reason ? reasons[alert.reason] : undefined;
    return h("li", { class: `alert severity-${severity}${alert.ended ? " ended" : ""}`, "aria-current": String(alert.id) === this.#chosen ? "true" : null },
      drawing([{ d: sign.d, "fill-rule": "evenodd" }], `glyph severity-${severity}`),
      h("div", { class: "what" },
        h("b", {}, `${sign.word}: ${safeName(alert.summary ?? words(alert.rule), 300)}`),
        h("span", { class: "note" },
          alert.vehicle ? [h("a", { href: routeAddress({ view: "vehicle", fleet: alert.fleet, vehicle: alert.vehicle }) },
            h("bdi", {}, safeName(alert.vehicle, 60))), " · "] : null,
          `${safeName(alert.rule, 60)} · since `, timeElement(alert.began, now, { withAge: !alert.ended }),
          alert.ended ? [" · lasted ", duration(((moment(alert.ended) ?? NaN) - (moment(alert.began) ?? NaN)) / 1000)] : null,
          reason ? ` · ended: ${reason}` : null,
          isLate(alert) ? [" · reported ", timeElement(alert.noticed, now)] : null,
          at ? [" · ", h("a", {
            href: routeAddress({ view: "map", query: { pin: at.replace(" ", "") } }), "aria-label": `Show the position on the map: ${at}`,
          }, `at ${at}`)] : null,
          this.#hasHistory() && alert.vehicle && moment(alert.began) !== undefined
            ? [" · ", h("a", {
              href: routeAddress(momentOf(alert)), "aria-label": `History of ${safeName(alert.vehicle, 60)} at the start of the alert`,
            }, "show history")] : null,
          silenced ? [" · silenced until ", timeElement(alert.silenced, now)] : null),
        alert.remedy ? h("span", { class: "note" }, `Remedy: ${safeName(alert.remedy, 300)}`) : null),
      !alert.ended && this.#session.mayOperate
        ? button("Silence…", () => this.#silence(alert), { "aria-label": `Silence: ${safeName(alert.summary, 100)}` }) : null);
  }

  /** @param {Alert} alert */
  #silence(alert) {
    const result = outcome();
    const seconds = h("select", {}, silences.map(([value, text]) => h("option", { value, selected: value === 3600 }, text)));
    const dialog = openDialog("Silence this alert", h("p", {}, safeName(alert.summary, 300)), field("Duration", seconds), result.element,
      h("div", { class: "actions end" }, button("End alert…", () => {
        dialog.close();
        this.#end(alert);
      }), button("Silence", async () => {
        try {
          await this.#api.post(`${path("alerts", String(alert.id), "silence")}`, { seconds: Number(seconds.value) });
          dialog.close();
          announce("Alert silenced.");
        } catch (error) {
          result.bad(error);
        }
      }, { class: "strong" })));
  }

  /** @param {Alert} alert */
  #end(alert) {
    const result = outcome();
    const dialog = openDialog("End this alert", h("p", {}, safeName(alert.summary, 300)),
      h("p", { class: "note" }, "The receivers are notified. If the condition persists, a new alert is raised only after the condition has been false once."),
      result.element, h("div", { class: "actions end" }, button("End alert", async () => {
        try {
          await this.#api.post(path("alerts", String(alert.id), "end"), {});
          dialog.close();
          announce("Alert ended.");
        } catch (error) {
          result.bad(error);
        }
      }, { class: "strong" })));
  }
}
