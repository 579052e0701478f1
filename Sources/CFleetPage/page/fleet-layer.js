/** A canvas layer with all vehicles, single or clustered. */
import { CanvasLayer } from "./canvas-layer.js";
import { ClusterGrid, clusterFrom } from "./clusters.js";
import { latitudeAt, longitudeAt, narrowest, pixelsPerMetre, turned, worldX, worldY } from "./mercator.js";
import { Sprites } from "./markers.js";
import { colours, reducedMotion } from "./theme.js";
import { freshFor, reckoned } from "./reckoning.js";
import { activities, positionKind } from "./vehicle.js";
import { safeName } from "./format.js";
import { Labels } from "./labels.js";
import { after } from "./timers.js";

/** Maximum number of accuracy circles; more would hide each other. */
const greatestCircles = 250;
/** Maximum number of vehicle names, about as many as fit on a screen. */
const greatestLabels = 400;
/** Radius in pixels of the ring around the selected vehicle. */
const haloRadius = 19;
/** Milliseconds between frames while vehicles move. At street level a vehicle moves about a pixel in this time. */
const motionInterval = 100;

/**
 * @typedef {{x: number, y: number, radius: number, entry?: import("./clusters.js").Entry, cell?: import("./clusters.js").Cell}} Target
 */

/**
 * A vehicle as drawn, in pixels of the canvas.
 * @typedef {Object} Drawn
 * @property {import("./clusters.js").Entry} entry
 * @property {number} x
 * @property {number} y
 * @property {number} fromX the reported position
 * @property {number} fromY
 * @property {number} ahead seconds since the report
 * @property {number|undefined} radius metres
 */

/** @typedef {{x: number, y: number, cell: import("./clusters.js").Cell}} Disc */

export class FleetLayer {
  grid = new ClusterGrid();
  /**
   * Keys of the vehicles to show; undefined: all.
   * @type {Set<string>|undefined}
   */
  #shown;
  #colours = colours();
  #sprites = new Sprites(this.#colours, 1);
  #store; #names = new Labels();
  /** @type {Map<string, number>} */ #widths = new Map();
  /**
   * Cancels the next frame.
   * @type {Stop|undefined}
   */
  #cancelNext;
  /**
   * The objects that the last frame has drawn, for hit tests.
   * @type {Target[]}
   */
  targets = [];
  /** Number of vehicles in the last frame. */
  visible = 0;
  /**
   * Keys of vehicles.
   * @type {string|undefined}
   */
  selected;
  /** @type {string|undefined} */ hovered;
  ink = ""; paper = ""; accent = ""; muted = ""; font = "";
  /**
   * Colours by activity.
   * @type {string[]}
   */
  kinds = [];
  /**
   * World coordinates of the selected vehicle's trail, oldest first.
   * @type {number[]}
   */
  trail = [];
  dimmed = false;
  /** True in the history view, which hides all other vehicles. */
  onlySelected = false;

