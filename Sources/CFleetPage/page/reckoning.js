/**
 * Where a vehicle is between its reports. Pure: the same rules as the vehicle's own and `odograph watch`'s (`ReportFollower`, `LocalFrame`).
 *
 * A vehicle that reports within bounds promises something of the moment `delay` ago: that moment is shown, by the last report that is not
 * after it. Of any other, speed and course are carried on for some seconds.
 */
import { moment } from "./format.js";

/** m/s below which a vehicle counts as standing: a receiver at rest reports some 0.1 to 0.5 of noise. */
export const standingSpeed = 0.7;
/** Seconds for which a course and a speed without a promise of the vehicle's own are carried on: a street's bend is about that far. */
const plainHorizon = 10;
/** Seconds below which a report counts as now: its way here, and the pause between two. */
export const freshFor = 2;
/** Seconds after which a promise that has lapsed is no ground for a place any more. */
export const patience = 120;

const metresPerDegree = (() => {
  const a = 6_378_137, squared = 6.694_379_990_141_316e-3, radians = Math.PI / 180;
  return (latitude) => {
    const root = Math.sqrt(1 - squared * Math.sin(latitude * radians) ** 2);
    return { north: (a * (1 - squared) / root ** 3) * radians, east: Math.max(1e-9, (a / root) * radians * Math.cos(latitude * radians)) };
  };
})();

/** Beyond the 180th meridian longitudes go on. */
function moved(place, east, north) {
  const scale = metresPerDegree(place.latitude);
  return { latitude: place.latitude + north / scale.north, longitude: place.longitude + east / scale.east };
}

/** When a position was measured, in milliseconds of the server's clock; of another clock, when it came. */
export const measuredAt = (position) => moment(position?.received) ?? moment(position?.time);

/**
 * @typedef {Object} Report of a vehicle that reports within bounds
 * @property {number} time from which it is in effect, in milliseconds of the vehicle's clock
 * @property {number} latitude
 * @property {number} longitude
 * @property {number} east m/s
 * @property {number} north m/s
 * @property {number} bound metres
 * @property {number} validity seconds after `time`; Infinity where it holds until the next report
 * @property {number} growth m/s by which the bound grows after that
 */

/**
 * What a vehicle promises: its reports, oldest first, and by how many milliseconds the moment that is shown lies behind now.
 * @param {import("./vehicle.js").Summary} vehicle
 * @returns {{promised: true, lag: number, delay: number, reports: Report[], speed: number}|undefined}
 */
export function promiseOf(vehicle) {
  const { position, prediction, state } = vehicle;
  if (!prediction || !position || position.stale || (state !== "online" && state !== "asleep")) return undefined;
  const report = (told, time, place) => ({
    time: moment(time), latitude: place.latitude, longitude: place.longitude, east: told.velocityEast, north: told.velocityNorth,
    bound: told.bound ?? 0, validity: told.validity ?? Infinity, growth: told.growth ?? 0,
  });
  const newest = report(prediction, position.time, position);
  const reports = [...(prediction.before ?? []).map((told) => report(told, told.time, told)), newest]
    .filter((each) => [each.time, each.latitude, each.longitude, each.east, each.north].every(Number.isFinite));
  if (reports.at(-1)?.time !== newest.time) return undefined;
  const delay = prediction.delay ?? 0, received = moment(position.received);
  // A report is sent when the delay after its moment is over.
  const skew = received === undefined ? 0 : received - (newest.time + delay * 1000);
  return { promised: true, lag: delay * 1000 + skew, delay, reports, speed: Math.hypot(newest.east, newest.north) };
}

/**
 * How a vehicle goes on: its promise, or in m/s east and north since when (milliseconds) and for how many seconds that is carried on.
 * @param {import("./vehicle.js").Summary} vehicle
 */
export function velocity(vehicle) {
  const promise = promiseOf(vehicle);
  if (promise) return promise;
  const position = vehicle.position;
  if (!position || position.stale || vehicle.state !== "online") return undefined;
  const time = measuredAt(position);
  if (time === undefined || !(position.speed >= standingSpeed) || !Number.isFinite(position.course)) return undefined;
  const course = (position.course * Math.PI) / 180;
  return {
    promised: false, time, east: position.speed * Math.sin(course), north: position.speed * Math.cos(course), speed: position.speed,
    validity: plainHorizon,
  };
}

/**
 * @typedef {Object} Reckoned
 * @property {number} latitude
 * @property {number} longitude unbounded: it goes on beyond the 180th meridian
 * @property {number|undefined} radius metres around it within which the vehicle is in 68 % of cases at least
 * @property {number} ahead seconds since the report over which it was carried on; 0 for the report itself
 * @property {number|undefined} bound metres within which the receiver's fix of that moment is, by the vehicle's own word; without one: undefined
 * @property {number|undefined} left seconds for which that is promised without another report; below 0 it has lapsed
 * @property {number} drift metres from the report's own place
 * @property {{latitude: number, longitude: number}} from the report's own place
 */

/**
 * Where a vehicle is shown at `now`.
 * @param {import("./vehicle.js").Summary} vehicle
 * @param {number} now milliseconds
 * @param {ReturnType<typeof velocity>} [motion] its velocity, where that has been found already
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

function promisedPlace(motion, at, reported) {
  const report = motion.reports.findLast(({ time }) => time <= at), accuracy = reported.radius ?? 0;
  if (!report) {
    // What was in effect before its first report is not known: it may have come from anywhere within reach.
    const first = motion.reports[0];
    const reach = Math.hypot(first.east, first.north) * (first.time - at) / 1000;
    return { ...reported, latitude: first.latitude, longitude: first.longitude, from: first, radius: accuracy + first.bound + reach };
  }
  const since = (at - report.time) / 1000, over = since - report.validity;
  if (over > patience) return reported;
  const place = moved(report, report.east * since, report.north * since);
  if (!Number.isFinite(place.longitude) || Math.abs(place.latitude) > 89) return reported;
  const bound = report.bound + report.growth * Math.max(0, over);
  return { ...place, radius: bound + accuracy, ahead: since, bound, left: -over, drift: Math.hypot(report.east, report.north) * since, from: report };
}

function carriedOn(motion, now, reported) {
  const since = (now - motion.time) / 1000;
  // Beyond its horizon, the report is all that is known.
  if (!(since > 0) || since > motion.validity) return reported;
  const place = moved(reported.from, motion.east * since, motion.north * since);
  if (!Number.isFinite(place.longitude) || Math.abs(place.latitude) > 89) return reported;
  return { ...reported, ...place, radius: (reported.radius ?? 0) + 0.5 * motion.speed * since, ahead: since, drift: motion.speed * since };
}
