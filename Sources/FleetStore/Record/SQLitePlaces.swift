internal import Bytes
internal import Fleet
internal import SQLite
internal import Spatial
internal import Telemetry

/// Finds positions by region and time in SQLite: an R*Tree of where vehicles were.
///
/// An entry is a vehicle in a cell of a fiftieth of a degree within ten minutes, so that a drive makes one entry for
/// tens of positions: an entry for each would cost more than the row. The positions of an entry come out of the index
/// by vehicle and time. Entries are known by a hash of what they are, so that each is there once, whoever makes it.
enum SQLitePlaces {
  /// Milliseconds: slots are numbers that the R*Tree's 32-bit coordinates hold exactly.
  static let slot: Int64 = 600_000
  /// Cells in a degree.
  static let cells = 50.0

  struct Place: Hashable {
    var vehicle: VehicleKey
    /// Of ten minutes since 1970.
    var slot: Int64
    /// From the south pole.
    var row: Int64
    /// From the antimeridian.
    var column: Int64

    init(vehicle: VehicleKey, slot: Int64, row: Int64, column: Int64) {
      (self.vehicle, self.slot, self.row, self.column) = (vehicle, slot, row, column)
    }

    /// The same arithmetic as in the views: a position must fall into the cell that it was filed under.
    init(vehicle: VehicleKey, time: UTCTime, latitude: Double, longitude: Double) {
      self.init(
        vehicle: vehicle, slot: time.milliseconds / SQLitePlaces.slot,
        row: Int64((latitude + 90) * cells), column: Int64((longitude + 180) * cells))
    }

    /// Visits the place of each of a message's positions.
    static func forEach(
      of message: RecordedMessage, _ body: (Place) throws(SQLiteError) -> Void
    ) throws(SQLiteError) {
      guard let fleet = message.fleet, let vehicle = message.vehicle else { return }
      let key = VehicleKey(fleet: fleet, vehicle: vehicle)
      for fix in message.fixes {
        try body(
          Place(
            vehicle: key, time: fix.time, latitude: fix.coordinate.latitude,
            longitude: fix.coordinate.longitude))
      }
      if message.isLocation, let time = message.fields.time, let latitude = message.fields.latitude,
        let longitude = message.fields.longitude
      {
        try body(Place(vehicle: key, time: time, latitude: latitude, longitude: longitude))
      }
    }

    var identity: Int64 {
      Int64(
        bitPattern: FNV1a.hash64(
          Array("\(vehicle.fleet)\0\(vehicle.vehicle)\0\(slot)\0\(row)\0\(column)".utf8)))
    }
  }

  static func areAvailable(_ database: borrowing Database) throws(SQLiteError) -> Bool {
    try database.integer("SELECT 1 FROM pragma_module_list WHERE name = 'rtree'") == 1
  }

  static let insert = """
    INSERT OR IGNORE INTO places (id, south, north, west, east, since, until, fleet, vehicle, slot, row, col)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    """

  /// Whether there are positions and no places: after the step from the version before.
  static let isUnfilled = """
    SELECT EXISTS (SELECT 1 FROM latest) AND NOT EXISTS (SELECT 1 FROM places)
    """

  /// The places of the positions that are there.
  static let former = """
    SELECT DISTINCT fleet, vehicle, time / \(slot), \(row), \(column)
      FROM positions WHERE fleet IS NOT NULL AND vehicle IS NOT NULL AND time IS NOT NULL
    """

  private static let row = "CAST((latitude + 90) * \(cells) AS INTEGER)"
  private static let column = "CAST((longitude + 180) * \(cells) AS INTEGER)"

  /// The step to version 3: `latest`, places, and what tracks say beside positions.
  static let step = """
    ALTER TABLE fixes ADD COLUMN received INTEGER; -- by the recorder's clock
    ALTER TABLE fixes ADD COLUMN altitude REAL;    -- metres
    ALTER TABLE fixes ADD COLUMN speed REAL;       -- m/s
    DROP VIEW positions;
    CREATE VIEW positions AS
      SELECT fleet, vehicle, time, latitude, longitude, accuracy, speed, course, 'location' AS source, altitude
        FROM messages WHERE kind = 'location' AND latitude IS NOT NULL
      UNION ALL
      SELECT fleet, vehicle, time, latitude, longitude, accuracy, speed, NULL, 'track', altitude FROM fixes;
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
    -- In which cells of 0.02 degrees a vehicle was, and in which ten minutes: south ... east in degrees; since and until
    -- are both the number of the ten minutes since 1970.
    CREATE VIRTUAL TABLE places USING rtree(
      id, south, north, west, east, since, until, +fleet TEXT, +vehicle TEXT, +slot INTEGER, +row INTEGER,
      +col INTEGER);
    -- To be asked with bounds for south, north, west, east, since and until; then for the position itself.
    CREATE VIEW positions_by_place AS
      SELECT positions.fleet, positions.vehicle, positions.time, latitude, longitude, accuracy, speed, course,
          'location' AS source, altitude, south, north, west, east, since, until
        FROM places CROSS JOIN messages AS positions ON \(joined) AND kind = 'location' AND latitude IS NOT NULL
      UNION ALL
      SELECT positions.fleet, positions.vehicle, positions.time, latitude, longitude, accuracy, speed, NULL,
          'track', altitude, south, north, west, east, since, until
        FROM places CROSS JOIN fixes AS positions ON \(joined);
    """

  private static let joined = """
    positions.vehicle = places.vehicle AND positions.fleet = places.fleet
          AND positions.time >= slot * \(slot) AND positions.time < (slot + 1) * \(slot)
          AND \(row) = places.row AND \(column) = places.col
    """
}

extension StatementWriter {
  /// In the order of `SQLitePlaces.insert`.
  mutating func columns(of place: SQLitePlaces.Place) {
    let (south, west) = (
      Double(place.row) / SQLitePlaces.cells - 90, Double(place.column) / SQLitePlaces.cells - 180
    )
    bigint(place.identity)
    double(south)
    double(south + 1 / SQLitePlaces.cells)
    double(west)
    double(west + 1 / SQLitePlaces.cells)
    bigint(place.slot)
    bigint(place.slot)
    text(place.vehicle.fleet)
    text(place.vehicle.vehicle)
    bigint(place.slot)
    bigint(place.row)
    bigint(place.column)
  }
}
