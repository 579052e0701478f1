/** Markers of vehicles. Each state has its own shape, independent of colours. */
import { contextOf, drawing } from "./dom.js";
import { activities } from "./vehicle.js";

/**
 * Paths on a grid of 16 by 16. The arrow points up and is rotated.
 * @type {Record<import("./vehicle.js").Activity, string>}
 */
export const shapes = {
  moving: "M8 .8 13.4 14.6 8 11.6 2.6 14.6Z",
  standing: "M8 2.4a5.6 5.6 0 1 1 0 11.2a5.6 5.6 0 1 1 0-11.2Z",
  connected: "M8 1.8a6.2 6.2 0 1 1 0 12.4a6.2 6.2 0 1 1 0-12.4ZM8 4.2a3.8 3.8 0 1 0 0 7.6a3.8 3.8 0 1 0 0-7.6ZM8 6.4a1.6 1.6 0 1 1 0 3.2a1.6 1.6 0 1 1 0-3.2Z",
  asleep: "M9.8 1.6a6.4 6.4 0 1 0 4.6 9.4A5.6 5.6 0 0 1 9.8 1.6Z",
  overdue: "M8 1.2 15.2 14.2H.8ZM7.1 5.4h1.8v4.6H7.1ZM7.1 11h1.8v1.7H7.1Z",
  offline: "M3.1 1.4 8 6.3 12.9 1.4 14.6 3.1 9.7 8 14.6 12.9 12.9 14.6 8 9.7 3.1 14.6 1.4 12.9 6.3 8 1.4 3.1Z",
  unknown: "M8 1 15 8 8 15 1 8ZM8 3.8 3.8 8 8 12.2 12.2 8Z",
};

/**
 * The icon of an activity.
 * @param {import("./vehicle.js").Activity} activity
 */
export const sign = (/** @type {import("./vehicle.js").Activity} */ activity, className = "glyph") =>
  drawing([{ d: shapes[activity], "fill-rule": "evenodd" }], `${className} state-${activity}`);

/** @type {Record<string, Path2D>} */
const paths = {};
const directions = 32;
const side = 40;

/** Cached images, one per shape, direction and kind of position. */
export class Sprites {
  /** @type {Map<string, HTMLCanvasElement>} */ #cache = new Map();
  #colours; #ratio;

  /** @param {Record<string, string>} colours @param {number} ratio */
  constructor(colours, ratio) {
    this.#colours = Object.fromEntries(
      ["paper", "ink", ...activities.map((name) => `state-${name}`)].map((name) => [name, colours[name]]));
    this.#ratio = ratio;
  }

  /**
   * @param {number} kind index in `activities`
   * @param {number|undefined} heading degrees; undefined if unknown
   * @param {string|undefined} position a key of `positionKinds`
   * @param {boolean} reckoned true if predicted from the last report
   * @param {Context} context @param {number} x @param {number} y
   */
  draw(context, x, y, kind, heading, position, reckoned) {
    const turn = heading === undefined ? -1 : ((Math.round((heading / 360) * directions) % directions) + directions) % directions;
    const key = `${kind} ${turn} ${position} ${reckoned}`;
    let sprite = this.#cache.get(key);
    if (!sprite) {
      sprite = this.#make(activities[kind], turn, position, reckoned);
      this.#cache.set(key, sprite);
    }
    context.drawImage(sprite, x - side / 2, y - side / 2, side, side);
  }

  /** @param {import("./vehicle.js").Activity} activity @param {number} turn @param {string|undefined} position @param {boolean} reckoned */
  #make(activity, turn, position, reckoned) {
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = side * this.#ratio;
    const context = contextOf(canvas);
    context.setTransform(this.#ratio, 0, 0, this.#ratio, (side / 2) * this.#ratio, (side / 2) * this.#ratio);
    const colour = this.#colours[`state-${activity}`], paper = this.#colours.paper;
    this.#ring(context, position, colour, paper);
    if (turn >= 0) context.rotate((turn / directions) * 2 * Math.PI);
    // A moving vehicle without a known direction is drawn as a disc, because an arrow would show a direction.
    const shape = activity === "moving" && turn < 0 ? "standing" : activity;
    if (turn >= 0 && shape === "standing") nose(context, colour, paper);
    if (turn >= 0 && shape !== "moving") context.rotate((-turn / directions) * 2 * Math.PI);
    paths[shape] ??= new Path2D(shapes[shape]);
    context.scale(1.12, 1.12);
    context.translate(-8, -8);
    context.lineJoin = "round";
    context.strokeStyle = paper;
    context.lineWidth = 3;
    context.stroke(paths[shape]);
    const hollow = reckoned;
    context.fillStyle = hollow ? paper : colour;
    context.fill(paths[shape], "evenodd");
    if (hollow) {
      context.strokeStyle = colour;
      context.lineWidth = 1.6;
      context.stroke(paths[shape]);
    }
    return canvas;
  }

  /** @param {Context} context @param {string|undefined} position @param {string} colour @param {string} paper */
  #ring(context, position, colour, paper) {
    if (position === "stale") {
      for (const { grow, fill } of [{ grow: 1.5, fill: paper }, { grow: 0, fill: colour }]) {
        context.fillStyle = fill;
        context.fillRect(-8 - grow, 11 - grow, 16 + 2 * grow, 2.2 + 2 * grow);
      }
    }
    if (position === "suspect") {
      context.lineCap = "round";
      for (const { width, stroke } of [{ width: 5, stroke: paper }, { width: 2.5, stroke: colour }]) {
        context.beginPath();
        for (const [x, y] of [[1, 1], [1, -1], [-1, 1], [-1, -1]]) {
          context.moveTo(8 * x, 8 * y);
          context.lineTo(12 * x, 12 * y);
        }
        context.lineWidth = width;
        context.strokeStyle = stroke;
        context.stroke();
      }
    }
    if (position !== "inertial" && position !== "coarse") return;
    const radius = position === "coarse" ? 16 : 13;
    for (const { width, stroke } of [{ width: 4, stroke: paper }, { width: 2, stroke: colour }]) {
      context.beginPath();
      context.lineWidth = width;
      context.strokeStyle = stroke;
      context.setLineDash(position === "coarse" ? [0.1, 5] : [7, 4]);
      context.lineCap = position === "coarse" ? "round" : "butt";
      context.arc(0, 0, radius, 0, 2 * Math.PI);
      context.stroke();
    }
    context.setLineDash([]);
  }
}

/** @param {Context} context @param {string} colour @param {string} paper */
function nose(context, colour, paper) {
  context.beginPath();
  context.moveTo(0, -13);
  context.lineTo(5, -4.5);
  context.lineTo(-5, -4.5);
  context.closePath();
  context.strokeStyle = paper;
  context.lineWidth = 2.5;
  context.stroke();
  context.fillStyle = colour;
  context.fill();
}
