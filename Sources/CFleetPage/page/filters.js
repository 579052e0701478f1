/** Filter and order of vehicles. Pure. */
import { activities, activity, concerns, isConcerning, speedOf } from "./vehicle.js";
import { moment } from "./format.js";
import { statedRadius } from "./reckoning.js";

/**
 * @typedef {Object} Filter
 * @property {string} text each word must occur in the name, the fleet, a region or the newest event
 * @property {string[]} activities empty: all
 * @property {string} fleet empty: all
 * @property {boolean} concerned only vehicles that need attention
 */

/** @type {Filter} */
export const noFilter = { text: "", activities: [], fleet: "", concerned: false };

export const orders = {
  name: "Name", attention: "Needs attention first", heard: "Latest message first", speed: "Fastest first", battery: "Lowest battery first",
  queue: "Longest queue first",
};

/** @param {string} text */
const fold = (text) => text.normalize("NFKD").replace(/\p{Mn}/gu, "").toLowerCase();

/** @param {Filter} filter @returns {(vehicle: import("./vehicle.js").Summary) => boolean} */
export function matcher(filter) {
  const wanted = fold(filter.text).split(/\s+/).filter(Boolean);
  const shown = new Set(filter.activities);
  return (vehicle) => {
    if (filter.fleet && vehicle.fleet !== filter.fleet) return false;
    if (shown.size && !shown.has(activity(vehicle))) return false;
    if (filter.concerned && !isConcerning(vehicle)) return false;
    if (!wanted.length) return true;
    const text = fold(`${vehicle.vehicle} ${vehicle.fleet} ${(vehicle.inside ?? []).join(" ")} ${vehicle.event?.summary ?? ""}`);
    return wanted.every((word) => text.includes(word));
  };
}

const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

/**
 * Compares names; "truck 9" precedes "truck 10".
 * @param {VehicleName} a @param {VehicleName} b
 */
export const byName = (a, b) => collator.compare(a.vehicle, b.vehicle) || collator.compare(a.fleet, b.fleet)
  || (a.vehicle < b.vehicle ? -1 : a.vehicle > b.vehicle ? 1 : 0);

/** @param {number|undefined} value */
const least = (value) => value ?? Infinity;
/** @param {number|undefined} value */
const greatest = (value) => -(value ?? -Infinity);

/** @type {Record<string, (vehicle: Summary, now: number) => number>} */
const keys = {
  name: () => 0,
  attention: (vehicle) => -concerns(vehicle).length * 10 + activities.indexOf(activity(vehicle)),
  heard: (vehicle) => greatest(moment(vehicle.heard)),
  speed: (vehicle) => greatest(speedOf(vehicle)),
  battery: (vehicle) => least(vehicle.battery?.level),
  queue: (vehicle) => greatest(vehicle.queue),
  state: (vehicle) => activities.indexOf(activity(vehicle)),
  accuracy: (vehicle, now) => greatest(statedRadius(vehicle, now)),
};

/**
 * @param {import("./vehicle.js").Summary[]} named vehicles sorted by name
 * @param {string} order a key of `keys`
 * @param {boolean} [reversed]
 * @param {number} [now] milliseconds
 * @returns {import("./vehicle.js").Summary[]} a new array; equal vehicles remain sorted by name
 */
export function sorted(named, order, reversed = false, now = Date.now()) {
  const key = keys[order] ?? keys.name;
  const ranked = named.map((vehicle, index) => ({ vehicle, index, key: key(vehicle, now) }));
  const turn = reversed ? -1 : 1;
  ranked.sort((a, b) => {
    if (a.key !== b.key) {
      // Unknown values are last in both directions.
      if (a.key === Infinity) return 1;
      if (b.key === Infinity) return -1;
      return a.key < b.key ? -turn : turn;
    }
    return order === "name" ? turn * (a.index - b.index) : a.index - b.index;
  });
  return ranked.map((entry) => entry.vehicle);
}

/** @typedef {{filter: Filter, order: string|undefined, reversed: boolean}} Ordered */

/**
 * The query of an address for a filter and an order; default values are omitted.
 * @param {Ordered} chosen
 */
export function filterQuery({ filter, order, reversed }) {
  return {
    q: filter.text, state: filter.activities.join(","), fleet: filter.fleet, look: filter.concerned ? "1" : "",
    order: order === "name" && !reversed ? "" : `${reversed ? "-" : ""}${order}`,
  };
}

/**
 * @param {Record<string, string>} query the query of an address
 * @returns {Ordered|undefined} undefined if the query contains neither a filter nor an order
 */
export function filterOf(query) {
  if (!["q", "state", "fleet", "look", "order"].some((name) => query[name])) return undefined;
  const order = query.order?.replace(/^-/, "");
  return {
    filter: {
      text: (query.q ?? "").slice(0, 100), activities: (query.state ?? "").split(",").filter((name) => activities.some((each) => each === name)),
      fleet: query.fleet ?? "", concerned: query.look === "1",
    },
    order: Object.hasOwn(keys, order ?? "") ? order : undefined, reversed: query.order?.startsWith("-") === true,
  };
}

/**
 * The number of vehicles per activity, and of those that need attention.
 * @param {Iterable<Summary>} vehicles
 */
export function tally(vehicles) {
  /** @type {Record<string, number>} */ const counts = { ...Object.fromEntries(activities.map((name) => [name, 0])), concerned: 0 };
  for (const vehicle of vehicles) {
    counts[activity(vehicle)] += 1;
    if (isConcerning(vehicle)) counts.concerned += 1;
  }
  return counts;
}
