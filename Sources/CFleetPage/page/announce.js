/** What a screen reader says by itself: little, and one thing at a time. */

let region, timer = null, waiting = "";

export function startAnnouncing(element) { region = element; }

/** Says a sentence once the last one has had a second; of several meanwhile, the newest. */
export function announce(text) {
  waiting = text;
  timer ??= setTimeout(() => {
    timer = null;
    if (region) region.textContent = waiting;
  }, 300);
}
