/** A recorded track, from the columns that the server sends. Pure. */
import { moment } from "./format.js";
import { worldX, worldY } from "./mercator.js";

/** Seconds after a gap's first position for which this position is shown: the duration from which the server reports a gap. */
const gapSeconds = 300;

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
    // A track across the 180th meridian continues with longitudes beyond ±180, so that each step is the shorter way.
    for (let index = 1; index < this.longitude.length; index += 1) {
      const step = this.longitude[index] - this.longitude[index - 1];
      this.longitude[index] -= 360 * Math.round(step / 360);
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
   * The position at a time, interpolated. The longitude can exceed 180.
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
    const share = (time - this.time[index]) / Math.max(1, this.time[next] - this.time[index]);
    /** @param {ArrayLike<number>} values */
    const between = (values) => values[index] + (values[next] - values[index]) * share;
    return { latitude: between(this.latitude), longitude: between(this.longitude), index, isKnown: true };
  }

  /** Metres along the track between two times; gaps count as straight lines. */
  distance(from = -Infinity, to = Infinity) {
    let sum = 0;
    for (let index = 1; index < this.length; index += 1) {
      if (this.time[index - 1] < from || this.time[index] > to) continue;
      const middle = (this.latitude[index] + this.latitude[index - 1]) / 2 * Math.PI / 180;
      // Degrees to metres on a sphere of 6,371,009 m, accurate enough for short steps.
      sum += 111_195 * Math.hypot(this.latitude[index] - this.latitude[index - 1],
        (this.longitude[index] - this.longitude[index - 1]) * Math.cos(middle));
    }
    return sum;
  }

  /**
   * Bounds of a time span as [[south, west], [north, east]]; the longitude can exceed 180. Undefined without positions.
   * @returns {[[number, number], [number, number]]|undefined}
   */
  bounds(from = -Infinity, to = Infinity) {
    let south = 91, north = -91, west = Infinity, east = -Infinity;
    for (let index = 0; index < this.length; index += 1) {
      if (this.time[index] < from || this.time[index] > to) continue;
      south = Math.min(south, this.latitude[index]);
      north = Math.max(north, this.latitude[index]);
      west = Math.min(west, this.longitude[index]);
      east = Math.max(east, this.longitude[index]);
    }
    return south > north ? undefined : [[south, west], [north, east]];
  }
}

/**
 * The line style of a source. Recordings do not distinguish dead reckoning.
 * @param {string|null|undefined} source
 */
export function lineKind(source) {
  return source === "coarse" ? source : "fix";
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
