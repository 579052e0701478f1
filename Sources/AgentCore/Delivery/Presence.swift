internal import Platform
internal import Spatial
internal import Telemetry

/// What is said of a vehicle's presence on the session's thread, where the pipeline cannot be asked: the will, before each
/// attempt to connect, and `asleep`, at the end of a burst.
final class Presence: Sendable {
  private struct State {
    /// What the will of the newest attempt carries.
    var attempt: UTCTime?
    /// The same of the newest attempt that led to a session.
    var session: UTCTime?
    var lastStatus: StatusMessage?
    /// When that was observed, on the clock that runs in the machine's sleep.
    var observedAt: Int64 = 0
  }

  private let state = Locked(State())

  /// When the last session began; nil before the first.
  var sessionStart: UTCTime? { state.withLock { $0.session } }

  /// The will for a session that begins now: `offline`, with the session's start, so that the will of an
  /// old session, which a broker may publish after the new one has begun, is told from it.
  func will() -> StatusMessage {
    let now = UTCTime(nanoseconds: SystemClock.realtime)
    state.withLock { $0.attempt = now }
    return StatusMessage(state: .offline, time: now, sessionStart: now, isWill: true)
  }

  func connected() { state.withLock { $0.session = $0.attempt } }

  func observe(_ status: StatusMessage) {
    state.withLock {
      $0.lastStatus = status
      $0.observedAt = SystemClock.boottime
    }
  }

  /// `asleep`: the last `status` again, with the time now and that of the next contact.
  /// - Parameter seconds: until the next contact; nil when only an event brings one.
  /// - Returns: nil before the first `status`.
  func asleep(nextContactIn seconds: Double?) -> StatusMessage? {
    let (last, observedAt, session) = state.withLock { ($0.lastStatus, $0.observedAt, $0.session) }
    guard var message = last else { return nil }
    message.state = .asleep
    message.time = message.time.advanced(bySeconds: Double(SystemClock.boottime - observedAt) * 1e-9)
    message.sessionStart = session ?? message.sessionStart
    message.nextContact = seconds.map { message.time.advanced(bySeconds: $0) }
    return message
  }
}
