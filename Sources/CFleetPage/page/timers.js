/** All timers of the page. No other module calls the browser's timer functions. */

/** @typedef {{seconds: number, left: number, run: () => void, evenHidden: boolean}} Job */

/** @type {Set<Job>} */
const jobs = new Set();
/**
 * The one interval, which runs while there are jobs.
 * @type {number|undefined}
 */
let beat;

function tick() {
  for (const job of [...jobs]) {
    job.left -= 1;
    if (job.left > 0) continue;
    job.left = job.seconds;
    if (!jobs.has(job) || (document.hidden && !job.evenHidden)) continue;
    try {
      job.run();
    } catch (error) {
      // The other jobs must run even so.
      reportError(error);
    }
  }
}

/**
 * Runs `run` every `seconds`, together with all other jobs that are due in the same second.
 * @param {number} seconds an integer
 * @param {() => void} run
 * @param {{evenHidden?: boolean}} options evenHidden: also while the tab is hidden
 * @returns {Stop}
 */
export function every(seconds, run, { evenHidden = false } = {}) {
  const job = { seconds, left: seconds, run, evenHidden };
  jobs.add(job);
  beat ??= setInterval(tick, 1000);
  return () => {
    jobs.delete(job);
    if (jobs.size) return;
    clearInterval(beat);
    beat = undefined;
  };
}

/**
 * Runs `run` once after a time.
 * @param {number} milliseconds
 * @param {() => void} run
 * @returns {Stop}
 */
export function after(milliseconds, run) {
  const timer = setTimeout(run, milliseconds);
  return () => clearTimeout(timer);
}

/**
 * Resolves after a time.
 * @param {number} milliseconds @returns {Promise<void>}
 */
export const pause = (milliseconds) => new Promise((resume) => { after(milliseconds, resume); });

/**
 * Limits calls to one per `milliseconds`. The last call is always executed.
 * @template {any[]} Values
 * @param {number} milliseconds
 * @param {(...values: Values) => void} run
 * @returns {(...values: Values) => void}
 */
export function limited(milliseconds, run) {
  let last = -Infinity;
  /** @type {Stop|undefined} */ let stop;
  return (...values) => {
    stop?.();
    stop = after(Math.max(0, last + milliseconds - performance.now()), () => { last = performance.now(); run(...values); });
  };
}

/**
 * Delays a call until there has been no other call for `milliseconds`.
 * @template {any[]} Values
 * @param {number} milliseconds
 * @param {(...values: Values) => void} run
 * @returns {(...values: Values) => void}
 */
export function settled(milliseconds, run) {
  /** @type {Stop|undefined} */ let stop;
  return (...values) => {
    stop?.();
    stop = after(milliseconds, () => run(...values));
  };
}

/**
 * A function that runs `run` in the next frame. Several requests before the frame cause one run.
 * @param {() => void} run
 * @returns {{request: () => void, stop: Stop}}
 */
export function inNextFrame(run) {
  /** @type {number|undefined} */ let frame;
  return {
    request: () => {
      frame ??= requestAnimationFrame(() => {
        frame = undefined;
        run();
      });
    },
    stop: () => {
      if (frame !== undefined) cancelAnimationFrame(frame);
      frame = undefined;
    },
  };
}

/**
 * Runs `step` in each frame.
 * @param {(elapsed: number) => void} step elapsed: milliseconds since the frame before
 * @returns {Stop}
 */
export function inEachFrame(step) {
  let last = performance.now(), isOn = true;
  const frame = inNextFrame(() => {
    const now = performance.now(), elapsed = now - last;
    last = now;
    step(elapsed);
    if (isOn) frame.request();
  });
  frame.request();
  return () => {
    isOn = false;
    frame.stop();
  };
}
