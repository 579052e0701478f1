/** Requests to this server. The page contacts no other server. */

import { pause } from "./timers.js";

/** A failed request. */
export class APIError extends Error {
  /**
   * @param {number} status of HTTP; 0 if the server cannot be reached
   * @param {string} code
   * @param {string} message
   * @param {string} [remedy] how to fix it; undefined if unknown
   */
  constructor(status, code, message, remedy) {
    super(message);
    this.status = status;
    this.code = code;
    this.remedy = remedy;
  }

  /** The message and its remedy as sentences. */
  get explanation() {
    return [this.message, this.remedy ?? ""].filter(Boolean).map(sentence).join(" ");
  }
}

/**
 * The text of an error for the user.
 * @param {unknown} error
 */
export const explained = (error) => error instanceof APIError ? error.explanation : error instanceof Error ? error.message : String(error);

/**
 * True if a request was aborted by the page.
 * @param {unknown} error
 */
export const isAborted = (error) => error instanceof Error && error.name === "AbortError";

/**
 * Turns a log message into a sentence: initial capital and full stop.
 * @param {string} text
 */
export function sentence(text) {
  const whole = String(text);
  if (!whole) return whole;
  return whole.charAt(0).toUpperCase() + whole.slice(1) + (/[.!?…]$/.test(whole) ? "" : ".");
}

/**
 * An encoded path. Throws for the parts "", "." and "..", which browsers remove from addresses.
 * @param {string[]} parts
 */
export function path(...parts) {
  return parts.map((part) => {
    if (part === "." || part === ".." || part === "") {
      throw new APIError(0, "unaddressable", `“${part}” is not a valid name.`);
    }
    return encodeURIComponent(part);
  }).join("/");
}

/** @param {VehicleName} vehicle @param {string[]} rest */
export const vehiclePath = (vehicle, ...rest) => path("vehicles", vehicle.fleet, vehicle.vehicle, ...rest);

/** @param {Record<string, any>} values undefined and empty values are omitted */
export function query(values) {
  const found = Object.entries(values).filter(([, value]) => value !== undefined && value !== "");
  // URLSearchParams encodes a space as a plus sign, which means a space only in form data.
  return found.length ? `?${String(new URLSearchParams(found)).replaceAll("+", "%20")}` : "";
}

export class API {
  /**
   * The session's token against request forgery; sent with every request that changes something.
   * @type {string|undefined}
   */
  csrf;
  /** Called when the session has ended. */
  onLoginRequired = () => {};
  /** Called when the session has changed, for example after a login in another tab. */
  onOtherSession = () => {};
  base = "/api/v1/";

  /** @typedef {{signal?: AbortSignal, quiet?: boolean, attempts?: number}} RequestOptions */

  /** @param {string} address @param {RequestOptions} [options] */
  get(address, options) { return this.request("GET", address, undefined, options); }
  /** @param {string} address @param {any} body @param {RequestOptions} [options] */
  post(address, body, options) { return this.request("POST", address, body, options); }
  /** @param {string} address @param {any} body @param {RequestOptions} [options] */
  put(address, body, options) { return this.request("PUT", address, body, options); }
  /** @param {string} address @param {any} body @param {RequestOptions} [options] */
  patch(address, body, options) { return this.request("PATCH", address, body, options); }
  /** @param {string} address @param {RequestOptions} [options] */
  delete(address, options) { return this.request("DELETE", address, undefined, options); }

  /**
   * @param {string} method
   * @param {string} address below `base`
   * @param {any} body sent as JSON; undefined for none
   * @param {RequestOptions} options quiet: do not call `onLoginRequired` if the login is missing; attempts: with those after this one
   * @returns {Promise<any>} the parsed JSON; undefined for an empty response
   * @throws {APIError}
   */
  async request(method, address, body, { signal, quiet = false, attempts = 5 } = {}) {
    /** @type {Record<string, string>} */ const headers = { Accept: "application/json" };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    if (this.csrf && method !== "GET") headers["X-CSRF-Token"] = this.csrf;
    /** @type {Response} */ let response;
    try {
      response = await fetch(this.base + address, {
        method, headers, signal, credentials: "same-origin", cache: "no-cache",
        body: body === undefined ? undefined : JSON.stringify(body),
      });
    } catch (error) {
      if (isAborted(error)) throw error;
      throw new APIError(0, "unreachable", "Cannot reach the server.", "Check the network connection and try again.");
    }
    const text = await response.text();
    let value;
    try {
      value = text ? JSON.parse(text) : undefined;
    } catch {
      value = undefined;
    }
    if (response.ok) return value;
    const told = value?.error;
    if (response.status === 401 && !quiet) this.onLoginRequired();
    if (told?.code === "csrf-token") this.onOtherSession();
    // The server has refused the request before processing it, so that repeating it is safe.
    if (told?.code === "too-many-requests" && attempts > 1) {
      await pause(Math.min(10, Number(response.headers.get("Retry-After")) || 1) * 1000);
      return this.request(method, address, body, { signal, quiet, attempts: attempts - 1 });
    }
    throw new APIError(
      response.status, told?.code ?? `status-${response.status}`,
      told?.message ?? `The server responded with status ${response.status}.`, told?.remedy);
  }
}
