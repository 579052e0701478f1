/** Sections of the vehicle's panel, each made from the summary and the details (if loaded). */
import { facts, h } from "./dom.js";
import { amount, bytes, count, direction, duration, metres, percent, place, safeName, speed, words } from "./format.js";
import { timeElement } from "./times.js";
import { promiseOf, reckoned } from "./reckoning.js";
import { reducedMotion } from "./theme.js";
import { activity, activityMeanings, activityWords, isOutdated, positionKinds, sourceKind, speedOf } from "./vehicle.js";

const yes = (value, one, other) => value === undefined ? undefined : value ? one : other;
const list = (items) => items?.length ? h("ul", { class: "plain" }, items.map((item) => h("li", {}, item))) : undefined;

/** @param {{isLink?: boolean}} known `isLink`: omit values that a shared link does not contain, instead of listing them as unknown */
export function positionSection({ summary, details, now, isLink }) {
  const position = summary.position;
  if (!position) return [h("p", { class: "unknown" }, "No position is known.")];
  const altitude = details?.altitude;
  // With bounded reporting the vehicle sends nothing while it moves as predicted: show the predicted position.
  const at = promiseOf(summary) ? reckoned(summary, now) : position, east = at.longitude - 360 * Math.round(at.longitude / 360);
  return [facts([
    ["Place", place(at.latitude, at.longitude),
      h("a", { href: `geo:${at.latitude.toFixed(6)},${east.toFixed(6)}`, title: "Opens this device's own map" }, "Map app")],
    ["Accuracy", position.accuracy === undefined ? undefined : `± ${metres(position.accuracy)}`, "68 of 100 times"],
    ["Source", position.source === undefined ? undefined : positionKinds[sourceKind(position)], isOutdated(summary) ? "old: it may have moved since" : null],
    ["Measured", timeElement(position.time, now, { withAge: true })],
    speedRow(summary),
    ["Course", direction(position.course)],
    ["Heading", direction(summary.heading)],
    ["Altitude", metres(altitude?.altitude ?? position.altitude), altitude?.accuracy === undefined ? null : `± ${metres(altitude.accuracy)}`],
    altitude?.floor && ["Level of the garage", amount(altitude.floor.level), percent(altitude.floor.confidence)],
    promiseRow(summary, now),
    isLink ? null : ["Inside", summary.inside?.length ? summary.inside.map((name) => safeName(name, 64)).join(", ") : "no region"],
    details?.location?.suspect && ["Suspect", suspicions[details.location.suspect] ?? "other measurements contradict this position"],
    details?.location?.contradictsBeacons && details.location.suspect !== "beacons" && ["Contradicted", "access points and cells say that it is elsewhere"],
  ])];
}

const suspicions = {
  jump: "it jumped farther than any vehicle moves",
  velocity: "it drifts against the receiver's own velocity",
  navigation: "it contradicts inertial navigation",
  wheels: "the receiver's speed contradicts the wheel speed",
  beacons: "access points and cells at known positions are elsewhere",
};

function speedRow(summary) {
  const now = speedOf(summary), then = summary.position.speed;
  if (now === undefined && then !== undefined) return ["Speed", "not known now", `${speed(then)} when the position was measured`];
  return ["Speed", speed(now)];
}

/** The error bound of a vehicle with bounded reporting. */
function promiseRow(summary, now) {
  const promise = promiseOf(summary);
  if (!promise) return null;
  const shown = reckoned(summary, now);
  if (shown.left === undefined) {
    const wait = (promise.reports[0].time + promise.lag - now) / 1000;
    return ["Promise", wait > 0 ? `its first report counts in ${duration(wait)}: the map shows where it will be taken to be then` : "none any more: the map shows its last report"];
  }
  // With reduced motion the map shows the position of the report, so that the predicted movement adds to the error.
  const bound = shown.bound + (reducedMotion() ? shown.drift : 0);
  const moment = promise.delay > 0 ? `as of ${duration(promise.delay)} ago` : "now";
  if (shown.left < 0) {
    return ["Promise", `lapsed ${duration(-shown.left)} ago: by now, its fix may be up to ${metres(bound)} from what the map shows`, `the map shows it ${moment}`];
  }
  return ["Promise", `its fix is never more than ${metres(bound)} from what the map shows`, `the map shows it ${moment}; that holds ${Number.isFinite(shown.left) ? `for ${duration(shown.left)} without another report` : "until its next report"}`];
}

