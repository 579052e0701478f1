package import Fleet
internal import MQTT
internal import Spatial

/// The current row of a query. Columns count from 0.
package protocol RecordingRow {
  func integer(_ column: Int) -> Int64?
  func double(_ column: Int) -> Double?
  func text(_ column: Int) -> String?
  /// Returns a payload.
  /// - Parameter column: the first of the columns in `RecordingDialect.payload`.
  func payload(_ column: Int) -> [UInt8]
}

/// The differences between the SQL of SQLite and that of PostgreSQL.
package struct RecordingDialect: Sendable {
  /// The prefix of table names: `odograph.` in PostgreSQL, empty in SQLite.
  package var schema: String
  /// Returns the SQL that converts a column with a time to milliseconds since 1970.
  package var milliseconds: @Sendable (_ column: String) -> String
  /// The SQL of the columns that contain a message's payload.
  package var payload: String
  /// The SQL that orders messages by their reception.
  var messageOrder: String
  /// The SQL that orders positions by vehicle and time, reproducibly.
  var positionOrder: String
  /// The SQL of a time before all others.
  var earliest: String
  /// Returns the SQL of a parameter by its number, from 1.
  var parameter: @Sendable (Int, RecordingSelection.Condition.Value) -> String
}

/// A recording whose database only runs queries; this protocol's extensions contain the SQL.
package protocol RecordingTables: Recording {
  associatedtype Row: RecordingRow
  static var dialect: RecordingDialect { get }
  /// Passes the rows of a query to `body` until it returns false. Opens the recording if necessary.
  func read(
    _ sql: String, _ values: [RecordingSelection.Condition.Value],
    _ body: (Row) throws(FleetError) -> Bool
  ) throws(FleetError)
}

extension RecordingTables {
  private static var isPosition: String {
    "kind = 'location' AND latitude IS NOT NULL AND vehicle IS NOT NULL AND time IS NOT NULL"
  }

  /// The SQL of the vehicle's time, or of the time of reception for a message without a time.
  private static var moment: String { "coalesce(time, received)" }

  package func countPositions(_ selection: RecordingSelection) throws(FleetError) -> Int {
    let condition = selection.condition(time: "time", Self.dialect.parameter)
    var count = 0
    try readFirst(
      """
      SELECT (SELECT count(*) FROM \(Self.dialect.schema)messages WHERE \(Self.isPosition) AND \(condition.sql))
        + (SELECT count(*) FROM \(Self.dialect.schema)fixes WHERE \(condition.sql))
      """, condition.values
    ) { count = Int($0.integer(0) ?? 0) }
    return count
  }

  package func readPositions(
    _ selection: RecordingSelection, isByDay: Bool, _ body: (RecordedPosition) throws(FleetError) -> Bool
  ) throws(FleetError) {
    let condition = selection.condition(time: "time", Self.dialect.parameter)
    try read(positionsSQL(where: condition.sql, isByDay: isByDay), condition.values) {
      row throws(FleetError) in
      guard let position = RecordedPosition(row), selection.contains(position.coordinate) else { return true }
      return try body(position)
    }
  }

  /// Returns the query for one vehicle's positions in order of time. Its columns are time, latitude,
  /// longitude, altitude, accuracy, speed, course and source. Its parameters are vehicle, fleet, and the
  /// start and end of the time range.
  /// - Parameter time: returns the SQL of the time column, in milliseconds or in the database's own format.
  package func trackSQL(_ span: TrackSpan, time: (String) -> String) -> (
    sql: String, values: [RecordingSelection.Condition.Value]
  ) {
    let values: [RecordingSelection.Condition.Value] = [
      .text(span.vehicle.vehicle), .text(span.vehicle.fleet), .time(span.from), .time(span.to),
    ]
    let marks = values.enumerated().map { Self.dialect.parameter($0 + 1, $1) }
    let condition =
      "vehicle = \(marks[0]) AND fleet = \(marks[1]) AND time >= \(marks[2]) AND time < \(marks[3])"
    let (altitude, speed) = version >= 3 ? ("altitude", "speed") : ("NULL", "NULL")
    let sql = """
      SELECT \(time("time")), latitude, longitude, altitude, accuracy, speed, course, source FROM (
        SELECT time, latitude, longitude, altitude, accuracy, speed, course,
            \(RecordingColumns.sourceNumber) AS source
          FROM \(Self.dialect.schema)messages
          WHERE kind = 'location' AND latitude IS NOT NULL AND longitude IS NOT NULL AND \(condition)
        UNION ALL
        SELECT time, latitude, longitude, \(altitude), accuracy, \(speed), NULL, 1
          FROM \(Self.dialect.schema)fixes WHERE \(condition)) AS track
        ORDER BY track.time
      """
    return (sql, values)
  }

  package func extent(_ selection: RecordingSelection) throws(FleetError) -> RecordingExtent {
    let condition = selection.condition(time: Self.moment, Self.dialect.parameter)
    let (first, last) = (
      Self.dialect.milliseconds("min(received)"), Self.dialect.milliseconds("max(received)")
    )
    var extent = RecordingExtent()
    try readFirst(
      "SELECT count(*), \(first), \(last) FROM \(Self.dialect.schema)messages WHERE \(condition.sql)",
      condition.values
    ) { row in
      extent.count = Int(row.integer(0) ?? 0)
      if let first = row.integer(1), let last = row.integer(2) {
        extent.received = UTCTime(milliseconds: first)...UTCTime(milliseconds: last)
      }
    }
    return extent
  }

