/** The session: login, permissions, logout. */
import { APIError, explained } from "./api.js";
import { h } from "./dom.js";
import { field, outcome } from "./dialog.js";
import { after } from "./timers.js";

/** Milliseconds after which a request for the session counts as failed. */
const resumeLimit = 20_000;

export class Session {
  /** @type {SessionState|undefined} */
  current;
  #api; #on; #element;
  /** @type {HTMLFormElement|undefined} */ #form;
  /**
   * The user and the permissions of the first session.
   * @type {string|undefined}
   */
  #who;

  /**
   * @param {import("./api.js").API} api
   * @param {HTMLElement} element where the form is shown
   * @param {{began: (session: SessionState) => void, ended: () => void}} on
   */
  constructor(api, element, on) {
    this.#api = api;
    this.#element = element;
    this.#on = on;
    api.onLoginRequired = () => this.#end();
    api.onOtherSession = () => this.resume();
  }

  get mayOperate() { return this.current?.role === "operate"; }

  /** @returns {Promise<boolean>} true if a session exists */
  async resume() {
    // Without a limit, a server that does not respond would end the attempts to reconnect.
    const limit = new AbortController(), stopLimit = after(resumeLimit, () => limit.abort());
    try {
      this.#begin(await this.#api.get("session", { quiet: true, signal: limit.signal }));
      return true;
    } catch (error) {
      const status = error instanceof APIError ? error.status : 0;
      if (status === 401) this.#end();
      else if (status === 404) {
        // The server has no sessions: no login is required, and the page is read-only.
        this.#begin({ name: "local", role: "view", login: false });
        return true;
      }
      else if (!this.current) this.#show(status ? explained(error) : "Cannot reach the server. The page reconnects automatically.");
      return false;
    } finally {
      stopLimit();
    }
  }

  async logOut() {
    try {
      await this.#api.delete("session", { quiet: true });
    } catch (error) {
      // 401: the session has already ended.
      if (!(error instanceof APIError && error.status === 401)) {
        this.#end(`The logout failed; you may still be logged in. ${explained(error)}`);
        return;
      }
    }
    this.#end("You are logged out.");
  }

  /** @param {SessionState} session */
  #begin(session) {
    const who = JSON.stringify([session.name, session.role, session.link, session.scope]);
    if (this.#who !== undefined && this.#who !== who) {
      // Another user or other permissions: reload, so that no data of the previous session remains.
      location.reload();
      return;
    }
    this.#who = who;
    const isNew = !this.current;
    this.current = session;
    this.#api.csrf = session.csrf;
    this.#element.hidden = true;
    if (isNew) this.#on.began(session);
  }

  /** @param {string} [text] shown above the login */
  #end(text) {
    const was = this.current;
    this.current = undefined;
    this.#api.csrf = undefined;
    if (was) this.#on.ended();
    if (was || !this.#form || this.#element.hidden) this.#show(text ?? (was ? "Your session has ended. Log in again." : ""));
  }

  /** @param {string} text */
  #show(text) {
    document.title = "Log in · Odograph";
    const result = outcome();
    const name = h("input", { type: "text", name: "name", autocomplete: "username", required: true, maxlength: 200, autocapitalize: "none" });
    const password = h("input", { type: "password", name: "password", autocomplete: "current-password", required: true, maxlength: 1000 });
    const submit = h("button", { type: "submit", class: "strong" }, "Log in");
    this.#form = h("form", {
      class: "login-form", "aria-labelledby": "login-title", on: {
        submit: async (event) => {
          event.preventDefault();
          submit.disabled = true;
          result.wait("Logging in…");
          try {
            this.#begin(await this.#api.post("session", { name: name.value, password: password.value }, { quiet: true }));
          } catch (error) {
            result.bad(error);
            password.select();
          }
          submit.disabled = false;
        },
      },
    },
    h("h1", { id: "login-title" }, "Odograph"), text ? h("p", { role: "status" }, text) : null,
    field("Name", name), field("Password", password), result.element, submit);
    this.#element.replaceChildren(this.#form);
    this.#element.hidden = false;
    name.focus();
  }
}
