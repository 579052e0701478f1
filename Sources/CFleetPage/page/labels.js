/** Places names beside markers without overlaps. Pure. */

/** Distance from a marker's centre to its name, and line height, in pixels. */
const offset = 18, height = 15;
/** Half the side in pixels of a marker, which names must not cover. */
const signHalf = 8;

/** @typedef {{dx: number, dy: number, align: CanvasTextAlign}} Side the position of a name relative to the marker's centre */
/** @typedef {{left: number, top: number, right: number, bottom: number, sign?: {x: number, y: number}}} Box */

/**
 * The sides right, left, below and above.
 * @param {number} reach
 * @returns {Side[]}
 */
const sidesAt = (reach) => [
  { dx: reach, dy: 0, align: "left" }, { dx: -reach, dy: 0, align: "right" },
  { dx: 0, dy: reach + 3, align: "center" }, { dx: 0, dy: -reach - 3, align: "center" },
];
const usual = sidesAt(offset);

/** @param {{x: number, y: number}} at @param {number} width @param {Side} side @returns {Box} */
function boxOf(at, width, { dx, dy, align }) {
  const left = at.x + dx - (align === "left" ? 0 : align === "right" ? width : width / 2);
  return { left: left - 2, top: at.y + dy - height / 2, right: left + width + 2, bottom: at.y + dy + height / 2 };
}

/** @param {Box} a @param {Box} b */
const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

/** Side of a square of `Boxes` in pixels, about the length of a name. */
const square = 64;

/** Boxes indexed by squares of the screen, so that a box is only compared with its neighbours. */
class Boxes {
  /** @type {Map<string, Box[]>} */ #squares = new Map();

  /** @param {Box} box */
  *#touched({ left, top, right, bottom }) {
    for (let x = Math.floor(left / square); x <= Math.floor(right / square); x += 1) {
      for (let y = Math.floor(top / square); y <= Math.floor(bottom / square); y += 1) yield `${x} ${y}`;
    }
  }

  /** @param {Box} box */
  add(box) {
    for (const key of this.#touched(box)) {
      const boxes = this.#squares.get(key);
      if (boxes) boxes.push(box);
      else this.#squares.set(key, [box]);
    }
  }

  /**
   * True if a box intersects a stored box for which `counts` is true.
   * @param {Box} box
   */
  meets(box, counts = (/** @type {Box} */ _box) => true) {
    for (const key of this.#touched(box)) if (this.#squares.get(key)?.some((/** @type {Box} */ other) => meet(box, other) && counts(other))) return true;
    return false;
  }
}

export class Labels {
  /** The last side of each name. A name keeps its side as long as it fits, so that names do not jump. */
  #sides = new Map();

  /**
   * Chooses at most `count` objects to label: first the object with the key `must`, then those with a label, then the others.
   * @template T @param {T[]} things @param {(thing: T) => string} keyOf @param {string|undefined} must
   * @param {number} count
   */
  chosen(things, count, keyOf, must) {
    if (things.length <= count) return things;
    const rank = (/** @type {T} */ thing) => keyOf(thing) === must ? 0 : this.#sides.has(keyOf(thing)) ? 1 : 2;
    return [0, 1, 2].flatMap((wanted) => things.filter((thing) => rank(thing) === wanted)).slice(0, count);
  }

  /**
   * @param {{key: string, x: number, y: number, width: number, must?: boolean, reach?: number}[]} wanted `must`: always placed; `reach`: distance in
   *   pixels from the marker's centre to the name, if the object is larger than a marker
   * @param {{x: number, y: number, radius?: number}[]} signs markers to keep visible
   * @returns {{key: string, x: number, y: number, align: CanvasTextAlign}[]} the names that fit
   */
  place(wanted, signs) {
    const before = this.#sides, taken = new Boxes(), blocked = new Boxes(), placed = [];
    this.#sides = new Map();
    for (const sign of signs) {
      const half = sign.radius ?? signHalf;
      blocked.add({ left: sign.x - half, top: sign.y - half, right: sign.x + half, bottom: sign.y + half, sign });
    }
    /** @param {any} label */
    const rank = (label) => label.must ? 0 : before.has(label.key) ? 1 : 2;
    const order = [...wanted].sort((a, b) => rank(a) - rank(b) || (a.key < b.key ? -1 : 1));
    for (const label of order) {
      const last = before.get(label.key), sides = label.reach ? sidesAt(label.reach) : usual;
      const tried = last === undefined ? [0, 1, 2, 3] : [last, ...[0, 1, 2, 3].filter((side) => side !== last)];
      /** @param {number} side */
      const isFree = (side) => {
        const box = boxOf(label, label.width, sides[side]);
        return !taken.meets(box) && !blocked.meets(box, ({ sign }) => sign?.x !== label.x || sign.y !== label.y);
      };
      let side = tried.find(isFree);
      if (side === undefined && !label.must) continue;
      side ??= 0;
      this.#sides.set(label.key, side);
      const { dx, dy, align } = sides[side];
      taken.add(boxOf(label, label.width, sides[side]));
      placed.push({ key: label.key, x: label.x + dx, y: label.y + dy, align });
    }
    return placed;
  }
}
