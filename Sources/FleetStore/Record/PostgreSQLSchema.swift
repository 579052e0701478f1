/// The tables of a recording in PostgreSQL, in their own schema.
///
/// `messages` and `fixes` are partitioned by the vehicle's time, with a partition for each day in UTC.
/// Queries with a range of `time` only read these days, and an old day is deleted by dropping its partitions.
/// Rows without a time, or with a time far from the recorder's, are in the default partition. The partition
/// depends on the message alone: a duplicate is in the same partition, where the unique index detects it.
enum PostgreSQLSchema {
  static let version = RecordingColumns.suspectVersion

  /// The advisory lock for changes of the schema: an arbitrary number, equal in all versions.
  static let lock = 7_236_472_018

  static let messageColumns = "\(RecordingColumns.messages), payload, payload_binary"

  static let fixColumns = RecordingColumns.fixes

  static let partitionedTables = ["messages", "fixes"]

  static let creation = """
    CREATE TABLE odograph.schema_version (version integer NOT NULL, hypertables boolean NOT NULL);
    INSERT INTO odograph.schema_version VALUES (\(version), false);
    \(tables)
    \(PostgreSQLJournal.creation)
    \(PostgreSQLViews.creation)
    """

  /// The tables and their indexes.
  static let tables = """
    CREATE TABLE odograph.messages (
      received timestamptz NOT NULL,
      time timestamptz,
      topic text NOT NULL,
      fleet text, vehicle text, kind text,
      qos smallint NOT NULL, retain boolean NOT NULL,
      epoch text, seq bigint,
      hash bigint,
      event text,
      latitude double precision, longitude double precision,
      altitude double precision, accuracy double precision,
      speed double precision,
      course double precision,
      payload text, payload_binary bytea
    ) PARTITION BY RANGE (time);
    CREATE TABLE odograph.messages_default PARTITION OF odograph.messages DEFAULT;
    CREATE UNIQUE INDEX messages_identity ON odograph.messages (vehicle, fleet, time, epoch, seq);
    CREATE UNIQUE INDEX messages_content ON odograph.messages (topic, hash, time) WHERE hash IS NOT NULL;
    CREATE INDEX \(TraceIndex.name) ON odograph.messages (\(TraceIndex.columns)) WHERE \(TraceIndex.condition);
    \(timelessIdentity)
    \(span(of: "messages"))
    CREATE TABLE odograph.fixes (
      received timestamptz NOT NULL,
      fleet text NOT NULL, vehicle text NOT NULL,
      time timestamptz NOT NULL,
      latitude double precision NOT NULL, longitude double precision NOT NULL,
      altitude double precision, accuracy double precision,
      speed double precision,
      epoch text, seq bigint,
      place integer NOT NULL
    ) PARTITION BY RANGE (time);
    CREATE TABLE odograph.fixes_default PARTITION OF odograph.fixes DEFAULT;
    CREATE INDEX fixes_time ON odograph.fixes (vehicle, fleet, time);
    \(span(of: "fixes"))
    CREATE TABLE odograph.latest (
      fleet text NOT NULL, vehicle text NOT NULL,
      time timestamptz NOT NULL,
      received timestamptz NOT NULL,
      latitude double precision NOT NULL, longitude double precision NOT NULL,
      altitude double precision, accuracy double precision,
      speed double precision,
      course double precision,
      source text NOT NULL,
      PRIMARY KEY (fleet, vehicle)
    ) WITH (fillfactor = 50);
    COMMENT ON COLUMN odograph.messages.received IS 'time of reception by the recorder''s clock';
    COMMENT ON COLUMN odograph.messages.time IS 'time of the message by the vehicle''s clock; NULL if it has none';
    COMMENT ON COLUMN odograph.messages.hash IS 'hash of the payload, which detects duplicates of messages without epoch and seq';
    COMMENT ON COLUMN odograph.messages.payload_binary IS 'the payload, if it is not text; then payload is NULL';
    COMMENT ON TABLE odograph.latest IS 'the newest position of each vehicle, by the vehicle''s clock';
    """

  /// The unique indexes of rows without a time. In an index that includes the time, nulls never equal each
  /// other. Rows without a time are always in the default partition; an index on it alone does not need the
  /// partition key.
  private static let timelessIdentity = """
    CREATE UNIQUE INDEX messages_timeless ON odograph.messages_default (vehicle, fleet, epoch, seq)
      WHERE time IS NULL AND epoch IS NOT NULL;
    CREATE UNIQUE INDEX messages_timeless_content ON odograph.messages_default (topic, hash)
      WHERE time IS NULL AND hash IS NOT NULL;
    """

