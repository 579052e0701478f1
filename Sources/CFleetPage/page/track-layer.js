/** A canvas layer with a day's track and a marker at the time of the slider. */
import { CanvasLayer } from "./canvas-layer.js";
import { pixelsPerMetre, turned, worldX, worldY } from "./mercator.js";
import { colours } from "./theme.js";

/** @type {Record<"fix"|"coarse", number[]>} */
const dashes = { fix: [], coarse: [1, 6] };

/**
 * The x coordinate (in widths of the world) of the map's centre.
 * @param {CanvasView} view
 */
const middle = ({ size, left, width }) => (left + width / 2) / size;

/**
 * The x coordinate (in widths of the world) of a longitude in the copy of the world nearest to the map's centre.
 * @param {number} longitude @param {CanvasView} view
 */
const nearby = (longitude, view) => middle(view) + turned(worldX(longitude) - middle(view));

export class TrackLayer {
  /** @type {import("./track.js").Track|undefined} */ track;
  /** @type {{latitude: number, longitude: number}[]} */ stops = [];
  /** The time span to highlight, in milliseconds. */
  span = [-Infinity, Infinity];
  /**
   * The time of the marker in milliseconds; undefined hides it.
   * @type {number|undefined}
   */
  moment;
  #paint = { line: "", paper: "", muted: "", ink: "" };

  constructor() {
    this.layer = new CanvasLayer((/** @type {Context} */ context, /** @type {CanvasView} */ view) => this.#draw(context, view), { pane: "track" });
    this.restyle();
  }

  restyle() {
    const now = colours();
    this.#paint = { line: now.accent, paper: now.paper, muted: now.muted, ink: now.ink };
    this.layer.redraw();
  }

  redraw() { this.layer.redraw(); }

  /** @param {Context} context @param {CanvasView} view */
  #draw(context, view) {
    const track = this.track;
    if (!track?.length) return;
    const { size, left, top } = view;
    // The number of worlds to add to x, so that the track is near the map's centre.
    const shift = Math.round(middle(view) - (track.x[0] + track.x[track.length - 1]) / 2);
    /** @param {number} index */
    const x = (index) => (track.x[index] + shift) * size - left, y = (/** @type {number} */ index) => track.y[index] * size - top;
    context.lineJoin = context.lineCap = "round";
    /** @param {number} from @param {number} to @param {number[]} dash @param {number} width @param {string} colour */
    const run = (from, to, dash, width, colour) => {
      context.beginPath();
      context.setLineDash(dash);
      context.moveTo(x(from), y(from));
      for (let index = from + 1; index <= to; index += 1) context.lineTo(x(index), y(index));
      context.lineWidth = width;
      context.strokeStyle = colour;
      context.stroke();
    };
    /** @param {number} index */
    const isInside = (index) => track.time[index] >= this.span[0] && track.time[index] <= this.span[1];
    const runs = [];
    for (let from = 0; from + 1 < track.length;) {
      const next = from + 1, kind = track.lineTo(next), inside = isInside(next) && isInside(from);
      let to = next;
      while (kind !== "gap" && to + 1 < track.length && track.lineTo(to + 1) === kind && isInside(to + 1) === inside) to += 1;
      if (kind) runs.push({ from, to, kind, inside });
      from = to;
    }
    for (const { from, to, kind } of runs) if (kind !== "gap") run(from, to, [], 7, this.#paint.paper);
    for (const { from, to, kind, inside } of runs) {
      if (kind === "gap") run(from, to, [2, 7], 1.5, this.#paint.muted);
      else run(from, to, dashes[kind], inside ? 3.5 : 2, inside ? this.#paint.line : this.#paint.muted);
    }
    context.setLineDash([]);
    // Crosses mark suspect positions, which no line includes.
    context.beginPath();
    for (let index = 0; index < track.length; index += 1) {
      if (track.source[index] !== "suspect") continue;
      for (const side of [-4, 4]) {
        context.moveTo(x(index) - 4, y(index) - side);
        context.lineTo(x(index) + 4, y(index) + side);
      }
    }
    context.lineWidth = 2;
    context.strokeStyle = this.#paint.muted;
    context.stroke();
    this.#stops(context, view);
    this.#place(context, view, track);
  }

  /** @param {Context} context @param {CanvasView} view */
  #stops(context, view) {
    const { size, left, top } = view;
    for (const stop of this.stops) {
      if (!Number.isFinite(stop.latitude)) continue;
      const x = nearby(stop.longitude, view) * size - left, y = worldY(stop.latitude) * size - top;
      context.beginPath();
      context.rect(x - 6, y - 6, 12, 12);
      context.fillStyle = this.#paint.paper;
      context.fill();
      context.lineWidth = 2.5;
      context.strokeStyle = this.#paint.ink;
      context.stroke();
    }
  }

  /** @param {Context} context @param {CanvasView} view @param {Track} track */
  #place(context, view, track) {
    const { size, left, top, zoom } = view;
    if (this.moment === undefined) return;
    const place = track.at(this.moment);
    if (!place) return;
    const x = nearby(place.longitude, view) * size - left, y = worldY(place.latitude) * size - top;
    const radius = (track.accuracy[place.index] ?? 0) * pixelsPerMetre(place.latitude, zoom);
    if (radius > 10) {
      context.beginPath();
      context.arc(x, y, Math.min(radius, 4000), 0, 2 * Math.PI);
      context.globalAlpha = 0.14;
      context.fillStyle = this.#paint.line;
      context.fill();
      context.globalAlpha = 1;
    }
    const course = track.course[place.index];
    context.save();
    context.translate(x, y);
    context.beginPath();
    if (Number.isFinite(course) && course !== null && (track.speed[place.index] ?? 0) > 0.7) {
      context.rotate((course * Math.PI) / 180);
      for (const [px, py] of [[0, -12], [8, 10], [0, 6], [-8, 10]]) context.lineTo(px, py);
      context.closePath();
    } else context.arc(0, 0, 8, 0, 2 * Math.PI);
    context.lineWidth = 5;
    context.strokeStyle = this.#paint.paper;
    context.stroke();
    context.fillStyle = place.isKnown ? this.#paint.ink : this.#paint.paper;
    context.fill();
    context.lineWidth = 2;
    context.strokeStyle = this.#paint.ink;
    context.stroke();
    context.restore();
  }
}
