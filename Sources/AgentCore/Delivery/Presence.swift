internal import Platform
internal import Spatial
internal import Telemetry

/// Status messages created on the session's thread, where the pipeline is not accessible: the will before
/// each connection attempt, and `asleep` at the end of a burst. It also holds the statuses of quiet bursts.
final class Presence: Sendable {
  private struct State {
    /// Session start in the will of the newest connection attempt; nil before the first.
    var attempt: UTCTime?
    /// Session start of the newest successful connection attempt; nil before the first.
    var session: UTCTime?
    var lastStatus: StatusMessage?
    /// Time at which `lastStatus` was observed; nil before the first.
    var observedAt: Timestamp?
    var burst = QuietBurst()
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
      state.burst.attempt()
      return now
    }
    return StatusMessage(state: .offline, time: now, sessionStart: now, isWill: true)
  }

  func connected() {
    state.withLock {
      $0.session = $0.attempt
      $0.burst.connect(at: .now)
    }
  }

  func observe(_ status: StatusMessage) {
    state.withLock {
      $0.lastStatus = status
      $0.observedAt = .now
    }
  }

  /// Returns true if the observed status is held until the end of the burst, and false if it must be published.
  func holdsStatus(_ plan: LinkPlan) -> Bool { state.withLock { $0.burst.holds(plan, at: .now) } }

  /// Returns true if statuses are currently held.
  func isQuiet(_ plan: LinkPlan) -> Bool { state.withLock { $0.burst.isQuiet(plan, at: .now) } }

  /// Ends a quiet burst because of an event. Returns the held status, which must be published; nil if none is held.
  func interrupt() -> StatusMessage? { state.withLock { $0.burst.end() ? $0.lastStatus : nil } }

  /// Ends a quiet burst that lasts too long. Returns the held status, which must be published; nil if none is held.
  func advance(_ plan: LinkPlan) -> StatusMessage? {
    state.withLock { $0.burst.advance(to: .now, plan) ? $0.lastStatus : nil }
  }

  /// Returns `asleep`: the last `status` with the current time, and the time of the next contact.
  /// - Parameters:
  ///   - seconds: time in s to the next contact; nil if only an event opens the link.
  ///   - counters: counters that have changed since the last `status`.
  /// - Returns: nil before the first `status`.
  func asleep(nextContactIn seconds: Double?, counters: [String: Int] = [:]) -> StatusMessage? {
    let (last, observedAt, session) = state.withLock { state in
      if state.lastStatus != nil { state.burst.announce() }
      return (state.lastStatus, state.observedAt, state.session)
    }
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
