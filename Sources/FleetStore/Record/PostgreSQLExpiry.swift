internal import Glibc
internal import Spatial

/// The deletion of old data from PostgreSQL without blocking recorders or queries.
///
/// Dropping a partition needs an exclusive lock on its table; while waiting for it, all others wait, too.
/// Therefore only one recorder does it, with short lock timeouts, and a partition in use is retried an hour
/// later.
enum PostgreSQLExpiry {
  /// The lock of the recorder that deletes; others skip the deletion.
  static let lock = PostgreSQLSchema.lock + 2

  /// The lock timeout, for which all others wait if a query blocks it.
  private static let lockTimeout = "200ms"

  /// The maximum number of attempts per partition, and of failures in total.
  private static let rounds = 3
  private static let mostFailures = 6

  /// The pause in µs between failed attempts, in which other connections proceed.
  private static let pause: UInt32 = 300_000

  /// Drops old partitions.
  ///
  /// - Parameter run: runs commands and returns the rows of the last one.
  /// - Returns: the number of dropped partitions, and the reason for one that cannot be dropped later either,
  ///   for example because a view depends on it.
  static func dropPartitions(
    before day: Day, _ run: PostgreSQLPartitions.Run
  ) throws(PostgreSQLError) -> (dropped: Int, problem: PostgreSQLError?) {
    var left = try run(PostgreSQLSchema.expired(before: day)).compactMap { $0.first ?? nil }
    var (dropped, failures) = (0, 0)
    var problem: PostgreSQLError?
    for _ in 0..<rounds where !left.isEmpty {
      var kept: [String] = []
      for name in left where failures < mostFailures {
        do throws(PostgreSQLError) {
          _ = try run(
            "BEGIN; SET LOCAL lock_timeout = '\(lockTimeout)'; DROP TABLE odograph.\(name); COMMIT")
          dropped += 1
        } catch {
          guard !error.state.isEmpty else { throw error }
          _ = try run("ROLLBACK")
          // The partition was dropped by another connection.
          guard !error.isUnknownTable else { continue }
          guard error.isLockTimeout || error.isDeadlock else {
            problem = problem ?? error
            continue
          }
          kept.append(name)
          failures += 1
          // Lets the transaction that holds the lock end before the next table.
          usleep(pause)
        }
      }
      left = kept
    }
    return (dropped, problem)
  }
}
