/** Requests to this server, and to none else. */

/** What the server, or the way there, has refused; `remedy` says what helps, where it is known. */
export class APIError extends Error {
  constructor(status, code, message, remedy) {
    super(message);
    Object.assign(this, { status, code, remedy });
  }

  /** In a sentence or two, for a person. */
  get explanation() {
    return this.remedy ? `${this.message} ${this.remedy}` : this.message;
  }
}

/**
 * A path of parts that may be anything: "." and ".." would be taken away on the way, and lead to another place.
 */
export function path(...parts) {
  return parts.map((part) => {
    if (part === "." || part === ".." || part === "") {
      throw new APIError(0, "unaddressable", `“${part}” cannot be part of an address.`);
    }
    return encodeURIComponent(part);
  }).join("/");
}

export const vehiclePath = (vehicle, ...rest) => path("vehicles", vehicle.fleet, vehicle.vehicle, ...rest);

/** @param {Record<string, any>} values undefined ones are left out */
export function query(values) {
  const found = Object.entries(values).filter(([, value]) => value !== undefined && value !== "");
  return found.length ? `?${new URLSearchParams(found)}` : "";
}

export class API {
  /** Sent with whatever changes something; the session tells it. */
  csrf;
  /** Called when the session has ended. */
  onLoginRequired = () => {};
  base = "/api/v1/";

  get(address, options) { return this.request("GET", address, undefined, options); }
  post(address, body, options) { return this.request("POST", address, body, options); }
  put(address, body, options) { return this.request("PUT", address, body, options); }
  patch(address, body, options) { return this.request("PATCH", address, body, options); }
  delete(address, options) { return this.request("DELETE", address, undefined, options); }

  /**
   * @param {{signal?: AbortSignal, quiet?: boolean}} [options] quiet: a missing login is the caller's to handle
   * @returns {Promise<any>} the answer's JSON; undefined for an empty one
   * @throws {APIError}
   */
  async request(method, address, body, { signal, quiet = false } = {}) {
    const headers = { Accept: "application/json" };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    if (this.csrf && method !== "GET") headers["X-CSRF-Token"] = this.csrf;
    let response;
    try {
      response = await fetch(this.base + address, {
        method, headers, signal, credentials: "same-origin", cache: "no-cache",
        body: body === undefined ? undefined : JSON.stringify(body),
      });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new APIError(0, "unreachable", "The server cannot be reached.", "It is asked again as soon as it answers.");
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
    throw new APIError(
      response.status, told?.code ?? `status-${response.status}`,
      told?.message ?? `The server answered ${response.status}.`, told?.remedy);
  }
}
