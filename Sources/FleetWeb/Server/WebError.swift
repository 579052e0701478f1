package import Fleet
package import HTTPTypes
package import Hummingbird
internal import JSON

/// Why a request is not answered as it wanted: what programs go by, and what people can do about it.
package struct WebError: Error, HTTPResponseError, Hashable, Sendable {
  package var status: HTTPResponse.Status
  /// For programs, as in `not-found`: it does not change.
  package var code: String
  /// A sentence for people.
  package var message: String
  /// What helps; nil where nothing does.
  package var remedy: String?
  package var headers: HTTPFields

  package init(
    _ status: HTTPResponse.Status, _ code: String, _ message: String, remedy: String? = nil,
    headers: HTTPFields = [:]
  ) {
    (self.status, self.code, self.message, self.remedy, self.headers) = (
      status, code, message, remedy, headers
    )
  }

  /// The form of every error of the interface.
  package var json: [UInt8] {
    JSONWriter.object { json in
      json.field("error") { json in
        json.field("code", code)
        json.field("message", message)
        json.field("remedy", remedy)
      }
    }
  }

  package func response(from request: Request, context: some RequestContext) throws -> Response {
    var response = Response.json(json, status: status)
    response.headers.append(contentsOf: headers)
    return response
  }
}

extension WebError {
  /// What is not there, and what the one who asks may not see: the two are told apart by nobody.
  package static func notFound(_ what: String, remedy: String? = nil) -> WebError {
    WebError(.notFound, "not-found", "there is no \(what.prefix(200))", remedy: remedy)
  }

  /// A request that makes no sense.
  package static func invalid(_ what: String, _ message: String, remedy: String? = nil) -> WebError {
    WebError(.badRequest, "invalid-\(what)", message, remedy: remedy)
  }

  /// Somebody who is known may not do this.
  package static func forbidden(_ message: String, remedy: String? = nil) -> WebError {
    WebError(.forbidden, "forbidden", message, remedy: remedy)
  }

  /// One has to log in first.
  package static let loginRequired = WebError(
    .unauthorized, "login-required", "log in first",
    remedy: "POST name and password to /api/v1/session, or send a token as Authorization: Bearer")

  /// There is too much to do now.
  package static func busy(_ message: String, seconds: Int = 5) -> WebError {
    WebError(
      .serviceUnavailable, "busy", message, remedy: "try again in \(seconds) s",
      headers: [.retryAfter: "\(seconds)"])
  }

  /// What a command of this program would end with.
  package init(_ error: FleetError) {
    let cause = "\(error)"
    switch error.exit {
    case .usage: self.init(.badRequest, "invalid-request", cause)
    case .unavailable: self.init(.serviceUnavailable, "unavailable", cause)
    case .timedOut: self.init(.gatewayTimeout, "timed-out", cause)
    default: self.init(.internalServerError, "failed", cause)
    }
  }

  /// What the web library says, in the interface's form.
  init(_ error: HTTPError) {
    let (code, message): (String, String) =
      switch error.status {
      case .notFound: ("not-found", "there is nothing at this address")
      case .unauthorized: ("login-required", "log in first")
      case .forbidden: ("forbidden", "this is not allowed")
      case .contentTooLarge: ("too-large", "the request is too large")
      case .unsupportedMediaType: ("unsupported-media-type", "the body is of a type that is not read here")
      case .tooManyRequests: ("too-many-requests", "there were too many requests")
      case .badRequest: ("invalid-request", "the request makes no sense")
      default: ("error-\(error.status.code)", error.status.reasonPhrase)
      }
    self.init(error.status, code, error.body ?? message, headers: error.headers)
  }
}
