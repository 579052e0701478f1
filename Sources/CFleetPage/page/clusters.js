/**
 * A grid of vehicles at one zoom level. Moving a vehicle costs a constant time; a change of the zoom level costs a step
 * per vehicle. Pure.
 */
import { worldSize, worldX, worldY } from "./mercator.js";
import { velocity } from "./reckoning.js";
import { activities, activity } from "./vehicle.js";

/** Side of a cell in pixels, large enough that the discs of two neighbouring clusters do not overlap. */
export const cellSize = 72;
/** Minimum number of vehicles in a cell to be drawn as a cluster. */
export const clusterFrom = 4;
/** From this zoom level on, vehicles are not clustered. */
export const lastClusterZoom = 15;

/**
 * @typedef {Object} Entry
 * @property {string} key
 * @property {import("./vehicle.js").Summary} vehicle
 * @property {number} x in the world, 0 to 1
 * @property {number} y
 * @property {number} kind index in `activities`
 * @property {number} cell
 * @property {ReturnType<typeof velocity>} motion
 */

/**
 * @typedef {Object} Cell
 * @property {Set<Entry>} members
 * @property {number} sumX
 * @property {number} sumY
 * @property {Int32Array} kinds number of vehicles per activity
 */

export class ClusterGrid {
  /** @type {Map<string, Entry>} */ entries = new Map();
  /** @type {Map<number, Cell>} */ cells = new Map();
  #columns = 1;
  #zoom = 0;

  get zoom() { return this.#zoom; }
  get isClustering() { return this.#zoom < lastClusterZoom; }
  /** Number of cells from west to east. */
  get columns() { return this.#columns; }

  /** @param {number} zoom */
  setZoom(zoom) {
    if (zoom === this.#zoom && this.cells.size) return;
    this.#zoom = zoom;
    this.#columns = Math.max(1, Math.floor(worldSize(zoom) / cellSize));
    this.cells.clear();
    for (const entry of this.entries.values()) this.#insert(entry);
  }

  /**
   * @param {import("./vehicle.js").Summary|undefined} vehicle removed from the grid if undefined or without a position
   * @param {string} key
   */
  update(key, vehicle) {
    const before = this.entries.get(key);
    const position = vehicle?.position;
    if (!position || !Number.isFinite(position.latitude) || !Number.isFinite(position.longitude)) {
      if (before) {
        this.#remove(before);
        this.entries.delete(key);
      }
      return;
    }
    if (before) this.#remove(before);
    const entry = before ?? { key, vehicle, x: 0, y: 0, kind: 0, cell: 0, motion: undefined };
    entry.vehicle = vehicle;
    entry.motion = velocity(vehicle);
    const x = worldX(position.longitude);
    entry.x = x - Math.floor(x);
    entry.y = worldY(position.latitude);
    entry.kind = activities.indexOf(activity(vehicle));
    if (!before) this.entries.set(key, entry);
    this.#insert(entry);
  }

  /** @param {Entry} entry */
  #cellOf(entry) {
    const column = Math.min(this.#columns - 1, Math.floor(entry.x * this.#columns));
    const row = Math.min(this.#columns - 1, Math.floor(entry.y * this.#columns));
    return row * this.#columns + column;
  }

  /** @param {Entry} entry */
  #insert(entry) {
    entry.cell = this.#cellOf(entry);
    let cell = this.cells.get(entry.cell);
    if (!cell) {
      cell = { members: new Set(), sumX: 0, sumY: 0, kinds: new Int32Array(activities.length) };
      this.cells.set(entry.cell, cell);
    }
    cell.members.add(entry);
    cell.sumX += entry.x;
    cell.sumY += entry.y;
    cell.kinds[entry.kind] += 1;
  }

  /** @param {Entry} entry */
  #remove(entry) {
    const cell = this.cells.get(entry.cell);
    if (!cell) return;
    cell.members.delete(entry);
    if (cell.members.size === 0) {
      this.cells.delete(entry.cell);
      return;
    }
    cell.sumX -= entry.x;
    cell.sumY -= entry.y;
    cell.kinds[entry.kind] -= 1;
  }

  /**
   * Visits the cells that intersect a part of the world. West of 0 and east of 1 the world repeats.
   * @param {(cell: Cell, shift: number) => void} visit shift: number of worlds to add to x
   * @param {number} west @param {number} north @param {number} east @param {number} south
   */
  visit(west, north, east, south, visit) {
    const n = this.#columns;
    const top = Math.max(0, Math.floor(north * n)), bottom = Math.min(n - 1, Math.floor(south * n));
    const left = Math.floor(west * n), right = Math.floor(east * n);
    // At a low zoom level fewer cells are occupied than visible, so only the occupied cells are visited.
    if ((bottom - top + 1) * (right - left + 1) > this.cells.size) {
      for (const [index, cell] of this.cells) {
        const row = Math.floor(index / n), column = index % n;
        if (row < top || row > bottom) continue;
        for (let shift = Math.floor(left / n); shift <= Math.floor(right / n); shift += 1) {
          const place = column + shift * n;
          if (place >= left && place <= right) visit(cell, shift);
        }
      }
      return;
    }
    for (let row = top; row <= bottom; row += 1) {
      for (let column = left; column <= right; column += 1) {
        const shift = Math.floor(column / n);
        const cell = this.cells.get(row * n + column - shift * n);
        if (cell) visit(cell, shift);
      }
    }
  }
}