  /** @param {import("./store.js").Store} store */
  constructor(store) {
    this.#store = store;
    this.layer = new CanvasLayer((/** @type {Context} */ context, /** @type {CanvasView} */ view) => this.#draw(context, view), { pane: "fleet" });
    this.restyle();
  }

  restyle() {
    this.#colours = colours();
    this.#sprites = new Sprites(this.#colours, Math.min(2, window.devicePixelRatio || 1));
    this.ink = this.#colours.ink;
    this.paper = this.#colours.paper;
    this.accent = this.#colours.accent;
    this.muted = this.#colours.muted;
    this.kinds = activities.map((name) => this.#colours[`state-${name}`]);
    this.font = getComputedStyle(document.body).fontFamily;
    this.#widths.clear();
    this.redraw();
  }

  redraw() { this.layer.redraw(); }

  /** @param {{key: string, vehicle: any}[]} changes */
  update(changes) {
    for (const { key, vehicle } of changes) {
      this.grid.update(key, vehicle && (!this.#shown || this.#shown.has(key)) ? vehicle : undefined);
      if (key === this.selected && vehicle?.position) this.#follow(vehicle.position);
    }
    this.redraw();
  }

  /** @param {Position} position */
  #follow(position) {
    // No line is drawn through inaccurate and suspect positions.
    if (position.suspect || position.source === "coarse") return;
    const x = worldX(position.longitude), y = worldY(position.latitude), trail = this.trail;
    if (trail.length && trail.at(-2) === x && trail.at(-1) === y) return;
    trail.push(x, y);
    if (trail.length > 4000) trail.splice(0, trail.length - 4000);
  }

  /** @param {Set<string>|undefined} keys */
  show(keys) {
    this.#shown = keys;
    for (const [key, vehicle] of this.#store.vehicles) {
      const isShown = !keys || keys.has(key);
      if (isShown !== this.grid.entries.has(key)) this.grid.update(key, isShown ? vehicle : undefined);
    }
    this.redraw();
  }

  /**
   * The object under the pointer; the nearest one if several overlap.
   * @param {{x: number, y: number}} point
   */
  at(point) {
    /** @type {Target|undefined} */ let best;
    let least = Infinity;
    for (const target of this.targets) {
      const distance = Math.hypot(target.x - point.x, target.y - point.y);
      // Of two objects at the same distance, the one drawn last is on top.
      if (distance <= target.radius && distance <= least) {
        best = target;
        least = distance;
      }
    }
    return best;
  }

  /** @param {Context} context @param {CanvasView} view */
  #draw(context, view) {
    const { size, left, top, width, height, zoom } = view;
    this.grid.setZoom(zoom);
    const now = this.#store.now();
    const margin = 60;
    /** @type {Drawn[]} */ const singles = [];
    /** @type {Disc[]} */ const discs = [];
    /** @type {Drawn|undefined} */ let chosen;
    this.grid.visit(
      (left - margin) / size, (top - margin) / size, (left + width + margin) / size, (top + height + margin) / size,
      (cell, shift) => {
        const together = this.grid.isClustering && cell.members.size >= clusterFrom;
        if (together) {
          const n = cell.members.size;
          discs.push({ x: (cell.sumX / n + shift) * size - left, y: (cell.sumY / n) * size - top, cell });
        }
        for (const entry of together ? this.#marked(cell) : cell.members) {
          const place = this.#place(entry, now, view, shift);
          if (entry.key === this.selected) chosen = place;
          else singles.push(place);
        }
      });
    this.targets = [];
    if (this.onlySelected) {
      singles.length = discs.length = 0;
      chosen = undefined;
    }
    this.visible = singles.length + (chosen ? 1 : 0);
    context.globalAlpha = this.dimmed ? 0.35 : 1;
    if (chosen) this.#drawTrail(context, view, chosen);
    if (zoom >= 12 && singles.length <= greatestCircles) for (const place of singles) this.#circle(context, place, zoom);
    let isMoving = false;
    for (const place of singles) isMoving = this.#single(context, place) || isMoving;
    for (const disc of discs) {
      this.visible += disc.cell.members.size;
      this.#disc(context, disc);
    }
    if (chosen) {
      this.#circle(context, chosen, zoom, true);
      this.#halo(context, chosen);
      isMoving = this.#single(context, chosen) || isMoving;
    }
    this.#labels(context, singles, discs, chosen, zoom);
    context.globalAlpha = 1;
    this.#goOn(isMoving);
  }

  /**
   * The selected vehicle if it is in the cell: it is drawn in addition to its cluster.
   * @param {import("./clusters.js").Cell} cell
   */
  #marked(cell) {
    const entry = this.selected && this.grid.entries.get(this.selected);
    return entry && cell.members.has(entry) ? [entry] : [];
  }

  /** @param {import("./clusters.js").Entry} entry @param {number} now @param {CanvasView} view @param {number} shift */
  #place(entry, now, { size, left, top }, shift) {
    /** @type {Drawn} */
    const place = {
      entry, x: (entry.x + shift) * size - left, y: entry.y * size - top, fromX: 0, fromY: 0, ahead: 0,
      radius: entry.vehicle.position?.accuracy,
    };
    if (!entry.motion) return place;
    const guess = reckoned(entry.vehicle, now, entry.motion);
    if (!guess) return place;
    /** @param {number} longitude */
    const x = (longitude) => place.x + turned(worldX(longitude) - entry.x) * size;
    // With bounded reporting, the position can be predicted from an earlier report than the newest one.
    [place.fromX, place.fromY] = [x(guess.from.longitude), worldY(guess.from.latitude) * size - top];
    [place.x, place.y] = [x(guess.longitude), worldY(guess.latitude) * size - top];
    place.ahead = guess.ahead;
    place.radius = guess.radius;
    if (reducedMotionNow) {
      // The vehicle is shown at its reported position. The circle includes the distance that it can have moved since.
      place.radius = guess.radius === undefined ? undefined : guess.radius + guess.drift;
      [place.x, place.y, place.ahead] = [place.fromX, place.fromY, 0];
    }
    return place;
  }

