internal import Glibc
internal import Spatial

/// Deletes old data from PostgreSQL without blocking recorders or queries.
///
/// Dropping a partition needs an exclusive lock on its table. While a connection waits for that lock, all
/// other connections that use the table wait, too. Therefore only one recorder drops partitions, with short
/// lock timeouts. A partition that is in use is retried an hour later.
package enum PostgreSQLExpiry {
  /// The advisory lock of the recorder that deletes old data; other recorders skip the deletion.
  package static let lock = PostgreSQLSchema.lock + 2

  /// The timeout for the exclusive lock. It is short, because other connections wait while a query blocks the
  /// lock.
  private static let lockTimeout = "200ms"

  /// The maximum number of attempts per partition.
  private static let rounds = 3
  /// The maximum number of failures of all partitions together.
  private static let mostFailures = 6

  /// The pause in µs after a failed attempt, during which waiting connections proceed.
  private static let pause: UInt32 = 300_000

  /// Drops the partitions of days before a given one.
  ///
  /// - Parameters:
  ///   - day: the first day to retain.
  ///   - run: runs commands and returns the rows of the last one.
  /// - Returns: the number of dropped partitions. If a partition can never be dropped, for example because a
  ///   view depends on it, also the server's error.
  package static func dropPartitions(
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
          // Another connection has dropped the partition.
          guard !error.isUnknownTable else { continue }
          guard error.isLockTimeout || error.isDeadlock else {
            problem = problem ?? error
            continue
          }
          kept.append(name)
          failures += 1
          // The pause lets the transaction that holds the lock finish before the next table.
          usleep(pause)
        }
      }
      left = kept
    }
    return (dropped, problem)
  }
}
