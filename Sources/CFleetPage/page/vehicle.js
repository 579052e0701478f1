/** Interprets a vehicle's summary: state, and quality of its position. Pure. */
import { duration } from "./format.js";
import { measuredAt, promiseOf, standingSpeed } from "./reckoning.js";

/**
 * @typedef {Object} Position
 * @property {number} latitude degrees
 * @property {number} longitude degrees
 * @property {string} [time] time of measurement by the vehicle's clock, RFC 3339
 * @property {number} [accuracy] metres, 68 %
 * @property {number} [altitude] metres
 * @property {number} [speed] m/s
 * @property {number} [course] degrees from north
 * @property {string} [source]
 * @property {string} [suspect] the measurement that contradicts the position
 * @property {boolean} [stale] true if the vehicle no longer updates the position
 * @property {string} [received] time of reception by the server's clock, RFC 3339; only if the vehicle's clock differs
 */

/**
 * @typedef {Object} Summary
 * @property {string} fleet
 * @property {string} vehicle
 * @property {"online"|"asleep"|"offline"|"unknown"} state
 * @property {string} [heard] time of the last message, RFC 3339
 * @property {boolean} [overdue] true if a sleeping vehicle has sent no message at the announced time
 * @property {Position} [position]
 * @property {number} [heading] degrees from north
 * @property {{velocityEast: number, velocityNorth: number, bound: number, delay?: number, validity?: number, growth?: number,
 *   before?: any[]}} [prediction] bounded reporting, in m, m/s and s
 * @property {{level?: number, charging?: boolean}} [battery] level from 0 to 1
 * @property {number} [queue] number of messages in the vehicle's queue
 * @property {number} [missing] number of missing messages
 * @property {number} [clockLead] seconds by which the vehicle's clock is ahead
 * @property {number} [clockLag] seconds by which the vehicle's clock is behind
 * @property {boolean} [gap] true if messages went missing within the last 15 minutes
 * @property {string[]} [inside] names of the regions that the vehicle is in
 * @property {{summary: string, time: string}} [event] newest event
 * @property {{number: number, distance: number, moving: boolean}} [trip] last trip; distance in metres, `moving` until it has ended
 * @property {boolean} [isFresh] true while the position is current; set by the store, see `freshUntil`
 */

/** @typedef {"offline"|"overdue"|"moving"|"standing"|"connected"|"asleep"|"unknown"} Activity */

/**
 * The states of a vehicle, in order of urgency.
 * @type {Activity[]}
 */
export const activities = ["offline", "overdue", "moving", "standing", "connected", "asleep", "unknown"];

/** @type {Record<Activity, string>} */
export const activityWords = {
  moving: "Moving", standing: "Stopped", connected: "Connected", asleep: "Asleep", overdue: "Overdue", offline: "Offline", unknown: "Unknown",
};

/** @type {Record<Activity, string>} */
export const activityMeanings = {
  moving: "connected, faster than 2.5 km/h",
  standing: "connected, slower than 2.5 km/h",
  connected: "connected, but without a current speed",
  asleep: "has reported that it sleeps",
  overdue: "asleep, and no message 5 minutes after the announced wake-up",
  offline: "the connection was closed or lost",
  unknown: "has never reported its state",
};

/** The key of a vehicle. Names contain no slash, the separator of MQTT topics. */
export const keyOf = (/** @type {VehicleName} */ vehicle) => `${vehicle.fleet}/${vehicle.vehicle}`;

/** Milliseconds for which a position is current without bounded reporting. */
const plainFreshness = 60_000;

/**
 * The time until which a vehicle's position is current, in milliseconds: its validity with bounded reporting, otherwise a minute.
 * @param {Summary} vehicle
 */
export function freshUntil(vehicle) {
  const at = measuredAt(vehicle.position);
  if (at === undefined || vehicle.position?.stale || vehicle.state !== "online") return -Infinity;
  const promise = promiseOf(vehicle);
  return promise ? promise.newest.time + promise.lag + promise.newest.validity * 1000 : at + plainFreshness;
}

/**
 * Speed in m/s; undefined if no current speed is known, as that of a suspect position.
 * @param {Summary} vehicle
 */
export function speedOf(vehicle) {
  if (!vehicle.isFresh || vehicle.state !== "online" || vehicle.position?.suspect) return undefined;
  return vehicle.position?.speed ?? promiseOf(vehicle)?.speed;
}

/** @param {Summary} vehicle @returns {Activity} */
export function activity(vehicle) {
  if (vehicle.overdue && vehicle.state !== "offline") return "overdue";
  if (vehicle.state === "online") {
    const speed = speedOf(vehicle);
    return speed === undefined ? "connected" : speed >= standingSpeed ? "moving" : "standing";
  }
  return vehicle.state === "asleep" || vehicle.state === "offline" ? vehicle.state : "unknown";
}

/** Text per source of a position. */
export const positionKinds = {
  fix: "Measured by the GNSS receiver",
  fused: "GNSS receiver and inertial sensors",
  inertial: "From inertial sensors, without GNSS reception",
  coarse: "Coarse: from access points or cells",
  suspect: "Suspect: another measurement contradicts the position",
  stale: "Old: the vehicle may have moved since",
};

/**
 * True if the vehicle may have moved since its position: the position is stale, or the vehicle was moving.
 * @param {Summary} vehicle
 */
export function isOutdated(vehicle) {
  const position = vehicle.position;
  if (!position) return false;
  return position.stale === true || (vehicle.state === "online" && !vehicle.isFresh && (position.speed ?? 0) >= standingSpeed);
}

/** @param {Summary} vehicle */
export const positionKind = (vehicle) => isOutdated(vehicle) ? "stale" : vehicle.position?.suspect ? "suspect" : sourceKind(vehicle.position);

/**
 * The source of a position, independent of its age.
 * @param {Position|undefined} position
 */
export function sourceKind(position) {
  if (!position) return undefined;
  if (position.source === "coarse" || position.source === "inertial" || position.source === "fused") return position.source;
  return "fix";
}

/** @param {Summary} vehicle */
const isBatteryLow = ({ battery }) => battery?.level !== undefined && battery.level < 0.2 && !battery.charging;

/**
 * True if `concerns` is not empty.
 * @param {Summary} vehicle
 */
export function isConcerning(vehicle) {
  return vehicle.overdue === true || isBatteryLow(vehicle) || (vehicle.queue ?? 0) > 100
    || vehicle.clockLead !== undefined || vehicle.clockLag !== undefined || !vehicle.position
    || vehicle.position.suspect !== undefined || vehicle.position.stale === true;
}

/** The concern of a vehicle that did not wake on time. */
export const lateWaking = "wake-up overdue";

/**
 * The reasons why a vehicle needs attention, most urgent first.
 * @param {Summary} vehicle
 */
export function concerns(vehicle) {
  const found = [];
  if (vehicle.overdue) found.push(lateWaking);
  if (isBatteryLow(vehicle)) found.push("battery low");
  if ((vehicle.queue ?? 0) > 100) found.push("many messages queued");
  if (vehicle.clockLead !== undefined) found.push(`clock ahead by ${duration(vehicle.clockLead)}`);
  if (vehicle.clockLag !== undefined) found.push(`clock behind by ${duration(vehicle.clockLag)}`);
  if (vehicle.position?.suspect) found.push("suspect position");
  if (!vehicle.position) found.push("no position");
  else if (vehicle.position.stale) found.push("old position");
  return found;
}
