/** Lines of latitude and longitude, shown where there is no base map. */
import { CanvasLayer } from "./canvas-layer.js";
import { latitudeAt, longitudeAt, worldX, worldY } from "./mercator.js";
import { colours } from "./theme.js";

const steps = [45, 30, 15, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001];
/** Minimum distance of two lines in pixels. */
const leastGap = 110;

/** Degrees between two lines. */
export const stepFor = (/** @type {number} */ pixelsPerDegree) => steps.findLast((step) => step * pixelsPerDegree >= leastGap) ?? steps[0];

/**
 * A coordinate as text, such as "48.05° N"; `step` determines the number of decimals.
 * @param {number} value @param {string} positive @param {string} negative @param {number} step
 */
export function degreeText(value, positive, negative, step) {
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return `${Math.abs(value).toFixed(digits)}°${value === 0 ? "" : `\u202f${value > 0 ? positive : negative}`}`;
}

export function graticule() {
  let line = "", text = "", paper = "", font = "";
  const restyle = () => {
    const now = colours();
    [line, text, paper, font] = [now.grid, now.muted, now.ground, getComputedStyle(document.body).fontFamily];
  };
  restyle();
  const layer = new CanvasLayer((/** @type {Context} */ context, { size, left, top, width, height }) => {
    const step = stepFor(size / 360);
    const west = longitudeAt(left / size), east = longitudeAt((left + width) / size);
    const north = latitudeAt(Math.max(0, top / size)), south = latitudeAt(Math.min(1, (top + height) / size));
    /** @type {[x1: number, y1: number, x2: number, y2: number][]} */ const lines = [];
    /** @type {{text: string, x: number, y: number, align: CanvasTextAlign}[]} */ const labels = [];
    for (let index = Math.ceil(west / step); index * step <= east; index += 1) {
      const x = Math.round(worldX(index * step) * size - left) + 0.5;
      lines.push([x, 0, x, height]);
      const degrees = ((((index * step + 180) % 360) + 360) % 360) - 180;
      // No labels in the left corner, which contains the scale.
      if (x > 160) labels.push({ text: degreeText(degrees, "E", "W", step), x: x + 4, y: height - 8, align: "left" });
    }
    // The step in degrees is the same for all latitudes: near the poles the lines are farther apart.
    for (let index = Math.ceil(south / step); index * step <= north; index += 1) {
      const y = Math.round(worldY(index * step) * size - top) + 0.5;
      lines.push([0, y, width, y]);
      if (y < height - 30) {
        labels.push({ text: degreeText(index * step, "N", "S", step), x: width - 6, y: y - 6, align: "right" });
      }
    }
    context.beginPath();
    for (const [x1, y1, x2, y2] of lines) {
      context.moveTo(x1, y1);
      context.lineTo(x2, y2);
    }
    context.strokeStyle = line;
    context.lineWidth = 1;
    context.stroke();
    context.font = `11px ${font}`;
    context.textBaseline = "alphabetic";
    context.lineWidth = 3;
    context.strokeStyle = paper;
    context.fillStyle = text;
    for (const label of labels) {
      context.textAlign = label.align;
      context.strokeText(label.text, label.x, label.y);
      context.fillText(label.text, label.x, label.y);
    }
  }, { pane: "graticule" });
  return { layer, restyle: () => { restyle(); layer.redraw(); } };
}