export function connectionSection({ summary, details, now, isLink }) {
  const status = details?.status, doing = activity(summary);
  const first = [
    ["State", `${activityWords[doing]}: ${activityMeanings[doing]}`],
    ["Heard from", timeElement(summary.heard, now, { withAge: true })],
  ];
  if (isLink) return [facts(first)];
  return [facts([
    ...first,
    status?.nextContact && ["Next contact", timeElement(status.nextContact, now)],
    ["Waiting to be sent", summary.queue === undefined ? undefined : count(summary.queue, "message")],
    ["Missing", (summary.missing ?? details?.missing) === undefined ? undefined : count(summary.missing ?? details.missing, "message")],
    details && ["Received", details.messages === undefined ? undefined : count(details.messages, "message"),
      details.unreadable ? `${amount(details.unreadable)} unreadable` : null],
    status?.sessionStart && ["Connected since", timeElement(status.sessionStart, now)],
    status?.clock && ["Clock", { receiver: "by the receiver", system: "the machine's own", unsynchronized: "not set: its times are unsure" }[status.clock] ?? words(status.clock)],
    status?.deliveryProblem && ["Refused by the broker", safeName(status.deliveryProblem, 400)],
    status?.storeProblem && ["Store", safeName(status.storeProblem, 400)],
  ])];
}

export function powerSection({ summary, details, isLink }) {
  const status = details?.status, battery = { ...status?.battery, ...summary.battery };
  const energy = status?.energy;
  const parts = energy && Object.entries(energy).filter(([name, value]) => name !== "total" && value && typeof value === "object");
  return [
    facts([
      ["Battery", battery.level === undefined ? undefined
        : h("span", { class: "meter-row" }, h("meter", { min: 0, max: 1, low: 0.2, optimum: 1, value: battery.level, "aria-label": "Battery" }), ` ${percent(battery.level)}`),
      [yes(battery.charging, "charging", null), amount(battery.voltage, 1, "V")].filter(Boolean).join(", ")],
      ...isLink ? [] : [
        ["Power from outside", yes(status?.externalPower, "yes", "no")],
        ["Temperature", amount(status?.temperature, 1, "°C")],
        ["Energy since start", amount(energy?.total, 0, "J"), status?.uptime === undefined ? null : `in ${duration(status.uptime)}`],
      ],
    ]),
    parts?.length ? table("Energy by part", ["Part", "J", "Seconds", "Starts"],
      parts.map(([name, part]) => [words(name), amount(part.joules ?? part.energy, 0), amount(part.seconds, 0), amount(part.starts)])) : null,
  ];
}

export function sensorSection({ details }) {
  const status = details?.status;
  if (!status) return [h("p", { class: "unknown" }, "Its status is not known.")];
  const unavailable = Object.entries(status.services ?? {}).filter(([, value]) => value !== "available");
  return [
    status.sources?.length ? table("Sources", ["Source", "State", "Rate"], status.sources.map((source) => [
      safeName(source.name, 60), [words(source.state), source.reason ? `: ${safeName(source.reason, 300)}` : ""].join(""),
      Object.entries(source.rates ?? {}).map(([name, rate]) => `${words(name)} ${amount(rate, rate < 10 ? 1 : 0)}\u202fHz`).join(", "),
    ])) : facts([["Sources", undefined]]),
    unavailable.length ? [h("h4", {}, "Not available"), facts(unavailable.map(([name, reason]) => [words(name), safeName(typeof reason === "string" ? reason : JSON.stringify(reason), 300)]))] : null,
    Object.keys(status.degraded ?? {}).length ? [h("h4", {}, "Less well than asked for"),
      facts(Object.entries(status.degraded).map(([name, reason]) => [words(name), safeName(typeof reason === "string" ? reason : JSON.stringify(reason), 400)]))] : null,
    facts([
      status.navigation && ["Navigation", words(status.navigation.state), status.navigation.reason ? safeName(status.navigation.reason, 300) : null],
      status.compass && ["Compass", words(status.compass.calibration), status.compass.calibrationInstruction ? safeName(status.compass.calibrationInstruction, 300) : null],
      status.orientation && ["Device lies", words(status.orientation)],
      ["Authorization", status.authorization === undefined ? undefined : words(status.authorization)],
    ]),
  ];
}

