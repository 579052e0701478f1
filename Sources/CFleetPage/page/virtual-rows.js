/** A virtual list: only visible rows exist, so that its cost is independent of the number of items. */
import { inNextFrame } from "./timers.js";

/** @template {HTMLElement} Row */
export class VirtualRows {
  #viewport; #space; #height; #make; #update; #overscan = 6;
  /** @type {Map<number, Row>} */ #rows = new Map();
  /** @type {Row[]} */ #free = [];
  /** @type {string[]} */ #items = [];
  #frame = inNextFrame(() => this.render());

  /**
   * @param {HTMLElement} viewport the scrolling element
   * @param {HTMLElement} space an element in it with the height of all rows
   * @param {() => number} height returns the height of a row in pixels, which depends on the font size
   * @param {() => Row} make
   * @param {(row: Row, item: string, index: number) => void} update
   */
  constructor(viewport, space, height, make, update) {
    this.#viewport = viewport;
    this.#space = space;
    this.#height = height;
    this.#make = make;
    this.#update = update;
    viewport.addEventListener("scroll", () => this.#frame.request(), { passive: true });
    new ResizeObserver(() => this.#frame.request()).observe(viewport);
  }

  get items() { return this.#items; }

  /** @param {string[]} items */
  setItems(items) {
    this.#items = items;
    this.render();
  }

  render() {
    const height = this.#height();
    const view = this.#viewport.clientHeight;
    this.#space.style.height = `${this.#items.length * height}px`;
    const top = this.#viewport.scrollTop;
    const first = Math.max(0, Math.floor(top / height) - this.#overscan);
    const last = view === 0 ? -1 : Math.min(this.#items.length - 1, Math.ceil((top + view) / height) + this.#overscan);
    for (const [index, row] of this.#rows) {
      if (index < first || index > last) {
        this.#rows.delete(index);
        row.hidden = true;
        this.#free.push(row);
      }
    }
    for (let index = first; index <= last; index += 1) {
      let row = this.#rows.get(index);
      if (!row) {
        row = this.#free.pop();
        if (!row) {
          row = this.#make();
          this.#space.append(row);
        }
        row.hidden = false;
        this.#rows.set(index, row);
      }
      row.style.transform = `translateY(${index * height}px)`;
      this.#update(row, this.#items[index], index);
    }
  }

  /** @param {number} index */
  rowAt(index) { return this.#rows.get(index); }

  /** @returns {number} the index of the row that an element is in, or -1 @param {EventTarget|null} element */
  indexOf(element) {
    for (const [index, row] of this.#rows) if (element instanceof Node && row.contains(element)) return index;
    return -1;
  }

  /**
   * Scrolls by the minimum distance that makes a row visible.
   * @param {number} index
   */
  reveal(index) {
    const height = this.#height(), top = index * height, view = this.#viewport;
    if (top < view.scrollTop) view.scrollTop = top;
    else if (top + height > view.scrollTop + view.clientHeight) view.scrollTop = top + height - view.clientHeight;
    this.render();
  }

  get rowsInSight() { return Math.max(1, Math.floor(this.#viewport.clientHeight / this.#height()) - 1); }
}