  /// Returns a BRIN index of time ranges. It needs some bytes for 32 pages, and almost no work, because rows
  /// are inserted in order of time.
  private static func span(of table: String) -> String {
    """
    CREATE INDEX \(table)_span ON odograph.\(table) USING brin (time)
      WITH (pages_per_range = 32, autosummarize = on);
    """
  }

  /// A temporary copy of `messages` without indexes, for batches that can contain duplicates.
  static let staging = """
    CREATE TEMPORARY TABLE IF NOT EXISTS staged_messages (LIKE odograph.messages) ON COMMIT DELETE ROWS
    """

  static let fromStaging = """
    WITH added AS (
      INSERT INTO odograph.messages (\(messageColumns)) SELECT \(messageColumns) FROM staged_messages
        ON CONFLICT DO NOTHING RETURNING topic, epoch, seq, hash, kind)
    SELECT count(*), NULL, NULL, NULL FROM added
    UNION ALL SELECT NULL, topic, coalesce(epoch, ''), coalesce(seq, hash)::text FROM added WHERE kind = 'track'
    """

  /// The name of the prepared statement in `prepareLatest`.
  static let updateLatest = "odograph_latest"

  /// The SQL that updates `latest` from arrays, one for each column. A position that does not follow the known
  /// one (`RecordingColumns.follows`), or of the same time and not more accurate, changes nothing. The rows are sorted: two recorders then lock rows in the
  /// same order, without a deadlock.
  static let prepareLatest = """
    PREPARE \(updateLatest) AS INSERT INTO odograph.latest AS known (\(RecordingColumns.latest))
      SELECT * FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::timestamptz[], $5::float8[], $6::float8[],
        $7::float8[], $8::float8[], $9::float8[], $10::float8[], $11::text[]) ORDER BY 1, 2
      ON CONFLICT (fleet, vehicle) DO UPDATE SET time = excluded.time, received = excluded.received,
        latitude = excluded.latitude, longitude = excluded.longitude, altitude = excluded.altitude,
        accuracy = excluded.accuracy, speed = excluded.speed, course = excluded.course, source = excluded.source
      WHERE \(RecordingColumns.follows("known", tolerance: "interval '5 minutes'")) OR \(RecordingColumns.refines("known"))
    """

  // MARK: Partitions

  /// Returns the name of a day's partition, without the schema.
  static func partitionName(of table: String, day: Day) -> String {
    "\(table)_\(day.text.filter { $0 != "-" })"
  }

  /// Returns the SQL that creates a day's partition and moves its rows from the default partition.
  ///
  /// The default partition is locked first. Otherwise two connections could both read its rows, and then wait
  /// for each other's lock.
  static func partition(of table: String, day: Day) -> String {
    let name = "odograph." + partitionName(of: table, day: day)
    let (from, to) = ("'\(day.text) 00:00+00'", "'\(day.next.text) 00:00+00'")
    return """
      LOCK TABLE odograph.\(table)_default IN ACCESS EXCLUSIVE MODE;
      CREATE TABLE \(name) (LIKE odograph.\(table) INCLUDING DEFAULTS);
      WITH moved AS (DELETE FROM odograph.\(table)_default WHERE time >= \(from) AND time < \(to) RETURNING *)
        INSERT INTO \(name) SELECT * FROM moved;
      ALTER TABLE odograph.\(table) ATTACH PARTITION \(name) FOR VALUES FROM (\(from)) TO (\(to));
      """
  }

  /// Returns the SQL for the names of a table's partitions, without the schema.
  static func partitions(of table: String) -> String {
    """
    SELECT relname FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
      WHERE inhparent = 'odograph.\(table)'::regclass
    """
  }

  /// Returns the SQL for the names of the partitions of days before a given one.
  static func expired(before day: Day) -> String {
    """
    SELECT child.relname FROM pg_inherits
      JOIN pg_class child ON child.oid = inhrelid JOIN pg_class parent ON parent.oid = inhparent
      WHERE parent.oid IN ('odograph.messages'::regclass, 'odograph.fixes'::regclass)
        AND child.relname ~ ('^' || parent.relname || '_[0-9]{8}$')
        AND right(child.relname, 8) < '\(day.text.filter { $0 != "-" })'
      ORDER BY right(child.relname, 8)
    """
  }

  /// Returns the SQL that deletes old rows that are in no daily partition. A row's age is by the vehicle's
  /// clock if credible, otherwise by the recorder's.
  /// - Parameter days: how many days before `day` a vehicle's time is still credible.
  static func expiry(before day: Day, believed days: Int) -> [String] {
    let limit = "'\(day.text) 00:00+00'::timestamptz"
    let old = "received < \(limit) OR (time < \(limit) AND time > \(limit) - interval '\(days) days')"
    return ["messages_default", "fixes_default", "latest"].map { "DELETE FROM odograph.\($0) WHERE \(old)" }
  }
}
