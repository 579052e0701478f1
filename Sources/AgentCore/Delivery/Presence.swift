internal import Platform
internal import Spatial
internal import Telemetry

/// Status messages created on the session's thread, where the pipeline is not accessible: the will before
/// each connection attempt, and `asleep` at the end of a burst.
final class Presence: Sendable {
  private struct State {
    /// Session start in the will of the newest connection attempt; nil before the first.
    var attempt: UTCTime?
    /// Session start of the newest successful connection attempt; nil before the first.
    var session: UTCTime?
    var lastStatus: StatusMessage?
    /// Time at which `lastStatus` was observed; nil before the first.
    var observedAt: Timestamp?
  }

  private let state = Locked(State())

  /// Start of the last session; nil before the first.
  var sessionStart: UTCTime? { state.withLock { $0.session } }

  /// Returns the will for a session that starts now: `offline` with the session's start. The start
  /// distinguishes it from the will of an old session, which a broker may publish later.
  func will() -> StatusMessage {
    let now = UTCTime.now
    state.withLock { $0.attempt = now }
    return StatusMessage(state: .offline, time: now, sessionStart: now, isWill: true)
  }

  func connected() { state.withLock { $0.session = $0.attempt } }

  func observe(_ status: StatusMessage) {
    state.withLock {
      $0.lastStatus = status
      $0.observedAt = .now
    }
  }

  /// Returns `asleep`: the last `status` with the current time and the time of the next contact.
  /// - Parameter seconds: time in s to the next contact; nil if only an event opens the link.
  /// - Returns: nil before the first `status`.
  func asleep(nextContactIn seconds: Double?) -> StatusMessage? {
    let (last, observedAt, session) = state.withLock { ($0.lastStatus, $0.observedAt, $0.session) }
    guard var message = last, let observedAt else { return nil }
    message.state = .asleep
    message.time = message.time.advanced(bySeconds: Timestamp.now.seconds(since: observedAt))
    message.sessionStart = session ?? message.sessionStart
    message.nextContact = seconds.map { message.time.advanced(bySeconds: $0) }
    return message
  }
}
