/** Dialogs for shared links, which show one vehicle without a login for a limited time. */
import { explained, path } from "./api.js";
import { button, fill, h } from "./dom.js";
import { field, openDialog, outcome } from "./dialog.js";
import { safeName } from "./format.js";
import { timeElement } from "./times.js";
import { keyOf } from "./vehicle.js";

const lengths = [[900, "15 minutes"], [3600, "1 hour"], [14_400, "4 hours"], [86_400, "1 day"], [604_800, "7 days"]];

/**
 * A list of active links that can be reloaded.
 * @param {import("./api.js").API} api
 * @param {() => number} now
 * @param {{vehicle?: {fleet: string, vehicle: string}, mayOperate: boolean}} about vehicle: undefined shows all links
 */
function linkList(api, now, { vehicle, mayOperate }) {
  const element = h("div", { class: "links", role: "group", "aria-label": "Active links" }), result = outcome();
  const load = async () => {
    try {
      const told = await api.get("shares");
      const links = (told?.shares ?? []).filter((/** @type {Share} */ link) => !vehicle || keyOf(link) === keyOf(vehicle))
        .sort((/** @type {Share} */ a, /** @type {Share} */ b) => (a.expires < b.expires ? -1 : 1));
      fill(element, links.length ? h("ul", { class: "plain" }, links.map(row))
        : h("p", { class: "note" }, vehicle ? "No active links to this vehicle." : "No active links."));
    } catch (error) {
      fill(element, h("p", { class: "note" }, explained(error)));
    }
  };
  /** @param {Share} link */
  const row = (link) => h("li", { class: "link-row" },
    h("span", {}, vehicle ? null : [h("b", {}, h("bdi", {}, safeName(link.vehicle, 60))), " "],
      "until ", timeElement(link.expires, now()), h("span", { class: "note" }, ` · created by ${safeName(link.by, 60)} `, timeElement(link.began, now()))),
    mayOperate ? button("Revoke", async () => {
      try {
        await api.delete(path("shares", String(link.id)));
        result.good("Link revoked. It no longer shows the vehicle.");
      } catch (error) {
        result.bad(error);
      }
      await load();
    }, { "aria-label": `Revoke the link to ${safeName(link.vehicle, 60)}` }) : null);
  return { element: h("div", {}, element, result.element), load };
}

/**
 * Shows all links that the user may see.
 * @param {API} api @param {() => number} now @param {boolean} mayOperate
 */
export function openLinks(api, now, mayOperate) {
  const list = linkList(api, now, { mayOperate });
  openDialog("Shared links", h("p", { class: "note" }, "Anyone with a link can see its vehicle until the link expires or is revoked."), list.element);
  list.load();
}

/** @param {import("./api.js").API} api @param {() => number} now @param {VehicleName} vehicle */
export function openShare(api, vehicle, now) {
  const result = outcome(), list = linkList(api, now, { vehicle, mayOperate: true });
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
      result.wait("Cannot access the clipboard. The link is selected: copy it with the keyboard.");
    }
  });
  copy.hidden = true;
  const dialog = openDialog(`Share ${safeName(vehicle.vehicle, 60)}`,
    h("p", {}, "Anyone with the link can see this vehicle, and no other, until it expires. The link permits no changes."),
    field("Valid for", seconds), row, result.element,
    h("div", { class: "actions end" }, copy, button("Create link", async () => {
      try {
        const answer = await api.post("shares", { fleet: vehicle.fleet, vehicle: vehicle.vehicle, seconds: Number(seconds.value) });
        // Relative to the page, which can be below a path of a reverse proxy.
        link.value = new URL(`.${answer.url}`, location.href).href;
        row.hidden = copy.hidden = false;
        link.select();
        result.good("Valid until ", timeElement(answer.expires, now()), ". Copy the link now; it will not be shown again.");
        list.load();
      } catch (error) {
        result.bad(error);
      }
    }, { class: "strong" })),
    h("h3", {}, "Active links"), list.element);
  list.load();
  return dialog;
}
