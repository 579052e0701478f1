/** What all views of the page have in common. */

/**
 * A part of the page that is opened with a route and closed again. Its subscriptions and timers exist only while it is open.
 */
export class View {
  /** True between `open` and `close`. */
  isOpen = false;
  /** @type {HTMLElement[]} */ #elements = [];
  /** @type {Stop[]} */ #stops = [];

  /**
   * The elements that are visible while the view is open; set once, before `open`.
   * @type {HTMLElement[]}
   */
  get elements() { return this.#elements; }

  set elements(elements) {
    this.#elements = elements;
    for (const element of elements) element.hidden = true;
  }

  /**
   * Opens the view, or shows another route in it.
   * @param {Route} route
   */
  open(route) {
    const isOpening = !this.isOpen;
    this.isOpen = true;
    for (const element of this.#elements) element.hidden = false;
    if (isOpening) this.#stops = this.subscriptions();
    this.show(route, isOpening);
  }

  close() {
    if (!this.isOpen) return;
    this.isOpen = false;
    for (const stop of this.#stops.splice(0)) stop();
    for (const element of this.#elements) element.hidden = true;
    this.closed();
  }

  /**
   * Starts what ends when the view closes.
   * @returns {Stop[]}
   */
  subscriptions() { return []; }

  /**
   * Draws the view for a route.
   * @param {Route} _route
   * @param {boolean} _isOpening true if the view was closed before
   */
  show(_route, _isOpening) {}

  /** Called after the view was closed. */
  closed() {}
}
