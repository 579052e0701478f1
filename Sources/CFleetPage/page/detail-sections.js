/** Sections of the vehicle's panel, each made from the summary and the details (if loaded). */
import { facts, h } from "./dom.js";
import { amount, bytes, count, direction, duration, metres, moment, percent, place, safeName, speed, words } from "./format.js";
import { timeElement } from "./times.js";
import { promiseOf, reckoned } from "./reckoning.js";
import { reducedMotion } from "./theme.js";
import { activity, activityMeanings, activityWords, isOutdated, positionKinds, sourceKind, speedOf } from "./vehicle.js";

/** @param {unknown} value @param {string} one @param {string|null} other */
const yes = (value, one, other) => value === undefined ? undefined : value ? one : other;
/** @param {Child[]} items */
const list = (items) => items?.length ? h("ul", { class: "plain" }, items.map((item) => h("li", {}, item))) : undefined;

/** @param {Facts} known */
export function positionSection({ summary, details, now, isLink }) {
  const position = summary.position;
  if (!position) return [h("p", { class: "unknown" }, "No position received.")];
  const altitude = details?.altitude;
  // With bounded reporting the vehicle sends nothing while it moves as predicted: show the predicted position.
  const at = (promiseOf(summary) && reckoned(summary, now)) ?? position, east = at.longitude - 360 * Math.round(at.longitude / 360);
  return [facts([
    ["Coordinates", place(at.latitude, at.longitude),
      h("a", { href: `geo:${at.latitude.toFixed(6)},${east.toFixed(6)}`, title: "Open in this device's map app" }, "Map app")],
    ["Accuracy", position.accuracy === undefined ? undefined : `± ${metres(position.accuracy)}`, "68 % probability"],
    ["Source", position.source === undefined ? undefined : positionKinds[sourceKind(position) ?? "fix"],
      isOutdated(summary) ? "old: the vehicle may have moved since" : null],
    ["Measured", timeElement(position.time, now, { withAge: true })],
    speedRow(summary),
    ["Course", direction(position.course)],
    ["Heading", direction(summary.heading)],
    ["Altitude", metres(altitude?.altitude ?? position.altitude), altitude?.accuracy === undefined ? null : `± ${metres(altitude.accuracy)}`],
    altitude?.floor && ["Parking level", amount(altitude.floor.level), percent(altitude.floor.confidence)],
    promiseRow(summary, now),
    isLink ? null : ["Inside", summary.inside?.length ? summary.inside.map((/** @type {string} */ name) => safeName(name, 64)).join(", ") : "no region"],
    details?.location?.suspect && ["Suspect", suspicions[details.location.suspect] ?? "other measurements contradict this position"],
    details?.location?.contradictsBeacons && details.location.suspect !== "beacons"
      && ["Contradiction", "known access points and cells indicate another position"],
  ])];
}

/** @type {Record<string, string>} */
const suspicions = {
  jump: "jump farther than a vehicle can move",
  velocity: "drift contradicts the receiver's velocity",
  navigation: "contradicts dead reckoning",
  wheels: "the receiver's speed contradicts the wheel speed",
  beacons: "known access points and cells indicate another position",
};

/** @param {Summary} summary */
function speedRow(summary) {
  const now = speedOf(summary), then = summary.position?.speed;
  if (now === undefined && then !== undefined) return ["Speed", "unknown", summary.position?.suspect ? null : `${speed(then)} when the position was measured`];
  return ["Speed", speed(now)];
}

/**
 * The error of the position of a vehicle with bounded reporting: the bound, plus the accuracy of its report.
 * @param {Summary} summary @param {number} now
 */
function promiseRow(summary, now) {
  const promise = promiseOf(summary);
  if (!promise) return null;
  const shown = reckoned(summary, now);
  if (shown?.left === undefined || shown.bound === undefined) {
    const wait = (promise.reports[0].time + promise.lag - now) / 1000;
    return ["Error bound", wait > 0 ? `valid in ${duration(wait)}; until then the map shows the position of the first report`
      : "expired: the map shows the last report"];
  }
  // With reduced motion the map shows the position of the report, so that the predicted movement adds to the error.
  const bound = shown.bound + (reducedMotion() ? shown.drift : 0), accuracy = shown.radius === undefined ? undefined : shown.radius - shown.bound;
  const error = accuracy === undefined ? `${metres(bound)} from the receiver's fix; accuracy unknown` : metres(bound + accuracy);
  const moment = promise.delay > 0 ? `shown with ${duration(promise.delay)} delay` : "shown without delay";
  if (shown.left < 0) {
    return ["Error bound", `expired ${duration(-shown.left)} ago; the error may be up to ${error}`, moment];
  }
  const until = Number.isFinite(shown.left) ? `for ${duration(shown.left)} without another report` : "until the next report";
  return ["Error bound", `within ${error}`, `${moment}; valid ${until}`];
}

