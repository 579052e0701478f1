/** Times in the chosen time zone (local or UTC); a tooltip shows the other one. */
import { age, clock, moment } from "./format.js";
import { h, setText } from "./dom.js";
import { preference, setPreference } from "./preferences.js";

export const isUTC = () => preference("utc", false);
/** @param {boolean} utc */
export const setUTC = (utc) => setPreference("utc", utc);

/** The name of the chosen time zone. */
export const zoneName = () => isUTC() ? "UTC" : (Intl.DateTimeFormat().resolvedOptions().timeZone ?? "local time");

/**
 * Formats a time in milliseconds.
 * @param {number|undefined} milliseconds @param {{now?: number, seconds?: boolean}} [options]
 */
export const shown = (milliseconds, options = {}) => clock(milliseconds, { utc: isUTC(), ...options });

/**
 * @param {string|number|undefined} when RFC 3339, or milliseconds
 * @param {number} now milliseconds
 * @param {{withAge?: boolean}} options
 */
export function timeElement(when, now, { withAge = false } = {}) {
  const at = typeof when === "number" ? when : moment(when);
  if (at === undefined || Number.isNaN(at)) return undefined;
  const other = clock(at, { utc: !isUTC() });
  return h("time", { datetime: new Date(at).toISOString(), title: isUTC() ? `${other} local` : other },
    shown(at, { now }), withAge ? h("span", { class: "age" }, ` · ${age(at, now)}`) : null);
}

/**
 * Updates the ages of all times in an element.
 * @param {HTMLElement} element @param {number} now milliseconds
 */
export function refreshAges(element, now) {
  for (const time of element.querySelectorAll("time")) {
    const span = time.querySelector(":scope > .age");
    if (span) setText(span, ` · ${age(Date.parse(time.dateTime), now)}`);
  }
}
