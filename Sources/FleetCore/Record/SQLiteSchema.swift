internal import GRDB

/// The tables of a recording in SQLite. Times are milliseconds since 1970-01-01 UTC.
///
/// A change of the schema is a further migration; those that were released stay as they are.
enum SQLiteSchema {
  static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("1 messages") { db in
      try db.execute(sql: Self.messages)
    }
    migrator.registerMigration("2 identity with time") { db in
      try db.execute(sql: Self.identityWithTime)
    }
    return migrator
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

  /// One index finds a vehicle's messages by time and knows each of them: a message that comes again has the time that
  /// it had. Keeping two up to date costs a fifth more for every message.
  private static let identityWithTime = """
    DROP INDEX messages_identity;
    DROP INDEX messages_time;
    CREATE UNIQUE INDEX messages_identity ON messages (vehicle, fleet, time, epoch, seq);
    -- Where there is no time, nothing is equal to it.
    CREATE UNIQUE INDEX messages_timeless ON messages (vehicle, fleet, epoch, seq)
      WHERE time IS NULL AND epoch IS NOT NULL;
    """

  static let insertMessage = """
    INSERT INTO messages (received, time, topic, fleet, vehicle, kind, qos, retain, epoch, seq, hash, event, latitude,
      longitude, altitude, accuracy, speed, course, payload)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
    """

  static let insertFix = """
    INSERT INTO fixes (fleet, vehicle, time, latitude, longitude, accuracy, epoch, seq, place)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    """
}
