/** Routes: the fragment of the address determines the view, so that each view has a link. Pure except for `start`. */

/**
 * @typedef {Object} Route
 * @property {"map"|"vehicles"|"vehicle"|"history"|"regions"|"alerts"|"fleet"} view
 * @property {string} [fleet]
 * @property {string} [vehicle]
 * @property {string} [day] as "2026-11-23"
 * @property {string} [region]
 * @property {Record<string,string>} query
 */

/** @typedef {{view: Route["view"], fleet?: string, vehicle?: string, day?: string, region?: string, query?: Record<string, string|undefined>}} Target */

const simple = new Set(["map", "vehicles", "regions", "alerts", "fleet"]);

/** @param {string} part */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** @param {string} hash @returns {Route} the map if the fragment is invalid */
export function parseRoute(hash) {
  const text = hash.startsWith("#") ? hash.slice(1) : hash;
  const mark = text.indexOf("?");
  const path = (mark < 0 ? text : text.slice(0, mark)).split("/").slice(1).map(decoded);
  const query = Object.fromEntries(new URLSearchParams(mark < 0 ? "" : text.slice(mark + 1)));
  const [view, fleet, vehicle, part, day] = path;
  // Names cannot contain a slash; the server would refuse the stream.
  if (view === "vehicle" && fleet && vehicle && !`${fleet}${vehicle}`.includes("/")) {
    return part === "history" ? { view: "history", fleet, vehicle, day, query } : { view: "vehicle", fleet, vehicle, query };
  }
  if (view === "regions" && fleet) return { view: "regions", region: fleet, query };
  return { view: simple.has(view) ? /** @type {Route["view"]} */ (view) : "map", query };
}

/**
 * The address of a route, including "#".
 * @param {Target} route
 */
export function routeAddress(route) {
  const parts = route.view === "vehicle" || route.view === "history"
    ? ["vehicle", route.fleet ?? "", route.vehicle ?? ""] : [route.view];
  if (route.view === "history") parts.push("history", ...(route.day ? [route.day] : []));
  if (route.view === "regions" && route.region) parts.push(route.region);
  const query = new URLSearchParams(Object.entries(route.query ?? {}).flatMap(([name, value]) => value ? [[name, value]] : [])).toString();
  // Commas and colons need no escape in a fragment; unescaped they are easier to read.
  return `#/${parts.map(encodeURIComponent).join("/")}${query ? `?${query.replaceAll("%2C", ",").replaceAll("%3A", ":")}` : ""}`;
}

export class Router {
  /** @type {Route} */ current = { view: "map", query: {} };
  /** @type {(route: Route, before: Route|undefined) => void} */ #run = () => {};
  /**
   * The fragment that `current` was parsed from; undefined before `start`.
   * @type {string|undefined}
   */
  #seen;
  /**
   * The route that `leave` returns to; undefined if `leave` is not in progress.
   * @type {Route|undefined}
   */
  #returning;

  /** @param {(route: Route, before: Route|undefined) => void} run */
  start(run) {
    this.#run = run;
    addEventListener("hashchange", () => this.#read());
    this.#read();
  }

  #read() {
    // Other fragments, for example an anchor, are not routes.
    if (this.isStarted && location.hash && !location.hash.startsWith("#/")) return;
    if (location.hash === this.#seen) return;
    const returning = this.#returning;
    this.#returning = undefined;
    const found = parseRoute(location.hash);
    // A link that is followed while a dialog closes leads to another view.
    if (returning && found.query.open === undefined && routeAddress({ ...found, query: {} }) === routeAddress({ ...returning, query: {} })) {
      // Only a dialog was closed: keep the map position in the address.
      this.current = returning;
      history.replaceState(history.state, "", routeAddress(returning));
      this.#seen = location.hash;
      return;
    }
    const before = this.#seen === undefined ? undefined : this.current;
    this.#seen = location.hash;
    this.current = found;
    this.#run(this.current, before);
  }

  /** True after `start`. */
  get isStarted() { return this.#seen !== undefined; }

  /** @param {Target} route */
  go(route) {
    const address = routeAddress(route);
    if (location.hash === address) return;
    this.#returning = undefined;
    location.hash = address;
    // The route is read synchronously: the `hashchange` event follows later, and a call of `note` before it would refer to the previous route.
    this.#read();
  }

  /**
   * Changes the query of the address without a new history entry and without drawing.
   * @param {Record<string, string>} query
   */
  note(query) {
    // A navigation is pending: its `hashchange` event follows, and its query must not be replaced.
    if (location.hash !== this.#seen) return;
    const next = { ...this.current, query: { ...this.current.query, ...query } };
    const isOther = routeAddress(next) !== routeAddress(this.current);
    this.current = next;
    if (!isOther) return;
    history.replaceState(history.state, "", routeAddress(next));
    this.#seen = location.hash;
  }

  /**
   * Adds a history entry for a dialog, so that Back closes it.
   * @param {string} name
   */
  enter(name) {
    const next = { ...this.current, query: { ...this.current.query, open: name } };
    if (routeAddress(next) === routeAddress(this.current)) return;
    this.current = next;
    history.pushState({ isDialog: true }, "", routeAddress(next));
    this.#seen = location.hash;
  }

  /** Removes the closed dialog and its history entry. */
  leave() {
    if (!history.state?.isDialog) {
      this.note({ open: "" });
      return;
    }
    const query = { ...this.current.query };
    delete query.open;
    this.#returning = { ...this.current, query };
    history.back();
  }
}
