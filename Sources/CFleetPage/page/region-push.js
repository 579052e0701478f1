/** Gives a region to vehicles one by one, beside those that each has, and shows what each answers. */
import { vehiclePath } from "./api.js";
import { h, setText } from "./dom.js";
import { amount, count, safeName } from "./format.js";
import { asWanted, withFeature } from "./region-geometry.js";

/** Requests under way at a time. */
const together = 6;
/** Milliseconds to wait for vehicles' answers, looked for every second. */
const patience = 20_000;

export const pushRegion = (api, vehicles, feature, result, place) =>
  change(api, vehicles, (features) => withFeature(features, feature), feature.id, result, place);

export const takeRegion = (api, vehicles, identifier, result, place) =>
  change(api, vehicles, (features) => features.filter((feature) => String(feature.id) !== identifier), undefined, result, place);

async function change(api, vehicles, next, identifier, result, place) {
  const rows = vehicles.map((vehicle) => ({ vehicle, answer: h("td", {}, "waits") }));
  place(h("div", { class: "scroll table-box answers", tabindex: "0", role: "group", "aria-label": "Answers" }, h("table", {},
    h("caption", { class: "visually-hidden" }, "Answers of vehicles"),
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Vehicle"), h("th", { scope: "col" }, "Answer"))),
    h("tbody", {}, rows.slice(0, 500).map(({ vehicle, answer }) => h("tr", {}, h("th", { scope: "row" }, h("bdi", {}, safeName(vehicle.vehicle, 60))), answer))))));
  let done = 0, failed = 0;
  const queue = [...rows], sent = [];
  result.wait(`Sending to ${count(vehicles.length, "vehicle")}…`);
  await Promise.all(Array.from({ length: together }, async () => {
    for (let row = queue.shift(); row; row = queue.shift()) {
      const address = () => vehiclePath(row.vehicle, "regions");
      try {
        const told = await api.get(address());
        await api.put(address(), { type: "FeatureCollection", features: next((told?.wanted?.features ?? []).map(asWanted)) });
        setText(row.answer, "sent, no answer yet");
        sent.push(row);
      } catch (error) {
        failed += 1;
        setText(row.answer, error.explanation ?? error.message);
      }
      done += 1;
      if (done % 20 === 0) result.wait(`${amount(done)} of ${count(vehicles.length, "vehicle")}…`);
    }
  }));
  if (failed) result.bad(new Error(`${count(failed, "vehicle")} could not be reached, or may not be changed.`));
  else result.good(`Sent to ${count(sent.length, "vehicle")}. Their answers follow.`);
  await answers(api, sent, identifier);
}

async function answers(api, rows, identifier) {
  const end = performance.now() + patience;
  let waiting = rows.slice(0, 100);
  while (waiting.length && performance.now() < end) {
    await new Promise((resume) => { setTimeout(resume, 1000); });
    const still = [];
    for (const row of waiting) {
      try {
        const told = await api.get(vehiclePath(row.vehicle, "regions"));
        const refusal = (told.rejected ?? []).find((each) => (each.region ?? each.id) === identifier);
        const accepted = (told.accepted ?? []).some((each) => (each.region ?? each.id ?? each) === identifier);
        if (refusal) setText(row.answer, `refused: ${safeName(refusal.reason, 200)}`);
        else if (identifier === undefined ? told.pending === false : accepted) setText(row.answer, "accepted");
        else still.push(row);
      } catch (error) {
        setText(row.answer, error.explanation ?? error.message);
      }
    }
    waiting = still;
  }
}
