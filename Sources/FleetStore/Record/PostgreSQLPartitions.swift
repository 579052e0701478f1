internal import Fleet
internal import Platform
internal import Spatial
internal import Telemetry

/// Creates the missing daily partitions, so that recorders do not wait for queries.
///
/// Creating a partition moves the rows of its day out of the default partition, which must be locked
/// meanwhile. A query over all days holds a lock on the default partition for its whole duration. The next
/// day's partition is therefore created hours before its first message. If a query blocks it, the day's
/// messages go to the default partition until the query has finished. The same unique indexes apply there,
/// and the rows are moved when the partition can be created.
package struct PostgreSQLPartitions {
  /// Runs commands and returns the rows of the last one.
  package typealias Run = (String) throws(PostgreSQLError) -> [[String?]]

  private let partitioned: PartitionedDays
  /// The pause in s before the next attempt after a failure.
  private let pause: Double
  /// The days whose partitions are known to exist.
  private var days: Set<Day> = []
  /// The time before which no further attempt is made.
  private var due = MonotonicTime.start
  /// The days without a partition that were already reported to the user.
  private var announced: Set<Day> = []

  /// How many seconds before midnight UTC the next day's partition is created.
  private static let ahead = 6 * 3600.0

  /// The timeout for the lock on the default partition. It is long enough for other recorders' commits, which
  /// take less than a second, but shorter than queries.
  private static let lockTimeout = "800ms"

  /// The timeout for the advisory lock, held by another recorder that creates partitions. That recorder
  /// itself waits at most `lockTimeout` for each lock.
  private static let recorderLockTimeout = "10s"

  /// Creates the state.
  ///
  /// - Parameters:
  ///   - partitioned: the range of days that get partitions.
  ///   - pause: the pause in s before the next attempt after a failure.
  init(_ partitioned: PartitionedDays, pause: Double = 60) {
    self.partitioned = partitioned
    self.pause = pause
  }

  /// Forgets which partitions exist, for example after a reconnection.
  mutating func forget() { (days, due) = ([], .start) }

  mutating func forget(before day: Day) { days = days.filter { $0 >= day } }

  /// Returns the days of a batch that need a partition, and, in the last hours before midnight UTC, the next
  /// day if it has none.
  private func missing(for messages: [RecordedMessage]) -> (needed: Set<Day>, coming: Day?) {
    var needed: Set<Day> = []
    // Most messages have the same day as the previous one, which needs no further check.
    var last: Day?
    func observe(_ time: UTCTime, receivedAt received: UTCTime) {
      let day = Day(time)
      guard day != last else { return }
      last = day
      if !days.contains(day), partitioned.contains(day, receivedOn: Day(received)) { needed.insert(day) }
    }
    let span = messages.span
    for index in span.indices {
      if let time = span[index].fields.time { observe(time, receivedAt: span[index].received) }
      guard !span[index].fixes.isEmpty else { continue }
      for fix in span[index].fixes { observe(fix.time, receivedAt: span[index].received) }
    }
    guard let received = messages.last?.received else { return (needed, nil) }
    let coming = Day(received.advanced(bySeconds: Self.ahead))
    return (needed, coming == Day(received) || days.contains(coming) ? nil : coming)
  }

  /// Creates the partitions that a batch needs. If a query blocks them, the next attempt follows after the
  /// pause.
  /// - Parameter announce: called with a sentence about days whose partition is delayed.
  mutating func make(
    for messages: [RecordedMessage], _ run: Run, announce: (String) -> Void
  ) throws(PostgreSQLError) {
    let (needed, coming) = missing(for: messages)
    let wanted = needed.union([coming].compactMap(\.self)).sorted()
    guard !wanted.isEmpty, due.hasPassed else { return }
    do throws(PostgreSQLError) {
      for table in PostgreSQLSchema.partitionedTables { try Self.make(wanted, of: table, run) }
    } catch {
      guard error.isLockTimeout || error.isDeadlock else { throw error }
      _ = try run("ROLLBACK")
      due = .after(pause)
      let unsaid = needed.subtracting(announced).sorted()
      guard let first = unsaid.first else { return }
      if announced.count > 10_000 { announced.removeAll() }
      announced.formUnion(unsaid)
      let others = unsaid.count > 1 ? " and \(unsaid.count - 1) more days" : ""
      announce(
        "a long query delays the partition of \(first.text)\(others); until it ends, messages are stored "
          + "in the default partition")
      return
    }
    if days.count > 10_000 { days.removeAll() }
    days.formUnion(wanted)
  }

  /// Creates the partitions of one table. Each table has its own transaction, so that only one table is
  /// locked at a time.
  private static func make(_ days: [Day], of table: String, _ run: Run) throws(PostgreSQLError) {
    _ = try run(
      """
      BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = '\(recorderLockTimeout)';
      SELECT pg_advisory_xact_lock(\(PostgreSQLSchema.lock)); SET LOCAL lock_timeout = '\(lockTimeout)'
      """)
    let known = try run(PostgreSQLSchema.partitions(of: table)).compactMap(\.first)
    let missing = days.filter { !known.contains(PostgreSQLSchema.partitionName(of: table, day: $0)) }
    for day in missing { _ = try run(PostgreSQLSchema.partition(of: table, day: day)) }
    _ = try run("COMMIT")
  }
}