/** @type {Record<string, string>} */
const clocks = { receiver: "set by the receiver", system: "system clock", unsynchronized: "not set: times are unreliable" };

/** @param {Facts} known */
export function connectionSection({ summary, details, now, isLink }) {
  const status = details?.status, doing = activity(summary);
  const clock = [
    status?.clock ? clocks[status.clock] ?? words(status.clock) : null,
    summary.clockLead ? `ahead by ${duration(summary.clockLead)}` : null,
    summary.clockLag ? `behind by ${duration(summary.clockLag)}` : null,
    status?.clockStep ? `last correction ${amount(status.clockStep, 1)}\u202fs` : null,
  ].filter(Boolean);
  /** @type {import("./dom.js").Row[]} */
  const first = [
    ["State", `${activityWords[doing]}: ${activityMeanings[doing]}`],
    ["Last message", timeElement(summary.heard, now, { withAge: true })],
  ];
  if (isLink) return [facts(first)];
  return [facts([
    ...first,
    details?.overdueAt && ["Next contact", timeElement(details.overdueAt, now)],
    ["Queued on the vehicle", summary.queue === undefined ? undefined : count(summary.queue, "message")],
    ["Missing", summary.missing === undefined ? undefined : count(summary.missing, "sequence number"),
      summary.missing === undefined ? null : "messages that were replaced by newer ones before they were sent, are late, or were lost"],
    details && ["Received", details.messages === undefined ? undefined : count(details.messages, "message"),
      details.unreadable ? `${amount(details.unreadable)} unreadable` : null],
    status?.sessionStart && ["Connected since", timeElement(status.sessionStart, now)],
    clock.length > 0 && ["Clock", clock[0], clock.slice(1).join("; ")],
    status?.deliveryProblem && ["Refused by the broker", safeName(status.deliveryProblem, 400)],
    status?.storeProblem && ["Message store", safeName(status.storeProblem, 400)],
  ])];
}

/** @param {Facts} known */
export function powerSection({ summary, details, isLink }) {
  const status = details?.status, battery = { ...status?.battery, ...summary.battery };
  /** @type {Record<string, any>|undefined} */ const energy = status?.energy;
  const parts = energy && Object.entries(energy).filter(([name, value]) => name !== "total" && value && typeof value === "object");
  return [
    facts([
      ["Battery", battery.level === undefined ? undefined
        : h("span", { class: "meter-row" },
          h("meter", { min: 0, max: 1, low: 0.2, optimum: 1, value: battery.level, "aria-label": "Battery" }), ` ${percent(battery.level)}`),
      [yes(battery.charging, "charging", null), amount(battery.voltage, 1, "V")].filter(Boolean).join(", ")],
      ...isLink ? [] : /** @type {import("./dom.js").Row[]} */ ([
        ["External power", yes(status?.externalPower, "yes", "no")],
        ["Temperature", amount(status?.temperature, 1, "°C")],
        ["Energy since start", amount(energy?.total, 0, "J"), status?.uptime === undefined ? null : `in ${duration(status.uptime)}`],
      ]),
    ]),
    parts?.length ? table("Energy by part", ["Part", "Energy (J)", "Time (s)", "Starts"],
      parts.map(([name, part]) => [words(name), amount(part.joules ?? part.energy, 0), amount(part.seconds, 0), amount(part.starts)])) : null,
  ];
}

/** @param {unknown} reason a text in the present version @param {number} limit characters */
const reasonText = (reason, limit) => safeName(typeof reason === "string" ? reason : JSON.stringify(reason), limit);

/** @param {Facts} known */
export function sensorSection({ details }) {
  const status = details?.status;
  if (!status) return [h("p", { class: "unknown" }, "No status received.")];
  const unavailable = Object.entries(status.services ?? {}).filter(([, value]) => value !== "available");
  return [
    status.sources?.length ? table("Sources", ["Source", "State", "Rate"], status.sources.map((/** @type {any} */ source) => [
      safeName(source.name, 60), [words(source.state), source.reason ? `: ${safeName(source.reason, 300)}` : ""].join(""),
      Object.entries(source.rates ?? {}).map(([name, rate]) => `${words(name)} ${amount(rate, rate < 10 ? 1 : 0)}\u202fHz`).join(", "),
    ])) : facts([["Sources", undefined]]),
    unavailable.length ? [h("h4", {}, "Unavailable"), facts(unavailable.map(([name, reason]) => [words(name), reasonText(reason, 300)]))] : null,
    Object.keys(status.degraded ?? {}).length ? [h("h4", {}, "Degraded"),
      facts(Object.entries(status.degraded).map(([name, reason]) => [words(name), reasonText(reason, 400)]))] : null,
    facts([
      status.navigation && ["Navigation", words(status.navigation.state), status.navigation.reason ? safeName(status.navigation.reason, 300) : null],
      status.compass && ["Compass", words(status.compass.calibration),
        status.compass.calibrationInstruction ? safeName(status.compass.calibrationInstruction, 300) : null],
      status.orientation && ["Device orientation", words(status.orientation)],
      ["Authorization", status.authorization === undefined ? undefined : words(status.authorization)],
    ]),
  ];
}

