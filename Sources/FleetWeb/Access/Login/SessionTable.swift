/// Who is logged in: sessions by the digest of their cookies. Pure: times are nanoseconds since 1970.
package struct SessionTable: Sendable {
  /// Whose session it is.
  package enum Holder: Hashable, Sendable {
    case user(String)
    /// Whoever has the link to a vehicle, by the link's digest.
    case link(SecretDigest)
  }

  package struct Session: Hashable, Sendable {
    package var holder: Holder
    /// What the holder's entry was at the login; a session ends when it becomes another.
    package var entry: SecretDigest
    package var began: Int64
    package var used: Int64
  }

  /// Sessions end when they were not used for so long, and so long after they began (ns).
  package var idle: Int64
  package var longest: Int64
  /// Sessions at most in all, and of one holder: the longest unused goes for a new one.
  package static let capacity = 10_000
  package static let capacityOfHolder = 50

  package private(set) var sessions: [SecretDigest: Session] = [:]

  package init(idle: Int64, longest: Int64) { (self.idle, self.longest) = (idle, longest) }

  /// When a session ends if it is not used any more.
  package func end(of session: Session) -> Int64 { min(session.used + idle, session.began + longest) }

  package mutating func open(_ digest: SecretDigest, _ holder: Holder, entry: SecretDigest, at now: Int64) {
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

  /// The session of a cookie, which counts as used; nil for none and for one that has ended.
  package mutating func use(_ digest: SecretDigest, at now: Int64) -> Session? {
    guard var session = sessions[digest] else { return nil }
    // A clock that was set back ends nothing, and makes nothing last longer than from then on.
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

  package mutating func expire(at now: Int64) { sessions = sessions.filter { now < end(of: $0.value) } }

  /// Takes over a session that was kept on the disk.
  package mutating func restore(_ digest: SecretDigest, _ session: Session) { sessions[digest] = session }
}
