/** What a viewer has chosen, kept in this browser only. Where nothing may be kept, it lasts as long as the page. */

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
    // A browser that keeps nothing, or is full: the choice still holds until the page is closed.
  }
  for (const run of listeners.get(name) ?? []) run(value);
}

export function onPreference(name, run) {
  if (!listeners.has(name)) listeners.set(name, new Set());
  listeners.get(name).add(run);
}
