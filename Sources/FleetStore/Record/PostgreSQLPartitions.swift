internal import Fleet
internal import Platform
internal import Spatial
internal import Telemetry

/// The days with partitions, and the creation of missing ones without making recorders wait for readers.
///
/// Creating a partition moves its day's rows out of the default partition, which must be locked for that. A
/// query over all days holds a lock for its whole duration. The next day's partition is therefore created
/// hours before its first message. If a query blocks it, messages go to the default partition until it has
/// finished: the same unique indexes apply there, and the rows are moved when the partition can be created.
struct PostgreSQLPartitions {
  /// A function that runs commands and returns the rows of the last one.
  typealias Run = (String) throws(PostgreSQLError) -> [[String?]]

  private let partitioned: PartitionedDays
  /// The pause in ns after a failure.
  private let pause: Int64
  /// The days that are known to have partitions.
  private var days: Set<Day> = []
  /// The time of the next attempt (monotonic).
  private var due = Int64.min
  /// The days that were reported as waiting.
  private var announced: Set<Day> = []

  /// The seconds before midnight UTC at which the next day's partition is created.
  private static let ahead = 6 * 3600.0

  /// The lock timeout for writers to the default partition, whose commits are shorter than a second, but not
  /// for readers.
  private static let lockTimeout = "800ms"

  /// The lock timeout for another recorder that creates the same partitions, which itself waits at most
  /// `timeout`.
  private static let recorderLockTimeout = "10s"

  /// Creates the state.
  ///
  /// - Parameter pause: the pause in seconds after a failure.
  init(_ partitioned: PartitionedDays, pause: Double = 60) {
    self.partitioned = partitioned
    self.pause = Int64(pause * 1e9)
  }

  /// Discards the known partitions, for example after a reconnection.
  mutating func forget() { (days, due) = ([], Int64.min) }

  mutating func forget(before day: Day) { days = days.filter { $0 >= day } }

  /// Returns the days of messages near the recorder's day without a partition, and in the evening the next
  /// day.
  private func missing(for messages: [RecordedMessage]) -> (needed: Set<Day>, coming: Day?) {
    var needed: Set<Day> = []
    // Almost all messages have the same day as the previous one.
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

  /// Creates all missing partitions, or leaves it to a later attempt.
  /// - Parameter announce: called with a sentence about waiting days.
  mutating func make(
    for messages: [RecordedMessage], _ run: Run, announce: (String) -> Void
  ) throws(PostgreSQLError) {
    let (needed, coming) = missing(for: messages)
    let wanted = needed.union([coming].compactMap(\.self)).sorted()
    guard !wanted.isEmpty, SystemClock.monotonic >= due else { return }
    do throws(PostgreSQLError) {
      for table in PostgreSQLSchema.partitionedTables { try Self.make(wanted, of: table, run) }
    } catch {
      guard error.isLockTimeout || error.isDeadlock else { throw error }
      _ = try run("ROLLBACK")
      due = SystemClock.monotonic + pause
      let unsaid = needed.subtracting(announced).sorted()
      guard let first = unsaid.first else { return }
      if announced.count > 10_000 { announced.removeAll() }
      announced.formUnion(unsaid)
      let others = unsaid.count > 1 ? " and \(unsaid.count - 1) more days" : ""
      announce(
        "a question that reads for long keeps \(first.text)\(others) from a partition of its own; its messages are stored "
          + "beside the others' until that is over")
      return
    }
    if days.count > 10_000 { days.removeAll() }
    days.formUnion(wanted)
  }

  /// In a separate transaction for each table, so that only one table is locked at a time.
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
