internal import Glibc
internal import Logging
internal import Platform
internal import StoreAndForward

/// The message store of a running agent, whose notices are logged.
struct AgentOutbox: Sendable {
  let outbox: Outbox
  private let notices: Locked<StoreNotices>
  private let log: Logger

  /// Opens the store, and creates its folder if only its last part is missing.
  /// - Throws: an error naming the store or the invalid setting.
  init(_ configuration: AgentConfiguration.Store, log: Logger) throws {
    try StateFolder.make(StateFolder.of(configuration.path), key: "store.path")
    let notices = Locked(StoreNotices())
    (self.notices, self.log) = (notices, log)
    outbox = try Outbox(
      path: configuration.path, configuration: configuration.outbox,
      notice: { notice in
        let dueNotice = notices.withLock { $0.observe(notice, at: .now) }
        if let dueNotice { log.warning(dueNotice.event, "\(dueNotice)") }
      },
      isCancelled: { SignalDescriptor.isPending([SIGTERM, SIGINT]) })
  }

  /// Logs a recovery that has lasted long enough.
  func reportDue() {
    if let held = notices.withLock({ $0.due(at: .now) }) {
      log.warning(held.event, "\(held)")
    }
  }
}

/// Filters log messages about a disk that is only intermittently writable. If the disk fails again within a
/// minute of a recovery, the failure is logged. Further recoveries are then logged only after they have
/// lasted a minute. Pure.
struct StoreNotices {
  /// Time of the last recovery.
  private var recoveredAt: MonotonicTime?
  private var isRelapsed = false
  /// A recovery that is not logged yet, because it has not lasted `interval`; nil for none.
  private var pending: OutboxNotice?

  /// Time in s for which a recovery must last.
  private static let interval = 60.0

  /// Processes a notice. Returns it if it must be logged now.
  mutating func observe(_ notice: OutboxNotice, at now: MonotonicTime) -> OutboxNotice? {
    switch notice {
    case .recovered:
      recoveredAt = now
      guard isRelapsed else { return notice }
      pending = notice
      return nil
    case .degraded:
      // The recovery before this failure was not logged, so the last logged failure still applies.
      if isRelapsed, pending != nil {
        pending = nil
        return nil
      }
      isRelapsed = recoveredAt.map { now < $0.advanced(bySeconds: Self.interval) } ?? false
      return notice
    case .setAside, .logDamaged, .damaged, .newEpoch, .dropped: return notice
    }
  }

  /// Returns a recovery that has lasted long enough and must be logged; nil if there is none.
  mutating func due(at now: MonotonicTime) -> OutboxNotice? {
    guard let notice = pending, let recoveredAt, now >= recoveredAt.advanced(bySeconds: Self.interval)
    else { return nil }
    (pending, isRelapsed) = (nil, false)
    return notice
  }
}
