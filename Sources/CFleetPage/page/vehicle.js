/** What a vehicle's summary means: its state, where it may be now, and how well that is known. Pure. */
import { moment } from "./format.js";

/**
 * @typedef {Object} Position
 * @property {number} latitude
 * @property {number} longitude
 * @property {string} [time]
 * @property {number} [accuracy] metres, 68 %
 * @property {number} [altitude]
 * @property {number} [speed] m/s
 * @property {number} [course] degrees from north
 * @property {string} [source]
 * @property {boolean} [stale]
 */

/**
 * @typedef {Object} Summary
 * @property {string} fleet
 * @property {string} vehicle
 * @property {"online"|"asleep"|"offline"|"unknown"} state
 * @property {string} [heard]
 * @property {boolean} [overdue]
 * @property {Position} [position]
 * @property {number} [heading]
 * @property {{velocityEast: number, velocityNorth: number, bound: number, delay?: number, validity?: number, growth?: number}} [prediction]
 * @property {{level?: number, charging?: boolean}} [battery]
 * @property {number} [queue]
 * @property {number} [missing]
 * @property {string[]} [inside]
 * @property {{summary: string, time: string}} [event]
 * @property {{number: number, distance: number, moving: boolean}} [trip]
 */

/** What a vehicle may be said to do, in the order in which somebody on call wants to see it. */
export const activities = ["offline", "overdue", "moving", "standing", "asleep", "unknown"];

export const activityWords = {
  moving: "Moving", standing: "Standing", asleep: "Asleep", overdue: "Overdue", offline: "Offline", unknown: "Unknown",
};

export const activityMeanings = {
  moving: "connected, and faster than walking",
  standing: "connected, and slower than walking or without a speed",
  asleep: "has said that it sleeps",
  overdue: "connected or asleep, and heard from later than it promised",
  offline: "its connection has ended",
  unknown: "has never told its state",
};

/** m/s below which a vehicle counts as standing: a receiver at rest reports some 0.1 to 0.5 of noise. */
const standingSpeed = 0.7;

/** The server's name of a vehicle, and ours in maps: neither part may hold a slash, since topics divide there. */
export const keyOf = (vehicle) => `${vehicle.fleet}/${vehicle.vehicle}`;

/** @param {Summary} vehicle */
export function activity(vehicle) {
  if (vehicle.overdue && vehicle.state !== "offline") return "overdue";
  if (vehicle.state === "online") return (vehicle.position?.speed ?? 0) >= standingSpeed ? "moving" : "standing";
  return vehicle.state === "asleep" || vehicle.state === "offline" ? vehicle.state : "unknown";
}

/** How a position came about, by what is drawn for it. */
export const positionKinds = {
  fix: "Measured by the receiver",
  fused: "Receiver and inertial sensors together",
  inertial: "Carried on by inertial sensors, without a receiver",
  coarse: "Coarse: from access points or cells",
  stale: "Old: it may have moved since",
};

/** @param {Position|undefined} position */
export function positionKind(position) {
  if (!position) return undefined;
  if (position.stale) return "stale";
  if (position.source === "coarse" || position.source === "inertial" || position.source === "fused") return position.source;
  return "fix";
}

/** Seconds for which a course and a speed without a promise of the vehicle's own are carried on: a street's bend is about that far. */
const plainHorizon = 10;
/** Seconds below which a report counts as now: its way here, and the pause between two. */
export const freshFor = 2;
const metresPerDegree = 111_195;

/**
 * Where a vehicle may be at `now`, carried on from its last report.
 * @param {Summary} vehicle
 * @param {number} now milliseconds
 * @param {ReturnType<typeof velocity>} [motion] its velocity, where that has been found already
 * @returns {{latitude: number, longitude: number, radius: number|undefined, ahead: number}|undefined} radius in metres
 *   around it; ahead: seconds since the report over which it was carried on, 0 for the report itself
 */
export function reckoned(vehicle, now, motion = velocity(vehicle)) {
  const position = vehicle.position;
  if (!position) return undefined;
  const reported = { latitude: position.latitude, longitude: position.longitude, radius: position.accuracy, ahead: 0 };
  if (!motion) return reported;
  const since = (now - motion.time) / 1000;
  if (!(since > 0)) return reported;
  const ahead = Math.min(since, motion.validity);
  // Once the promise has lapsed, the report is all that is known.
  if (since > motion.validity && !motion.promised) return reported;
  const latitude = position.latitude + (motion.north * ahead) / metresPerDegree;
  const longitude = position.longitude + (motion.east * ahead) / (metresPerDegree * Math.cos((position.latitude * Math.PI) / 180));
  if (!Number.isFinite(longitude) || Math.abs(latitude) > 89) return reported;
  const grown = motion.promised
    ? motion.bound + Math.max(0, since - motion.validity) * motion.growth
    : (position.accuracy ?? 0) + 0.5 * motion.speed * ahead;
  return { latitude, longitude, radius: Math.max(grown, position.accuracy ?? 0), ahead };
}

/** How it moves, in m/s east and north, since when (milliseconds) and for how long (seconds) that is carried on. */
export function velocity(vehicle) {
  const position = vehicle.position;
  if (!position || position.stale || vehicle.state !== "online") return undefined;
  const time = moment(position.time);
  if (time === undefined) return undefined;
  const promise = vehicle.prediction;
  if (promise && Number.isFinite(promise.velocityEast) && Number.isFinite(promise.velocityNorth)) {
    const { velocityEast: east, velocityNorth: north } = promise;
    return {
      time, east, north, speed: Math.hypot(east, north), promised: true, bound: promise.bound ?? 0,
      // Without an end, the promise holds until the vehicle breaks it; five minutes are what anybody would believe.
      validity: Math.min(promise.validity ?? 300, 300), growth: promise.growth ?? 0,
    };
  }
  if (!(position.speed >= standingSpeed) || !Number.isFinite(position.course)) return undefined;
  const course = (position.course * Math.PI) / 180;
  return {
    time, east: position.speed * Math.sin(course), north: position.speed * Math.cos(course), speed: position.speed,
    promised: false, bound: 0, validity: plainHorizon, growth: 0,
  };
}

/** Whether anything of a vehicle wants a look: as `concerns`, without the words. */
export function isConcerning(vehicle) {
  return vehicle.overdue === true || (vehicle.battery?.level < 0.2 && !vehicle.battery.charging) || vehicle.queue > 100
    || vehicle.missing > 0 || !vehicle.position || vehicle.position.stale === true;
}

/** What wants a look, in words; the most pressing first. */
export function concerns(vehicle) {
  const found = [];
  if (vehicle.overdue) found.push("heard from later than promised");
  if (vehicle.battery?.level < 0.2 && !vehicle.battery.charging) found.push("battery low");
  if (vehicle.queue > 100) found.push("messages queue up");
  if (vehicle.missing > 0) found.push("messages are missing");
  if (!vehicle.position) found.push("no position");
  else if (vehicle.position.stale) found.push("position is old");
  return found;
}
