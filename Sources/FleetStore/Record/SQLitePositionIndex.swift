internal import Fleet
internal import SQLite
internal import Spatial
internal import Telemetry

/// The index of positions by area and time in SQLite: an R*Tree of cells that were visited, and a table of
/// visits.
///
/// A cell measures a fiftieth of a degree. A visit is the presence of a vehicle in a cell within a ten-minute
/// interval, so that a drive creates one visit for tens of positions. The positions of a visit are found by
/// the index on vehicle and time.
///
/// The R*Tree contains neither times nor vehicles: inserting an R*Tree entry takes about 20 µs of processor
/// time, more than inserting a message, and inserting a visit takes about 5 µs.
enum SQLitePositionIndex {
  /// The length of a visit's time interval in ms: ten minutes.
  static let slot: Int64 = 600_000
  /// The number of cells per degree.
  static let cells = 50.0
  /// The difference in cell number between a cell and its northern neighbour. It exceeds the number of cells
  /// around the earth, so that numbers are unique.
  static let stride: Int64 = 20_000

  struct Visit: Hashable {
    /// The number of the cell: its row, counted from the south pole, times `stride`, plus its column, counted
    /// from the antimeridian.
    var cell: Int64
    /// The number of the ten-minute interval since 1970.
    var slot: Int64

    /// This must be the same arithmetic as in the views, which search a position in the cell under which it
    /// was stored.
    init(time: UTCTime, latitude: Double, longitude: Double) {
      cell = Int64((latitude + 90) * cells) * SQLitePositionIndex.stride + Int64((longitude + 180) * cells)
      slot = time.milliseconds / SQLitePositionIndex.slot
    }

    /// Passes the visit of each position of a message to `body`.
    static func forEach(
      of message: RecordedMessage, _ body: (Visit) throws(SQLiteError) -> Void
    ) throws(SQLiteError) {
      for fix in message.fixes {
        try body(
          Visit(time: fix.time, latitude: fix.coordinate.latitude, longitude: fix.coordinate.longitude))
      }
      if message.isLocation, let time = message.fields.time, let latitude = message.fields.latitude,
        let longitude = message.fields.longitude
      {
        try body(Visit(time: time, latitude: latitude, longitude: longitude))
      }
    }
  }

  static func areAvailable(_ database: borrowing Database) throws(SQLiteError) -> Bool {
    try database.integer("SELECT 1 FROM pragma_module_list WHERE name = 'rtree'") == 1
  }

  static let isVisited = "SELECT 1 FROM visits WHERE cell = ? LIMIT 1"

  static let insertVisit = "INSERT OR IGNORE INTO visits (cell, slot, fleet, vehicle) VALUES (?, ?, ?, ?)"

  static let insertPlace =
    "INSERT OR IGNORE INTO places (id, south, north, west, east) VALUES (?, ?, ?, ?, ?)"

  private static let cell = """
    CAST((latitude + 90) * \(cells) AS INTEGER) * \(stride) + CAST((longitude + 180) * \(cells) AS INTEGER)
    """

  /// The SQL of the migration to version 3: adds `latest`, visits, and more columns of tracks.
  static let step = """
    ALTER TABLE fixes ADD COLUMN received INTEGER; -- by the recorder's clock
    ALTER TABLE fixes ADD COLUMN altitude REAL;    -- metres
    ALTER TABLE fixes ADD COLUMN speed REAL;       -- m/s
    DROP VIEW positions;
    \(positions(source: "'location'"))
    -- The newest position of each vehicle, by its own clock.
    CREATE TABLE latest (
      fleet TEXT NOT NULL, vehicle TEXT NOT NULL,
      time INTEGER NOT NULL, received INTEGER NOT NULL,
      latitude REAL NOT NULL, longitude REAL NOT NULL,
      altitude REAL, accuracy REAL, speed REAL, course REAL,
      source TEXT NOT NULL,
      PRIMARY KEY (fleet, vehicle)
    ) WITHOUT ROWID;
    INSERT INTO latest
      SELECT fleet, vehicle, max(time), time, latitude, longitude, altitude, accuracy, speed, course, source
        FROM positions
        WHERE fleet IS NOT NULL AND vehicle IS NOT NULL
          AND time <= (SELECT max(received) FROM messages) + \(LatestPositions.daysAhead) * 86400000
        GROUP BY vehicle, fleet;
    -- The cells of 0.02 degrees in which vehicles were: south ... east in degrees.
    CREATE VIRTUAL TABLE places USING rtree(id, south, north, west, east);
    -- Which vehicle was in which of them in which ten minutes, counted from 1970.
    CREATE TABLE visits (
      cell INTEGER NOT NULL, slot INTEGER NOT NULL, fleet TEXT NOT NULL, vehicle TEXT NOT NULL,
      PRIMARY KEY (cell, slot, vehicle, fleet)
    ) WITHOUT ROWID;
    INSERT INTO visits (cell, slot, vehicle, fleet)
      SELECT DISTINCT \(cell), time / \(slot), vehicle, fleet
        FROM positions WHERE fleet IS NOT NULL AND vehicle IS NOT NULL AND time IS NOT NULL
        ORDER BY 1, 2, 3, 4;
    INSERT INTO places
      SELECT cell, cell / \(stride) / \(cells) - 90, (cell / \(stride) + 1) / \(cells) - 90,
          cell % \(stride) / \(cells) - 180, (cell % \(stride) + 1) / \(cells) - 180
        FROM (SELECT DISTINCT cell FROM visits);
    \(positionsByPlace(source: "'location'"))
    """

