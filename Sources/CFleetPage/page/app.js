/** Assembles the page: session, stream, views and routing. */
import { API } from "./api.js";
import { AlertsView } from "./alerts.js";
import { announce, startAnnouncing } from "./announce.js";
import { DetailsPanel } from "./details.js";
import { closeDialogs } from "./dialog.js";
import { filterOf, filterQuery } from "./filters.js";
import { FleetView } from "./fleet-view.js";
import { safeName } from "./format.js";
import { Header } from "./header.js";
import { openHelp, openMenu } from "./help.js";
import { HistoryView } from "./history.js";
import { listenForKeys } from "./keys.js";
import { legend } from "./legend.js";
import { VehicleList } from "./list.js";
import { FleetMap } from "./map.js";
import { MapView } from "./map-view.js";
import { AlertNotifications } from "./notifications.js";
import { RegionsView } from "./regions.js";
import { Router } from "./router.js";
import { Selection } from "./selection.js";
import { Session } from "./session.js";
import { openLinks } from "./shares.js";
import { Store } from "./store.js";
import { Stream } from "./stream.js";
import { VehicleTable } from "./table.js";
import { chooseTheme, isDark } from "./theme.js";
import { after, limited, settled } from "./timers.js";
import { isUTC, setUTC } from "./times.js";
import { activity, activityWords, keyOf } from "./vehicle.js";
import { VehicleDialogs } from "./vehicle-dialogs.js";

/**
 * An element of index.html.
 * @param {string} id
 */
const at = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
const api = new API(), store = new Store(), selection = new Selection(store), router = new Router();
startAnnouncing(at("announcer"));
/** @type {Abilities} */ const server = {};
/**
 * The identifier of the server's run.
 * @type {string|undefined}
 */
let instance;

const session = new Session(api, at("login"), {
  began: ({ link = false }) => {
    document.body.classList.remove("logged-out");
    document.body.classList.toggle("by-link", link);
    details.setRole(session.mayOperate, link);
    map.showTiles();
    stream.open();
    if (router.isStarted) show(router.current);
  },
  ended: () => {
    document.body.classList.add("logged-out");
    closeDialogs();
    closeViews();
    stream.close();
    header.noConnection();
    store.clear();
  },
});

const stream = new Stream(api, {
  hello: (event) => {
    store.learnTime(event.now);
    // After a restart the server can have different vehicles.
    if (instance !== undefined && instance !== event.instance) store.clear();
    instance = event.instance;
  },
  vehicles: (event) => store.apply(event),
  vehicle: (event) => store.applyDetails(event),
  alerts: (event) => store.applyAlerts(event),
  broker: (link) => header.broker(link),
  server: ({ recording = false, control = false }) => {
    const before = { ...server }, { current } = router, { needs } = views[current.view];
    Object.assign(server, { recording, control });
    header.setAbilities(control);
    details.setControl(control);
    if (recording) map.showWays();
    if (needs && before[needs] !== server[needs]) show(current);
    if (current.view === "vehicle" && before.control === undefined) dialogs.openOfRoute(current);
    if (figures.isOpen) figures.show();
  },
  // Before the login there is no connection to report.
  state: (state, silence) => {
    if (!session.current) return;
    header.connection(state, silence);
    // The positions during the interruption are missing: start a new trail from the server's data.
    if (state === "open") map.fleet.trail = [];
  },
  mayRetry: () => session.resume(),
});

const dialogs = new VehicleDialogs(api, store, session, router, server);
const help = () => openHelp(server.control === false ? ["r"] : []);

async function logOut() {
  const wasLink = session.current?.link;
  await session.logOut();
  // A server without logins shows all vehicles again after a shared link was closed.
  if (wasLink) location.reload();
}

