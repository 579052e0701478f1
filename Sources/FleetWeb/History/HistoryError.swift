internal import HTTPTypes
internal import Hummingbird

/// The reasons for which a history request fails.
extension WebError {
  package static let noRecording = WebError(
    .notFound, "no-recording", "this server has no recording",
    remedy: "start it with --recording, and --record to fill it")

  static func parameter(_ name: String, _ problem: String, remedy: String) -> WebError {
    .invalid(name, "\(name): \(problem)", remedy: remedy)
  }

  static let tooManyQuestions = WebError(
    .serviceUnavailable, "busy", "too many queued history requests",
    remedy: "retry in a moment", headers: [.retryAfter: "2"])

  package static let tooManyAnswers = WebError(
    .serviceUnavailable, "busy", "too many history responses in progress",
    remedy: "try again later, or request less", headers: [.retryAfter: "5"])

  static func tooSlow(_ seconds: Double) -> WebError {
    WebError(
      .serviceUnavailable, "too-slow", "the recording did not answer within \(Int(seconds)) s",
      remedy: "request a shorter period", headers: [.retryAfter: "5"])
  }

  static let unreadable = WebError(
    .serviceUnavailable, "recording-unavailable", "the recording cannot be read now",
    remedy: "see the server's log; try again later", headers: [.retryAfter: "10"])
}
