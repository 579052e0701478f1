/** The dialog for commands to a vehicle: choice, arguments, confirmation and log. */
import { explained, vehiclePath } from "./api.js";
import { button, facts, fill, h } from "./dom.js";
import { confirmed, field, openDialog, outcome } from "./dialog.js";
import { clock, moment, safeName, words } from "./format.js";
import { every } from "./timers.js";
import { isUTC, timeElement, zoneName } from "./times.js";

/** Seconds to wait for a vehicle's answer. */
const patience = 20;
/** Seconds between two updates of the log while the dialog is open. */
const lookInterval = 2;
/** Maximum number of commands in the log. */
const greatestList = 20;

/** Text per state of a command. */
/** @type {Record<string, string>} */
const stateWords = {
  sending: "waiting for the broker", waiting: "no answer yet", done: "done", refused: "refused", failed: "failed",
  silent: "expired without an answer",
};

/**
 * @param {import("./api.js").API} api
 * @param {Summary} vehicle
 * @param {() => (Summary|undefined)} current returns the vehicle's present summary
 * @param {() => number} now
 */
export function openCommands(api, vehicle, current, now) {
  const result = outcome(), asleep = h("p", { class: "note" });
  const choice = h("select", {}), fields = h("div", { class: "fields" }), summary = h("p", { class: "note" });
  const log = h("div", { class: "command-log", role: "group", "aria-label": "Recent commands" });
  const send = button("Send…", () => run(), { class: "strong", disabled: true });
  const dialog = openDialog(`Command to ${safeName(vehicle.vehicle, 60)}`,
    field("Command", choice), summary, fields, asleep, result.element, h("div", { class: "actions end" }, send),
    h("h3", {}, "Recent commands"), log);
  dialog.addEventListener("close", every(lookInterval, showLog));
  const sleeps = () => current()?.state === "asleep";
  /** @type {Map<string, {control: HTMLInputElement, parameter: Parameter, given: HTMLInputElement|null}>} */
  const inputs = new Map();
  /** @type {Command[]} */
  let commands = [];
  // The time zone of the form's labels. A later change of the preference does not affect the form.
  let zone = { utc: isUTC(), name: zoneName() };
  load();
  return dialog;

  async function load() {
    showLog();
    try {
      commands = (await api.get("commands")).commands;
    } catch (error) {
      result.bad(error);
      return;
    }
    fill(choice, commands.map((command) => h("option", { value: command.name }, command.name)));
    choice.addEventListener("change", show);
    show();
    choice.focus();
  }

  function chosen() { return commands.find((command) => command.name === choice.value); }

  function show() {
    inputs.clear();
    zone = { utc: isUTC(), name: zoneName() };
    const command = chosen();
    if (!command) return;
    fill(summary, command.summary ?? "");
    fill(fields, command.arguments.map((parameter) => {
      const control = inputFor(parameter), given = mayBeEmpty(parameter) ? h("input", { type: "checkbox" }) : null;
      inputs.set(parameter.name, { control, parameter, given });
      const note = [parameter.summary, parameter.unit ? `Unit: ${parameter.unit}.` : null].filter(Boolean).join(" ");
      if (!given) return field(labelOf(parameter), control, note || null);
      // An empty string is a valid value here: a checkbox determines whether it is sent.
      control.addEventListener("input", () => { given.checked = true; });
      return h("div", { class: "field" }, field(words(parameter.name), control, note || null),
        h("label", { class: "check" }, given, ` Set ${words(parameter.name)}`));
    }));
    fill(asleep, sleeps() ? "The vehicle is asleep. The broker stores the command until it wakes." : "");
    send.disabled = false;
  }

  /** @param {Parameter} parameter */
  function labelOf(parameter) {
    const notes = [typeOf(parameter) === "time" ? zone.name : null, parameter.required ? null : "optional"].filter(Boolean);
    return words(parameter.name) + (notes.length ? ` (${notes.join(", ")})` : "");
  }

  /**
   * The arguments for the confirmation: times in the zone of the form and in UTC.
   * @param {Record<string, any>} values
   */
  function argumentsOf(values) {
    return facts(Object.entries(values).map(([name, value]) => {
      const parameter = inputs.get(name)?.parameter;
      if (!parameter) return null;
      if (typeOf(parameter) === "time") {
        const at = moment(value);
        return [words(name), `${clock(at, { utc: zone.utc })}${zone.utc ? "" : ` ${zone.name}`}`, zone.utc ? null : clock(at, { utc: true })];
      }
      return [words(name), value === "" ? "(empty)" : value === true ? "yes" : `${safeName(value, 200)}${parameter.unit ? `\u202f${parameter.unit}` : ""}`];
    }));
  }

  /**
   * The reason why the values are invalid; undefined if they are valid.
   * @param {Record<string, any>} values
   */
  function problemWith(values) {
    for (const [name, value] of Object.entries(values)) {
      const parameter = inputs.get(name)?.parameter;
      if (!parameter) continue;
      const bytes = typeof value === "string" ? new TextEncoder().encode(value).length : 0;
      if (typeOf(parameter) === "string" && bytes > (parameter.maximumBytes ?? Infinity)) {
        return `${words(name)} is longer than ${parameter.maximumBytes} bytes.`;
      }
      if (typeOf(parameter) === "string" && bytes < (parameter.minimumBytes ?? 0)) return `${words(name)} is required.`;
    }
    const { from, to } = values;
    if (from === undefined || to === undefined || (moment(from) ?? NaN) < (moment(to) ?? NaN)) return undefined;
    return "“from” must be before “to”.";
  }

  async function run() {
    const command = chosen();
    if (!command) return;
    /** @type {Record<string, any>} */
    const values = {};
    for (const [name, { control, parameter, given }] of inputs) {
      if (!control.reportValidity()) return;
      const value = given ? (given.checked ? control.value : undefined) : valueOf(control, parameter, zone.utc);
      if (value !== undefined) values[name] = value;
    }
    if (command.requiresOne?.length && !command.requiresOne.some((/** @type {string} */ name) => name in values)) {
      result.bad(new Error(`At least one of these is required: ${command.requiresOne.map(words).join(", ")}.`));
      return;
    }
    const problem = problemWith(values);
    if (problem) {
      result.bad(new Error(problem));
      return;
    }
    const sure = await confirmed(
      `Send “${command.name}”?`,
      [`To ${safeName(vehicle.vehicle, 60)} in fleet ${safeName(vehicle.fleet, 60)}, ${sleeps() ? "when it wakes" : "immediately"}.`,
        command.confirmation].filter(Boolean).join(" "), "Send",
      Object.keys(values).length ? argumentsOf(values) : null);
    if (!sure) return;
    send.disabled = true;
    result.wait(sleeps() ? "Sending…" : `Waiting up to ${patience} seconds for the vehicle's answer…`);
    try {
      const answer = await api.post(vehiclePath(vehicle, "commands"), { command: command.name, arguments: values, timeout: patience });
      const told = answer.answers[0];
      if (told?.answered && told.state !== "done") {
        result.bad(new Error(`The vehicle answered: ${safeName(told.problem ?? told.state, 400)}`));
      } else if (told?.answered) {
        result.good(h("b", {}, "Answered. "), answerText(told));
      } else {
        result.good(h("b", {}, "Queued. "), "The vehicle is asleep. Its answer will appear below. You can close this dialog.");
      }
    } catch (error) {
      result.bad(error);
    }
    send.disabled = false;
    showLog();
  }

  async function showLog() {
    let told;
    try {
      told = (await api.get(vehiclePath(vehicle, "commands"))).answers ?? [];
    } catch (error) {
      // The log remains; the next update retries.
      if (!log.childElementCount) fill(log, h("p", { class: "note" }, explained(error)));
      return;
    }
    const next = h("div", {}, told.length ? h("ul", { class: "plain" }, told.slice(0, greatestList).map(entry))
      : h("p", { class: "note" }, "No commands since the server was started."));
    // If the log is unchanged, its elements remain, with their open answers and selected text.
    const text = JSON.stringify(told);
    if (log.dataset.told === text) return;
    log.dataset.told = text;
    fill(log, next);
  }

  /** @param {CommandAnswer} told */
  function entry(told) {
    const isOpen = told.state === "waiting" || told.state === "sending";
    const state = isOpen && sleeps() && told.state === "waiting" ? "queued: the vehicle is asleep" : stateWords[told.state] ?? words(told.state);
    const ends = isOpen && moment(told.expires) !== undefined ? [" · expires ", timeElement(told.expires, now())] : null;
    return h("li", { class: `command-entry ${told.state}` },
      h("b", {}, words(told.command)), ` ${state}`,
      h("span", { class: "note" }, " · by ", safeName(told.by, 60), " ", timeElement(told.asked, now()),
        told.answered ? [" · answered ", timeElement(told.answered, now())] : ends),
      told.problem ? h("p", { class: "note" }, safeName(told.problem, 400)) : null,
      told.result !== undefined ? h("details", {}, h("summary", {}, "Answer"), answerText(told)) : null);
  }
}

/** @param {CommandAnswer} told */
const answerText = (told) => h("pre", { tabindex: "0", role: "group", "aria-label": "Answer" }, JSON.stringify(told.result ?? told.state, null, 2));

/** @param {Parameter} parameter */
const typeOf = (parameter) => parameter.format === "date-time" ? "time" : parameter.type;

/**
 * True if an empty string is a valid value, for example to remove the driver.
 * @param {Parameter} parameter
 */
const mayBeEmpty = (parameter) => typeOf(parameter) === "string" && !parameter.required && parameter.minimumBytes === 0;

/** @param {Parameter} parameter */
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

/** @param {HTMLInputElement} control @param {Parameter} parameter @param {boolean} isUTC */
function valueOf(control, parameter, isUTC) {
  switch (typeOf(parameter)) {
    case "number": return control.value === "" ? undefined : Number(control.value);
    case "time": return control.value === "" ? undefined : new Date(control.value + (isUTC ? "Z" : "")).toISOString();
    case "boolean": return control.checked ? true : undefined;
    default: return control.value === "" ? undefined : control.value;
  }
}