/** @type {FleetMap} */
const map = new FleetMap(at("map"), store, api, {
  select: (key) => openVehicle(key),
  moved: () => {
    sendBounds();
    notePlace();
  },
  // The margins of the map in pixels that the details panel covers.
  insets: () => {
    const panel = details.element;
    if (panel.hidden || getComputedStyle(panel).display === "none") return {};
    const box = panel.getBoundingClientRect(), whole = at("map").getBoundingClientRect();
    return box.width < whole.width * 0.7 ? { right: box.width } : { bottom: box.height };
  },
});

/** @type {DetailsPanel} */
const details = new DetailsPanel(store, {
  close: () => closeVehicle(),
  centre: () => centre(),
  follow: () => map.follow(!map.following),
  share: () => dialogs.open("share"),
  commands: () => dialogs.open("command"),
  settings: () => dialogs.open("settings"),
  regions: () => router.go({ view: "regions" }),
});
map.onFollow = (isOn) => details.setFollowing(isOn);

const list = new VehicleList(store, selection, (key) => openVehicle(key, true));
const vehicleTable = new VehicleTable(store, selection, (key) => openVehicle(key, true));
const mapView = new MapView(list, details, at("stage-title"));
const history = new HistoryView(api, store, map, router, () => server.recording === true);
const regions = new RegionsView(api, store, map, session, selection, router, () => server.control === true);
const notifications = new AlertNotifications(store, {
  open: (alert) => router.go({ view: "alerts", query: alert ? { alert: String(alert.id) } : {} }),
  notify: (isNotifier) => stream.stayOpen(isNotifier),
});
const alerts = new AlertsView(api, store, session, () => server.recording === true, notifications.element);
const figures = new FleetView(api, store, () => server.recording === true);
at("panel").append(...list.elements, history.panel, regions.panel);
at("stage").append(legend(), history.dock, details.element);
at("wide").append(...vehicleTable.elements, ...alerts.elements, ...figures.elements);

/**
 * @typedef {Object} Entry
 * @property {import("./view.js").View} view
 * @property {string} [title] in the header; undefined for a view of one vehicle
 * @property {boolean} [isWide] true if the view covers the map
 * @property {boolean} [isFiltered] true if the address contains filter and order of the vehicles
 * @property {boolean} [selects] true if the view selects the vehicle in its address, or none
 * @property {boolean} [byLink] true if a shared link permits the view
 * @property {keyof Abilities} [needs] the view is opened after the server has reported this ability
 */

/** @type {Record<Route["view"], Entry>} */
const views = {
  map: { view: mapView, title: "Map", isFiltered: true, selects: true, byLink: true },
  vehicle: { view: mapView, isFiltered: true, selects: true, byLink: true },
  history: { view: history, selects: true, needs: "recording" },
  vehicles: { view: vehicleTable, title: "Vehicles", isWide: true, isFiltered: true, byLink: true },
  regions: { view: regions, title: "Regions", isFiltered: true, needs: "control" },
  alerts: { view: alerts, title: "Alerts", isWide: true },
  fleet: { view: figures, title: "Fleet", isWide: true },
};

const header = new Header(at("header"), at("banner"), store, Object.entries(views).flatMap(([name, { title }]) => title ? [{ name, title }] : []), {
  help,
  menu: () => openMenu({ logOut, help, session: () => session.current, links: () => openLinks(api, () => store.now(), session.mayOperate) }),
});

selection.onChange(() => {
  map.fleet.show(selection.keys);
  noteFilter();
});
store.on("alerts", limited(300, () => header.showAlerts(alerts.openCount)));
const showOwnRegions = () => map.showRegions(router.current.view === "vehicle" ? store.details?.regions : undefined);
store.on("details", () => {
  showOwnRegions();
  const trail = store.details?.trail;
  if (trail?.length && map.fleet.trail.length < 4) map.startTrail(trail);
});

/**
 * Closes all views but one.
 * @param {import("./view.js").View} [kept]
 */
function closeViews(kept) {
  for (const { view } of Object.values(views)) if (view !== kept) view.close();
}

