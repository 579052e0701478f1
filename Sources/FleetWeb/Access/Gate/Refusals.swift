internal import Hummingbird
internal import Platform

/// The reasons for which the gate rejects a request.
extension WebError {
  static let tokenInvalid = WebError(
    .unauthorized, "token-invalid", "the token is unknown or has expired",
    remedy: "`odograph access token NAME` makes one for [tokens.NAME] of the configuration",
    headers: [.wwwAuthenticate: "Bearer realm=\"odograph\""])
  static let userUnknown = WebError(
    .forbidden, "user-unknown", "the proxy names a user without an entry in the configuration",
    remedy: "add [users.NAME] with a role to the configuration")
  static let proxyNotConfigured = WebError(
    .forbidden, "proxy-not-configured",
    "the request came through a proxy, so it may not be from this machine",
    remedy: "configure a login with [users.NAME], or [proxy] with addresses and header")
  static let hostUnknown = WebError(
    .misdirectedRequest, "host-unknown", "the name in Host is not a name of the server",
    remedy: "use the host name 127.0.0.1 or localhost, or add the name to hosts in [access]")
  static let originForeign = WebError(
    .forbidden, "origin-foreign", "the request was made by a page of another server",
    remedy: "programs leave out Origin or send a token; add further names of this server to hosts in [access]"
  )
  static let tokenMissing = WebError(
    .forbidden, "csrf-token", "X-CSRF-Token is missing, or is not that of this session",
    remedy: "GET /api/v1/session returns it as csrf")
  static let roleTooLow = WebError(
    .forbidden, "role-too-low", "read-only access: the role operate is required",
    remedy: "set role = \"operate\" in your entry of the configuration")
  static let scopeTooNarrow = WebError(
    .forbidden, "scope-too-narrow", "this covers all fleets, and you do not have access to all of them",
    remedy: "use an entry without fleets and vehicles")
  static let linkOnly = WebError(
    .forbidden, "link-only", "a shared link shows only the present state of one vehicle")
  static let pathInvalid = WebError(
    .badRequest, "invalid-path",
    "the path is too long, or has control characters, dot segments or invalid UTF-8")
  static let bodyTooLarge = WebError(.contentTooLarge, "too-large", "the request is too large")
  static let auditFull = WebError(
    .serviceUnavailable, "audit-full", "the audit log is not writable: changes are refused",
    remedy: "check the disk of the audit log", headers: [.retryAfter: "5"])
  static let loginWrong = WebError(.unauthorized, "login-wrong", "the name or the password is wrong")

  /// Creates the error for a session or link that has ended, while the file that stores it is not writable.
  static func notStored(_ what: String, _ error: SystemError) -> WebError {
    WebError(
      .serviceUnavailable, "not-stored",
      "the \(what) has ended, but this cannot be stored: \(SystemError.message(for: error.code))",
      remedy: "a restart restores it, unless the folder state of [access] is writable before: check its disk")
  }

  static func tooManyRequests(seconds: Double) -> WebError {
    WebError(
      .tooManyRequests, "too-many-requests", "too many requests",
      headers: [.retryAfter: "\(max(1, Int(min(seconds, 3600).rounded(.up))))"])
  }

  static func loginDelayed(seconds: Double) -> WebError {
    let seconds = max(1, Int(seconds.rounded(.up)))
    return WebError(
      .tooManyRequests, "login-delayed", "too many failed logins; try again in \(seconds) s",
      headers: [.retryAfter: "\(seconds)"])
  }
}
