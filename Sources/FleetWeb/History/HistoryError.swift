internal import HTTPTypes
package import Hummingbird
internal import JSON
internal import NIOCore

/// Why a question about the past is not answered, in the form of the interface: a code for programs, a sentence for people
/// that names the place, and what helps.
package struct HistoryError: Error, Hashable, Sendable, HTTPResponseError {
  package var status: HTTPResponse.Status
  package var code: String
  package var message: String
  package var remedy: String?
  /// The parameter that makes no sense; nil where it is none.
  package var parameter: String?
  /// Seconds after which it is worth while to ask again; nil where it is not.
  package var retryAfter: Int?

  init(
    _ status: HTTPResponse.Status, _ code: String, _ message: String, remedy: String? = nil,
    parameter: String? = nil, retryAfter: Int? = nil
  ) {
    (self.status, self.code, self.message, self.remedy) = (status, code, message, remedy)
    (self.parameter, self.retryAfter) = (parameter, retryAfter)
  }

  package func response(from request: Request, context: some RequestContext) throws -> Response {
    let bytes = JSONWriter.object { json in
      json.field("error") { json in
        json.field("code", code)
        json.field("message", message)
        json.field("parameter", parameter)
        json.field("remedy", remedy)
      }
    }
    var headers: HTTPFields = [.contentType: "application/json"]
    if let retryAfter { headers[.retryAfter] = "\(retryAfter)" }
    return Response(status: status, headers: headers, body: .init(byteBuffer: ByteBuffer(bytes: bytes)))
  }
}

extension HistoryError {
  /// What is not there, and what somebody does not see: no word differs.
  static func notFound(_ what: String) -> HistoryError {
    HistoryError(.notFound, "not-found", "there is no such \(what)", remedy: "check its name")
  }

  static let noRecording = HistoryError(
    .notFound, "no-recording", "this server has no recording",
    remedy: "start it with --recording, and --record to fill it")

  static func parameter(_ name: String, _ problem: String, remedy: String) -> HistoryError {
    HistoryError(.badRequest, "bad-parameter", "\(name): \(problem)", remedy: remedy, parameter: name)
  }

  static let busy = HistoryError(
    .serviceUnavailable, "busy", "too many questions about the past wait already",
    remedy: "ask again in a moment", retryAfter: 2)

  static func tooSlow(_ seconds: Double) -> HistoryError {
    HistoryError(
      .serviceUnavailable, "too-slow", "the recording did not answer within \(Int(seconds)) s",
      remedy: "ask for less time at once", retryAfter: 5)
  }

  static let unreadable = HistoryError(
    .serviceUnavailable, "recording-unavailable", "the recording cannot be read now",
    remedy: "the server's log says why; ask again later", retryAfter: 10)
}
