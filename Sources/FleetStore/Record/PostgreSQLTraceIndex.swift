/// The creation of the index of traces in PostgreSQL while others record: first on the parent table alone,
/// which is quick, and then on each partition without a lock that blocks writers.
///
/// Each step is permanent; the next start continues after an interruption. `PostgreSQLSchema.lock` is not
/// held meanwhile: a partition's index is built after all older transactions have ended, including those that
/// wait for that lock.
enum PostgreSQLTraceIndex {
  /// The lock of the recorder that creates the index; others skip it.
  static let lock = PostgreSQLSchema.lock + 1

  /// The lock timeout in ms: commits of recorders take less than a second, an export can take hours.
  static let lockTimeout = 10_000

  /// The maximum number of attempts; one fails if a recorder creates a new day's partition simultaneously,
  /// which happens once a day.
  static let attempts = 50

  private static let index = "'odograph.\(TraceIndex.name)'::regclass"

  /// The SQL for the index on the parent alone, which new partitions inherit.
  static let onParent = """
    CREATE INDEX IF NOT EXISTS \(TraceIndex.name) ON ONLY odograph.messages (\(TraceIndex.columns))
      WHERE \(TraceIndex.condition)
    """

  /// The SQL for partitions without the index, with the remains of an interrupted creation.
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

  /// Run outside of a transaction, so that recorders do not wait.
  static func removal(of leftOver: String) -> String { "DROP INDEX CONCURRENTLY odograph.\(leftOver)" }

  /// Run outside of a transaction.
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
