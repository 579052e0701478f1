/** A recorded track, from the columns that the server sends. Pure. */
import { moment } from "./format.js";
import { worldX, worldY } from "./mercator.js";

/** Seconds after a gap's first position for which this position is shown: the duration from which the server reports a gap. */
const gapSeconds = 300;

/** Accuracy in metres up to which a position adds to a distance, as in `odograph trips`. */
const leastAccuracy = 100;

export class Track {
  /** @param {any} [columns] of `GET …/track` */
  constructor(columns) {
    const start = moment(columns?.from) ?? 0;
    this.from = start;
    this.to = moment(columns?.to) ?? start;
    this.count = columns?.count ?? 0;
    this.tolerance = columns?.tolerance;
    /**
     * Indices of the points with a gap before them. The server determines them before it simplifies the track.
     * @type {Set<number>}
     */
    this.gaps = new Set(columns?.gaps ?? []);
    /** Milliseconds, ascending. */
    this.time = Float64Array.from(columns?.time ?? [], (shift) => start + shift);
    this.latitude = Float64Array.from(columns?.latitude ?? []);
    this.longitude = Float64Array.from(columns?.longitude ?? []);
    /** @type {(number|null)[]} */ this.altitude = columns?.altitude ?? [];
    /** @type {(number|null)[]} */ this.speed = columns?.speed ?? [];
    /** @type {(number|null)[]} */ this.course = columns?.course ?? [];
    /** @type {(number|null)[]} */ this.accuracy = columns?.accuracy ?? [];
    /** @type {(string|null)[]} */ this.source = columns?.source ?? [];
    /**
     * Longitudes from -180 to 180.
     * @type {number[]}
     */
    this.recordedLongitude = columns?.longitude ?? [];
    // A track across the 180th meridian continues with longitudes beyond ±180, so that each step is the shorter way.
    for (let index = 1, last = 0; index < this.longitude.length; index += 1) {
      const step = this.longitude[index] - this.longitude[last];
      this.longitude[index] -= 360 * Math.round(step / 360);
      // A suspect position does not change the side of the meridian.
      if (this.isOnPath(index) || !this.isOnPath(last)) last = index;
    }
    this.x = this.longitude.map(worldX);
    this.y = this.latitude.map(worldY);
  }

  get length() { return this.time.length; }

  /**
   * Index of the last point at or before a time; -1 before the first.
   * @param {number} time
   */
  indexAt(time) {
    let low = 0, high = this.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.time[middle] <= time) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /**
   * True if there is a gap before the point `index`.
   * @param {number} index
   */
  isGap(index) { return this.gaps.has(index); }

  /**
   * True if lines and distances include the point `index`: it is neither suspect nor from radio beacons.
   * @param {number} index
   */
  isOnPath(index) { return this.source[index] !== "coarse" && this.source[index] !== "suspect"; }

  /**
   * True if the line to the point `index` crosses the 180th meridian.
   * @param {number} index
   */
  isCrossing(index) { return index > 0 && Math.abs(this.recordedLongitude[index] - this.recordedLongitude[index - 1]) > 180; }

  /**
   * The style of the line to the point `index`; undefined for none, at a suspect position. Recordings do not distinguish dead reckoning.
   * @param {number} index
   * @returns {"gap"|"coarse"|"fix"|undefined}
   */
  lineTo(index) {
    const ends = [this.source[index - 1], this.source[index]];
    if (ends.includes("suspect")) return undefined;
    return this.isGap(index) ? "gap" : ends.includes("coarse") ? "coarse" : "fix";
  }

  /**
   * The position at a time, interpolated except beside suspect positions. The longitude can exceed 180.
   * @returns {{latitude: number, longitude: number, index: number, isKnown: boolean}|undefined} isKnown: false within a gap; then
   *   the position is the last one before the gap
   * @param {number} time
   */
  at(time) {
    const index = this.indexAt(time);
    if (index < 0 || !this.length) return undefined;
    const next = index + 1;
    if (next >= this.length || this.isGap(next)) {
      const isKnown = time - this.time[index] <= gapSeconds * 1000;
      return { latitude: this.latitude[index], longitude: this.longitude[index], index, isKnown };
    }
    const share = this.lineTo(next) ? (time - this.time[index]) / Math.max(1, this.time[next] - this.time[index]) : 0;
    /** @param {ArrayLike<number>} values */
    const between = (values) => values[index] + (values[next] - values[index]) * share;
    return { latitude: between(this.latitude), longitude: between(this.longitude), index, isKnown: true };
  }

  /** Metres along the track between two times; gaps count as straight lines. Suspect and inaccurate positions are omitted. */
  distance(from = -Infinity, to = Infinity) {
    let sum = 0, last = -1;
    for (let index = 0; index < this.length; index += 1) {
      if (!this.isOnPath(index) || (this.accuracy[index] ?? 0) > leastAccuracy || this.time[index] < from) continue;
      if (this.time[index] > to) break;
      if (last >= 0) {
        const middle = (this.latitude[index] + this.latitude[last]) / 2 * Math.PI / 180;
        // Degrees to metres on a sphere of 6,371,009 m, accurate enough for short steps.
        sum += 111_195 * Math.hypot(this.latitude[index] - this.latitude[last],
          (this.longitude[index] - this.longitude[last]) * Math.cos(middle));
      }
      last = index;
    }
    return sum;
  }

  /**
   * Bounds of a time span as [[south, west], [north, east]], without suspect positions; the longitude can exceed 180. Undefined without positions.
   * @returns {[[number, number], [number, number]]|undefined}
   */
  bounds(from = -Infinity, to = Infinity) {
    let south = 91, north = -91, west = Infinity, east = -Infinity;
    for (let index = 0; index < this.length; index += 1) {
      if (this.time[index] < from || this.time[index] > to || this.source[index] === "suspect") continue;
      south = Math.min(south, this.latitude[index]);
      north = Math.max(north, this.latitude[index]);
      west = Math.min(west, this.longitude[index]);
      east = Math.max(east, this.longitude[index]);
    }
    return south > north ? undefined : [[south, west], [north, east]];
  }
}

/**
 * Axis marks in steps of 1, 2 or 5 times a power of ten.
 * @returns {number[]}
 * @param {number} low @param {number} high @param {number} wanted
 */
export function niceMarks(low, high, wanted) {
  if (!(high > low)) return [low];
  const raw = (high - low) / Math.max(1, wanted), power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5].map((factor) => factor * power).find((size) => size >= raw) ?? 10 * power;
  const marks = [];
  for (let index = Math.ceil(low / step); index * step <= high + step * 1e-9; index += 1) marks.push(index * step);
  return marks;
}

const timeSteps = [1, 5, 10, 30, 60, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400].map((seconds) => seconds * 1000);

/**
 * Marks of a time axis, aligned to the start of the day.
 * @param {number} from @param {number} to @param {number} wanted @param {number} origin
 */
export function timeMarks(from, to, wanted, origin) {
  const step = timeSteps.find((size) => (to - from) / size <= wanted) ?? 86_400_000;
  const marks = [];
  for (let time = origin + Math.ceil((from - origin) / step) * step; time <= to; time += step) marks.push(time);
  return marks;
}