  /**
   * @returns {boolean} true if the vehicle's position on the map also moves between two reports
   * @param {Context} context @param {Drawn} place
   */
  #single(context, place) {
    const { entry, x, y } = place;
    const vehicle = entry.vehicle, isReckoned = place.ahead > freshFor;
    if (isReckoned && Math.hypot(x - place.fromX, y - place.fromY) > 6) {
      context.beginPath();
      context.setLineDash([2, 3]);
      context.lineWidth = 1.5;
      context.strokeStyle = this.kinds[entry.kind];
      context.moveTo(place.fromX, place.fromY);
      context.lineTo(x, y);
      context.stroke();
      context.setLineDash([]);
      context.beginPath();
      context.arc(place.fromX, place.fromY, 2, 0, 2 * Math.PI);
      context.fillStyle = this.kinds[entry.kind];
      context.fill();
    }
    const heading = vehicle.position?.course ?? vehicle.heading;
    this.#sprites.draw(context, x, y, entry.kind, heading, positionKind(vehicle), isReckoned);
    this.targets.push({ x, y, radius: 16, entry });
    return entry.motion !== undefined && entry.motion.speed > 0;
  }

  /** @param {Context} context @param {Drawn} place @param {number} zoom */
  #circle(context, place, zoom, always = false) {
    const radius = (place.radius ?? 0) * pixelsPerMetre(latitudeAt(place.entry.y), zoom);
    if (radius < 12 || (!always && radius > 400)) return;
    context.beginPath();
    context.arc(place.x, place.y, Math.min(radius, 5000), 0, 2 * Math.PI);
    const alpha = context.globalAlpha;
    context.fillStyle = context.strokeStyle = this.kinds[place.entry.kind];
    context.globalAlpha = alpha * 0.1;
    context.fill();
    context.globalAlpha = alpha * 0.55;
    context.lineWidth = 1;
    context.stroke();
    context.globalAlpha = alpha;
  }

  /** @param {Context} context @param {Drawn} place */
  #halo(context, place) {
    for (const { width, colour } of [{ width: 5, colour: this.paper }, { width: 2.5, colour: this.accent }]) {
      context.beginPath();
      context.arc(place.x, place.y, haloRadius, 0, 2 * Math.PI);
      context.lineWidth = width;
      context.strokeStyle = colour;
      context.stroke();
    }
  }

  /** @param {Context} context @param {Disc} disc */
  #disc(context, { x, y, cell }) {
    const n = cell.members.size;
    const radius = Math.min(30, 13 + 3.6 * Math.log10(n) * 1.6);
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.fillStyle = this.paper;
    context.fill();
    let from = -Math.PI / 2;
    context.lineWidth = 4.5;
    for (let kind = 0; kind < cell.kinds.length; kind += 1) {
      if (!cell.kinds[kind]) continue;
      const to = from + (cell.kinds[kind] / n) * 2 * Math.PI;
      context.beginPath();
      context.arc(x, y, radius - 2.25, from, to);
      context.strokeStyle = this.kinds[kind];
      context.stroke();
      from = to;
    }
    context.fillStyle = this.ink;
    context.font = `600 ${n > 999 ? 11 : 12}px ${this.font}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillText(n > 9999 ? `${Math.round(n / 1000)}k` : String(n), x, y + 0.5);
    this.targets.push({ x, y, radius, cell });
  }

  /** @param {Context} context @param {CanvasView} view @param {Drawn} place */
  #drawTrail(context, { size, left, top }, place) {
    const trail = this.trail;
    if (trail.length < 2) return;
    context.beginPath();
    // The trail is drawn from the vehicle backwards. Each step takes the shorter way around the world.
    let x = (place.x + left) / size;
    for (let index = trail.length - 2; index >= 0; index -= 2) {
      x += turned(trail[index] - x);
      context.lineTo(x * size - left, trail[index + 1] * size - top);
    }
    context.lineJoin = context.lineCap = "round";
    for (const { width, colour } of [{ width: 5.5, colour: this.paper }, { width: 2.5, colour: this.accent }]) {
      context.lineWidth = width;
      context.strokeStyle = colour;
      context.stroke();
    }
    context.lineCap = "butt";
  }

  /** @param {Context} context @param {Drawn[]} singles @param {Disc[]} discs @param {Drawn|undefined} chosen @param {number} zoom */
  #labels(context, singles, discs, chosen, zoom) {
    const named = zoom >= 14 ? this.#names.chosen(singles, greatestLabels, (place) => place.entry.key, this.hovered)
      : singles.filter((/** @type {Drawn} */ place) => place.entry.key === this.hovered);
    context.font = `500 12px ${this.font}`;
    context.textBaseline = "middle";
    context.lineJoin = "round";
    /** @type {Map<string, string>} */ const texts = new Map();
    const wanted = (chosen ? [chosen, ...named] : named).map((/** @type {Drawn} */ place) => {
      const key = place.entry.key, text = safeName(place.entry.vehicle.vehicle, 28);
      texts.set(key, text);
      return {
        key, x: place.x, y: place.y, width: this.#widthOf(context, text), must: place === chosen || key === this.hovered,
        reach: place === chosen ? haloRadius + 5 : undefined,
      };
    });
    if (!wanted.length) return;
    const signs = [
      ...singles.map(({ x, y }) => ({ x, y })), ...(chosen ? [{ x: chosen.x, y: chosen.y, radius: 12 }] : []),
      ...discs.map(({ x, y }) => ({ x, y, radius: 20 })),
    ];
    for (const { key, x, y, align } of this.#names.place(wanted, signs)) {
      const text = texts.get(key) ?? "";
      context.textAlign = align;
      context.lineWidth = 3.5;
      context.strokeStyle = this.paper;
      context.strokeText(text, x, y);
      context.fillStyle = this.ink;
      context.fillText(text, x, y);
    }
  }

  /** @param {Context} context @param {string} text */
  #widthOf(context, text) {
    let width = this.#widths.get(text);
    if (width === undefined) {
      if (this.#widths.size > 2000) this.#widths.clear();
      width = context.measureText(text).width;
      this.#widths.set(text, width);
    }
    return width;
  }

  /** @param {boolean} isMoving */
  #goOn(isMoving) {
    this.#cancelNext?.();
    this.#cancelNext = after(isMoving && !reducedMotionNow ? motionInterval : 1000, () => this.redraw());
  }

  /**
   * Bounds of a cell's members as [[south, west], [north, east]] in degrees. Across the 180th meridian, east exceeds 180.
   * @param {{members: Iterable<{x: number, y: number}>}} cell
   * @returns {[[number, number], [number, number]]}
   */
  static bounds(cell) {
    let north = 2, south = -1;
    /** @type {number[]} */ const places = [];
    for (const { x, y } of cell.members) {
      places.push(x);
      north = Math.min(north, y);
      south = Math.max(south, y);
    }
    const [west, east] = narrowest(places);
    return [[latitudeAt(south), longitudeAt(west)], [latitudeAt(north), longitudeAt(east)]];
  }
}

// The preference is cached, because each frame reads it once per vehicle.
let reducedMotionNow = reducedMotion();
matchMedia("(prefers-reduced-motion: reduce)").addEventListener("change", () => { reducedMotionNow = reducedMotion(); });
