/** The user's preferences, stored in the browser; in memory only if the browser refuses. */

const key = "odograph";
const listeners = new Map();
let values = read();

function read() {
  try {
    const found = JSON.parse(localStorage.getItem(key) ?? "{}");
    return found && typeof found === "object" && !Array.isArray(found) ? found : {};
  } catch {
    return {};
  }
}

export function preference(name, initial) {
  return typeof values[name] === typeof initial ? values[name] : initial;
}

export function setPreference(name, value) {
  values = { ...values, [name]: value };
  try {
    localStorage.setItem(key, JSON.stringify(values));
  } catch {
    // Storage is disabled or full: the preference is valid until the page is closed.
  }
  for (const run of listeners.get(name) ?? []) run(value);
}

export function onPreference(name, run) {
  if (!listeners.has(name)) listeners.set(name, new Set());
  listeners.get(name).add(run);
}
