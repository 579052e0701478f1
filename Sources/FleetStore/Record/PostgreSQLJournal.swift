internal import Spatial
internal import Telemetry

/// The tables of trips and driving events in PostgreSQL.
///
/// They have no partitions: rows change until a trip has ended, and each vehicle adds only a few rows a day.
enum PostgreSQLJournal {
  /// Creates the tables. The SQL can be repeated after an interrupted migration, when some tables exist
  /// already.
  static let creation = """
    CREATE TABLE IF NOT EXISTS odograph.trips (
      fleet text NOT NULL, vehicle text NOT NULL,
      series text NOT NULL, number bigint NOT NULL,
      revision bigint NOT NULL,
      received timestamptz NOT NULL,
      phase text NOT NULL, kind text NOT NULL,
      start_time timestamptz NOT NULL,
      start_latitude double precision, start_longitude double precision, start_accuracy double precision,
      start_odometer double precision,
      end_time timestamptz NOT NULL,
      end_latitude double precision, end_longitude double precision, end_accuracy double precision,
      end_odometer double precision,
      distance double precision NOT NULL, estimated double precision NOT NULL,
      moving double precision NOT NULL, standing double precision NOT NULL, idling double precision,
      greatest_speed double precision, mean_speed double precision,
      fuel double precision, electricity double precision,
      events jsonb,
      driver text, purpose text,
      epoch text, seq bigint,
      payload text NOT NULL,
      PRIMARY KEY (vehicle, fleet, series, number)
    ) WITH (fillfactor = 70);
    CREATE INDEX IF NOT EXISTS trips_time ON odograph.trips (vehicle, fleet, start_time);
    CREATE INDEX IF NOT EXISTS trips_start ON odograph.trips (start_time);
    CREATE TABLE IF NOT EXISTS odograph.driving_events (
      fleet text NOT NULL, vehicle text NOT NULL,
      series text NOT NULL, number bigint NOT NULL,
      received timestamptz NOT NULL,
      time timestamptz NOT NULL,
      event text NOT NULL,
      ongoing boolean NOT NULL,
      trip bigint,
      latitude double precision, longitude double precision, accuracy double precision, speed double precision,
      peak double precision, threshold double precision,
      duration double precision,
      severity text NOT NULL, confidence double precision NOT NULL,
      region text,
      epoch text, seq bigint,
      payload text NOT NULL,
      PRIMARY KEY (vehicle, fleet, series, number)
    );
    CREATE INDEX IF NOT EXISTS driving_events_time ON odograph.driving_events (vehicle, fleet, time);
    CREATE INDEX IF NOT EXISTS driving_events_begin ON odograph.driving_events (time);
    COMMENT ON TABLE odograph.trips IS 'the last message of a vehicle about each of its trips: the one with the greatest revision';
    COMMENT ON COLUMN odograph.trips.end_time IS 'end of the trip; before it has ended, the time of the last message';
    COMMENT ON COLUMN odograph.trips.distance IS 'metres';
    COMMENT ON COLUMN odograph.trips.estimated IS 'the part of the distance that was estimated, not measured, in metres';
    COMMENT ON COLUMN odograph.trips.idling IS 'seconds at rest with the ignition on; NULL if unknown';
    COMMENT ON COLUMN odograph.trips.fuel IS 'litres';
    COMMENT ON COLUMN odograph.trips.electricity IS 'kWh';
    COMMENT ON COLUMN odograph.trips.payload IS 'the original message';
    COMMENT ON TABLE odograph.driving_events IS 'driving events, such as harshBraking, and other events, such as tilt';
    COMMENT ON COLUMN odograph.driving_events.ongoing IS 'true until the vehicle has reported the end of the event';
    COMMENT ON COLUMN odograph.driving_events.trip IS 'number of the trip, in the same series';
    COMMENT ON COLUMN odograph.driving_events.threshold IS
      'limit that the peak exceeded, in the unit of the peak: m/s², m/s, radians, volts or metres';
    """

  /// Declares a cursor for the messages about trips and driving events that were recorded before the tables
  /// existed.
  static let recorded = """
    DECLARE recorded_journal NO SCROLL CURSOR FOR
      SELECT fleet, vehicle, kind, floor(extract(epoch FROM received) * 1000)::bigint, payload FROM odograph.messages
        WHERE kind IN (\(JournalRow.kinds.map { "'\($0)'" }.joined(separator: ", "))) AND payload IS NOT NULL
    """

  static let nextRecorded = "FETCH 2000 FROM recorded_journal"

  static let closeRecorded = "CLOSE recorded_journal"

  /// True if the recording has more than a million messages, so that reading them takes minutes.
  static let isLarge = """
    SELECT coalesce(sum(reltuples), 0) > 1000000 FROM pg_class
      WHERE relnamespace = 'odograph'::regnamespace AND relkind = 'r' AND relname LIKE 'messages%'
    """

  static func row(_ columns: [String?]) -> JournalRow? {
    guard let received = columns[3].flatMap(Int64.init), let payload = columns[4] else { return nil }
    return JournalRow(
      fleet: columns[0], vehicle: columns[1], kind: columns[2],
      received: UTCTime(milliseconds: received), payload: Array(payload.utf8))
  }

  /// Returns the rows for a table in COPY format; nil if no row belongs in this table.
  static func copy(of rows: [JournalRow], into table: JournalTable) -> [UInt8]? {
    var copy = CopyRows()
    for row in rows {
      switch row.entry {
      case .trip(let trip) where table.name == JournalTable.trips.name:
        copy.beginRow(columns: table.columnCount)
        copy.columns(of: trip, in: row)
      case .drivingEvent(let event) where table.name == JournalTable.drivingEvents.name:
        copy.beginRow(columns: table.columnCount)
        copy.columns(of: event, in: row)
      case .trip, .drivingEvent: continue
      }
    }
    guard copy.count > 0 else { return nil }
    copy.finish()
    return copy.bytes
  }

  /// Returns the SQL that deletes old rows, one command for each table.
  static func expiry(before day: Day, today: Day) -> [String] {
    let days = PartitionedDays()
    func moment(_ number: Int) -> String { "'\(Day(number: number).text) 00:00+00'::timestamptz" }
    return JournalTable.all.map { table in
      let conditions = table.isOld(
        limit: moment(day.number), believedFrom: moment(day.number - days.before),
        believedTo: moment(today.number + days.after + 1))
      return "DELETE FROM odograph.\(table.name) WHERE "
        + conditions.map { "(\($0))" }.joined(separator: " OR ")
    }
  }
}
