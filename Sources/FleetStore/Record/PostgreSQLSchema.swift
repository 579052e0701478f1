/// The tables of a recording in PostgreSQL, in a schema of their own.
///
/// `messages` and `fixes` are partitioned by the day of the vehicle's time, so that old days are dropped at once. What
/// has no time, or one that is far from now, is in the default partition. The day is made of the message alone: a
/// message that comes again falls into the same partition, where the unique index sees it. With TimescaleDB in the
/// database the tables become hypertables of one-day chunks instead; with PostGIS positions get an index in space.
enum PostgreSQLSchema {
  static let version = 2

  /// Any number, the same in every odograph: who changes the schema holds it.
  static let lock = 7_236_472_018

  static let messageColumns = "day, \(RecordingColumns.messages), payload, payload_binary"

  static let fixColumns = "day, \(RecordingColumns.fixes)"

  /// - Parameter isHypertable: TimescaleDB does the partitions.
  static func creation(isHypertable: Bool) -> String {
    let partitions = isHypertable ? "" : " PARTITION BY RANGE (day)"
    let rest =
      isHypertable
      ? """
      SELECT create_hypertable('odograph.messages', 'day', chunk_time_interval => INTERVAL '1 day');
      SELECT create_hypertable('odograph.fixes', 'day', chunk_time_interval => INTERVAL '1 day');
      """
      : """
      CREATE TABLE odograph.messages_default PARTITION OF odograph.messages DEFAULT;
      CREATE TABLE odograph.fixes_default PARTITION OF odograph.fixes DEFAULT;
      """
    return """
      CREATE TABLE odograph.messages (
        day date NOT NULL,
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
      )\(partitions);
      \(identity)
      CREATE UNIQUE INDEX messages_content ON odograph.messages (topic, hash, day) WHERE hash IS NOT NULL;
      CREATE TABLE odograph.fixes (
        day date NOT NULL,
        fleet text NOT NULL, vehicle text NOT NULL,
        time timestamptz NOT NULL,
        latitude double precision NOT NULL, longitude double precision NOT NULL,
        accuracy double precision,
        epoch text, seq bigint,
        place integer NOT NULL
      )\(partitions);
      CREATE INDEX fixes_time ON odograph.fixes (vehicle, fleet, time);
      CREATE VIEW odograph.positions AS
        SELECT fleet, vehicle, time, latitude, longitude, accuracy, speed, course, 'location' AS source
          FROM odograph.messages WHERE kind = 'location' AND latitude IS NOT NULL
        UNION ALL
        SELECT fleet, vehicle, time, latitude, longitude, accuracy, NULL, NULL, 'track' FROM odograph.fixes;
      COMMENT ON COLUMN odograph.messages.received IS 'by the recorder''s clock';
      COMMENT ON COLUMN odograph.messages.time IS 'by the vehicle''s clock';
      COMMENT ON COLUMN odograph.messages.hash IS 'of the payload, where there is no epoch and seq';
      COMMENT ON COLUMN odograph.messages.payload_binary IS 'the payload where it is no text';
      \(rest)
      """
  }

  /// One index finds a vehicle's messages by time and knows each of them: a message that comes again has the time that
  /// it had. Where there is no time, nothing is equal to it.
  private static let identity = """
    CREATE UNIQUE INDEX messages_identity ON odograph.messages (vehicle, fleet, time, epoch, seq, day);
    CREATE UNIQUE INDEX messages_timeless ON odograph.messages (vehicle, fleet, epoch, seq, day)
      WHERE time IS NULL AND epoch IS NOT NULL;
    """

  /// What brings the schema of a version to the next one.
  static func upgrade(from version: Int) -> String {
    switch version {
    case 1:
      """
      DROP INDEX odograph.messages_identity;
      DROP INDEX odograph.messages_time;
      \(identity)
      UPDATE odograph.schema_version SET version = 2;
      """
    default: ""
    }
  }

  /// Where PostGIS is: a point of every position, to ask for by region, and its index.
  static let geography = """
    CREATE INDEX IF NOT EXISTS messages_point ON odograph.messages
      USING gist ((ST_SetSRID(ST_MakePoint(longitude, latitude), 4326)::geography)) WHERE latitude IS NOT NULL;
    CREATE INDEX IF NOT EXISTS fixes_point ON odograph.fixes
      USING gist ((ST_SetSRID(ST_MakePoint(longitude, latitude), 4326)::geography));
    CREATE OR REPLACE VIEW odograph.points AS
      SELECT fleet, vehicle, time, ST_SetSRID(ST_MakePoint(longitude, latitude), 4326)::geography AS point,
          accuracy, 'location' AS source
        FROM odograph.messages WHERE latitude IS NOT NULL
      UNION ALL
      SELECT fleet, vehicle, time, ST_SetSRID(ST_MakePoint(longitude, latitude), 4326)::geography, accuracy, 'track'
        FROM odograph.fixes;
    """

  /// A partition for one day, which takes along what the default partition has of it.
  static func partition(of table: String, day: Day) -> String {
    let name = "odograph.\(table)_\(day.text.filter { $0 != "-" })"
    return """
      CREATE TABLE \(name) (LIKE odograph.\(table) INCLUDING DEFAULTS);
      WITH moved AS (DELETE FROM odograph.\(table)_default WHERE day = '\(day.text)' RETURNING *)
        INSERT INTO \(name) SELECT * FROM moved;
      ALTER TABLE odograph.\(table) ATTACH PARTITION \(name) FOR VALUES FROM ('\(day.text)') TO ('\(day.next.text)');
      """
  }

  /// As `messages`, without its indexes, for batches in which something may be there already.
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
}
