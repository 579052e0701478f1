/** Charts of speed and altitude with a time cursor. */
import { contextOf, h } from "./dom.js";
import { amount, clock } from "./format.js";
import { niceMarks, timeMarks, Track } from "./track.js";
import { inNextFrame } from "./timers.js";
import { isUTC } from "./times.js";
import { colours } from "./theme.js";

const margin = { left: 46, right: 12, top: 8, bottom: 20 };

export class Plots {
  /** @type {import("./track.js").Track|undefined} */ track;
  from = 0; to = 1; origin = 0;
  /**
   * The time of the cursor in milliseconds; undefined hides it.
   * @type {number|undefined}
   */
  moment;
  /**
   * Trips to shade, as [start, end] in milliseconds.
   * @type {[number, number][]}
   */
  spans = [];
  /** @type {number[]} */ events = [];
  #canvas; #onPick;
  #frame = inNextFrame(() => this.#draw());

  /** @param {(time: number) => void} onPick */
  constructor(onPick) {
    this.#onPick = onPick;
    this.#canvas = h("canvas", { class: "plots", "aria-hidden": "true" });
    this.element = this.#canvas;
    /** @param {PointerEvent} event */
    const pick = (event) => {
      if (event.type === "pointermove" && !(event.buttons & 1)) return;
      const box = this.#canvas.getBoundingClientRect();
      const share = (event.clientX - box.left - margin.left) / (box.width - margin.left - margin.right);
      this.#onPick(this.from + Math.max(0, Math.min(1, share)) * (this.to - this.from));
    };
    this.#canvas.addEventListener("pointerdown", (event) => {
      this.#canvas.setPointerCapture(event.pointerId);
      pick(event);
    });
    this.#canvas.addEventListener("pointermove", pick);
    new ResizeObserver(() => this.redraw()).observe(this.#canvas);
  }

  redraw() { this.#frame.request(); }

  #draw() {
    const ratio = Math.min(2, window.devicePixelRatio || 1), width = this.#canvas.clientWidth, height = this.#canvas.clientHeight;
    if (!width || !height) return;
    if (this.#canvas.width !== Math.round(width * ratio) || this.#canvas.height !== Math.round(height * ratio)) {
      this.#canvas.width = Math.round(width * ratio);
      this.#canvas.height = Math.round(height * ratio);
    }
    const context = contextOf(this.#canvas), paint = colours();
    const paper = { line: paint.line, muted: paint.muted, accent: paint.accent, ink: paint.ink, quiet: paint.quiet, second: paint["state-standing"] };
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = `11px ${getComputedStyle(document.body).fontFamily}`;
    /** @param {number} time */
    const x = (time) => margin.left + ((time - this.from) / (this.to - this.from)) * (width - margin.left - margin.right);
    const inner = height - margin.top - margin.bottom, gap = 12, half = (inner - gap) / 2;
    context.fillStyle = paper.quiet;
    for (const [from, to] of this.spans) {
      const left = Math.max(margin.left, x(from)), right = Math.min(width - margin.right, x(to));
      if (right > left) context.fillRect(left, margin.top, right - left, inner);
    }
    this.#times(context, paper, x, width, height);
    this.#plot(context, paper, x, margin.top, half, width, this.track?.speed ?? [], 3.6, "km/h", paper.accent, 0);
    this.#plot(context, paper, x, margin.top + half + gap, half, width, this.track?.altitude ?? [], 1, "m", paper.second, undefined);
    context.fillStyle = paper.ink;
    for (const time of this.events) {
      const at = x(time);
      if (at < margin.left || at > width - margin.right) continue;
      context.beginPath();
      context.moveTo(at - 4, margin.top);
      context.lineTo(at + 4, margin.top);
      context.lineTo(at, margin.top + 7);
      context.fill();
    }
    if (this.moment !== undefined) {
      context.fillStyle = paper.ink;
      context.fillRect(x(this.moment) - 0.75, margin.top, 1.5, inner);
    }
  }

  /** @param {Context} context @param {Record<string, string>} paper @param {(time: number) => number} x @param {number} width @param {number} height */
  #times(context, paper, x, width, height) {
    context.textBaseline = "bottom";
    for (const time of timeMarks(this.from, this.to, Math.max(2, Math.floor(width / 90)), this.origin)) {
      context.fillStyle = paper.line;
      context.fillRect(Math.round(x(time)), margin.top, 1, height - margin.top - margin.bottom);
      context.fillStyle = paper.muted;
      const text = clock(time, { utc: isUTC(), now: time, seconds: this.to - this.from < 600_000 });
      const at = x(time);
      context.textAlign = at < margin.left + 20 ? "left" : at > width - 40 ? "right" : "center";
      context.fillText(text, at, height - 3);
    }
  }

  /**
   * @param {Context} context @param {Record<string, string>} paper
   * @param {(time: number) => number} x of a time, in pixels
   * @param {number} top @param {number} height @param {number} width
   * @param {(number|null)[]} values one per point of the track
   * @param {number} factor from the values to `unit`
   * @param {string} unit @param {string} colour
   * @param {number|undefined} floor the least maximum of the lower end of the axis
   */
  #plot(context, paper, x, top, height, width, values, factor, unit, colour, floor) {
    const track = this.track ?? new Track();
    let low = Infinity, high = -Infinity;
    for (let index = 0; index < track.length; index += 1) {
      const value = values[index];
      if (value === null || value === undefined || track.time[index] < this.from || track.time[index] > this.to) continue;
      low = Math.min(low, value * factor);
      high = Math.max(high, value * factor);
    }
    context.textBaseline = "middle";
    if (low > high) {
      context.fillStyle = paper.muted;
      context.textAlign = "left";
      context.fillText(unit === "m" ? "No altitude" : "No speed", margin.left + 8, top + height / 2);
      return;
    }
    low = Math.min(low, floor ?? low);
    // Minimum range, so that noise on a level road does not look like hills.
    const least = unit === "m" ? 20 : 30;
    if (high - low < least) [low, high] = floor === undefined ? [(low + high - least) / 2, (low + high + least) / 2] : [low, low + least];
    /** @param {number} value */
    const y = (value) => top + height - ((value - low) / (high - low)) * height;
    context.textAlign = "right";
    const marks = niceMarks(low, high, Math.max(1, Math.floor(height / 22)));
    for (const mark of marks) {
      context.fillStyle = paper.line;
      context.fillRect(margin.left, Math.round(y(mark)), width - margin.left - margin.right, 1);
      context.fillStyle = paper.muted;
      context.fillText(amount(mark) ?? "", margin.left - 6, y(mark));
    }
    context.textAlign = "left";
    context.fillText(unit, margin.left + 4, top + 6);
    context.beginPath();
    let isDown = false;
    for (let index = 0; index < track.length; index += 1) {
      const value = track.source[index] === "suspect" ? undefined : values[index];
      if (value === null || value === undefined || track.isGap(index)) isDown = false;
      if (value === null || value === undefined) continue;
      const time = track.time[index];
      if (time < this.from || time > this.to) continue;
      if (isDown) context.lineTo(x(time), y(value * factor));
      else context.moveTo(x(time), y(value * factor));
      isDown = true;
    }
    context.strokeStyle = colour;
    context.lineWidth = 1.5;
    context.lineJoin = "round";
    context.stroke();
  }
}
