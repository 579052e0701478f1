package import SQLite

/// The tables of a recording in SQLite. Times are milliseconds since 1970-01-01 UTC.
///
/// Every change of the schema is a new migration step. Steps that were released never change.
package enum SQLiteSchema {
  /// The SQLite application identifier "odog", by which `file(1)` and this program recognize a recording.
  package static let applicationID: Int64 = 0x6F64_6F67

  /// The migration steps; the step with index n migrates from version n to n + 1.
  package static let steps = [
    messages, identityWithTime, SQLitePositionIndex.step, SQLitePositionIndex.sources, SQLiteJournal.step,
    traces, SQLitePositionIndex.suspects,
  ]

  /// Fills new tables after a migration step, in the step's transaction.
  /// - Parameter version: the version after the step.
  static func fill(version: Int, _ database: borrowing Database) throws(SQLiteError) {
    if version == JournalTable.version { try SQLiteJournal.fill(database) }
  }

  static func isRecording(_ database: borrowing Database) throws(SQLiteError) -> Bool {
    try database.integer("PRAGMA application_id") == applicationID
  }

  /// Returns the schema version of a recording. It is `user_version`. Older files were written with GRDB;
  /// their version is the number at the start of the last GRDB migration's name ("1 messages", "2 identity
  /// with time").
  package static func version(_ database: borrowing Database) throws(SQLiteError) -> Int {
    let version = try database.userVersion()
    guard version == 0,
      try database.integer("SELECT 1 FROM sqlite_master WHERE name = 'grdb_migrations'") != nil
    else { return version }
    return Int(try database.integer("SELECT max(CAST(identifier AS INTEGER)) FROM grdb_migrations") ?? 0)
  }

  private static let messages = """
    CREATE TABLE messages (
      id INTEGER PRIMARY KEY,
      received INTEGER NOT NULL,      -- by the recorder's clock
      time INTEGER,                   -- by the vehicle's clock
      topic TEXT NOT NULL,
      fleet TEXT, vehicle TEXT, kind TEXT,
      qos INTEGER NOT NULL, retain INTEGER NOT NULL,
      epoch TEXT, seq INTEGER,        -- what identifies it among the vehicle's
      hash INTEGER,                   -- of the payload, where there is no epoch
      event TEXT,                     -- what happened, or the state
      latitude REAL, longitude REAL,  -- degrees, WGS 84
      altitude REAL, accuracy REAL,   -- metres
      speed REAL,                     -- m/s
      course REAL,                    -- degrees clockwise from true north
      payload NOT NULL                -- as it came: TEXT, or BLOB where it is no text
    );
    CREATE UNIQUE INDEX messages_identity ON messages (vehicle, fleet, epoch, seq) WHERE epoch IS NOT NULL;
    CREATE UNIQUE INDEX messages_content ON messages (topic, hash) WHERE hash IS NOT NULL;
    CREATE INDEX messages_time ON messages (vehicle, fleet, time);
    -- Tracks, taken apart.
    CREATE TABLE fixes (
      fleet TEXT NOT NULL, vehicle TEXT NOT NULL,
      time INTEGER NOT NULL,
      latitude REAL NOT NULL, longitude REAL NOT NULL,
      accuracy REAL,
      epoch TEXT, seq INTEGER,        -- of the message it came with
      place INTEGER NOT NULL          -- in that message, from 0
    );
    CREATE INDEX fixes_time ON fixes (vehicle, fleet, time);
    CREATE VIEW positions AS
      SELECT fleet, vehicle, time, latitude, longitude, accuracy, speed, course, 'location' AS source
        FROM messages WHERE kind = 'location' AND latitude IS NOT NULL
      UNION ALL
      SELECT fleet, vehicle, time, latitude, longitude, accuracy, NULL, NULL, 'track' FROM fixes;
    """

  /// One index finds a vehicle's messages by time and also detects duplicates, because a duplicate has the
  /// same time. Two separate indexes would make inserting a message a fifth slower.
  private static let identityWithTime = """
    DROP INDEX messages_identity;
    DROP INDEX messages_time;
    CREATE UNIQUE INDEX messages_identity ON messages (vehicle, fleet, time, epoch, seq);
    -- Where there is no time, nothing is equal to it.
    CREATE UNIQUE INDEX messages_timeless ON messages (vehicle, fleet, epoch, seq)
      WHERE time IS NULL AND epoch IS NOT NULL;
    """

  private static let traces =
    "CREATE INDEX IF NOT EXISTS \(TraceIndex.name) ON messages (\(TraceIndex.columns)) WHERE \(TraceIndex.condition);"

  static let insertMessage =
    insertion("messages", RecordingColumns.messages + ", payload") + " ON CONFLICT DO NOTHING"

  static let insertFix = insertion("fixes", RecordingColumns.fixes)

  /// A position that does not follow the one in `latest` (`RecordingColumns.follows`), or of the same time and
  /// not more accurate, changes nothing.
  static let updateLatest =
    insertion("latest", RecordingColumns.latest) + """
       ON CONFLICT (fleet, vehicle) DO UPDATE SET time = excluded.time, received = excluded.received,
        latitude = excluded.latitude, longitude = excluded.longitude, altitude = excluded.altitude,
        accuracy = excluded.accuracy, speed = excluded.speed, course = excluded.course, source = excluded.source
      WHERE \(RecordingColumns.follows("latest", tolerance: "300000")) OR \(RecordingColumns.refines("latest"))
      """

  private static func insertion(_ table: String, _ columns: String) -> String {
    let marks = columns.split(separator: ",").map { _ in "?" }.joined(separator: ", ")
    return "INSERT INTO \(table) (\(columns)) VALUES (\(marks))"
  }
}
