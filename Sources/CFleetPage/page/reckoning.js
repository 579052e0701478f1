/**
 * Predicts positions between reports. Pure. Same rules as in the vehicle and in `odograph watch` (`ReportFollower`, `LocalFrame`).
 *
 * Bounded reporting guarantees an error bound for the position at the time `delay` before now. The map shows the position at that
 * time, predicted from the last report before it. For other vehicles, speed and course are extrapolated for some seconds.
 */
import { moment } from "./format.js";

/** Speed in m/s below which a vehicle is at rest. A receiver at rest reports 0.1 to 0.5 m/s of noise. */
export const standingSpeed = 0.7;
/** Seconds for which speed and course are extrapolated without bounded reporting. Roads are rarely straight for longer. */
const plainHorizon = 10;
/** Age in seconds up to which a position is shown as measured: transmission time and report interval. */
export const freshFor = 2;
/** Greatest latitude of a predicted position in degrees. */
const greatestLatitude = 89.9;
/** Seconds after which an expired prediction is no longer used. */
export const patience = 120;

const metresPerDegree = (() => {
  const a = 6_378_137, squared = 6.694_379_990_141_316e-3, radians = Math.PI / 180;
  return (/** @type {number} */ latitude) => {
    const root = Math.sqrt(1 - squared * Math.sin(latitude * radians) ** 2);
    return { north: (a * (1 - squared) / root ** 3) * radians, east: Math.max(1e-9, (a / root) * radians * Math.cos(latitude * radians)) };
  };
})();

/**
 * Moves a position by metres. The longitude can exceed 180.
 * @param {Place} place @param {number} east @param {number} north
 */
function moved(place, east, north) {
  const scale = metresPerDegree(place.latitude);
  return { latitude: place.latitude + north / scale.north, longitude: place.longitude + east / scale.east };
}

/** The time of measurement in milliseconds. If the clocks of vehicle and server differ, the time of reception by the server's clock. */
export const measuredAt = (/** @type {Position|undefined} */ position) => moment(position?.received) ?? moment(position?.time);

/**
 * @typedef {Object} Report of a vehicle with bounded reporting
 * @property {number} time start of validity in milliseconds of the vehicle's clock
 * @property {number} latitude
 * @property {number} longitude
 * @property {number} east m/s
 * @property {number} north m/s
 * @property {number} bound metres
 * @property {number} validity seconds after `time`; Infinity: until the next report
 * @property {number} growth increase of the bound in m/s after the validity
 * @property {number|undefined} accuracy metres, 68 %
 */

/** @typedef {{promised: true, lag: number, delay: number, reports: Report[], newest: Report, speed: number}} Promised */
/** @typedef {{promised: false, time: number, east: number, north: number, speed: number, validity: number}} Carried */

/**
 * The reports of a vehicle with bounded reporting, oldest first. `lag` is the time in milliseconds by which the map is behind the server's
 * clock: the delay of the reports, and the difference of the clocks.
 * @param {import("./vehicle.js").Summary} vehicle
 * @returns {Promised|undefined}
 */
export function promiseOf(vehicle) {
  const { position, prediction, state } = vehicle;
  if (!prediction || !position || (state !== "online" && state !== "asleep")) return undefined;
  /** @param {any} told @param {string|undefined} time @param {Place & {accuracy?: number}} place */
  const report = (told, time, place) => ({
    time: moment(time) ?? NaN, latitude: place.latitude, longitude: place.longitude, east: told.velocityEast, north: told.velocityNorth,
    bound: told.bound ?? 0, validity: told.validity ?? Infinity, growth: told.growth ?? 0, accuracy: place.accuracy,
  });
  const newest = report(prediction, position.time, position);
  const reports = [...(prediction.before ?? []).map((told) => report(told, told.time, told)), newest]
    .filter((each) => [each.time, each.latitude, each.longitude, each.east, each.north].every(Number.isFinite));
  if (reports.at(-1)?.time !== newest.time) return undefined;
  const delay = prediction.delay ?? 0, received = moment(position.received);
  // A vehicle sends a report `delay` after the report's time. Any other time of reception is the difference of the clocks.
  const skew = received === undefined ? 0 : received - (newest.time + delay * 1000);
  return { promised: true, lag: delay * 1000 + skew, delay, reports, newest, speed: Math.hypot(newest.east, newest.north) };
}