/**
 * The newest message with a reading of the odometer: the last location or the last status.
 * @param {Facts["details"]} details
 */
function newestOdometer(details) {
  /** @type {any[]} */
  const messages = [details?.location, details?.status];
  return messages.filter((message) => message?.odometer !== undefined)
    .reduce((newest, message) => newest && (moment(newest.time) ?? 0) >= (moment(message.time) ?? 0) ? newest : message, undefined);
}

/** @param {Facts} known */
export function journeySection({ summary, details, now }) {
  const trip = details?.trip, odometer = newestOdometer(details);
  return [facts([
    ["Trip", trip || summary.trip
      ? `${amount((trip ?? summary.trip).number)}${trip?.phase ? `, ${words(trip.phase)}` : summary.trip?.moving ? ", moving" : ""}` : undefined],
    ["Distance", metres(trip?.distance ?? summary.trip?.distance), trip?.estimated ? `${metres(trip.estimated)} of it estimated` : null],
    trip && ["Started", timeElement(trip.start?.time, now)],
    trip && ["In motion", duration(trip.moving), trip.standing === undefined ? null : `${duration(trip.standing)} stopped`],
    trip?.greatestSpeed !== undefined && ["Maximum speed", speed(trip.greatestSpeed)],
    trip?.driver && ["Driver", safeName(trip.driver, 80)],
    trip?.purpose && ["Purpose", safeName(trip.purpose, 80)],
    ["Odometer", metres(odometer?.odometer), odometer?.odometerEstimated ? `${metres(odometer.odometerEstimated)} estimated` : null],
  ])];
}

/** @param {Facts} known */
export function eventSection({ summary, details, now }) {
  const events = details?.recentEvents?.length ? details.recentEvents : summary.event ? [summary.event] : [];
  const found = list([...events].map((event) => [
    timeElement(event.time, now, { withAge: true }), " ", safeName(event.summary ?? words(event.event ?? event.kind ?? "event"), 300),
    event.remedy ? h("span", { class: "note" }, ` Remedy: ${safeName(event.remedy, 300)}`) : null,
  ]));
  return [found ?? h("p", { class: "unknown" }, "No events since the server was started.")];
}

/** @param {Facts} known */
export function regionSection({ details }) {
  const features = details?.regions?.features ?? [];
  if (!features.length) return [h("p", { class: "unknown" }, "No regions assigned.")];
  return [table("Regions", ["Region", "Accepted", "State"], features.map((/** @type {any} */ feature) => {
    const given = feature.properties ?? {};
    return [
      safeName(feature.id ?? given.id ?? given.identifier, 64),
      given.accepted === undefined ? "no answer yet" : given.accepted ? "yes" : `no${given.reason ? `: ${safeName(given.reason, 200)}` : ""}`,
      given.state === undefined ? "unknown" : words(given.state),
    ];
  }))];
}

/** @param {Facts} known */
export function signalSection({ details }) {
  const signals = details?.signals?.signals ?? details?.signals;
  const entries = Object.entries(signals ?? {}).filter(([, value]) => typeof value !== "object" || value?.value !== undefined);
  if (!entries.length) return null;
  return [table("Vehicle signals", ["Signal (VSS)", "Value"], entries.map(([name, value]) => [
    safeName(name.replace(/^Vehicle\./, ""), 90),
    typeof value === "number" ? amount(value, Number.isInteger(value) ? 0 : 2) : safeName(typeof value === "object" ? value.value : value, 60),
  ]))];
}

/** @param {Facts} known */
export function deviceSection({ details }) {
  const status = details?.status;
  if (!status) return null;
  return [facts([
    ["Model", status.model === undefined ? undefined : safeName(status.model, 120)],
    ["Version", status.version === undefined ? undefined : safeName(status.version, 60)],
    ["Uptime", status.uptime === undefined ? undefined : duration(status.uptime)],
    ["Storage free", bytes(status.storage?.free), status.storage ? `of ${bytes(status.storage.total)}` : null],
    ["Memory", bytes(status.memory?.resident), status.memory?.available === undefined ? null : `${bytes(status.memory.available)} available`],
    ["Remote management", yes(status.remote, "yes", "no")],
  ])];
}

/**
 * A table with a caption for screen readers.
 * @param {string} caption @param {string[]} columns @param {Child[][]} rows
 */
export function table(caption, columns, rows) {
  return h("table", {}, h("caption", { class: "visually-hidden" }, caption),
    h("thead", {}, h("tr", {}, columns.map((/** @type {string} */ name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, rows.map((cells) => h("tr", {}, cells.map((cell, /** @type {number} */ index) => index === 0
      ? h("th", { scope: "row" }, cell ?? "") : h("td", {}, cell ?? "unknown"))))));
}
