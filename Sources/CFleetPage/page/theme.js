/** Light, dark, or as the system says. */
import { preference, setPreference } from "./preferences.js";

const system = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set();

/** "light", "dark" or "system". */
export const chosenTheme = () => preference("theme", "system");

export function isDark() {
  return document.documentElement.dataset.theme === "dark";
}

export function chooseTheme(theme) {
  setPreference("theme", theme);
  apply();
}

/** Calls whenever other colours are in force. */
export function onTheme(run) {
  listeners.add(run);
}

/** The colours that the style sheet names, for what is drawn on a canvas. */
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

/** Whether things that move by themselves are unwelcome. */
export const reducedMotion = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
