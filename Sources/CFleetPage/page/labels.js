/** Places names beside markers without overlaps. Pure. */

/** Distance from a marker's centre to its name, and line height, in pixels. */
const offset = 18, height = 15;
/** Half the side in pixels of a marker, which names must not cover. */
const signHalf = 8;

/** Right, left, below, above: [x, y, alignment] relative to the marker's centre. */
const sidesAt = (reach) => [[reach, 0, "left"], [-reach, 0, "right"], [0, reach + 3, "center"], [0, -reach - 3, "center"]];
const usual = sidesAt(offset);

/** @param {{x: number, y: number}} at @returns {[number, number, number, number]} left, top, right, bottom */
function boxOf(at, width, [dx, dy, align]) {
  const left = at.x + dx - (align === "left" ? 0 : align === "right" ? width : width / 2);
  return [left - 2, at.y + dy - height / 2, left + width + 2, at.y + dy + height / 2];
}

const meet = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];

/** Side of a square of `Boxes` in pixels, about the length of a name. */
const square = 64;

/** Boxes indexed by squares of the screen, so that a box is only compared with its neighbours. */
class Boxes {
  #squares = new Map();

  *#touched([left, top, right, bottom]) {
    for (let x = Math.floor(left / square); x <= Math.floor(right / square); x += 1) {
      for (let y = Math.floor(top / square); y <= Math.floor(bottom / square); y += 1) yield `${x} ${y}`;
    }
  }

  add(box) {
    for (const key of this.#touched(box)) {
      const boxes = this.#squares.get(key);
      if (boxes) boxes.push(box);
      else this.#squares.set(key, [box]);
    }
  }

  /** True if a box intersects a stored box for which `counts` is true. */
  meets(box, counts = () => true) {
    for (const key of this.#touched(box)) if (this.#squares.get(key)?.some((other) => meet(box, other) && counts(other))) return true;
    return false;
  }
}

export class Labels {
  /** The last side of each name. A name keeps its side as long as it fits, so that names do not jump. */
  #sides = new Map();

  /**
   * Chooses at most `count` objects to label: first the object with the key `must`, then those with a label, then the others.
   * @template T @param {T[]} things @param {(thing: T) => string} keyOf @param {string|undefined} must
   */
  chosen(things, count, keyOf, must) {
    if (things.length <= count) return things;
    const rank = (thing) => keyOf(thing) === must ? 0 : this.#sides.has(keyOf(thing)) ? 1 : 2;
    return [0, 1, 2].flatMap((wanted) => things.filter((thing) => rank(thing) === wanted)).slice(0, count);
  }

  /**
   * @param {{key: string, x: number, y: number, width: number, must?: boolean, reach?: number}[]} wanted `must`: always placed; `reach`: distance in
   *   pixels from the marker's centre to the name, if the object is larger than a marker
   * @param {{x: number, y: number, radius?: number}[]} signs markers to keep visible
   * @returns {{key: string, x: number, y: number, align: string}[]} the names that fit
   */
  place(wanted, signs) {
    const before = this.#sides, taken = new Boxes(), blocked = new Boxes(), placed = [];
    this.#sides = new Map();
    for (const sign of signs) {
      const half = sign.radius ?? signHalf;
      blocked.add([sign.x - half, sign.y - half, sign.x + half, sign.y + half, sign]);
    }
    const rank = (label) => label.must ? 0 : before.has(label.key) ? 1 : 2;
    const order = [...wanted].sort((a, b) => rank(a) - rank(b) || (a.key < b.key ? -1 : 1));
    for (const label of order) {
      const last = before.get(label.key), sides = label.reach ? sidesAt(label.reach) : usual;
      const tried = last === undefined ? [0, 1, 2, 3] : [last, ...[0, 1, 2, 3].filter((side) => side !== last)];
      const isFree = (side) => {
        const box = boxOf(label, label.width, sides[side]);
        return !taken.meets(box) && !blocked.meets(box, ([,,,, sign]) => sign.x !== label.x || sign.y !== label.y);
      };
      let side = tried.find(isFree);
      if (side === undefined && !label.must) continue;
      side ??= 0;
      this.#sides.set(label.key, side);
      const [dx, dy, align] = sides[side];
      taken.add(boxOf(label, label.width, sides[side]));
      placed.push({ key: label.key, x: label.x + dx, y: label.y + dy, align });
    }
    return placed;
  }
}
