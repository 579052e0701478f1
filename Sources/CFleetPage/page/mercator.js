/** Web Mercator projection (EPSG:3857) with coordinates of 0 to 1: x from west to east, y from north to south. Pure. */

/** The northern limit of the projection in degrees. */
export const northernmost = 85.0511287798;

export const worldX = (/** @type {number} */ longitude) => (longitude + 180) / 360;

/** @param {number} latitude */
export function worldY(latitude) {
  const bounded = Math.max(-northernmost, Math.min(northernmost, latitude));
  const sine = Math.sin((bounded * Math.PI) / 180);
  return 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI);
}

export const longitudeAt = (/** @type {number} */ x) => x * 360 - 180;

/** A difference of two x coordinates, the shorter way around the world. */
export const turned = (/** @type {number} */ difference) => difference - Math.round(difference);

/**
 * The narrowest range of longitudes that contains all positions.
 * @param {number[]} places x coordinates from 0 to 1; sorted in place
 * @returns {[number, number]} west and east; across the 180th meridian, east exceeds 1
 */
export function narrowest(places) {
  places.sort((a, b) => a - b);
  const last = places.length - 1;
  // The range starts after the widest gap. The initial value is the gap across the 180th meridian.
  let [west, east, gap] = [places[0], places[last], places[0] + 1 - places[last]];
  for (let index = 0; index < last; index += 1) {
    const own = places[index + 1] - places[index];
    if (own > gap) [west, east, gap] = [places[index + 1], places[index] + 1, own];
  }
  return [west, east];
}

export const latitudeAt = (/** @type {number} */ y) => (Math.atan(Math.sinh(Math.PI * (1 - 2 * y))) * 180) / Math.PI;

/** Width of the world in pixels. */
export const worldSize = (/** @type {number} */ zoom) => 256 * 2 ** zoom;

const circumference = 40_075_016.686;

/** Pixels per metre on the ground. */
export const pixelsPerMetre = (/** @type {number} */ latitude, /** @type {number} */ zoom) =>
  worldSize(zoom) / (circumference * Math.max(0.01, Math.cos((latitude * Math.PI) / 180)));
