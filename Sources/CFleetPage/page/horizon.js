/** The attitude as an artificial horizon and as text. */
import { contextOf, h, setText } from "./dom.js";
import { amount, direction } from "./format.js";
import { colours } from "./theme.js";

const side = 132;
/** @param {number} radians */
const degrees = (radians) => (radians * 180) / Math.PI;

/**
 * Roll, pitch and yaw in radians of an attitude message.
 * @returns {{roll: number, pitch: number, yaw: number|undefined}|undefined}
 * @param {Attitude|undefined} attitude
 */
export function anglesOf(attitude) {
  if (!attitude) return undefined;
  const { roll = NaN, pitch = NaN, yaw } = attitude;
  if (Number.isFinite(roll) && Number.isFinite(pitch)) return { roll, pitch, yaw };
  const [w, x, y, z] = Array.isArray(attitude.quaternion) ? attitude.quaternion : [];
  if (![w, x, y, z].every(Number.isFinite)) return undefined;
  // Euler angles in the intrinsic order z-x-y: pitch about the axis to the right, roll about the axis forward.
  return {
    roll: Math.atan2(2 * (w * y - x * z), 1 - 2 * (x * x + y * y)),
    pitch: Math.asin(Math.max(-1, Math.min(1, 2 * (w * x + y * z)))),
    yaw: Math.atan2(2 * (w * z - x * y), 1 - 2 * (x * x + z * z)),
  };
}

/**
 * The direction of the front as text; null if the frame does not refer to north. Yaw rotates the right axis away from north; the
 * front is 90° to the left of it.
 * @param {Attitude} attitude @param {number|undefined} yaw
 */
function towards(attitude, yaw) {
  if (!attitude.frame?.endsWith("NorthZVertical") || yaw === undefined || !Number.isFinite(yaw)) return null;
  const north = attitude.frame.startsWith("xMagnetic") ? " from magnetic north" : "";
  return `${attitude.axes === "device" ? "top" : "front"} towards ${direction(-degrees(yaw) - 90)}${north}`;
}

export class Horizon {
  #canvas = h("canvas", { class: "horizon", width: side * 2, height: side * 2, role: "img" });
  #words = h("p", { class: "note" });
  element = h("div", { class: "attitude" }, this.#canvas, this.#words);

  /** @param {Attitude|undefined} attitude */
  show(attitude) {
    const angles = anglesOf(attitude);
    this.element.hidden = !angles;
    if (!attitude || !angles) return;
    const roll = degrees(angles.roll), pitch = degrees(angles.pitch);
    /** @param {number} value @param {string} one @param {string} other */
    const side = (value, one, other) => `${amount(Math.abs(value), 1)}° ${value >= 0 ? one : other}`;
    const text = [
      `Roll ${side(roll, "to the right", "to the left")}`, `pitch ${side(pitch, "up", "down")}`,
      towards(attitude, angles.yaw),
      attitude.axes ? `axes of the ${attitude.axes}` : null,
    ].filter(Boolean).join(", ");
    setText(this.#words, text);
    this.#canvas.setAttribute("aria-label", text);
    this.#draw(angles.roll, pitch);
  }

  /** @param {number} roll @param {number} pitch */
  #draw(roll, pitch) {
    const context = contextOf(this.#canvas), paint = colours(), r = side / 2;
    context.setTransform(2, 0, 0, 2, side, side);
    context.clearRect(-r, -r, side, side);
    context.save();
    context.beginPath();
    context.arc(0, 0, r - 2, 0, 2 * Math.PI);
    context.clip();
    context.rotate(-roll);
    const perDegree = r / 45;
    const level = pitch * perDegree;
    context.fillStyle = paint.sky;
    context.fillRect(-2 * r, -4 * r, 4 * r, 4 * r + level);
    context.fillStyle = paint.earth;
    context.fillRect(-2 * r, level, 4 * r, 4 * r);
    context.strokeStyle = paint.ink;
    context.lineWidth = 1.5;
    line(context, -2 * r, level, 2 * r, level);
    context.lineWidth = 1;
    for (let mark = -80; mark <= 80; mark += 10) {
      if (mark) line(context, mark % 20 ? -8 : -16, level - mark * perDegree, mark % 20 ? 8 : 16, level - mark * perDegree);
    }
    context.restore();
    // The symbol of the vehicle is fixed in the middle; the horizon moves.
    context.strokeStyle = paint.accent;
    context.lineWidth = 3;
    line(context, -30, 0, -10, 0);
    line(context, 10, 0, 30, 0);
    context.beginPath();
    context.arc(0, 0, 3, 0, 2 * Math.PI);
    context.stroke();
    context.beginPath();
    context.arc(0, 0, r - 2, 0, 2 * Math.PI);
    context.strokeStyle = paint.line;
    context.lineWidth = 2;
    context.stroke();
  }
}

/** @param {Context} context @param {number} x1 @param {number} y1 @param {number} x2 @param {number} y2 */
function line(context, x1, y1, x2, y2) {
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  context.stroke();
}
