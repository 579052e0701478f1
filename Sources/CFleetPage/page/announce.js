/** Announcements for screen readers, one at a time. */

let region, timer = null, waiting = "";

export function startAnnouncing(element) { region = element; }

/** Announces a sentence after 300 ms. If several are requested meanwhile, only the last one is announced. */
export function announce(text) {
  waiting = text;
  timer ??= setTimeout(() => {
    timer = null;
    if (region) region.textContent = waiting;
  }, 300);
}
