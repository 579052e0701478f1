/** The user's preferences, stored in the browser; in memory only if the browser refuses. */

const key = "odograph";
/** @type {Map<string, Set<(value: any) => void>>} */
const listeners = new Map();
/** @type {Record<string, any>} */
let values = read();

function read() {
  try {
    const found = JSON.parse(localStorage.getItem(key) ?? "{}");
    return found && typeof found === "object" && !Array.isArray(found) ? found : {};
  } catch {
    return {};
  }
}

/**
 * @template {string|boolean} Value
 * @param {string} name
 * @param {Value} initial the value if the user has not chosen one of the same type
 * @returns {Value extends string ? string : boolean}
 */
export function preference(name, initial) {
  return /** @type {any} */ (typeof values[name] === typeof initial ? values[name] : initial);
}

/** @param {string} name @param {string|boolean} value */
export function setPreference(name, value) {
  values = { ...values, [name]: value };
  try {
    localStorage.setItem(key, JSON.stringify(values));
  } catch {
    // Storage is disabled or full: the preference is valid until the page is closed.
  }
  for (const run of listeners.get(name) ?? []) run(value);
}

/** @param {string} name @param {(value: any) => void} run called after each change @returns {Stop} */
export function onPreference(name, run) {
  const own = listeners.get(name) ?? new Set();
  listeners.set(name, own.add(run));
  return () => { own.delete(run); };
}
