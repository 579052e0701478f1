internal import StoreAndForward

/// What is to be said in the log of a disk that takes nothing now and something then: of a relapse within a minute, only that it
/// is one, and the recovery once it has held. Pure; time is monotonic, in nanoseconds.
struct StoreNotices {
  /// When the disk took records last, after it had taken none.
  private var recoveredAt: Int64?
  private var isRelapsed = false
  /// A recovery that has not held yet.
  private var pending: OutboxNotice?

  /// Nanoseconds for which a recovery must hold to be one.
  private static let interval: Int64 = 60_000_000_000

  /// Learns of a notice; returns it where it is to be said now.
  mutating func observe(_ notice: OutboxNotice, at now: Int64) -> OutboxNotice? {
    switch notice {
    case .recovered:
      recoveredAt = now
      guard isRelapsed else { return notice }
      pending = notice
      return nil
    case .degraded:
      // What was said last of a disk that relapses for the second time still holds.
      if isRelapsed, pending != nil {
        pending = nil
        return nil
      }
      isRelapsed = recoveredAt.map { now - $0 < Self.interval } ?? false
      return notice
    case .setAside, .logDamaged, .damaged, .newEpoch, .dropped: return notice
    }
  }

  /// The recovery that has held by now and is to be said, if any.
  mutating func due(at now: Int64) -> OutboxNotice? {
    guard let notice = pending, let recoveredAt, now - recoveredAt >= Self.interval else { return nil }
    (pending, isRelapsed) = (nil, false)
    return notice
  }
}
