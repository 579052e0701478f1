/** Formats numbers, positions, times and names. Pure: callers pass the time. */

/** @param {number} digits */
const number = (digits) => new Intl.NumberFormat("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
const formats = [0, 1, 2, 3].map(number);
/** @param {unknown} value @returns {value is number} */
const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

/**
 * A number with separated thousands; undefined if the value is not a number.
 * @param {unknown} value
 */
export function amount(value, digits = 0, unit = "") {
  if (!isNumber(value)) return undefined;
  return formats[digits].format(value) + (unit ? `\u202f${unit}` : "");
}

/** @param {unknown} value metres */
export function metres(value) {
  if (!isNumber(value)) return undefined;
  if (Math.abs(value) < 10) return amount(value, 1, "m");
  return Math.abs(value) < 10_000 ? amount(value, 0, "m") : amount(value / 1000, Math.abs(value) < 1e6 ? 1 : 0, "km");
}

/**
 * A speed in km/h.
 * @param {unknown} value m/s
 */
export const speed = (value) => isNumber(value) ? amount(value * 3.6, 0, "km/h") : undefined;

/** @param {unknown} share from 0 to 1 */
export const percent = (share) => isNumber(share) ? amount(share * 100, 0, "%") : undefined;

const points = ["N", "NE", "E", "SE", "S", "SW", "W", "NW"];

/**
 * Degrees clockwise from north and the compass point.
 * @param {unknown} degrees
 */
export function direction(degrees) {
  if (!isNumber(degrees)) return undefined;
  const turned = ((degrees % 360) + 360) % 360;
  return `${String(Math.round(turned) % 360).padStart(3, "0")}° ${points[Math.round(turned / 45) % 8]}`;
}

/**
 * Latitude and longitude with five decimals (about a metre). Longitudes beyond the 180th meridian are wrapped.
 * @param {unknown} latitude @param {unknown} longitude
 */
export function place(latitude, longitude) {
  if (!isNumber(latitude) || !isNumber(longitude)) return undefined;
  const bounded = Math.abs(longitude) <= 180 ? longitude : longitude - 360 * Math.round(longitude / 360);
  return `${latitude.toFixed(5)}, ${bounded.toFixed(5)}`;
}

/**
 * A duration in seconds as text: "12 s", "4 min", "3 h 05", "12 d".
 * @param {unknown} seconds
 */
export function duration(seconds) {
  if (!isNumber(seconds)) return undefined;
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 100) return `${whole}\u202fs`;
  if (whole < 3600) return `${Math.floor(whole / 60)}\u202fmin`;
  if (whole < 172_800) return `${Math.floor(whole / 3600)}\u202fh\u202f${String(Math.floor(whole / 60) % 60).padStart(2, "0")}`;
  return `${Math.floor(whole / 86_400)}\u202fd`;
}

/**
 * The age of a time as text; both times in milliseconds. Times more than 5 s in the future are shown as "in …".
 * @param {unknown} then @param {unknown} now
 */
export function age(then, now) {
  if (!isNumber(then) || !isNumber(now)) return undefined;
  const seconds = (now - then) / 1000;
  if (seconds < -5) return `in ${duration(-seconds)}`;
  return seconds < 1 ? "now" : `${duration(seconds)} ago`;
}

/** @param {unknown} value bytes */
export function bytes(value) {
  if (!isNumber(value)) return undefined;
  for (const { size, unit } of [{ size: 1e9, unit: "GB" }, { size: 1e6, unit: "MB" }, { size: 1e3, unit: "kB" }]) {
    if (value >= size) return amount(value / size, value < 10 * size ? 1 : 0, unit);
  }
  return amount(value, 0, "B");
}

/**
 * Milliseconds of an RFC 3339 time; undefined if invalid.
 * @param {unknown} text
 */
export function moment(text) {
  if (typeof text !== "string") return undefined;
  const value = Date.parse(text);
  return Number.isNaN(value) ? undefined : value;
}

/** @param {number} value */
const pad = (value, length = 2) => String(value).padStart(length, "0");

/**
 * Year, month, day, hour, minute and second in local time or UTC.
 * @param {number} milliseconds @param {boolean} utc
 */
function parts(milliseconds, utc) {
  const date = new Date(milliseconds);
  return utc
    ? [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate(), date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds()]
    : [date.getFullYear(), date.getMonth(), date.getDate(), date.getHours(), date.getMinutes(), date.getSeconds()];
}

/**
 * A time as "14:03:22", preceded by the date unless it is the day of `now`. UTC has the suffix "Z".
 * @template {number|undefined} Time
 * @param {Time} milliseconds
 * @param {{utc?: boolean, now?: number, seconds?: boolean}} options
 * @returns {Time extends number ? string : undefined} undefined for undefined and values that are not finite
 */
export function clock(milliseconds, { utc = false, now, seconds = true } = {}) {
  if (!isNumber(milliseconds)) return /** @type {any} */ (undefined);
  const [year, month, day, hour, minute, second] = parts(milliseconds, utc);
  const time = `${pad(hour)}:${pad(minute)}${seconds ? `:${pad(second)}` : ""}${utc ? "Z" : ""}`;
  const date = `${pad(year, 4)}-${pad(month + 1)}-${pad(day)}`;
  return /** @type {any} */ (now === undefined || dayOf(now, utc) !== date ? `${date} ${time}` : time);
}

/**
 * The calendar day of a time, as "2026-11-23".
 * @param {number} milliseconds
 */
export function dayOf(milliseconds, utc = false) {
  const [year, month, day] = parts(milliseconds, utc);
  return `${pad(year, 4)}-${pad(month + 1)}-${pad(day)}`;
}

/**
 * Start of a day and of the next day in milliseconds; undefined if the day is invalid.
 * @param {string|undefined} day
 */
export function boundsOfDay(day, utc = false) {
  const found = /^(\d{4})-(\d{2})-(\d{2})$/.exec(day ?? "");
  if (!found) return undefined;
  const [year, month, date] = found.slice(1).map(Number);
  /** @param {number} shift in days */
  const at = (shift) => utc ? Date.UTC(year, month - 1, date + shift) : new Date(year, month - 1, date + shift).getTime();
  return dayOf(at(0), utc) === day ? { from: at(0), to: at(1) } : undefined;
}

/**
 * The day `shift` days later.
 * @param {string} day @param {number} shift
 */
export function dayAfter(day, shift, utc = false) {
  const bounds = boundsOfDay(day, utc);
  if (!bounds) return day;
  // The noon of a day is in this day even if the clock changes.
  return dayOf(bounds.from + (shift + 0.5) * 86_400_000, utc);
}

/**
 * An external name on one line. Control characters and marks that change the writing direction become "�", and long names are
 * shortened, so that a name cannot imitate another one or break the layout.
 * @param {unknown} text
 */
export function safeName(text, limit = 120) {
  const clean = String(text ?? "").replace(
    /[\u0000-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2028\u2029\u2060-\u2069\ufeff]/g, "\ufffd");
  const characters = [...clean];
  return characters.length > limit ? `${characters.slice(0, limit).join("")}…` : clean;
}

/**
 * The words of an identifier: "harshBraking" becomes "harsh braking".
 * @param {unknown} identifier
 */
export function words(identifier) {
  return safeName(String(identifier ?? "").replace(/([a-z0-9])([A-Z])/g, "$1 $2").replaceAll(/[-_.]/g, " ")).toLowerCase();
}

/**
 * A count with its noun.
 * @param {number} value @param {string} one @param {string} [many]
 */
export function count(value, one, many = `${one}s`) {
  return `${amount(value)} ${value === 1 ? one : many}`;
}
