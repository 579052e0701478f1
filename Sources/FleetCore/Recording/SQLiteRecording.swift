internal import CSQLite
internal import GRDB
internal import MQTT
internal import Spatial

/// A recording in an SQLite file, also while it is written.
final class SQLiteRecording: Recording {
  let name: String
  private let path: String
  private var queue: DatabaseQueue?

  init(path: String) {
    self.path = path
    name = path
  }

  func open() throws(FleetStoreError) {
    do {
      var configuration = Configuration()
      configuration.readonly = true
      configuration.busyMode = .timeout(10)
      configuration.label = "recording"
      let queue = try DatabaseQueue(path: path, configuration: configuration)
      let application = try queue.read { try Int.fetchOne($0, sql: "PRAGMA application_id") }
      guard application == SQLiteStore.applicationID else {
        throw failure("it is no recording; name a file that odograph record has written")
      }
      let (isOld, isNew) = try queue.read { db in
        (
          try !SQLiteSchema.migrator.hasCompletedMigrations(db),
          try SQLiteSchema.migrator.hasBeenSuperseded(db)
        )
      }
      if isNew { throw failure("a newer odograph made it; use that or a newer one") }
      if isOld { throw failure("an older odograph made it; open it once with odograph record --count 1") }
      self.queue = queue
    } catch {
      throw failure(error)
    }
  }

  func countPositions(_ selection: RecordingSelection) throws(FleetStoreError) -> Int {
    let condition = selection.condition(time: "time")
    var count = 0
    try read(
      """
      SELECT (SELECT count(*) FROM messages WHERE \(Self.isPosition) AND \(condition.sql))
        + (SELECT count(*) FROM fixes WHERE \(condition.sql))
      """, condition.values + condition.values
    ) { row in
      count = Int(row.integer(0) ?? 0)
      return false
    }
    return count
  }

  func readPositions(
    _ selection: RecordingSelection, _ body: (RecordedPosition) throws(FleetError) -> Bool
  ) throws(RecordingError) {
    let condition = selection.condition(time: "time")
    try run(
      Self.positionsSQL(where: condition.sql), condition.values + condition.values
    ) { row throws(FleetError) in
      guard let fleet = row.text(0), let vehicle = row.text(1), let time = row.integer(2),
        let latitude = row.double(3), let longitude = row.double(4)
      else { return true }
      let position = RecordedPosition(
        vehicle: VehicleKey(fleet: fleet, vehicle: vehicle), time: UTCTime(milliseconds: time),
        coordinate: Coordinate(latitude: latitude, longitude: longitude), altitude: row.double(5),
        accuracy: row.double(6), speed: row.double(7), course: row.double(8),
        source: row.integer(9) == 0 ? .location : .track)
      return try selection.contains(position.coordinate) ? body(position) : true
    }
  }

  func extent(_ selection: RecordingSelection) throws(FleetStoreError) -> RecordingExtent {
    let condition = selection.condition(time: Self.moment)
    var extent = RecordingExtent()
    try read(
      "SELECT count(*), min(received), max(received) FROM messages WHERE \(condition.sql)", condition.values
    ) { row in
      extent.count = Int(row.integer(0) ?? 0)
      if let first = row.integer(1), let last = row.integer(2) {
        extent.received = UTCTime(milliseconds: first)...UTCTime(milliseconds: last)
      }
      return false
    }
    return extent
  }

  func readMessages(
    _ selection: RecordingSelection, _ body: (StoredMessage) throws(FleetError) -> Bool
  ) throws(RecordingError) {
    let condition = selection.condition(time: Self.moment)
    try run(
      """
      SELECT received, topic, fleet, vehicle, kind, qos, retain, latitude, longitude, payload
        FROM messages WHERE \(condition.sql) ORDER BY id
      """, condition.values
    ) { row throws(FleetError) in
      guard let received = row.integer(0), let topic = row.text(1) else { return true }
      var message = StoredMessage(
        received: UTCTime(milliseconds: received), topic: topic, kind: row.text(4),
        qos: QoS(rawValue: UInt8(clamping: row.integer(5) ?? 0)) ?? .atLeastOnce, retain: row.integer(6) == 1,
        payload: row.bytes(9))
      if let fleet = row.text(2), let vehicle = row.text(3) {
        message.vehicle = VehicleKey(fleet: fleet, vehicle: vehicle)
      }
      if let latitude = row.double(7), let longitude = row.double(8) {
        message.coordinate = Coordinate(latitude: latitude, longitude: longitude)
      }
      return try selection.contains(message.coordinate) ? body(message) : true
    }
  }

