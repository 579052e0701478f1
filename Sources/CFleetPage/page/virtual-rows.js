/** A virtual list: only visible rows exist, so that its cost is independent of the number of items. */

export class VirtualRows {
  #viewport; #space; #height; #make; #update; #rows = new Map(); #free = []; #items = []; #overscan = 6; #frame = null;

  /**
   * @param {HTMLElement} viewport the scrolling element
   * @param {HTMLElement} space an element in it with the height of all rows
   * @param {() => number} height returns the height of a row in pixels, which depends on the font size
   * @param {() => HTMLElement} make
   * @param {(row: HTMLElement, item: any, index: number) => void} update
   */
  constructor(viewport, space, height, make, update) {
    [this.#viewport, this.#space, this.#height, this.#make, this.#update] = [viewport, space, height, make, update];
    viewport.addEventListener("scroll", () => this.#later(), { passive: true });
    new ResizeObserver(() => this.#later()).observe(viewport);
  }

  get items() { return this.#items; }

  setItems(items) {
    this.#items = items;
    this.render();
  }

  #later() {
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = null;
      this.render();
    });
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

  rowAt(index) { return this.#rows.get(index); }

  /** @returns {number} the index of the row that an element is in, or -1 */
  indexOf(element) {
    for (const [index, row] of this.#rows) if (row.contains(element)) return index;
    return -1;
  }

  /** Scrolls by the minimum distance that makes a row visible. */
  reveal(index) {
    const height = this.#height(), top = index * height, view = this.#viewport;
    if (top < view.scrollTop) view.scrollTop = top;
    else if (top + height > view.scrollTop + view.clientHeight) view.scrollTop = top + height - view.clientHeight;
    this.render();
  }

  get rowsInSight() { return Math.max(1, Math.floor(this.#viewport.clientHeight / this.#height()) - 1); }
}