  /// The SQL of the migration to version 4: positions of radio beacons are distinguished from fixes.
  static let sources = """
    DROP VIEW positions;
    DROP VIEW positions_by_place;
    \(positions(source: "CASE WHEN event = 'coarse' THEN 'coarse' ELSE 'location' END"))
    \(positionsByPlace(source: "CASE WHEN event = 'coarse' THEN 'coarse' ELSE 'location' END"))
    """

  /// The SQL of the migration to version 7: suspect positions are distinguished from fixes.
  static let suspects = """
    DROP VIEW positions;
    DROP VIEW positions_by_place;
    \(positions(source: RecordingColumns.locationSource))
    \(positionsByPlace(source: RecordingColumns.locationSource))
    \(RecordingColumns.markSuspects(""))
    """

  private static func positions(source: String) -> String {
    """
    CREATE VIEW positions AS
      SELECT fleet, vehicle, time, latitude, longitude, accuracy, speed, course, \(source) AS source, altitude
        FROM messages WHERE kind = 'location' AND latitude IS NOT NULL
      UNION ALL
      SELECT fleet, vehicle, time, latitude, longitude, accuracy, speed, NULL, 'track', altitude FROM fixes;
    """
  }

  private static func positionsByPlace(source: String) -> String {
    """
    -- To be asked with bounds for south, north, west, east, since and until; then for the position itself.
    CREATE VIEW positions_by_place AS
      SELECT positions.fleet, positions.vehicle, positions.time, latitude, longitude, accuracy, speed, course,
          \(source) AS source, altitude, south, north, west, east, slot AS since, slot AS until
        FROM places CROSS JOIN visits ON visits.cell = places.id
          CROSS JOIN messages AS positions ON \(joined) AND kind = 'location' AND latitude IS NOT NULL
      UNION ALL
      SELECT positions.fleet, positions.vehicle, positions.time, latitude, longitude, accuracy, speed, NULL,
          'track', altitude, south, north, west, east, slot, slot
        FROM places CROSS JOIN visits ON visits.cell = places.id
          CROSS JOIN fixes AS positions ON \(joined);
    """
  }

  private static let joined = """
    positions.vehicle = visits.vehicle AND positions.fleet = visits.fleet
          AND positions.time >= slot * \(slot) AND positions.time < (slot + 1) * \(slot)
          AND \(cell) = visits.cell
    """
}

extension StatementWriter {
  /// Writes the columns in the order of `SQLitePositionIndex.insertVisit`.
  mutating func columns(of visit: SQLitePositionIndex.Visit, by vehicle: VehicleKey) {
    bigint(visit.cell)
    bigint(visit.slot)
    text(vehicle.fleet)
    text(vehicle.vehicle)
  }

  /// Writes the columns in the order of `SQLitePositionIndex.insertPlace`.
  mutating func columns(ofCell cell: Int64) {
    let (row, column) = (Double(cell / SQLitePositionIndex.stride), Double(cell % SQLitePositionIndex.stride))
    bigint(cell)
    double(row / SQLitePositionIndex.cells - 90)
    double((row + 1) / SQLitePositionIndex.cells - 90)
    double(column / SQLitePositionIndex.cells - 180)
    double((column + 1) / SQLitePositionIndex.cells - 180)
  }
}
