/** The dialogs about the selected vehicle. The address contains the name of the open one, so that Back closes it. */
import { openCommands } from "./commands.js";
import { openSettings } from "./settings.js";
import { openShare } from "./shares.js";
import { keyOf } from "./vehicle.js";

export class VehicleDialogs {
  #store; #router; #server;
  /** @type {Map<string, {may: () => boolean, open: (vehicle: Summary) => HTMLDialogElement}>} */ #dialogs;

  /** @param {API} api @param {Store} store @param {Session} session @param {Router} router @param {Abilities} server */
  constructor(api, store, session, router, server) {
    this.#store = store;
    this.#router = router;
    this.#server = server;
    const now = () => store.now();
    this.#dialogs = new Map(Object.entries({
      share: { may: () => session.mayOperate, open: (/** @type {Summary} */ vehicle) => openShare(api, vehicle, now) },
      command: {
        may: () => session.mayOperate && server.control === true,
        open: (/** @type {Summary} */ vehicle) => openCommands(api, vehicle, () => store.vehicles.get(keyOf(vehicle)) ?? vehicle, now),
      },
      settings: {
        may: () => session.current?.link !== true && server.control === true,
        open: (/** @type {Summary} */ vehicle) => openSettings(api, vehicle, session.mayOperate),
      },
    }));
  }

  /**
   * Opens a dialog if the user may use it and no other one is open.
   * @param {string} name
   */
  open(name) {
    const dialog = this.#dialogs.get(name), key = this.#store.selected ?? "", vehicle = this.#store.vehicles.get(key);
    if (!vehicle || !dialog?.may() || document.querySelector("dialog[open]")) return;
    this.#router.enter(name);
    dialog.open(vehicle).addEventListener("close", () => {
      // After another navigation the address no longer contains the dialog.
      if (this.#router.current.query.open === name && this.#store.selected === key) this.#router.leave();
    });
  }

  /**
   * Opens the dialog in the address as soon as the server has reported its abilities and the vehicle.
   * @param {Route} route
   */
  openOfRoute({ fleet = "", vehicle = "", query: { open } }) {
    if (!open || this.#server.control === undefined) return;
    const key = keyOf({ fleet, vehicle });
    if (this.#store.vehicles.has(key)) {
      this.open(open);
      return;
    }
    const stop = this.#store.on("vehicles", () => {
      if (this.#store.selected === key && !this.#store.vehicles.has(key)) return;
      stop();
      if (this.#store.selected === key) this.open(open);
    });
  }
}
