internal import Glibc
internal import Spatial

/// Deletes from PostgreSQL what is too old, without that recorders or questions wait for it.
///
/// To drop a partition its table has to be locked against everybody: while that is waited for, all others wait, too. So one
/// recorder does it, it waits for moments, and what a question keeps stays until the next hour.
enum PostgreSQLExpiry {
  /// Held by the one who deletes; others leave it to that one.
  static let lock = PostgreSQLSchema.lock + 2

  /// For which all others wait where a question is in the way.
  private static let patience = "200ms"

  /// In a look: of each partition, and of all together where they do not succeed.
  private static let rounds = 3
  private static let mostFailures = 6

  /// Microseconds between two that do not succeed, in which others get on.
  private static let pause: UInt32 = 300_000

  /// - Parameter run: runs commands, of which the last one's rows are returned.
  /// - Returns: how many are gone, and why one stays that no later look will drop either, as one that a view reads from.
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
            "BEGIN; SET LOCAL lock_timeout = '\(patience)'; DROP TABLE odograph.\(name); COMMIT")
          dropped += 1
        } catch {
          guard !error.state.isEmpty else { throw error }
          _ = try run("ROLLBACK")
          // What another has dropped is gone.
          guard !error.isUnknownTable else { continue }
          guard error.isLockTimeout || error.isDeadlock else {
            problem = problem ?? error
            continue
          }
          kept.append(name)
          failures += 1
          usleep(pause)
        }
      }
      left = kept
    }
    return (dropped, problem)
  }
}
