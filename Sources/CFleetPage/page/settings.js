/** A vehicle's remote settings: what it reports, what it is to have, what it answered. */
import { vehiclePath } from "./api.js";
import { button, fill, h } from "./dom.js";
import { confirmed, field, openDialog, outcome } from "./dialog.js";
import { table } from "./detail-sections.js";
import { safeName } from "./format.js";

const shown = (value) => value === undefined ? undefined : typeof value === "string" ? safeName(value, 200) : safeName(JSON.stringify(value), 200);

/** What somebody has typed: a number, true or false, a list, or else a text. */
export function typed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** @param {import("./api.js").API} api */
export async function openSettings(api, vehicle, mayOperate) {
  const result = outcome(), content = h("div", {}, h("p", { class: "note" }, "Asking the server…"));
  const key = h("input", { type: "text", required: true, autocomplete: "off", list: "setting-keys", maxlength: 100 });
  const value = h("input", { type: "text", autocomplete: "off", maxlength: 1000 });
  const keys = h("datalist", { id: "setting-keys" });
  const form = mayOperate ? h("form", { class: "fields", on: { submit: (event) => { event.preventDefault(); change(); } } },
    h("h3", {}, "Change one"), field("Key", key), keys,
    field("Value", value, "A number, true or false, or a text; left empty, the vehicle's own file counts again."),
    h("div", { class: "actions end" }, h("button", { type: "submit", class: "strong" }, "Change…"))) : null;
  openDialog(`Settings of ${safeName(vehicle.vehicle, 60)}`, content, form, result.element);
  await load();

  async function load() {
    try {
      const answer = await api.get(vehiclePath(vehicle, "settings"));
      const reported = values(answer.reported), wanted = values(answer.wanted);
      const refused = Object.fromEntries((answer.rejected ?? answer.reported?.rejected ?? []).map((entry) => [entry.key ?? entry.name, entry.reason]));
      const names = [...new Set([...Object.keys(reported), ...Object.keys(wanted)])].sort();
      fill(keys, names.map((name) => h("option", { value: name })));
      fill(content, names.length
        ? h("div", { class: "scroll table-box", tabindex: "0", role: "group", "aria-label": "Settings" },
          table("Settings", ["Key", "In force", "Wanted", "Answer"], names.map((name) => [
            safeName(name, 80), shown(reported[name]), shown(wanted[name]) ?? "–",
            refused[name] ? `refused: ${safeName(refused[name], 300)}` : wanted[name] === undefined ? "–"
              : JSON.stringify(wanted[name]) === JSON.stringify(reported[name]) ? "accepted" : "no answer yet",
          ])))
        : h("p", { class: "unknown" }, "The vehicle has not reported its settings."));
    } catch (error) {
      fill(content);
      result.bad(error);
    }
  }

  async function change() {
    const name = key.value.trim(), text = value.value;
    const sentence = text === "" ? `${name} of ${safeName(vehicle.vehicle, 60)} goes back to what its own file says.`
      : `${name} of ${safeName(vehicle.vehicle, 60)} becomes ${text}.`;
    if (!await confirmed("Change the setting?", sentence, "Change")) return;
    result.wait("Sending…");
    try {
      await api.patch(vehiclePath(vehicle, "settings"), { settings: { [name]: text === "" ? null : typed(text) } });
      result.good("Sent. The vehicle's answer is shown as soon as it comes.");
      setTimeout(load, 1500);
    } catch (error) {
      result.bad(error);
    }
  }
}

const values = (told) => told?.settings ?? told?.values ?? told ?? {};
