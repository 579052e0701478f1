internal import Fleet
internal import Platform
internal import Spatial
internal import Telemetry

/// Which days have their partitions, and how those that have none get one without that recording waits for readers.
///
/// A partition takes its day's rows out of the default partition, which has to be locked for that; whoever reads all days
/// holds that for as long as the question takes. So the coming day's partition is made hours before the first message of
/// that day, and where a question is in the way, messages go into the default partition until it is over: there the same
/// unique indexes hold them apart, and the partition takes them along once it can be made.
struct PostgreSQLPartitions {
  /// Runs commands, of which the last one's rows are returned.
  typealias Run = (String) throws(PostgreSQLError) -> [[String?]]

  private let partitioned: PartitionedDays
  /// Nanoseconds after a failure before it is tried again.
  private let pause: Int64
  /// Those that have their partitions, as far as this knows.
  private var days: Set<Day> = []
  /// From when on it may be tried, by the monotonic clock.
  private var due = Int64.min
  /// Days of which it was said that they wait.
  private var announced: Set<Day> = []

  /// Seconds before midnight UTC from which on the coming day has its partition.
  private static let ahead = 6 * 3600.0

  /// For those who write to the default partition, whose commits take no second, not for who reads.
  private static let patience = "800ms"

  /// For another recorder that makes the same partitions, which waits no longer than `patience` itself.
  private static let patienceWithOthers = "10s"

  /// - Parameter pause: seconds after a failure before it is tried again.
  init(_ partitioned: PartitionedDays, pause: Double = 60) {
    self.partitioned = partitioned
    self.pause = Int64(pause * 1e9)
  }

  /// Asks the database again which are there, as on a new connection.
  mutating func forget() { (days, due) = ([], Int64.min) }

  mutating func forget(before day: Day) { days = days.filter { $0 >= day } }

  /// Those of messages that are near the recorder's day and have none, and in the evening the coming one.
  private func missing(for messages: [RecordedMessage]) -> (needed: Set<Day>, coming: Day?) {
    var needed: Set<Day> = []
    // Nearly all are of the day of the one before.
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

  /// Makes what is missing, all at once, or leaves it to a later time.
  /// - Parameter announce: is given a sentence about days that wait.
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

  /// In a transaction of each table, so that no two of its locks are held at once.
  private static func make(_ days: [Day], of table: String, _ run: Run) throws(PostgreSQLError) {
    _ = try run(
      """
      BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = '\(patienceWithOthers)';
      SELECT pg_advisory_xact_lock(\(PostgreSQLSchema.lock)); SET LOCAL lock_timeout = '\(patience)'
      """)
    let known = try run(PostgreSQLSchema.partitions(of: table)).compactMap(\.first)
    let missing = days.filter { !known.contains(PostgreSQLSchema.partitionName(of: table, day: $0)) }
    for day in missing { _ = try run(PostgreSQLSchema.partition(of: table, day: day)) }
    _ = try run("COMMIT")
  }
}
