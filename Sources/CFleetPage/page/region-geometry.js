/** Converts regions between GeoJSON and drafts. Pure. */

/**
 * @typedef {Object} Draft
 * @property {string} identifier
 * @property {"circle"|"polygon"} form
 * @property {{latitude: number, longitude: number}|undefined} centre of a circle
 * @property {number} radius metres
 * @property {{latitude: number, longitude: number}[]} corners of a polygon, without the repeated first corner
 * @property {Record<string, any>} properties other properties of the feature
 */

/** @returns {Draft} */
export const newDraft = (/** @type {"circle"|"polygon"} */ form) => ({ identifier: "", form, centre: undefined, radius: 200, corners: [], properties: {} });

/** The identifier of a region, by the same rules as in the vehicle. */
export const identifierOf = (/** @type {any} */ feature) =>
  String(feature?.id ?? feature?.properties?.id ?? feature?.properties?.identifier ?? feature?.properties?.name ?? "");

/** @param {any} feature unvalidated @returns {Draft|undefined} undefined if the page cannot edit the region */
export function draftOf(feature) {
  try {
    const draft = draftFrom(feature);
    const places = (draft?.form === "circle" ? [draft.centre] : draft?.corners) ?? [];
    return places.length && places.every((place) => Number.isFinite(place?.latitude) && Number.isFinite(place?.longitude)) ? draft : undefined;
  } catch {
    return undefined;
  }
}

/** Properties that the vehicles report; they do not belong to the region. */
const reported = ["accepted", "state", "vehicles", "reason"];

/** @param {any} feature @returns {Draft|undefined} */
function draftFrom(feature) {
  const { radius, latitude, longitude, ...properties } = feature.properties ?? {};
  for (const name of reported) delete properties[name];
  const identifier = identifierOf(feature);
  const { type, coordinates } = feature.geometry ?? {};
  if (type === "Point" && radius > 0) {
    return { ...newDraft("circle"), identifier, radius, centre: { longitude: coordinates[0], latitude: coordinates[1] }, properties };
  }
  if (radius > 0 && Number.isFinite(latitude) && Number.isFinite(longitude)) {
    return { ...newDraft("circle"), identifier, radius, centre: { latitude, longitude }, properties };
  }
  if (type !== "Polygon" || coordinates.length !== 1) return undefined;
  const corners = coordinates[0].map((/** @type {[number, number]} */ [lon, lat]) => ({ latitude: lat, longitude: lon }));
  const first = corners[0], last = corners.at(-1);
  if (corners.length > 1 && first.latitude === last.latitude && first.longitude === last.longitude) corners.pop();
  return { ...newDraft("polygon"), identifier, corners, properties };
}

/**
 * The reason why a draft is incomplete; undefined if it is complete.
 * @param {Draft} draft
 */
export function problemOf(draft) {
  const size = new TextEncoder().encode(draft.identifier).length;
  if (size === 0) return "Enter a name.";
  if (size > 64) return "The name is too long (maximum 64 bytes).";
  const { dwell, speedLimit } = draft.properties;
  if (dwell !== undefined && !(dwell > 0)) return "The dwell time must be above 0 s.";
  if (speedLimit !== undefined && !(speedLimit > 0)) return "The speed limit must be above 0 km/h.";
  if (draft.form === "circle") {
    if (!draft.centre) return "Click the map to set the centre.";
    const { latitude, longitude } = draft.centre;
    if (!(Math.abs(latitude) <= 90) || !(Math.abs(longitude) <= 180)) return "The latitude must be from −90° to 90°, the longitude from −180° to 180°.";
    return draft.radius > 0 ? undefined : "The radius must be above 0 m.";
  }
  if (draft.corners.length < 3) return `Add ${3 - draft.corners.length} more ${draft.corners.length === 2 ? "corner" : "corners"}.`;
  return crossesItself(draft.corners) ? "The edges cross each other." : undefined;
}

/** @param {number} degrees */
const round = (degrees) => Math.round(degrees * 1e7) / 1e7;

/** @param {Draft} draft */
export function featureOf(draft) {
  const geometry = draft.form === "circle"
    ? { type: "Point", coordinates: [round(draft.centre?.longitude ?? NaN), round(draft.centre?.latitude ?? NaN)] }
    : { type: "Polygon", coordinates: [closed(turnedLeft(draft.corners)).map((corner) => [round(corner.longitude), round(corner.latitude)])] };
  const properties = Object.fromEntries(Object.entries(draft.properties).filter(([, value]) => value !== undefined));
  if (draft.form === "circle") properties.radius = draft.radius;
  return { type: "Feature", id: draft.identifier, geometry, properties };
}

/** @param {Place[]} corners */
const closed = (corners) => [...corners, corners[0]];

/**
 * Orients the outer ring counterclockwise (RFC 7946).
 * @param {Place[]} corners
 */
function turnedLeft(corners) {
  let area = 0;
  corners.forEach((/** @type {Place} */ corner, /** @type {number} */ index) => {
    const next = corners[(index + 1) % corners.length];
    area += corner.longitude * next.latitude - next.longitude * corner.latitude;
  });
  return area < 0 ? [...corners].reverse() : corners;
}

/** @param {Place[]} corners */
function crossesItself(corners) {
  const n = corners.length;
  /** @param {Place} a @param {Place} b @param {Place} c */
  const side = (a, b, c) => Math.sign((b.longitude - a.longitude) * (c.latitude - a.latitude) - (b.latitude - a.latitude) * (c.longitude - a.longitude));
  for (let i = 0; i < n; i += 1) {
    for (let j = i + 2; j < n; j += 1) {
      if (i === 0 && j === n - 1) continue;
      const [a, b, c, d] = [corners[i], corners[(i + 1) % n], corners[j], corners[(j + 1) % n]];
      if (side(a, b, c) * side(a, b, d) < 0 && side(c, d, a) * side(c, d, b) < 0) return true;
    }
  }
  return false;
}