  /// Each half comes out of its index in order, and the two are merged: nothing is sorted.
  static func positionsSQL(where condition: String) -> String {
    """
    SELECT fleet, vehicle, time, latitude, longitude, altitude, accuracy, speed, course, 0 AS source
      FROM messages WHERE \(isPosition) AND \(condition)
    UNION ALL
    SELECT fleet, vehicle, time, latitude, longitude, NULL, accuracy, NULL, NULL, 1
      FROM fixes WHERE \(condition)
    ORDER BY vehicle, fleet, time
    """
  }

  private static let isPosition = """
    kind = 'location' AND latitude IS NOT NULL AND vehicle IS NOT NULL AND time IS NOT NULL
    """

  /// By the vehicle's clock where it says a time, and else by the recorder's.
  private static let moment = "coalesce(time, received)"

  // MARK: Rows

  private func read(
    _ sql: String, _ values: [RecordingSelection.Condition.Value], _ body: (SQLiteRow) -> Bool
  ) throws(FleetStoreError) {
    do throws(RecordingError) {
      try run(sql, values) { row throws(FleetError) in body(row) }
    } catch {
      switch error {
      case .recording(let error): throw error
      // It throws none.
      case .consumer(let error): throw failure(error.cause)
      }
    }
  }

  private func run(
    _ sql: String, _ values: [RecordingSelection.Condition.Value],
    _ body: (SQLiteRow) throws(FleetError) -> Bool
  ) throws(RecordingError) {
    do {
      if queue == nil { try open() }
      try queue?.read { db in
        let row = try SQLiteRow(db, sql, values)
        while try row.step(), try body(row) {}
      }
    } catch let error as FleetError {
      throw .consumer(error)
    } catch {
      throw .recording(failure(error))
    }
  }

  private func failure(_ cause: String) -> FleetStoreError {
    FleetStoreError(operation: "read", object: name, cause: cause)
  }

  private func failure(_ error: any Error) -> FleetStoreError {
    if let error = error as? FleetStoreError { return error }
    guard let error = error as? DatabaseError else { return failure("\(error)") }
    let text = error.message ?? "SQLite error \(error.extendedResultCode.rawValue)"
    switch error.resultCode {
    case .SQLITE_CANTOPEN: return failure(text + "; check that it is there and may be read")
    case .SQLITE_NOTADB: return failure(text + "; name a file that odograph record has written")
    default: return failure(text)
    }
  }
}

/// The row that a statement stands at. GRDB's own makes a value of every column, which costs several times as much.
@safe private struct SQLiteRow {
  private let statement: OpaquePointer

  init(_ db: Database, _ sql: String, _ values: [RecordingSelection.Condition.Value]) throws {
    unsafe statement = unsafe try db.cachedStatement(sql: sql).sqliteStatement
    unsafe sqlite3_reset(statement)
    for (place, value) in values.enumerated() {
      switch value {
      case .text(let text): unsafe odograph_bind_text(statement, Int32(place + 1), text)
      case .time(let time): unsafe sqlite3_bind_int64(statement, Int32(place + 1), time.ceiledMilliseconds)
      }
    }
  }

  func step() throws -> Bool {
    switch unsafe sqlite3_step(statement) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    case let code:
      let text = unsafe String(cString: sqlite3_errmsg(sqlite3_db_handle(statement)))
      throw DatabaseError(resultCode: ResultCode(rawValue: code), message: text)
    }
  }

  private func isNull(_ column: Int32) -> Bool {
    unsafe sqlite3_column_type(statement, column) == SQLITE_NULL
  }

  func integer(_ column: Int32) -> Int64? {
    isNull(column) ? nil : unsafe sqlite3_column_int64(statement, column)
  }

  func double(_ column: Int32) -> Double? {
    isNull(column) ? nil : unsafe sqlite3_column_double(statement, column)
  }

  func text(_ column: Int32) -> String? {
    isNull(column) ? nil : String(decoding: bytes(column), as: UTF8.self)
  }

  func bytes(_ column: Int32) -> [UInt8] {
    guard let start = unsafe sqlite3_column_blob(statement, column) else { return [] }
    let count = unsafe Int(sqlite3_column_bytes(statement, column))
    return unsafe Array(UnsafeRawBufferPointer(start: start, count: count))
  }
}

extension UTCTime {
  init(milliseconds: Int64) {
    // Within what nanoseconds can say; times beyond were not recorded by this program.
    self.init(nanoseconds: min(max(milliseconds, -9_223_372_036_854), 9_223_372_036_854) * 1_000_000)
  }

  /// Milliseconds since 1970, rounded up: of times that are kept to the millisecond, those from here on.
  var ceiledMilliseconds: Int64 {
    let floor = milliseconds
    return floor * 1_000_000 == nanoseconds ? floor : floor + 1
  }
}