/**
 * The motion of a vehicle: its bounded reports, or a velocity in m/s with its start in milliseconds and its validity in seconds.
 * @param {import("./vehicle.js").Summary} vehicle
 * @returns {Promised|Carried|undefined}
 */
export function velocity(vehicle) {
  const promise = promiseOf(vehicle);
  if (promise) return promise;
  const position = vehicle.position;
  if (!position || position.stale || position.suspect || vehicle.state !== "online") return undefined;
  const time = measuredAt(position), { speed = 0, course = NaN } = position;
  if (time === undefined || !(speed >= standingSpeed) || !Number.isFinite(course)) return undefined;
  const radians = (course * Math.PI) / 180;
  return { promised: false, time, east: speed * Math.sin(radians), north: speed * Math.cos(radians), speed, validity: plainHorizon };
}

/**
 * @typedef {Object} Reckoned
 * @property {number} latitude
 * @property {number} longitude can exceed 180
 * @property {number|undefined} radius metres, contains the vehicle in at least 68 % of cases; undefined if the accuracy is unknown
 * @property {number} ahead seconds since the report; 0 for the report itself
 * @property {number|undefined} bound error bound in metres; undefined without bounded reporting
 * @property {number|undefined} left seconds until the prediction expires; negative after that
 * @property {number} drift metres from the reported position
 * @property {{latitude: number, longitude: number}} from the reported position
 */

/**
 * The position to show at `now`.
 * @param {import("./vehicle.js").Summary} vehicle
 * @param {number} now milliseconds
 * @param {ReturnType<typeof velocity>} [motion] the result of `velocity(vehicle)`, if already computed
 * @returns {Reckoned|undefined}
 */
export function reckoned(vehicle, now, motion = velocity(vehicle)) {
  const position = vehicle.position;
  if (!position) return undefined;
  const from = { latitude: position.latitude, longitude: position.longitude };
  const reported = { ...from, radius: position.accuracy, ahead: 0, bound: undefined, left: undefined, drift: 0, from };
  if (!motion) return reported;
  return motion.promised ? promisedPlace(motion, now - motion.lag, reported) : carriedOn(motion, now, reported);
}

/**
 * The radius that contains the vehicle; undefined if the accuracy is unknown.
 * @param {number|undefined} accuracy @param {number} more
 */
const sum = (accuracy, more) => accuracy === undefined ? undefined : accuracy + more;

/** @param {Promised} motion @param {number} at @param {Reckoned} reported */
function promisedPlace(motion, at, reported) {
  const report = motion.reports.findLast(({ time }) => time <= at);
  if (!report) {
    // Before the time of the first report the position is unknown: the radius includes the distance that the vehicle can have driven until then.
    const first = motion.reports[0];
    const reach = Math.hypot(first.east, first.north) * (first.time - at) / 1000;
    return { ...reported, latitude: first.latitude, longitude: first.longitude, from: first, radius: sum(first.accuracy, first.bound + reach) };
  }
  const since = (at - report.time) / 1000, over = since - report.validity;
  if (over > patience) return reported;
  const place = moved(report, report.east * since, report.north * since);
  if (!Number.isFinite(place.longitude) || Math.abs(place.latitude) > greatestLatitude) return reported;
  const bound = report.bound + report.growth * Math.max(0, over);
  const drift = Math.hypot(report.east, report.north) * since;
  return { ...place, radius: sum(report.accuracy, bound), ahead: since, bound, left: -over, drift, from: report };
}

/**
 * The radius in metres that contains the vehicle: the accuracy of its report, plus the error bound of a predicted position.
 * @param {import("./vehicle.js").Summary} vehicle @param {number} now milliseconds
 */
export function statedRadius(vehicle, now) {
  const promise = promiseOf(vehicle);
  return promise ? reckoned(vehicle, now, promise)?.radius : vehicle.position?.accuracy;
}

/** @param {Carried} motion @param {number} now @param {Reckoned} reported */
function carriedOn(motion, now, reported) {
  const since = (now - motion.time) / 1000;
  // After the validity, the reported position is shown.
  if (!(since > 0) || since > motion.validity) return reported;
  const place = moved(reported.from, motion.east * since, motion.north * since);
  if (!Number.isFinite(place.longitude) || Math.abs(place.latitude) > greatestLatitude) return reported;
  return { ...reported, ...place, radius: sum(reported.radius, 0.5 * motion.speed * since), ahead: since, drift: motion.speed * since };
}
