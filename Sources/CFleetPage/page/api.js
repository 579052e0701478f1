/** Requests to this server, and to none else. */

/** What the server, or the way there, has refused; `remedy` says what helps, where it is known. */
export class APIError extends Error {
  constructor(status, code, message, remedy) {
    super(message);
    Object.assign(this, { status, code, remedy });
  }

  /** In a sentence or two, for a person. */
  get explanation() {
    return [this.message, this.remedy].filter(Boolean).map(sentence).join(" ");
  }
}

/** The server's words stand in a line of a log, too: here they begin and end as sentences do. */
export function sentence(text) {
  const whole = String(text);
  if (!whole) return whole;
  return whole.charAt(0).toUpperCase() + whole.slice(1) + (/[.!?…]$/.test(whole) ? "" : ".");
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
  // A plus sign is a space in forms alone, and the server reads some of these as an address.
  return found.length ? `?${String(new URLSearchParams(found)).replaceAll("+", "%20")}` : "";
}

export class API {
  /** Sent with whatever changes something; the session tells it. */
  csrf;
  /** Called when the session has ended. */
  onLoginRequired = () => {};
  /** Called when the session has become another, as by a login in another tab. */
  onOtherSession = () => {};
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
  async request(method, address, body, { signal, quiet = false, attempts = 5 } = {}) {
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
    if (told?.code === "csrf-token") this.onOtherSession();
    // Refused at the gate, so that nothing was done yet.
    if (told?.code === "too-many-requests" && attempts > 1) {
      await new Promise((resume) => { setTimeout(resume, Math.min(10, Number(response.headers.get("Retry-After")) || 1) * 1000); });
      return this.request(method, address, body, { signal, quiet, attempts: attempts - 1 });
    }
    throw new APIError(
      response.status, told?.code ?? `status-${response.status}`,
      told?.message ?? `The server answered ${response.status}.`, told?.remedy);
  }
}
