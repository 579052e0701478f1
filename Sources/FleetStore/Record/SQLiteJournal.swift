internal import SQLite
internal import Spatial
internal import Telemetry

/// The tables of trips and driving events in SQLite.
struct SQLiteJournal: ~Copyable {
  private var trip: StatementWriter
  private var drivingEvent: StatementWriter

  init(_ database: borrowing Database) throws(SQLiteError) {
    let tripUpsert = try database.prepare(JournalTable.trips.sqliteUpsert)
    let eventUpsert = try database.prepare(JournalTable.drivingEvents.sqliteUpsert)
    trip = StatementWriter(tripUpsert)
    drivingEvent = StatementWriter(eventUpsert)
  }

  /// Inserts or updates a row. An existing row with a higher rank is unchanged.
  mutating func insert(_ row: JournalRow) throws(SQLiteError) {
    switch row.entry {
    case .trip(let message):
      trip.columns(of: message, in: row)
      try trip.run()
    case .drivingEvent(let message):
      drivingEvent.columns(of: message, in: row)
      try drivingEvent.run()
    }
  }

  /// Fills the tables of trips and driving events from messages recorded before these tables existed.
  static func fill(_ database: borrowing Database) throws(SQLiteError) {
    var journal = try SQLiteJournal(database)
    let kinds = JournalRow.kinds.map { "'\($0)'" }.joined(separator: ", ")
    var messages = try database.prepare(
      "SELECT fleet, vehicle, kind, received, payload FROM messages WHERE kind IN (\(kinds))",
      isPersistent: false)
    while try messages.step() {
      let row = JournalRow(
        fleet: messages.text(0), vehicle: messages.text(1), kind: messages.text(2),
        received: UTCTime(milliseconds: messages.int64(3)), payload: messages.bytes(4))
      if let row { try journal.insert(row) }
    }
  }

  /// The SQL of the migration to version 5.
  static let step = """
    -- What each vehicle told last of each of its trips.
    CREATE TABLE trips (
      fleet TEXT NOT NULL, vehicle TEXT NOT NULL,
      series TEXT NOT NULL, number INTEGER NOT NULL,    -- which of the vehicle's trips
      revision INTEGER NOT NULL,      -- grows as it is told again
      received INTEGER NOT NULL,      -- by the recorder's clock
      phase TEXT NOT NULL,            -- started, underway, ended
      kind TEXT NOT NULL,             -- driven, carried, unobserved
      start_time INTEGER NOT NULL,    -- by the vehicle's clock
      start_latitude REAL, start_longitude REAL, start_accuracy REAL, start_odometer REAL,
      end_time INTEGER NOT NULL,      -- so far, before it has ended
      end_latitude REAL, end_longitude REAL, end_accuracy REAL, end_odometer REAL,
      distance REAL NOT NULL, estimated REAL NOT NULL,  -- metres, and those of them that nobody measured
      moving REAL NOT NULL, standing REAL NOT NULL, idling REAL,  -- seconds
      greatest_speed REAL, mean_speed REAL,             -- m/s
      fuel REAL,                      -- litres
      electricity REAL,               -- kWh
      events TEXT,                    -- JSON: how many driving events of each kind
      driver TEXT, purpose TEXT,
      epoch TEXT, seq INTEGER,        -- of the message
      payload TEXT NOT NULL,          -- the message as it came
      PRIMARY KEY (vehicle, fleet, series, number)
    );
    CREATE INDEX trips_time ON trips (vehicle, fleet, start_time);
    -- How vehicles were driven, and what was done to them.
    CREATE TABLE driving_events (
      fleet TEXT NOT NULL, vehicle TEXT NOT NULL,
      series TEXT NOT NULL, number INTEGER NOT NULL,    -- which of the vehicle's events
      received INTEGER NOT NULL,      -- by the recorder's clock
      time INTEGER NOT NULL,          -- when it began, by the vehicle's clock
      event TEXT NOT NULL,
      ongoing INTEGER NOT NULL,       -- 1 before it was told to be over
      trip INTEGER,                   -- the trip's number in the same series
      latitude REAL, longitude REAL, accuracy REAL, speed REAL,
      peak REAL, threshold REAL,      -- the greatest, and what it had to exceed: m/s², m/s, radians, volts or metres
      duration REAL,                  -- seconds
      severity TEXT NOT NULL,         -- low, medium, high
      confidence REAL NOT NULL,       -- 0 ... 1
      region TEXT,                    -- whose limit it was
      epoch TEXT, seq INTEGER,        -- of the message
      payload TEXT NOT NULL,          -- the message as it came
      PRIMARY KEY (vehicle, fleet, series, number)
    );
    CREATE INDEX driving_events_time ON driving_events (vehicle, fleet, time);
    """
}
