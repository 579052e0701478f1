/** Commands to a vehicle: chosen, filled in, confirmed, and what it answered. */
import { vehiclePath } from "./api.js";
import { button, fill, h } from "./dom.js";
import { confirmed, field, openDialog, outcome } from "./dialog.js";
import { safeName, words } from "./format.js";

/** Seconds to wait for a vehicle's answer. */
const patience = 20;

/** @param {import("./api.js").API} api @param {{fleet: string, vehicle: string}} vehicle */
export async function openCommands(api, vehicle) {
  const result = outcome();
  const choice = h("select", {}), fields = h("div", { class: "fields" }), summary = h("p", { class: "note" });
  const send = button("Send…", () => run(), { class: "strong", disabled: true });
  openDialog(`Command to ${safeName(vehicle.vehicle, 60)}`,
    field("Command", choice), summary, fields, result.element, h("div", { class: "actions end" }, send));
  let commands;
  try {
    const answer = await api.get("commands");
    commands = answer.commands;
  } catch (error) {
    result.bad(error);
    return;
  }
  fill(choice, commands.map((command) => h("option", { value: command.name }, command.name)));
  const inputs = new Map();
  const chosen = () => commands.find((command) => command.name === choice.value);
  const show = () => {
    inputs.clear();
    const command = chosen();
    fill(summary, command.summary ?? "");
    fill(fields, command.arguments.map((parameter) => {
      const control = inputFor(parameter);
      inputs.set(parameter.name, { control, parameter });
      const note = [parameter.summary, parameter.unit ? `In ${parameter.unit}.` : null].filter(Boolean).join(" ");
      return field(words(parameter.name) + (parameter.required ? "" : " (optional)"), control, note || null);
    }));
    send.disabled = false;
  };
  choice.addEventListener("change", show);
  show();
  choice.focus();

  async function run() {
    const command = chosen();
    const values = {};
    for (const [name, { control, parameter }] of inputs) {
      if (!control.reportValidity()) return;
      const value = valueOf(control, parameter);
      if (value !== undefined) values[name] = value;
    }
    const sure = await confirmed(
      `Send “${command.name}”?`,
      [`It goes to ${safeName(vehicle.vehicle, 60)} of ${safeName(vehicle.fleet, 60)} at once.`, command.confirmation].filter(Boolean).join(" "), "Send");
    if (!sure) return;
    send.disabled = true;
    result.wait(`Waiting for the vehicle's answer, ${patience} seconds at most…`);
    try {
      const answer = await api.post(vehiclePath(vehicle, "commands"), { command: command.name, arguments: values, timeout: patience });
      const told = answer.answers[0];
      if (told?.answered && told.state !== "done") {
        result.bad(new Error(`It answered: ${safeName(told.problem ?? told.state, 400)}`));
      } else if (told?.answered) {
        result.good(h("b", {}, "It answered. "), h("pre", { tabindex: "0", role: "group", "aria-label": "Answer" }, JSON.stringify(told.result ?? told.state, null, 2)));
      } else {
        result.good(h("b", {}, "It is on its way. "), "The vehicle sleeps, and answers when it wakes.");
      }
    } catch (error) {
      result.bad(error);
    }
    send.disabled = false;
  }
}

const typeOf = (parameter) => parameter.format === "date-time" ? "time" : parameter.type;

function inputFor(parameter) {
  const required = Boolean(parameter.required);
  switch (typeOf(parameter)) {
    case "number":
      return h("input", { type: "number", step: "any", min: parameter.minimum, max: parameter.maximum, required });
    case "time":
      return h("input", { type: "datetime-local", step: 1, required });
    case "boolean":
      return h("input", { type: "checkbox" });
    default:
      return h("input", { type: "text", maxlength: parameter.maximumBytes ?? 200, required, autocomplete: "off" });
  }
}

function valueOf(control, parameter) {
  switch (typeOf(parameter)) {
    case "number": return control.value === "" ? undefined : Number(control.value);
    // Given in the viewer's zone.
    case "time": return control.value === "" ? undefined : new Date(control.value).toISOString();
    case "boolean": return control.checked ? true : undefined;
    default: return control.value === "" ? undefined : control.value;
  }
}
