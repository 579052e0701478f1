/** The web's usual projection (EPSG:3857), as shares of the world's square: x from west to east, y from north to south. Pure. */

/** Degrees beyond which the square ends. */
export const northernmost = 85.0511287798;

export const worldX = (longitude) => (longitude + 180) / 360;

export function worldY(latitude) {
  const bounded = Math.max(-northernmost, Math.min(northernmost, latitude));
  const sine = Math.sin((bounded * Math.PI) / 180);
  return 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI);
}

export const longitudeAt = (x) => x * 360 - 180;

/** A difference of two x, the short way round the world. */
export const turned = (difference) => difference - Math.round(difference);

/**
 * The narrowest part of the world that holds some x of 0 to 1.
 * @param {number[]} places are put in order
 * @returns {[number, number]} west and east; across the 180th meridian, east is beyond 1
 */
export function narrowest(places) {
  places.sort((a, b) => a - b);
  const last = places.length - 1;
  // It begins behind the widest gap; the one around the back is where the world's copies meet.
  let [west, east, gap] = [places[0], places[last], places[0] + 1 - places[last]];
  for (let index = 0; index < last; index += 1) {
    const own = places[index + 1] - places[index];
    if (own > gap) [west, east, gap] = [places[index + 1], places[index] + 1, own];
  }
  return [west, east];
}

export const latitudeAt = (y) => (Math.atan(Math.sinh(Math.PI * (1 - 2 * y))) * 180) / Math.PI;

/** Pixels of the world's side. */
export const worldSize = (zoom) => 256 * 2 ** zoom;

const circumference = 40_075_016.686;

/** Pixels to a metre on the ground. */
export const pixelsPerMetre = (latitude, zoom) =>
  worldSize(zoom) / (circumference * Math.max(0.01, Math.cos((latitude * Math.PI) / 180)));