export function journeySection({ summary, details, now }) {
  const trip = details?.trip, status = details?.status;
  return [facts([
    ["Trip", trip || summary.trip ? `${amount((trip ?? summary.trip).number)}${trip?.phase ? `, ${words(trip.phase)}` : summary.trip?.moving ? ", moving" : ""}` : undefined],
    ["Distance", metres(trip?.distance ?? summary.trip?.distance), trip?.estimated ? `${metres(trip.estimated)} of it estimated` : null],
    trip && ["Began", timeElement(trip.start?.time, now)],
    trip && ["In motion", duration(trip.moving), trip.standing === undefined ? null : `${duration(trip.standing)} standing`],
    trip?.greatestSpeed !== undefined && ["Fastest", speed(trip.greatestSpeed)],
    trip?.driver && ["Driver", safeName(trip.driver, 80)],
    trip?.purpose && ["Purpose", safeName(trip.purpose, 80)],
    ["Odometer", metres(status?.odometer), status?.odometerEstimated ? `${metres(status.odometerEstimated)} estimated` : null],
  ])];
}

export function eventSection({ summary, details, now }) {
  const events = details?.recentEvents?.length ? details.recentEvents : summary.event ? [summary.event] : [];
  const found = list([...events].map((event) => [
    timeElement(event.time, now, { withAge: true }), " ", safeName(event.summary ?? words(event.event ?? event.kind ?? "event"), 300),
  ]));
  return [found ?? h("p", { class: "unknown" }, "None has been told since the server listens.")];
}

export function regionSection({ details }) {
  const features = details?.regions?.features ?? [];
  if (!features.length) return [h("p", { class: "unknown" }, "It watches none that the server knows of.")];
  return [table("Regions", ["Region", "Accepted", "Vehicle is"], features.map((feature) => {
    const given = feature.properties ?? {};
    return [
      safeName(feature.id ?? given.id ?? given.identifier, 64),
      given.accepted === undefined ? "no answer yet" : given.accepted ? "yes" : `no${given.reason ? `: ${safeName(given.reason, 200)}` : ""}`,
      given.state === undefined ? "not known" : words(given.state),
    ];
  }))];
}

export function signalSection({ details }) {
  const signals = details?.signals?.signals ?? details?.signals;
  const entries = Object.entries(signals ?? {}).filter(([, value]) => typeof value !== "object" || value?.value !== undefined);
  if (!entries.length) return null;
  return [table("Signals of the vehicle's bus", ["Signal (VSS)", "Value"], entries.map(([name, value]) => [
    safeName(name.replace(/^Vehicle\./, ""), 90), typeof value === "object" ? safeName(value.value, 60) : typeof value === "number" ? amount(value, Number.isInteger(value) ? 0 : 2) : safeName(value, 60),
  ]))];
}

export function deviceSection({ details }) {
  const status = details?.status;
  if (!status) return null;
  return [facts([
    ["Model", status.model === undefined ? undefined : safeName(status.model, 120)],
    ["Version", status.version === undefined ? undefined : safeName(status.version, 60)],
    ["Up since", status.uptime === undefined ? undefined : duration(status.uptime)],
    ["Storage free", bytes(status.storage?.free), status.storage ? `of ${bytes(status.storage.total)}` : null],
    ["Memory", bytes(status.memory?.resident), status.memory?.available === undefined ? null : `${bytes(status.memory.available)} left`],
    ["Takes commands", yes(status.remote, "yes", "no")],
  ])];
}

/** A table with a caption for screen readers. */
export function table(caption, columns, rows) {
  return h("table", {}, h("caption", { class: "visually-hidden" }, caption),
    h("thead", {}, h("tr", {}, columns.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, rows.map((cells) => h("tr", {}, cells.map((cell, index) => index === 0
      ? h("th", { scope: "row" }, cell ?? "") : h("td", {}, cell ?? "not known"))))));
}