  package func sharedName(
    _ selection: RecordingSelection
  ) throws(FleetError) -> (vehicle: String, fleets: [String])? {
    let condition = selection.condition(time: Self.moment, Self.dialect.parameter)
    var found: (vehicle: String, fleets: [String])?
    try readFirst(
      """
      SELECT vehicle, min(fleet), max(fleet) FROM \(Self.dialect.schema)messages
        WHERE vehicle IS NOT NULL AND \(condition.sql)
        GROUP BY vehicle HAVING min(fleet) <> max(fleet) ORDER BY vehicle LIMIT 1
      """, condition.values
    ) { row in
      if let vehicle = row.text(0), let first = row.text(1), let last = row.text(2) {
        found = (vehicle, [first, last])
      }
    }
    return found
  }

  package func readMessages(
    _ selection: RecordingSelection, _ body: (StoredMessage) throws(FleetError) -> Bool
  ) throws(FleetError) {
    let condition = selection.condition(time: Self.moment, Self.dialect.parameter)
    try read(messagesSQL(where: condition.sql, kinds: selection.kinds), condition.values) {
      row throws(FleetError) in
      guard let message = StoredMessage(row), selection.contains(message.coordinate) else { return true }
      return try body(message)
    }
  }

  package func messagesSQL(where condition: String, kinds: [String]) -> String {
    let hint = TraceIndex.hint(kinds: kinds).map { " AND \($0)" } ?? ""
    return """
      SELECT \(Self.dialect.milliseconds("received")), topic, fleet, vehicle, kind, qos,
          CASE WHEN retain THEN 1 ELSE 0 END, latitude, longitude, \(Self.dialect.payload)
        FROM \(Self.dialect.schema)messages WHERE \(condition)\(hint) ORDER BY \(Self.dialect.messageOrder)
      """
  }

  /// Returns the query for positions. A live position precedes a track's position of the same time.
  ///
  /// SQLite reads each half of the union from an index and merges the halves without sorting. Of equal rows,
  /// it returns those of the first half first. With `isByDay`, the database must sort, partly on disk.
  package func positionsSQL(where condition: String, isByDay: Bool = false) -> String {
    let dialect = Self.dialect
    // SQL division rounds towards zero, which would put times before 1970 on the wrong day.
    let time = dialect.milliseconds("time")
    let day = isByDay ? "\(time) - (\(time) % 86400000 + 86400000) % 86400000" : "0"
    let order = isByDay ? "11, 1, 2, 3, 10" : dialect.positionOrder
    // Before version 3, positions of tracks had no altitude and no speed.
    let (altitude, speed) = version >= 3 ? ("altitude", "speed") : ("NULL", "NULL")
    return """
      SELECT fleet, vehicle, \(time), latitude, longitude, altitude, accuracy, speed, course,
          \(RecordingColumns.sourceNumber), \(day)
        FROM \(dialect.schema)messages WHERE \(Self.isPosition) AND \(condition)
      UNION ALL
      SELECT fleet, vehicle, \(time), latitude, longitude, \(altitude), accuracy, \(speed), NULL, 1, \(day)
        FROM \(dialect.schema)fixes WHERE \(condition)
      ORDER BY \(order)
      """
  }

  func readFirst(
    _ sql: String, _ values: [RecordingSelection.Condition.Value], _ body: (Row) -> Void
  ) throws(FleetError) {
    try read(sql, values) { row in
      body(row)
      return false
    }
  }
}

extension RecordedPosition {
  /// The sources by their number in `positionsSQL`, as in `TrackSample.Source`.
  private static let sources: [Int: Source] = [0: .location, 1: .track, 2: .coarse, 3: .suspect]

  /// Decodes a row of `positionsSQL`.
  fileprivate init?(_ row: some RecordingRow) {
    guard let fleet = row.text(0), let vehicle = row.text(1), let time = row.integer(2),
      let latitude = row.double(3), let longitude = row.double(4)
    else { return nil }
    self.init(
      vehicle: VehicleKey(fleet: fleet, vehicle: vehicle), time: UTCTime(milliseconds: time),
      coordinate: Coordinate(latitude: latitude, longitude: longitude), altitude: row.double(5),
      accuracy: row.double(6), speed: row.double(7), course: row.double(8),
      source: Self.sources[Int(row.integer(9) ?? 0)] ?? .location)
  }
}

extension StoredMessage {
  fileprivate init?(_ row: some RecordingRow) {
    guard let received = row.integer(0), let topic = row.text(1) else { return nil }
    self.init(
      received: UTCTime(milliseconds: received), topic: topic, kind: row.text(4),
      qos: QoS(rawValue: UInt8(clamping: row.integer(5) ?? 0)) ?? .atLeastOnce, retain: row.integer(6) == 1,
      payload: row.payload(9))
    if let fleet = row.text(2), let vehicle = row.text(3) {
      self.vehicle = VehicleKey(fleet: fleet, vehicle: vehicle)
    }
    if let latitude = row.double(7), let longitude = row.double(8) {
      coordinate = Coordinate(latitude: latitude, longitude: longitude)
    }
  }
}
