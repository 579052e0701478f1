package import Fleet
package import HTTPTypes
package import Hummingbird
internal import JSON

/// The error of a request: a code for programs, and a message with a remedy for people.
package struct WebError: Error, HTTPResponseError, Hashable, Sendable {
  package var status: HTTPResponse.Status
  /// The code for programs, such as `not-found`; it does not change.
  package var code: String
  /// A message for people.
  package var message: String
  /// The remedy; nil if there is none.
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

  /// The error in the API's format.
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
  /// Creates the error for a missing or invisible object; both are indistinguishable.
  package static func notFound(_ what: String, remedy: String? = nil) -> WebError {
    WebError(.notFound, "not-found", "no such \(what.prefix(200))", remedy: remedy)
  }

  /// Creates the error for an invalid request.
  package static func invalid(_ what: String, _ message: String, remedy: String? = nil) -> WebError {
    WebError(.badRequest, "invalid-\(what)", message, remedy: remedy)
  }

  /// Creates the error for missing permission.
  package static func forbidden(_ message: String, remedy: String? = nil) -> WebError {
    WebError(.forbidden, "forbidden", message, remedy: remedy)
  }

  /// The error for a missing login.
  package static let loginRequired = WebError(
    .unauthorized, "login-required", "log in first",
    remedy: "POST name and password to /api/v1/session, or send a token as Authorization: Bearer")

  /// Creates the error for an overload.
  package static func busy(_ message: String, seconds: Int = 5) -> WebError {
    WebError(
      .serviceUnavailable, "busy", message, remedy: "try again in \(seconds) s",
      headers: [.retryAfter: "\(seconds)"])
  }

  /// Converts an error of a command.
  package init(_ error: FleetError) {
    let cause = "\(error)"
    switch error.kind {
    case .invalidInput: self.init(.badRequest, "invalid-request", cause)
    case .unavailable: self.init(.serviceUnavailable, "unavailable", cause)
    default: self.init(.internalServerError, "failed", cause)
    }
  }

  /// Converts an error of the web library to the API's format.
  init(_ error: HTTPError) {
    let (code, message): (String, String) =
      switch error.status {
      case .notFound: ("not-found", "not found")
      case .unauthorized: ("login-required", "log in first")
      case .forbidden: ("forbidden", "this is not allowed")
      case .contentTooLarge: ("too-large", "the request is too large")
      case .unsupportedMediaType: ("unsupported-media-type", "the media type of the body is not supported")
      case .tooManyRequests: ("too-many-requests", "too many requests")
      case .badRequest: ("invalid-request", "the request is invalid")
      default: ("error-\(error.status.code)", error.status.reasonPhrase)
      }
    self.init(error.status, code, error.body ?? message, headers: error.headers)
  }
}
