/// The schemas of recordings as they were up to 2026-11-22, before partitions by time, `latest` and places: what the
/// queries of today are held against.
enum FormerSchemas {
  /// Version 2 in PostgreSQL, where days had no partitions but the default one until a message of that day came.
  static func postgreSQL(days: [String]) -> String {
    let partitions = days.dropLast().enumerated().flatMap { index, day in
      ["messages", "fixes"].map { table in
        "CREATE TABLE odograph.\(table)_\(day.filter { $0 != "-" }) PARTITION OF odograph.\(table) "
          + "FOR VALUES FROM ('\(day)') TO ('\(days[index + 1])');"
      }
    }
    return """
      CREATE SCHEMA odograph;
      CREATE TABLE odograph.schema_version (version integer NOT NULL, hypertables boolean NOT NULL);
      INSERT INTO odograph.schema_version VALUES (2, false);
      CREATE TABLE odograph.messages (
        day date NOT NULL, received timestamptz NOT NULL, time timestamptz, topic text NOT NULL,
        fleet text, vehicle text, kind text, qos smallint NOT NULL, retain boolean NOT NULL, epoch text, seq bigint,
        hash bigint, event text, latitude double precision, longitude double precision,
        altitude double precision, accuracy double precision, speed double precision, course double precision,
        payload text, payload_binary bytea) PARTITION BY RANGE (day);
      CREATE UNIQUE INDEX messages_identity ON odograph.messages (vehicle, fleet, time, epoch, seq, day);
      CREATE UNIQUE INDEX messages_timeless ON odograph.messages (vehicle, fleet, epoch, seq, day)
        WHERE time IS NULL AND epoch IS NOT NULL;
      CREATE UNIQUE INDEX messages_content ON odograph.messages (topic, hash, day) WHERE hash IS NOT NULL;
      CREATE TABLE odograph.fixes (
        day date NOT NULL, fleet text NOT NULL, vehicle text NOT NULL, time timestamptz NOT NULL,
        latitude double precision NOT NULL, longitude double precision NOT NULL, accuracy double precision,
        epoch text, seq bigint, place integer NOT NULL) PARTITION BY RANGE (day);
      CREATE INDEX fixes_time ON odograph.fixes (vehicle, fleet, time);
      CREATE VIEW odograph.positions AS
        SELECT fleet, vehicle, time, latitude, longitude, accuracy, speed, course, 'location' AS source
          FROM odograph.messages WHERE kind = 'location' AND latitude IS NOT NULL
        UNION ALL
        SELECT fleet, vehicle, time, latitude, longitude, accuracy, NULL, NULL, 'track' FROM odograph.fixes;
      CREATE TABLE odograph.messages_default PARTITION OF odograph.messages DEFAULT;
      CREATE TABLE odograph.fixes_default PARTITION OF odograph.fixes DEFAULT;
      \(partitions.joined(separator: "\n"))
      """
  }

  /// Version 2 in SQLite.
  static let sqlite = """
    PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA cache_size = -200000;
    PRAGMA application_id = 1868853095; PRAGMA user_version = 2;
    CREATE TABLE messages (
      id INTEGER PRIMARY KEY, received INTEGER NOT NULL, time INTEGER, topic TEXT NOT NULL,
      fleet TEXT, vehicle TEXT, kind TEXT, qos INTEGER NOT NULL, retain INTEGER NOT NULL,
      epoch TEXT, seq INTEGER, hash INTEGER, event TEXT, latitude REAL, longitude REAL,
      altitude REAL, accuracy REAL, speed REAL, course REAL, payload NOT NULL);
    CREATE UNIQUE INDEX messages_content ON messages (topic, hash) WHERE hash IS NOT NULL;
    CREATE UNIQUE INDEX messages_identity ON messages (vehicle, fleet, time, epoch, seq);
    CREATE UNIQUE INDEX messages_timeless ON messages (vehicle, fleet, epoch, seq)
      WHERE time IS NULL AND epoch IS NOT NULL;
    CREATE TABLE fixes (
      fleet TEXT NOT NULL, vehicle TEXT NOT NULL, time INTEGER NOT NULL, latitude REAL NOT NULL,
      longitude REAL NOT NULL, accuracy REAL, epoch TEXT, seq INTEGER, place INTEGER NOT NULL);
    CREATE INDEX fixes_time ON fixes (vehicle, fleet, time);
    CREATE VIEW positions AS
      SELECT fleet, vehicle, time, latitude, longitude, accuracy, speed, course, 'location' AS source
        FROM messages WHERE kind = 'location' AND latitude IS NOT NULL
      UNION ALL
      SELECT fleet, vehicle, time, latitude, longitude, accuracy, NULL, NULL, 'track' FROM fixes;
    """
}