/** @param {Route} route @param {Route} [before] */
function show(route, before) {
  const { view, title = "", isWide = false, isFiltered, selects, byLink, needs } = views[route.view], isLink = session.current?.link === true;
  if (isLink && !byLink) {
    router.go({ view: "map" });
    return;
  }
  // A shared link gives no access to history and remote management.
  if (isLink) Object.assign(server, { recording: false, control: false });
  document.body.dataset.view = route.view;
  header.show(route.view);
  closeViews(view);
  at("wide").hidden = !isWide;
  // The keyboard must not reach a view that is covered by another one.
  at("stage").inert = at("panel").inert = isWide;
  map.fleet.onlySelected = route.view === "history";
  const key = route.fleet !== undefined && route.vehicle !== undefined ? keyOf({ fleet: route.fleet, vehicle: route.vehicle }) : undefined;
  const isOther = selects === true && store.selected !== key;
  if (isOther) store.select(key);
  if (session.current && !(needs && server[needs] === undefined)) view.open(route);
  // After the view was opened, because the panel of the vehicle covers a part of the map.
  if (isOther) showSelected(key);
  const chosen = isFiltered ? filterOf(route.query) : undefined;
  if (chosen && addressOf(chosen) !== addressOf(selection)) selection.take(chosen);
  else noteFilter();
  showOwnRegions();
  showPlace(route.query);
  document.title = `${key === undefined ? title : safeName(route.vehicle, 60)} · Odograph`;
  if (session.current && route.view === "vehicle") dialogs.openOfRoute(route);
  // Moving the focus announces the new view to screen readers. The focus stays in a list that opens a vehicle.
  if (before && before.view !== route.view && route.view !== "vehicle") {
    focusOn("#wide:not([hidden]) section:not([hidden]) h1, #panel section:not([hidden]) h1");
  }
}

/** @param {string} selector */
function focusOn(selector) {
  /** @type {HTMLElement|null} */ (document.querySelector(selector))?.focus({ preventScroll: true });
}

/** @param {import("./filters.js").Ordered} chosen */
const addressOf = (chosen) => JSON.stringify(filterQuery(chosen));

/** Stores filter and order in the address, so that the address can be shared. */
const noteFilter = settled(200, () => {
  if (router.isStarted && views[router.current.view].isFiltered) router.note(filterQuery(selection));
});

/**
 * Parses `latitude,longitude` of an address.
 * @param {string|undefined} text
 * @returns {[latitude: number, longitude: number]|undefined}
 */
function placeOf(text) {
  const [latitude, longitude, ...rest] = (text ?? "").split(",").map(Number);
  // A map that was moved around the world has longitudes beyond ±180.
  return !rest.length && Math.abs(latitude) <= 90 && Number.isFinite(longitude) ? [latitude, longitude] : undefined;
}

/**
 * Shows the map position and the pin of an address.
 * @param {Record<string, string>} query
 */
function showPlace(query) {
  const pin = placeOf(query.pin), place = placeOf(query.at), shown = map.place();
  map.showPin(pin);
  if (place && (query.at !== shown.at || query.zoom !== shown.zoom)) {
    map.keepView();
    map.follow(false);
    const zoom = Number(query.zoom);
    map.map.setView(place, Number.isFinite(zoom) ? zoom : 14, { animate: false });
  } else if (pin && !query.at) {
    map.keepView();
    map.show(...pin, 16);
  }
}

/**
 * Shows the selected vehicle on the map, and centres it as soon as the server has sent it.
 * @param {string|undefined} key
 */
function showSelected(key) {
  stream.look({ selected: key ?? "" });
  map.select(key);
  map.follow(false);
  if (key === undefined) return;
  const run = () => {
    const vehicle = store.vehicles.get(key);
    if (!vehicle) return false;
    announce(`${safeName(vehicle.vehicle, 60)}: ${activityWords[activity(vehicle)]}`);
    map.select(key, { centre: vehicle.position !== undefined && router.current.view === "vehicle" && !map.isInSight(vehicle) });
    return true;
  };
  map.keepView();
  if (run()) return;
  const stop = store.on("vehicles", () => {
    if (store.selected !== key || run()) stop();
  });
}

