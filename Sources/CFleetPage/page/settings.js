/** The dialog for a vehicle's remote settings. */
import { vehiclePath } from "./api.js";
import { fill, h } from "./dom.js";
import { confirmed, field, openDialog, outcome } from "./dialog.js";
import { table } from "./detail-sections.js";
import { safeName } from "./format.js";
import { every } from "./timers.js";

/** @param {unknown} value @param {string|undefined} unit */
const shown = (value, unit) => value === undefined ? undefined : typeof value === "string" ? safeName(value, 200)
  : `${safeName(JSON.stringify(value), 200)}${unit ? `\u202f${unit}` : ""}`;

/** Factors from units of speed to km/h. */
/** @type {Record<string, number>} */
const speedUnits = { "km/h": 1, "m/s": 3.6, mph: 1.609344 };

/**
 * Parses an input by the type of the key. Strings are not converted. A speed may have a unit.
 * @param {string} text @param {string|undefined} type @param {string|undefined} unit
 * @returns {any}
 */
export function typed(text, type, unit) {
  if (type === "string") return text;
  const found = unit === "km/h" ? /^\s*(\d+(?:\.\d+)?)\s*(km\/h|m\/s|mph)\s*$/.exec(text) : null;
  if (found) return Math.round(Number(found[1]) * speedUnits[found[2]] * 1e6) / 1e6;
  if (type === "strings" && !text.trim().startsWith("[")) return text.split(",").map((/** @type {string} */ part) => part.trim()).filter(Boolean);
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** @type {Record<string, string>} */
const types = {
  string: "a text", strings: "a comma-separated list of texts", coordinate: "[latitude, longitude] in degrees", boolean: "true or false",
  integer: "an integer", number: "a number",
};

/**
 * The valid values of a key, as in "a number from 0 to 500 km/h".
 * @param {Setting} setting
 */
function validValues(setting) {
  if (setting.choices) return `one of ${setting.choices.join(", ")}`;
  const range = setting.minimum === undefined ? "" : ` from ${setting.minimum} to ${setting.maximum}`;
  return `${types[setting.type] ?? setting.type}${range}${setting.unit ? ` ${setting.unit}` : ""}`;
}

/**
 * The help for a key.
 * @param {Setting|undefined} setting
 */
function takenBy(setting) {
  if (!setting) return "";
  const example = setting.unit === "km/h" ? " Other units are converted, for example “16 m/s”." : "";
  return `Valid: ${validValues(setting)}.${example}${setting.default === undefined ? "" : ` Default: ${JSON.stringify(setting.default)}.`}`;
}

/**
 * The reason why a value is invalid; undefined if it is valid. An empty text removes the remote setting. Pure.
 * @param {string} key @param {string} text @param {Map<string, Setting>} catalogue
 */
export function problemWith(key, text, catalogue) {
  const setting = catalogue.get(key);
  if (!setting) return catalogue.size ? `“${safeName(key, 100)}” is not a remote setting.` : undefined;
  if (text === "") return undefined;
  const value = typed(text, setting.type, setting.unit), { type, minimum = -Infinity, maximum = Infinity, choices } = setting;
  /** @type {Record<string, () => boolean>} */
  const checks = {
    boolean: () => typeof value === "boolean",
    integer: () => Number.isInteger(value) && value >= minimum && value <= maximum,
    number: () => typeof value === "number" && value >= minimum && value <= maximum,
    coordinate: () => Array.isArray(value) && value.length === 2 && Math.abs(value[0]) <= 90 && Math.abs(value[1]) <= 180,
    strings: () => Array.isArray(value) && value.every((each) => typeof each === "string"),
  };
  const isValid = choices ? choices.includes(value) : checks[type]?.() ?? true;
  return isValid ? undefined : `“${safeName(text, 100)}” is invalid for ${safeName(key, 100)}. Valid: ${validValues(setting)}.`;
}

/** @param {import("./api.js").API} api @param {VehicleName} vehicle @param {boolean} mayOperate */
export function openSettings(api, vehicle, mayOperate) {
  const result = outcome(), content = h("div", {}, h("p", { class: "note" }, "Loading…"));
  const key = h("input", { type: "text", required: true, autocomplete: "off", list: "setting-keys", maxlength: 100 });
  const value = h("input", { type: "text", autocomplete: "off", maxlength: 1000 });
  const keys = h("datalist", { id: "setting-keys" }), takes = h("p", { class: "note", role: "status" });
  /** @type {Map<string, Setting>} */ let catalogue = new Map();
  const explain = () => { takes.textContent = takenBy(catalogue.get(key.value.trim())); };
  key.addEventListener("input", explain);
  const form = mayOperate ? h("form", { class: "fields", on: { submit: (event) => { event.preventDefault(); change(); } } },
    h("h3", {}, "Change a setting"), field("Key", key), keys,
    field("Value", value, "Leave empty to return to the vehicle's own setting."), takes,
    h("div", { class: "actions end" }, h("button", { type: "submit", class: "strong" }, "Change…"))) : null;
  const dialog = openDialog(`Settings of ${safeName(vehicle.vehicle, 60)}`, content, form, result.element);
  // Polls for the vehicle's answer while the dialog is open.
  dialog.addEventListener("close", every(2, load));
  load();
  return dialog;

  async function load() {
    try {
      /** @type {[any, {settings: Setting[]}|undefined]} */
      const [answer, known] = await Promise.all([api.get(vehiclePath(vehicle, "settings")), catalogue.size ? undefined : api.get("settings")]);
      const reported = answer.reported ?? {}, wanted = answer.wanted ?? {};
      const refused = Object.fromEntries((answer.refused ?? []).map((/** @type {any} */ entry) => [entry.key, entry.reason]));
      const names = [...new Set([...Object.keys(reported), ...Object.keys(wanted)])].sort();
      if (known) {
        catalogue = new Map(known.settings.map((setting) => [setting.key, setting]));
        fill(keys, known.settings.map((setting) => h("option", { value: setting.key })));
        // The key may have been entered before the list was loaded, so its help is shown now.
        explain();
      }
      const text = JSON.stringify([answer.state, reported, wanted, refused]);
      if (content.dataset.told === text) return;
      content.dataset.told = text;
      fill(content, names.length
        ? h("div", { class: "scroll table-box", tabindex: "0", role: "group", "aria-label": "Settings" },
          table("Settings", ["Key", "In effect", "Requested", "Answer"], names.map((name) => [
            safeName(name, 80), shown(reported[name], catalogue.get(name)?.unit), shown(wanted[name], catalogue.get(name)?.unit) ?? "–",
            refused[name] ? `refused: ${safeName(refused[name], 300)}` : wanted[name] === undefined ? "–"
              : JSON.stringify(wanted[name]) === JSON.stringify(reported[name]) ? "accepted" : answer.state === "waiting" ? "no answer yet" : "differs",
          ])))
        : h("p", { class: "unknown" }, "The vehicle has not reported its settings."));
    } catch (error) {
      if (content.dataset.told) return;
      fill(content);
      result.bad(error);
    }
  }

  async function change() {
    const name = key.value.trim(), text = value.value, setting = catalogue.get(name);
    const problem = problemWith(name, text, catalogue);
    if (problem) {
      result.bad(new Error(problem));
      (setting ? value : key).focus();
      return;
    }
    const sentence = text === "" ? `${name} of ${safeName(vehicle.vehicle, 60)} returns to the value of the vehicle's configuration file.`
      : `${name} of ${safeName(vehicle.vehicle, 60)} is set to ${shown(typed(text, setting?.type, setting?.unit), setting?.unit)}.`;
    if (!await confirmed("Change the setting?", sentence, "Change")) return;
    result.wait("Sending…");
    try {
      const told = await api.patch(vehiclePath(vehicle, "settings"), { settings: { [name]: text === "" ? null : typed(text, setting?.type, setting?.unit) } });
      if (told?.vehicles?.[0]?.state === "unsent") result.wait("Not confirmed by the broker yet. The setting is sent when the connection is restored.");
      else result.good("Sent. The vehicle's answer will appear in the table.");
      await load();
    } catch (error) {
      result.bad(error);
    }
  }
}
