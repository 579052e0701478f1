package import Fleet
internal import FleetConsole
package import MQTT

/// A recorder beside something else in one process, as of a server that shows what it records.
///
/// It is that of `odograph record` with the same session at the broker: one takes up what the other has left.
package final class SideRecorder: Sendable {
  private let running: RunningRecorder

  /// Seconds that are left at the end for what the broker has under way.
  private static let drain = 5.0

  /// Makes the store ready, and begins.
  /// - Parameters:
  ///   - store: an SQLite file, or a `postgres://` URL.
  ///   - keep: days, as `90d`; nil to keep all.
  ///   - connection: is told of the connection to the broker.
  /// - Throws: `FleetError` for options that make no sense, and a store that cannot be opened.
  package static func start(
    into store: String, keep: String?, selection: FleetSelection, broker: MQTTConfiguration,
    connection: @escaping @Sendable (FleetConnection) -> Void
  ) throws(FleetError) -> SideRecorder {
    try RecordPlan.check(store: store)
    var plan = RecordPlan(
      store: store, filters: try selection.filters(), root: selection.root, profile: selection.profile)
    plan.keptDays = try keep.map { text throws(FleetError) in try RecordPlan.days(text) }
    let opened = RecordingAddress.store(for: store, keep: plan.keptDays)
    try opened.open()
    if let advice = opened.advice { StandardError.say(advice) }
    let entry = try RecordEntry(plan, broker, waits: true, connection: connection)
    return SideRecorder(try RunningRecorder.start(plan, into: opened, from: entry))
  }

  /// Whether a text says for how many days to keep, as `90d`.
  package static func isDays(_ text: String) -> Bool { (try? RecordPlan.days(text)) != nil }

  private init(_ running: RunningRecorder) { self.running = running }

  /// How it goes on.
  package struct Progress: Hashable, Sendable {
    /// Messages received and dealt with.
    package var received: Int
    /// Those of them that were not there before.
    package var stored: Int
    /// Whether nothing can be stored now.
    package var isInterrupted: Bool
  }

  package var progress: Progress {
    let counts = running.recorder.current
    return Progress(
      received: counts.received, stored: counts.stored, isInterrupted: counts.isInterrupted)
  }

  /// Stores what the broker has under way, for some seconds at most. What is not stored then stays at the broker.
  package func stop() {
    let limit = running.recorder.current.isInterrupted ? 0 : Self.drain
    let isClean = running.source.leaveBlocking(drain: limit)
    running.recorder.end(abandoning: !isClean, limit: isClean ? Self.drain : 1)
  }
}
