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
  ///
  /// Its time is that of the last `status`, which may come from the receiver where the machine's clock is not
  /// set, and is always after the start of the last session.
  func will() -> StatusMessage {
    let now = state.withLock { state in
      var now = UTCTime.now
      if let last = state.lastStatus, let observedAt = state.observedAt {
        now = last.time.advanced(bySeconds: Timestamp.now.seconds(since: observedAt))
      }
      now = max(now, state.session?.advanced(bySeconds: 0.001) ?? now)
      state.attempt = now
      return now
    }
    return StatusMessage(state: .offline, time: now, sessionStart: now, isWill: true)
  }

  func connected() { state.withLock { $0.session = $0.attempt } }

  func observe(_ status: StatusMessage) {
    state.withLock {
      $0.lastStatus = status
      $0.observedAt = .now
    }
  }

  /// Returns `asleep`: the last `status` with the current time, and the time of the next contact.
  /// - Parameters:
  ///   - seconds: time in s to the next contact; nil if only an event opens the link.
  ///   - counters: counters that have changed since the last `status`.
  /// - Returns: nil before the first `status`.
  func asleep(nextContactIn seconds: Double?, counters: [String: Int] = [:]) -> StatusMessage? {
    let (last, observedAt, session) = state.withLock { ($0.lastStatus, $0.observedAt, $0.session) }
    guard var message = last, let observedAt else { return nil }
    message.state = .asleep
    let elapsed = Timestamp.now.seconds(since: observedAt)
    message.time = message.time.advanced(bySeconds: elapsed)
    message.uptime = message.uptime.map { $0 + elapsed }
    message.counters.merge(counters) { $1 }
    message.sessionStart = session ?? message.sessionStart
    message.nextContact = seconds.map { message.time.advanced(bySeconds: $0) }
    return message
  }
}
