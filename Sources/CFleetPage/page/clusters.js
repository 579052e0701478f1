/**
 * Vehicles by cells of a grid over the world, at one zoom at a time: a vehicle that moves costs a step, whatever the fleet's size;
 * only another zoom costs one for each vehicle. Pure.
 */
import { worldSize, worldX, worldY } from "./mercator.js";
import { velocity } from "./reckoning.js";
import { activities, activity } from "./vehicle.js";

/** Pixels of a cell's side: two clusters' discs side by side fit. */
export const cellSize = 72;
/** Fewer than these in a cell are drawn one by one. */
export const clusterFrom = 4;
/** From this zoom on, no vehicles are put together: streets are wide enough. */
export const lastClusterZoom = 15;

/**
 * @typedef {Object} Entry
 * @property {string} key
 * @property {import("./vehicle.js").Summary} vehicle
 * @property {number} x of the world, 0…1
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
 * @property {Int32Array} kinds how many of each activity
 */

export class ClusterGrid {
  /** @type {Map<string, Entry>} */ entries = new Map();
  /** @type {Map<number, Cell>} */ cells = new Map();
  #columns = 1;
  #zoom = 0;

  get zoom() { return this.#zoom; }
  get isClustering() { return this.#zoom < lastClusterZoom; }
  /** Cells along the world's side. */
  get columns() { return this.#columns; }

  setZoom(zoom) {
    if (zoom === this.#zoom && this.cells.size) return;
    this.#zoom = zoom;
    this.#columns = Math.max(1, Math.floor(worldSize(zoom) / cellSize));
    this.cells.clear();
    for (const entry of this.entries.values()) this.#insert(entry);
  }

  /** @param {import("./vehicle.js").Summary|undefined} vehicle without a position: is taken out */
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

  #cellOf(entry) {
    const column = Math.min(this.#columns - 1, Math.floor(entry.x * this.#columns));
    const row = Math.min(this.#columns - 1, Math.floor(entry.y * this.#columns));
    return row * this.#columns + column;
  }

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
   * Visits the cells that touch a part of the world; west of 0 and east of 1 the world goes on.
   * @param {(cell: Cell, shift: number) => void} visit shift: whole worlds to add to x
   */
  visit(west, north, east, south, visit) {
    const n = this.#columns;
    const top = Math.max(0, Math.floor(north * n)), bottom = Math.min(n - 1, Math.floor(south * n));
    const left = Math.floor(west * n), right = Math.floor(east * n);
    // Of a far view, there are fewer cells with vehicles than cells.
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
