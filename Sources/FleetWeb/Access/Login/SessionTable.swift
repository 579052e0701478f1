package import Spatial

/// The sessions by the digests of their cookies. A pure value type.
package struct SessionTable: Sendable {
  /// The holder of a session.
  package enum Holder: Hashable, Sendable {
    case user(String)
    /// The holder of a link to a vehicle, by the link's digest.
    case link(SecretDigest)
  }

  package struct Session: Hashable, Sendable {
    package var holder: Holder
    /// The digest of the user's configuration entry, or of the link, as computed at the login; the session
    /// ends when the digest changes.
    package var entry: SecretDigest
    package var began: UTCTime
    package var used: UTCTime
  }

  /// The time in s after which an unused session ends, and the maximum lifetime of any session in s.
  package var idle: Double
  package var longest: Double
  /// The maximum numbers of sessions in total and per holder; beyond them, the least recently used session is
  /// dropped.
  package static let capacity = 10_000
  package static let capacityOfHolder = 50

  package private(set) var sessions: [SecretDigest: Session] = [:]

  package init(idle: Double, longest: Double) { (self.idle, self.longest) = (idle, longest) }

  /// Returns the time at which a session ends if it is not used.
  package func end(of session: Session) -> UTCTime {
    min(session.used.advanced(bySeconds: idle), session.began.advanced(bySeconds: longest))
  }

  package mutating func open(_ digest: SecretDigest, _ holder: Holder, entry: SecretDigest, at now: UTCTime) {
    let own = sessions.filter { $0.value.holder == holder }
    if own.count >= Self.capacityOfHolder, let oldest = own.min(by: { $0.value.used < $1.value.used }) {
      sessions[oldest.key] = nil
    }
    if sessions.count >= Self.capacity {
      expire(at: now)
      if sessions.count >= Self.capacity, let oldest = sessions.min(by: { $0.value.used < $1.value.used }) {
        sessions[oldest.key] = nil
      }
    }
    sessions[digest] = Session(holder: holder, entry: entry, began: now, used: now)
  }

  /// Returns the session of a cookie and records its use; nil if there is none or it has ended.
  package mutating func use(_ digest: SecretDigest, at now: UTCTime) -> Session? {
    guard var session = sessions[digest] else { return nil }
    // Setting the clock back ends no session.
    guard now < end(of: session) else {
      sessions[digest] = nil
      return nil
    }
    session.used = max(session.used, now)
    sessions[digest] = session
    return session
  }

  @discardableResult
  package mutating func close(_ digest: SecretDigest) -> Session? { sessions.removeValue(forKey: digest) }

  package mutating func keep(where holds: (Session) -> Bool) {
    sessions = sessions.filter { holds($0.value) }
  }

  package mutating func expire(at now: UTCTime) { sessions = sessions.filter { now < end(of: $0.value) } }

  /// Restores a stored session.
  package mutating func restore(_ digest: SecretDigest, _ session: Session) { sessions[digest] = session }
}
