/** Where names stand beside their signs, so that none lies over another or over a sign. Pure. */

/** Pixels from a sign's middle to its name, and the height of a line. */
const offset = 18, height = 15;
/** Half a sign's side: what a name keeps free. */
const signHalf = 8;

/** Right, left, below, above: [x, y, alignment] from the sign's middle. */
const sidesAt = (reach) => [[reach, 0, "left"], [-reach, 0, "right"], [0, reach + 3, "center"], [0, -reach - 3, "center"]];
const usual = sidesAt(offset);

/** @param {{x: number, y: number}} at @returns {[number, number, number, number]} left, top, right, bottom */
function boxOf(at, width, [dx, dy, align]) {
  const left = at.x + dx - (align === "left" ? 0 : align === "right" ? width : width / 2);
  return [left - 2, at.y + dy - height / 2, left + width + 2, at.y + dy + height / 2];
}

const meet = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];

export class Labels {
  /** The side at which each name stood last: it stays there as long as it fits, so that names do not hop. */
  #sides = new Map();

  /**
   * @param {{key: string, x: number, y: number, width: number, must?: boolean, reach?: number}[]} wanted `must`: stands in any case; `reach`: pixels from the
   *   sign's middle, where more than the sign is drawn
   * @param {{x: number, y: number, radius?: number}[]} signs that are to stay free
   * @returns {{key: string, x: number, y: number, align: string}[]} those for which there is room
   */
  place(wanted, signs) {
    const before = this.#sides, taken = [], placed = [];
    this.#sides = new Map();
    const blocked = signs.map((sign) => {
      const half = sign.radius ?? signHalf;
      return [sign.x - half, sign.y - half, sign.x + half, sign.y + half, sign];
    });
    const rank = (label) => label.must ? 0 : before.has(label.key) ? 1 : 2;
    const order = [...wanted].sort((a, b) => rank(a) - rank(b) || (a.key < b.key ? -1 : 1));
    for (const label of order) {
      const last = before.get(label.key), sides = label.reach ? sidesAt(label.reach) : usual;
      const tried = last === undefined ? [0, 1, 2, 3] : [last, ...[0, 1, 2, 3].filter((side) => side !== last)];
      const isFree = (side) => {
        const box = boxOf(label, label.width, sides[side]);
        return !taken.some((other) => meet(box, other))
          && !blocked.some((other) => meet(box, other) && !(other[4].x === label.x && other[4].y === label.y));
      };
      let side = tried.find(isFree);
      if (side === undefined && !label.must) continue;
      side ??= 0;
      this.#sides.set(label.key, side);
      const [dx, dy, align] = sides[side];
      taken.push(boxOf(label, label.width, sides[side]));
      placed.push({ key: label.key, x: label.x + dx, y: label.y + dy, align });
    }
    return placed;
  }
}
