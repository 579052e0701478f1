/** A link that shows one vehicle for a while, to somebody without a login. */
import { button, h } from "./dom.js";
import { field, openDialog, outcome } from "./dialog.js";
import { safeName } from "./format.js";
import { timeElement } from "./times.js";

const lengths = [[900, "15 minutes"], [3600, "1 hour"], [14_400, "4 hours"], [86_400, "1 day"], [604_800, "7 days"]];

/** @param {import("./api.js").API} api */
export function openShare(api, vehicle, now) {
  const result = outcome();
  const seconds = h("select", {}, lengths.map(([value, text]) => h("option", { value, selected: value === 3600 }, text)));
  const link = h("input", { type: "text", readonly: true });
  const row = field("Link", link);
  row.hidden = true;
  const copy = button("Copy", async () => {
    link.select();
    try {
      await navigator.clipboard.writeText(link.value);
      result.good("Copied.");
    } catch {
      result.wait("It is selected: copy it with the keyboard.");
    }
  });
  copy.hidden = true;
  openDialog(`Share ${safeName(vehicle.vehicle, 60)}`,
    h("p", {}, "Whoever has the link sees this vehicle, and no other, until it expires. It changes nothing."),
    field("For", seconds), row, result.element,
    h("div", { class: "actions end" }, copy, button("Make a link", async () => {
      try {
        const answer = await api.post("shares", { fleet: vehicle.fleet, vehicle: vehicle.vehicle, seconds: Number(seconds.value) });
        link.value = new URL(answer.url, location.href).href;
        row.hidden = copy.hidden = false;
        link.select();
        result.good("It holds until ", timeElement(answer.expires, now), ".");
      } catch (error) {
        result.bad(error);
      }
    }, { class: "strong" })));
}
