/** Assigns a region to vehicles or removes it, and shows each vehicle's answer. */
import { query } from "./api.js";
import { h, setText } from "./dom.js";
import { pause } from "./timers.js";
import { count, safeName } from "./format.js";
import { keyOf } from "./vehicle.js";

/** Milliseconds to wait for answers. */
const patience = 20_000;
/** Maximum number of rows in the table of answers. */
const greatestTable = 500;
/** Milliseconds between two requests for answers. A request covers all vehicles. */
const lookInterval = 1000;

/** @typedef {{vehicles: Map<string, AssignedVehicle>, watchingStill: Set<string>}} Told vehicles with the region, and those that still report it */

/** @type {Record<string, string>} */
const sentWords = {
  sent: "sent, no answer yet", unsent: "waiting for the broker", refused: "refused by the broker", unmanaged: "does not accept remote regions",
  unchanged: "did not have the region",
};

/**
 * Adds the region to the desired regions of each vehicle, in one request.
 * @param {API} api @param {VehicleName[]} vehicles @param {any} feature @param {Outcome} result @param {(element: HTMLElement) => void} place
 */
export function pushRegion(api, vehicles, feature, result, place) {
  const change = { features: { type: "FeatureCollection", features: [feature] }, add: true };
  return changeRegion(api, vehicles, feature.id, change, result, place, (told, key) => {
    const vehicle = told.vehicles.get(key);
    if (!vehicle) return "removed by another user meanwhile";
    return vehicle.reason ? `refused: ${safeName(vehicle.reason, 200)}` : vehicle.accepted ? "accepted" : undefined;
  });
}

/**
 * Removes the region from the desired regions of each vehicle, in one request.
 * @param {API} api @param {VehicleName[]} vehicles @param {string} identifier @param {Outcome} result @param {(element: HTMLElement) => void} place
 */
export function takeRegion(api, vehicles, identifier, result, place) {
  return changeRegion(api, vehicles, identifier, { remove: [identifier] }, result, place, (told, key) => {
    if (told.vehicles.has(key)) return "assigned again by another user meanwhile";
    return told.watchingStill.has(key) ? undefined : "removed";
  });
}

/**
 * @param {(told: Told, key: string) => string|undefined} words text of a vehicle's answer; undefined without an answer
 * @param {API} api @param {VehicleName[]} vehicles @param {string} identifier @param {object} change @param {Outcome} result
 * @param {(element: HTMLElement) => void} place
 */
async function changeRegion(api, vehicles, identifier, change, result, place, words) {
  const rows = answerTable(vehicles, place);
  result.wait(`Sending to ${count(vehicles.length, "vehicle")}…`);
  try {
    /** @type {{fleet: string, vehicle: string, state: string}[]} */
    const told = (await api.put("regions", { vehicles: vehicles.map(keyOf), ...change }))?.vehicles ?? [];
    for (const vehicle of told) show(rows, keyOf(vehicle), sentWords[vehicle.state] ?? vehicle.state);
    const sent = told.filter((vehicle) => vehicle.state === "sent").map(keyOf), unchanged = told.filter((vehicle) => vehicle.state === "unchanged").length;
    const sentence = `Sent to ${count(sent.length, "vehicle")} of ${vehicles.length - unchanged}.`;
    if (sent.length + unchanged < vehicles.length) result.wait(`${sentence} Waiting for answers…`);
    else result.good(`${sentence} Waiting for answers…`);
    const silent = await answers(api, identifier, sent, rows, words);
    const end = silent.length
      ? `${count(silent.length, "vehicle")} did not answer within ${patience / 1000} seconds. Late answers appear in the list of regions.`
      : "All vehicles have answered.";
    if (sent.length) (silent.length || sent.length + unchanged < vehicles.length ? result.wait : result.good)(`${sentence} ${end}`);
  } catch (error) {
    result.bad(error);
  }
}

/**
 * @returns {Map<string, HTMLElement>} the table cell per vehicle
 * @param {VehicleName[]} vehicles @param {(element: HTMLElement) => void} place
 */
function answerTable(vehicles, place) {
  const rows = new Map(vehicles.map((vehicle) => [keyOf(vehicle), h("td", {}, "sending")]));
  const more = vehicles.length - greatestTable;
  place(h("div", { class: "scroll table-box answers", tabindex: "0", role: "group", "aria-label": "Answers" },
    h("table", {},
      h("caption", { class: "visually-hidden" }, "Answers of vehicles"),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Vehicle"), h("th", { scope: "col" }, "Answer"))),
      h("tbody", {}, vehicles.slice(0, greatestTable).map((vehicle) => h("tr", {},
        h("th", { scope: "row" }, h("bdi", {}, safeName(vehicle.vehicle, 60))), rows.get(keyOf(vehicle)))))),
    more > 0 ? h("p", { class: "note" }, `and ${count(more, "more vehicle")}`) : null));
  return rows;
}

/**
 * @returns {Promise<string[]>} the vehicles without an answer
 * @param {API} api @param {string} identifier @param {string[]} keys @param {Map<string, HTMLElement>} rows
 * @param {(told: Told, key: string) => string|undefined} words
 */
async function answers(api, identifier, keys, rows, words) {
  const end = performance.now() + patience;
  let waiting = keys;
  while (waiting.length && performance.now() < end) {
    await pause(lookInterval);
    /** @type {Told} */ let told;
    try {
      told = toldOf(await api.get(`regions${query({ region: identifier })}`));
    } catch {
      // The request is repeated in the next round.
      continue;
    }
    waiting = waiting.filter((/** @type {string} */ key) => {
      const text = words(told, key);
      if (text) show(rows, key, text);
      return !text;
    });
  }
  for (const key of waiting) show(rows, key, `no answer within ${patience / 1000} seconds`);
  return waiting;
}

/** @param {Map<string, HTMLElement>} rows @param {string} key @param {string} text */
function show(rows, key, text) {
  const cell = rows.get(key);
  if (cell) setText(cell, text);
}

/** @param {any} answer @returns {Told} */
const toldOf = (answer) => ({
  vehicles: new Map((answer?.regions ?? []).flatMap((/** @type {{vehicles: AssignedVehicle[]}} */ region) => region.vehicles)
    .map((/** @type {AssignedVehicle} */ vehicle) => [keyOf(vehicle), vehicle])),
  watchingStill: new Set((answer?.watchingStill ?? []).map(keyOf)),
});
