/** The map with the list of vehicles beside it, and the panel of the selected vehicle. */
import { View } from "./view.js";

export class MapView extends View {
  #list; #details;

  /** @param {View} list @param {View} details @param {HTMLElement} title */
  constructor(list, details, title) {
    super();
    this.#list = list;
    this.#details = details;
    this.elements = [title];
  }

  /** @override @param {Route} route */
  show(route) {
    this.#list.open(route);
    if (route.view === "vehicle") this.#details.open(route);
    else this.#details.close();
  }

  /** @override */
  closed() {
    this.#list.close();
    this.#details.close();
  }
}
