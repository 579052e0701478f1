package import Fleet
package import MQTT
internal import Platform

/// A recorder inside another program, for example in a server that also displays the fleet.
///
/// It uses the same broker session as `odograph record` with the same store and selection: each of them
/// resumes where the other stopped.
package final class SideRecorder: Sendable {
  private let running: RunningRecorder
  /// True while the broker rejects a subscription.
  private let isRefused: Locked<Bool>

  /// The maximum time in s for storing the received messages at the end.
  private static let drain = 5.0

  /// Prepares the store and starts recording. While the store is unavailable, messages wait at the broker.
  /// - Parameters:
  ///   - store: an SQLite file, or a `postgres://` URL.
  ///   - keep: the days to retain, such as `90d`; nil for all.
  ///   - report: called with notices about the database and the session.
  ///   - connection: called with changes of the broker connection.
  /// - Throws: `FleetError` for invalid options.
  package static func start(
    into store: String, keep: String?, selection: FleetSelection, broker: MQTTConfiguration,
    report: @escaping @Sendable (RecordNotice) -> Void,
    connection: @escaping @Sendable (FleetConnection) -> Void
  ) throws(FleetError) -> SideRecorder {
    try RecordPlan.check(store: store)
    var plan = RecordPlan(
      store: store, filters: try selection.filters(), root: selection.root, profile: selection.profile)
    plan.keptDays = try keep.map { text throws(FleetError) in try RecordPlan.days(text) }
    let opened = OpenStore(openingIfAvailable: plan, report: report)
    let isRefused = Locked(false)
    let entry = try RecordEntry(plan, broker, waits: true, report: report) { change in
      switch change {
      case .refused: isRefused.withLock { $0 = true }
      case .subscribed: isRefused.withLock { $0 = false }
      case .connected, .doubtful, .dropped, .disconnected: break
      }
      connection(change)
    }
    return SideRecorder(
      try RunningRecorder.start(plan, into: opened, from: entry, report: report), isRefused)
  }

  /// Returns whether a text is a number of days such as `90d`.
  package static func isDays(_ text: String) -> Bool { (try? RecordPlan.days(text)) != nil }

  private init(_ running: RunningRecorder, _ isRefused: Locked<Bool>) {
    (self.running, self.isRefused) = (running, isRefused)
  }

  /// The counters of a recording.
  package struct Progress: Hashable, Sendable {
    /// The number of messages stored or recognized as duplicates.
    package var received: Int
    /// The number of messages that were not stored before.
    package var stored: Int
    /// True while the store is unavailable.
    package var isInterrupted: Bool
    /// True while the broker rejects a subscription, whose messages are not recorded.
    package var isRefused: Bool

    /// True while messages are not recorded.
    package var isFailed: Bool { isInterrupted || isRefused }
  }

  package var progress: Progress {
    let counts = running.counts
    return Progress(
      received: counts.received, stored: counts.stored, isInterrupted: counts.isInterrupted,
      isRefused: isRefused.withLock { $0 })
  }

  /// Stores the received messages for a limited time, and disconnects. Messages that could not be stored
  /// remain at the broker.
  package func stop() {
    let limit = running.counts.isInterrupted ? 0 : Self.drain
    let isClean = running.leaveBlocking(drain: limit)
    running.end(abandoning: !isClean, limit: isClean ? Self.drain : 1)
  }
}
