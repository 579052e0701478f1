/// How a recording in PostgreSQL gets the index of traces while others record into it: in the parent table without its
/// partitions, which takes a moment, and then partition by partition without a lock that writers wait for.
///
/// Each step is done for good: what an interruption leaves is finished at the next start. While it goes on, nothing of
/// `PostgreSQLSchema.lock` is held: a partition is built once all older transactions are over, and one that waits for that
/// lock is such a transaction.
enum PostgreSQLTraceIndex {
  /// Held by who makes the index; others leave it to that one.
  static let lock = PostgreSQLSchema.lock + 1

  /// Milliseconds for which it waits for others: commits of recorders take no second, an export may take hours.
  static let patience = 10_000

  /// Each lost to a recorder that made a new day's partition at the same moment: that happens once a day.
  static let attempts = 50

  private static let index = "'odograph.\(TraceIndex.name)'::regclass"

  /// On the parent alone. New partitions have it from then on.
  static let onParent = """
    CREATE INDEX IF NOT EXISTS \(TraceIndex.name) ON ONLY odograph.messages (\(TraceIndex.columns))
      WHERE \(TraceIndex.condition)
    """

  /// Partitions that have none yet; with what an interruption has left of one.
  static let missing = """
    SELECT part.relname, left_over.relname FROM pg_inherits
        JOIN pg_class part ON part.oid = inhrelid
        LEFT JOIN pg_class left_over
          ON left_over.relnamespace = part.relnamespace AND left_over.relname = part.relname || '_traces'
      WHERE inhparent = 'odograph.messages'::regclass AND NOT EXISTS (
        SELECT 1 FROM pg_index JOIN pg_inherits known ON known.inhrelid = indexrelid
          WHERE indrelid = part.oid AND known.inhparent = \(index))
      ORDER BY part.relname DESC
    """

  /// Outside of a transaction: recorders do not wait for it.
  static func removal(of leftOver: String) -> String { "DROP INDEX CONCURRENTLY odograph.\(leftOver)" }

  /// Outside of a transaction.
  static func build(on partition: String) -> String {
    """
    CREATE INDEX CONCURRENTLY \(partition)_traces ON odograph.\(partition) (\(TraceIndex.columns))
      WHERE \(TraceIndex.condition)
    """
  }

  static func attach(_ partition: String) -> String {
    "ALTER INDEX odograph.\(TraceIndex.name) ATTACH PARTITION odograph.\(partition)_traces"
  }
}
