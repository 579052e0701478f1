/** The colour theme: light, dark, or that of the system. */
import { preference, setPreference } from "./preferences.js";

const system = matchMedia("(prefers-color-scheme: dark)");
/** @type {Set<() => void>} */
const listeners = new Set();

/** "light", "dark" or "system". */
export const chosenTheme = () => preference("theme", "system");

export function isDark() {
  return document.documentElement.dataset.theme === "dark";
}

/** @param {string} theme */
export function chooseTheme(theme) {
  setPreference("theme", theme);
  apply();
}

/**
 * Calls `run` after each change of the theme.
 * @param {() => void} run @returns {Stop}
 */
export function onTheme(run) {
  listeners.add(run);
  return () => { listeners.delete(run); };
}

/**
 * The colours of the style sheet, for drawing on a canvas.
 * @returns {Record<string, string>}
 */
export function colours() {
  const style = getComputedStyle(document.documentElement);
  return new Proxy({}, { get: (_, name) => style.getPropertyValue(`--${String(name)}`).trim() });
}

function apply() {
  const chosen = chosenTheme();
  const dark = chosen === "dark" || (chosen !== "light" && system.matches);
  const next = dark ? "dark" : "light";
  if (document.documentElement.dataset.theme === next) return;
  document.documentElement.dataset.theme = next;
  for (const run of listeners) run();
}

system.addEventListener("change", apply);
apply();

/** True if the user prefers reduced motion. */
export const reducedMotion = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
