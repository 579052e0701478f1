/** Gives a region to vehicles, or takes it from them, beside those that each has, and shows what each answers. */
import { vehiclePath } from "./api.js";
import { h, setText } from "./dom.js";
import { count, safeName } from "./format.js";
import { identifierOf } from "./region-geometry.js";
import { keyOf } from "./vehicle.js";

/** Requests under way at a time. */
const together = 6;
/** Milliseconds to wait for vehicles' answers, looked for every second. */
const patience = 20_000;
/** Vehicles whose answers are shown one by one. */
const greatestTable = 500;

const sentWords = { sent: "sent, no answer yet", unsent: "waits for the broker", refused: "refused by the broker", unmanaged: "takes no regions from here" };

/** One request for all: the server puts the region beside those that each has. */
export async function pushRegion(api, vehicles, feature, result, place) {
  const rows = answerTable(vehicles, place);
  result.wait(`Sending to ${count(vehicles.length, "vehicle")}…`);
  try {
    const told = await api.put("regions", {
      vehicles: vehicles.map(keyOf), features: { type: "FeatureCollection", features: [feature] }, add: true,
    });
    for (const state of told?.vehicles ?? []) setText(rows.get(keyOf(state)), sentWords[state.state] ?? state.state);
    const sent = vehicles.filter((vehicle) => (told?.vehicles ?? []).some((each) => keyOf(each) === keyOf(vehicle) && each.state === "sent"));
    result.good(`Sent to ${count(sent.length, "vehicle")} of ${vehicles.length}. Their answers follow.`);
    await answers(api, sent, rows, (told) => {
      // What it says is about what it was told before.
      if (told.state === "waiting") return undefined;
      const refusal = (told.rejected ?? []).find((each) => each.region === feature.id);
      return refusal ? `refused: ${safeName(refusal.reason, 200)}` : (told.accepted ?? []).includes(feature.id) ? "accepted" : undefined;
    });
  } catch (error) {
    result.bad(error);
  }
}

/** One by one: each keeps the others that it has. */
export async function takeRegion(api, vehicles, identifier, result, place) {
  const rows = answerTable(vehicles, place), queue = [...vehicles], sent = [];
  result.wait(`Sending to ${count(vehicles.length, "vehicle")}…`);
  await Promise.all(Array.from({ length: together }, async () => {
    for (let vehicle = queue.shift(); vehicle; vehicle = queue.shift()) {
      const address = vehiclePath(vehicle, "regions");
      try {
        const told = await api.get(address);
        const features = (told?.wanted?.features ?? []).filter((feature) => identifierOf(feature) !== identifier);
        const answer = await api.put(address, { type: "FeatureCollection", features });
        setText(rows.get(keyOf(vehicle)), sentWords[answer?.vehicles?.[0]?.state] ?? sentWords.sent);
        sent.push(vehicle);
      } catch (error) {
        setText(rows.get(keyOf(vehicle)), error.explanation ?? error.message);
      }
    }
  }));
  if (sent.length < vehicles.length) result.bad(new Error(`${count(vehicles.length - sent.length, "vehicle")} could not be told.`));
  else result.good(`Sent to ${count(sent.length, "vehicle")}. Their answers follow.`);
  await answers(api, sent, rows, (told) => told.state === "waiting" || (told.accepted ?? []).includes(identifier) ? undefined : "no longer watched");
}

/** @returns {Map<string, HTMLElement>} the cell of each vehicle's answer */
function answerTable(vehicles, place) {
  const rows = new Map(vehicles.map((vehicle) => [keyOf(vehicle), h("td", {}, "waits")]));
  place(h("div", { class: "scroll table-box answers", tabindex: "0", role: "group", "aria-label": "Answers" }, h("table", {},
    h("caption", { class: "visually-hidden" }, "Answers of vehicles"),
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Vehicle"), h("th", { scope: "col" }, "Answer"))),
    h("tbody", {}, vehicles.slice(0, greatestTable).map((vehicle) => h("tr", {}, h("th", { scope: "row" }, h("bdi", {}, safeName(vehicle.vehicle, 60))), rows.get(keyOf(vehicle))))))));
  return rows;
}

/** @param {(told: any) => string|undefined} words what a vehicle has answered; undefined while it has not */
async function answers(api, vehicles, rows, words) {
  const end = performance.now() + patience;
  let waiting = vehicles.slice(0, 100);
  while (waiting.length && performance.now() < end) {
    await new Promise((resume) => { setTimeout(resume, 1000); });
    const still = [];
    for (const vehicle of waiting) {
      try {
        const text = words(await api.get(vehiclePath(vehicle, "regions")));
        if (text) setText(rows.get(keyOf(vehicle)), text);
        else still.push(vehicle);
      } catch (error) {
        setText(rows.get(keyOf(vehicle)), error.explanation ?? error.message);
      }
    }
    waiting = still;
  }
}
