/** Announcements for screen readers, one at a time. */
import { after } from "./timers.js";

/** @type {HTMLElement|undefined} */ let region;
/**
 * The sentence to announce; undefined if none waits.
 * @type {string|undefined}
 */
let waiting;

/** @param {HTMLElement} element */
export function startAnnouncing(element) { region = element; }

/**
 * Announces a sentence after 300 ms. If several are requested meanwhile, only the last one is announced.
 * @param {string} text
 */
export function announce(text) {
  if (waiting === undefined) {
    after(300, () => {
      if (region) region.textContent = waiting ?? "";
      waiting = undefined;
    });
  }
  waiting = text;
}
