/** Assembles the page: session, stream, views and routing. */
import { API } from "./api.js";
import { AlertsView } from "./alerts.js";
import { announce, startAnnouncing } from "./announce.js";
import { openCommands } from "./commands.js";
import { DetailsPanel } from "./details.js";
import { closeDialogs } from "./dialog.js";
import { limited, settled } from "./dom.js";
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
import { RegionsView } from "./regions.js";
import { Router } from "./router.js";
import { Selection } from "./selection.js";
import { Session } from "./session.js";
import { openSettings } from "./settings.js";
import { openLinks, openShare } from "./shares.js";
import { Store } from "./store.js";
import { Stream } from "./stream.js";
import { VehicleTable } from "./table.js";
import { chooseTheme, isDark } from "./theme.js";
import { isUTC, setUTC } from "./times.js";
import { activity, activityWords, keyOf } from "./vehicle.js";

const at = (id) => document.getElementById(id);
const api = new API(), store = new Store(), selection = new Selection(store), router = new Router();
startAnnouncing(at("announcer"));
/** Capabilities of the server, and the identifier of its run; undefined until the server has reported them. */
let hasRecording, hasControl, instance;

const session = new Session(api, at("login"), {
  began: () => {
    document.body.classList.remove("logged-out");
    document.body.classList.toggle("by-link", session.current.link === true);
    details.setRole(session.mayOperate, session.current.link === true);
    map.showTiles();
    stream.open();
    router.current && show(router.current);
  },
  ended: () => {
    document.body.classList.add("logged-out");
    closeDialogs();
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
  server: (abilities) => {
    const before = hasRecording, couldControl = hasControl;
    hasRecording = abilities.recording === true;
    hasControl = abilities.control === true;
    header.setAbilities(hasControl);
    details.setControl(hasControl);
    if (router.current?.view === "regions" && couldControl !== hasControl) show(router.current);
    if (router.current?.view === "vehicle" && couldControl === undefined) openPartWhenKnown(router.current.query.open, store.selected);
    if (hasRecording) map.showWays();
    if (router.current?.view === "history" && before !== hasRecording) show(router.current);
    if (router.current?.view === "fleet") figures.shown();
  },
  // Before the login there is no connection to report.
  state: (state) => {
    if (!session.current) return;
    header.connection(state);
    // The positions during the interruption are missing: start a new trail from the server's data.
    if (state === "open") map.fleet.trail = [];
  },
  mayRetry: () => session.resume(),
});

const header = new Header(at("header"), at("banner"), store, {
  help: () => help(),
  menu: () => openMenu({ logOut, help: () => help(), session: () => session.current, links: () => openLinks(api, () => store.now(), session.mayOperate) }),
});

const help = () => openHelp(hasControl === false ? ["r"] : []);

async function logOut() {
  const wasLink = session.current?.link;
  await session.logOut();
  // A server without logins shows all vehicles again after a shared link was closed.
  if (wasLink) location.reload();
}

const map = new FleetMap(at("map"), store, api, {
  select: (key) => openVehicle(key),
  moved: () => {
    tellBounds();
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

const details = new DetailsPanel(store, {
  close: () => closeVehicle(),
  centre: () => centre(),
  follow: () => map.follow(!map.following),
  share: () => openPart("share"),
  commands: () => openPart("command"),
  settings: () => openPart("settings"),
  regions: () => router.go({ view: "regions", query: {} }),
});
map.onFollow = (isOn) => details.setFollowing(isOn);

const list = new VehicleList(store, selection, (key) => openVehicle(key, true));
const vehicleTable = new VehicleTable(store, selection, (key) => openVehicle(key, true));
const history = new HistoryView(api, store, map, router, () => hasRecording);
const regions = new RegionsView(api, store, map, session, selection, router, () => hasControl === true);
const alerts = new AlertsView(api, store, session, () => hasRecording === true);
const figures = new FleetView(api, store, () => hasRecording === true);
at("panel").append(list.element, history.panel, regions.panel);
at("stage").append(legend(), history.dock, details.element);
at("wide").append(vehicleTable.element, alerts.element, figures.element);

selection.onChange(() => {
  map.fleet.show(selection.keys);
  noteFilter();
});
store.on("alerts", limited(300, () => header.showAlerts(alerts.openCount)));
const showOwnRegions = () => map.showRegions(router.current?.view === "vehicle" ? store.details?.regions : undefined);
store.on("details", () => {
  showOwnRegions();
  const trail = store.details?.trail;
  if (trail?.length && map.fleet.trail.length < 4) map.startTrail(trail);
});

const wide = { vehicles: vehicleTable, alerts, fleet: figures };
const titles = { map: "Map", vehicles: "Vehicles", regions: "Regions", alerts: "Alerts", fleet: "Fleet" };

/** @param {import("./router.js").Route} route @param {import("./router.js").Route} [before] */
function show(route, before) {
  if (session.current?.link && !["map", "vehicle", "vehicles"].includes(route.view)) {
    // A shared link permits only these views.
    router.go({ view: "map", query: {} });
    return;
  }
  document.body.dataset.view = route.view;
  header.show(route.view);
  for (const [view, { element }] of Object.entries(wide)) element.hidden = view !== route.view;
  at("wide").hidden = !(route.view in wide);
  // The keyboard must not reach a view that is covered by another one.
  at("stage").inert = at("panel").inert = route.view in wide;
  list.element.hidden = at("stage-title").hidden = !["map", "vehicle"].includes(route.view);
  if (route.view !== "regions") regions.close();
  if (route.view !== "history") history.close();
  map.fleet.onlySelected = route.view === "history";
  const key = route.vehicle ? keyOf(route) : undefined;
  if (route.view === "vehicle" || route.view === "history" || route.view === "map") {
    details.closed = route.view !== "vehicle";
    if (store.selected !== key) select(key);
    else store.select(key);
    details.refresh();
  } else {
    details.closed = true;
    details.refresh();
  }
  const chosen = listViews.has(route.view) ? filterOf(route.query) : undefined;
  if (chosen && addressOf(chosen) !== addressOf(selection)) selection.take(chosen);
  else noteFilter();
  showOwnRegions();
  map.showPin(pinOf(route.query.pin));
  document.title = `${key ? safeName(route.vehicle, 60) : titles[route.view]} · Odograph`;
  if (route.query.at) {
    const [latitude, longitude] = route.query.at.split(",").map(Number), zoom = Number(route.query.zoom);
    if (Number.isFinite(latitude) && Number.isFinite(longitude) && (route.query.at !== map.place().at || route.query.zoom !== map.place().zoom)) {
      map.keepView();
      map.follow(false);
      map.map.setView([latitude, longitude], Number.isFinite(zoom) ? zoom : 14, { animate: false });
    }
  }
  if (session.current) {
    // A shared link gives no access to history and remote management.
    if (session.current.link) hasRecording = hasControl = false;
    if (route.view === "history" && hasRecording !== undefined) history.open({ fleet: route.fleet, vehicle: route.vehicle }, route.day, route.query);
    if (route.view === "regions" && hasControl !== undefined) regions.open(route.region);
    wide[route.view]?.shown(route.query.alert);
    if (route.view === "vehicle") openPartWhenKnown(route.query.open, key);
  }
  // Moving the focus announces the new view to screen readers. The focus stays in a list that opens a vehicle.
  if (before && before.view !== route.view && route.view !== "vehicle") {
    const title = document.querySelector(`#wide:not([hidden]) section:not([hidden]) h1, #panel section:not([hidden]) h1`);
    title?.focus({ preventScroll: true });
  }
}

/** Views that show the filtered vehicles. */
const listViews = new Set(["map", "vehicle", "vehicles", "regions"]);

const addressOf = (chosen) => JSON.stringify(filterQuery(chosen));

/** Stores filter and order in the address, so that the address can be shared. */
const noteFilter = settled(200, () => {
  if (listViews.has(router.current?.view)) router.note(filterQuery(selection));
});

/** Parses `latitude,longitude` of an address and shows it on the map, unless the address contains a map position. */
function pinOf(text) {
  const place = (text ?? "").split(",").map(Number);
  if (place.length !== 2 || !place.every(Number.isFinite) || Math.abs(place[0]) > 90 || Math.abs(place[1]) > 180) return undefined;
  if (!router.current.query.at) {
    map.keepView();
    map.show(...place, 16);
  }
  return place;
}

const parts = {
  share: { may: () => session.mayOperate, open: (vehicle) => openShare(api, vehicle, () => store.now()) },
  command: { may: () => session.mayOperate && hasControl === true, open: (vehicle) => openCommands(api, () => store.vehicles.get(keyOf(vehicle)) ?? vehicle, () => store.now()) },
  settings: { may: () => session.current?.link !== true && hasControl === true, open: (vehicle) => openSettings(api, vehicle, session.mayOperate) },
};

/** Opens a dialog about the selected vehicle. The address contains its name, and Back closes it. */
function openPart(name) {
  const part = Object.hasOwn(parts, name) ? parts[name] : undefined;
  if (!part?.may() || document.querySelector("dialog[open]")) return;
  withSelected((vehicle) => {
    router.enter(name);
    const key = store.selected;
    part.open(vehicle).addEventListener("close", () => {
      // After another navigation the address no longer contains the dialog.
      if (router.current.query.open === name && store.selected === key) router.leave();
    });
  });
}

/** @param {string|undefined} name of the dialog in the address */
function openPartWhenKnown(name, key) {
  if (!name || hasControl === undefined) return;
  if (store.vehicles.has(key)) {
    openPart(name);
    return;
  }
  const stop = store.on("vehicles", () => {
    if (store.selected !== key) stop();
    else if (store.vehicles.has(key)) {
      stop();
      openPart(name);
    }
  });
}

function select(key) {
  store.select(key);
  stream.look({ selected: key ?? "" });
  map.select(key);
  map.follow(false);
  if (key) centreWhenKnown(key);
}

/** Centres the map on a vehicle as soon as the server has sent it. */
function centreWhenKnown(key) {
  const run = () => {
    const vehicle = store.vehicles.get(key);
    if (!vehicle) return false;
    announce(`${safeName(vehicle.vehicle, 60)}: ${activityWords[activity(vehicle)]}`);
    if (vehicle.position && router.current.view === "vehicle" && !map.isInSight(vehicle)) map.select(key, { centre: true });
    else map.select(key);
    return true;
  };
  map.keepView();
  if (run()) return;
  const stop = store.on("vehicles", () => {
    if (store.selected !== key || run()) stop();
  });
}

function openVehicle(key, withFocus = false) {
  const vehicle = store.vehicles.get(key);
  if (!vehicle) return;
  router.go({ view: "vehicle", fleet: vehicle.fleet, vehicle: vehicle.vehicle, query: {} });
  if (withFocus) setTimeout(() => details.focus(), 60);
}

function closeVehicle() {
  if (router.current.view !== "vehicle") return;
  router.go({ view: "map", query: {} });
  list.element.querySelector("[role=listbox]").focus({ preventScroll: true });
}

function withSelected(run) {
  const vehicle = store.vehicles.get(store.selected);
  if (vehicle) run(vehicle);
}

const centre = () => map.select(store.selected, { centre: true });

function step(by) {
  const index = selection.items.indexOf(store.selected);
  const next = selection.items[Math.max(0, Math.min(selection.items.length - 1, index + by))];
  if (next) openVehicle(next);
}

/** Sends the map's bounds to the server: at most once per second, and only if the bounds sent last do not contain the visible part. */
const tellBounds = limited(1000, () => {
  const bounds = map.boundsToTell();
  if (bounds) stream.look({ bounds });
});

const notePlace = settled(500, () => {
  if (router.current.view === "map" || router.current.view === "vehicle") router.note(map.place());
});

listenForKeys({
  "/": () => {
    if (!["map", "vehicle", "vehicles"].includes(router.current.view)) router.go({ view: "map", query: {} });
    // On a phone the list beside the map is hidden; the table has a search field, too.
    if (router.current.view !== "vehicles" && !document.querySelector("#panel .search")?.checkVisibility()) router.go({ view: "vehicles", query: {} });
    // The focus is set synchronously, because the next key must reach the field.
    document.querySelector(router.current.view === "vehicles" ? "#wide .search" : "#panel .search")?.focus();
  },
  m: () => router.go({ view: "map", query: {} }),
  v: () => router.go({ view: "vehicles", query: {} }),
  r: () => hasControl !== false && router.go({ view: "regions", query: {} }),
  a: () => router.go({ view: "alerts", query: {} }),
  s: () => router.go({ view: "fleet", query: {} }),
  n: () => step(1),
  p: () => step(-1),
  c: centre,
  f: () => store.selected && map.follow(!map.following),
  h: () => withSelected((vehicle) => router.go({ view: "history", fleet: vehicle.fleet, vehicle: vehicle.vehicle, query: {} })),
  0: () => map.fitAll(),
  d: () => chooseTheme(isDark() ? "light" : "dark"),
  u: () => setUTC(!isUTC()),
  "?": () => help(),
  Escape: () => {
    if (router.current.view === "vehicle") closeVehicle();
    else if (router.current.view === "history") withSelected((vehicle) => openVehicle(keyOf(vehicle)));
    else if (router.current.view === "regions" && router.current.region) router.go({ view: "regions", query: {} });
  },
});

document.querySelector(".skip").addEventListener("click", (event) => {
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
  if (!isKnown && !session.current) setTimeout(retry, 2000);
});

async function retry() {
  if (session.current) return;
  if (!document.querySelector(".login-form input[name=name]")?.value) await session.resume();
  if (!session.current) setTimeout(retry, 5000);
}
