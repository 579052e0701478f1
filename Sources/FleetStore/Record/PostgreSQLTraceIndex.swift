/// Creates the index of traces in PostgreSQL while other recorders continue. First it is created on the
/// parent table alone, which is quick. Then it is created on each partition without a lock that blocks
/// writers.
///
/// Each step is permanent, so that the next start continues after an interruption. `PostgreSQLSchema.lock` is
/// not held meanwhile. Creating a partition's index waits for all older transactions, and one of these could
/// itself wait for that lock.
package enum PostgreSQLTraceIndex {
  /// The advisory lock of the recorder that creates the index; other recorders skip it.
  package static let lock = PostgreSQLSchema.lock + 1

  /// The lock timeout in ms. It is longer than commits of recorders, which take less than a second, and
  /// shorter than an export, which can take hours.
  static let lockTimeout = 10_000

  /// The maximum number of attempts. An attempt fails if a recorder creates a partition simultaneously, which
  /// happens once a day.
  package static let attempts = 50

  private static let index = "'odograph.\(TraceIndex.name)'::regclass"

  /// The SQL for the index on the parent table alone; new partitions inherit it.
  static let onParent = """
    CREATE INDEX IF NOT EXISTS \(TraceIndex.name) ON ONLY odograph.messages (\(TraceIndex.columns))
      WHERE \(TraceIndex.condition)
    """

  /// The SQL for the partitions without the index, and for an invalid index that an interrupted creation has
  /// left.
  package static let missing = """
    SELECT part.relname, left_over.relname FROM pg_inherits
        JOIN pg_class part ON part.oid = inhrelid
        LEFT JOIN pg_class left_over
          ON left_over.relnamespace = part.relnamespace AND left_over.relname = part.relname || '_traces'
      WHERE inhparent = 'odograph.messages'::regclass AND NOT EXISTS (
        SELECT 1 FROM pg_index JOIN pg_inherits known ON known.inhrelid = indexrelid
          WHERE indrelid = part.oid AND known.inhparent = \(index))
      ORDER BY part.relname DESC
    """

  /// Returns the SQL that drops the invalid index of an interrupted creation. It must run outside of a
  /// transaction, so that recorders do not wait.
  static func removal(of leftOver: String) -> String { "DROP INDEX CONCURRENTLY odograph.\(leftOver)" }

  /// Returns the SQL that creates a partition's index. It must run outside of a transaction.
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