/** @param {string} key */
function openVehicle(key, withFocus = false) {
  const vehicle = store.vehicles.get(key);
  if (!vehicle) return;
  router.go({ view: "vehicle", fleet: vehicle.fleet, vehicle: vehicle.vehicle });
  if (withFocus) after(60, () => details.focus());
}

function closeVehicle() {
  if (router.current.view !== "vehicle") return;
  router.go({ view: "map" });
  list.focus();
}

/** @param {(vehicle: Summary) => void} run */
function withSelected(run) {
  const vehicle = store.vehicles.get(store.selected ?? "");
  if (vehicle) run(vehicle);
}

const centre = () => map.select(store.selected, { centre: true });

/** @param {1|-1} by */
function step(by) {
  const index = selection.items.indexOf(store.selected ?? "");
  const next = selection.items[Math.max(0, Math.min(selection.items.length - 1, index + by))];
  if (next) openVehicle(next);
}

/** Sends the map's bounds to the server: at most once per second, and only if the bounds sent last do not contain the visible part. */
const sendBounds = limited(1000, () => {
  const bounds = map.boundsToTell();
  if (bounds) stream.look({ bounds });
});

const notePlace = settled(500, () => {
  if (router.current.view === "map" || router.current.view === "vehicle") router.note(map.place());
});

function search() {
  if (!["map", "vehicle", "vehicles"].includes(router.current.view)) router.go({ view: "map" });
  // On a phone the list beside the map is hidden; the table has a search field, too.
  if (router.current.view !== "vehicles" && !document.querySelector("#panel .search")?.checkVisibility()) router.go({ view: "vehicles" });
  // The focus is set synchronously, because the next key must reach the field.
  focusOn(router.current.view === "vehicles" ? "#wide .search" : "#panel .search");
}

listenForKeys({
  "/": search,
  m: () => router.go({ view: "map" }),
  v: () => router.go({ view: "vehicles" }),
  r: () => { if (server.control !== false) router.go({ view: "regions" }); },
  a: () => router.go({ view: "alerts" }),
  s: () => router.go({ view: "fleet" }),
  n: () => step(1),
  p: () => step(-1),
  c: centre,
  f: () => { if (store.selected) map.follow(!map.following); },
  h: () => withSelected(({ fleet, vehicle }) => router.go({ view: "history", fleet, vehicle })),
  0: () => map.fitAll(),
  d: () => chooseTheme(isDark() ? "light" : "dark"),
  u: () => setUTC(!isUTC()),
  "?": help,
  Escape: () => {
    if (router.current.view === "vehicle") closeVehicle();
    else if (router.current.view === "history") withSelected((vehicle) => openVehicle(keyOf(vehicle)));
    else if (router.current.view === "regions" && router.current.region) router.go({ view: "regions" });
  },
});

document.querySelector(".skip")?.addEventListener("click", (event) => {
  event.preventDefault();
  at("content").focus();
});

// A page in the back/forward cache must not hold a connection. It reconnects when the user returns.
addEventListener("pagehide", () => stream.close());
addEventListener("pageshow", (event) => { if (event.persisted && session.current) stream.open(); });

// The bounds are set before the stream opens, which saves a request to change them.
stream.look({ bounds: map.bounds() });
router.start((route, before) => {
  closeDialogs();
  show(route, before);
});
session.resume().then((isKnown) => {
  if (!isKnown && !session.current) after(2000, retry);
});

async function retry() {
  if (session.current) return;
  /** @type {HTMLInputElement|null} */ const name = document.querySelector(".login-form input[name=name]");
  if (!name?.value) await session.resume();
  if (!session.current) after(5000, retry);
}
