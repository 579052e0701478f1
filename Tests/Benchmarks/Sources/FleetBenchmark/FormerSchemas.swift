import Support

/// Schemas of recordings until 2026-11-22, before partitions by time, the table `latest` and the spatial index. The current queries are
/// compared with queries of these.
enum FormerSchemas {
  /// Version 2 in PostgreSQL. Days had only the default partition until a message of that day arrived.
  static func postgreSQL(days: [String]) -> String {
    let partitions = days.dropLast().enumerated().flatMap { index, day in
      ["messages", "fixes"].map { table in
        "CREATE TABLE odograph.\(table)_\(day.filter { $0 != "-" }) PARTITION OF odograph.\(table) "
          + "FOR VALUES FROM ('\(day)') TO ('\(days[index + 1])');"
      }
    }
    let source = #filePath
    let tests = source.firstRange(of: "/Benchmarks/").map { source[..<$0.lowerBound] } ?? ""
    return contents(of: "\(tests)/Fixtures/recording-2.sql") + partitions.joined(separator: "\n")
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
