internal import MQTT
internal import Spatial

/// A recording in PostgreSQL, read through a cursor: the server keeps what this program has not asked for yet.
final class PostgreSQLRecording: Recording {
  let name: String
  private let address: String
  private var connection: PostgreSQLConnection?

  /// Rows that are fetched at once.
  private static let portion = 2000

  init(address: String) {
    self.address = address
    name = PostgreSQLStore.withoutSecrets(address)
  }

  func open() throws(FleetStoreError) {
    do throws(PostgreSQLError) {
      connection = try PostgreSQLConnection(address)
      let exists = try connection?.run("SELECT to_regclass('odograph.schema_version') IS NOT NULL").values
        .first?.first
      guard exists == "t" else {
        throw PostgreSQLError(
          state: "odograph",
          message: "there is no recording; odograph record makes one, in the schema odograph")
      }
      let version = try connection?.run("SELECT version FROM odograph.schema_version").values.first?.first
      guard let version = version?.flatMap(Int.init), version <= PostgreSQLSchema.version else {
        throw PostgreSQLError(state: "odograph", message: "a newer odograph made it; use that or a newer one")
      }
    } catch {
      connection = nil
      throw failure(error)
    }
  }

  func countPositions(_ selection: RecordingSelection) throws(FleetStoreError) -> Int {
    let (condition, values) = Self.condition(selection, time: "time")
    return try query(
      """
      SELECT (SELECT count(*) FROM odograph.messages WHERE \(Self.isPosition) AND \(condition))
        + (SELECT count(*) FROM odograph.fixes WHERE \(condition))
      """, values
    ).first?.first?.flatMap(Int.init) ?? 0
  }

  func readPositions(
    _ selection: RecordingSelection, _ body: (RecordedPosition) throws(FleetError) -> Bool
  ) throws(RecordingError) {
    let (condition, values) = Self.condition(selection, time: "time")
    try read(
      """
      SELECT fleet, vehicle, \(Self.milliseconds("time")), latitude, longitude, altitude, accuracy, speed, course, 0
        FROM (SELECT * FROM odograph.messages WHERE \(Self.isPosition) AND \(condition)) AS locations
      UNION ALL
      SELECT fleet, vehicle, \(Self.milliseconds("time")), latitude, longitude, NULL, accuracy, NULL, NULL, 1
        FROM odograph.fixes WHERE \(condition)
      ORDER BY 2, 1, 3
      """, values
    ) { row throws(FleetError) in
      guard let fleet = row[0], let vehicle = row[1], let time = row[2].flatMap(Int64.init),
        let latitude = row[3].flatMap(Double.init), let longitude = row[4].flatMap(Double.init)
      else { return true }
      let position = RecordedPosition(
        vehicle: VehicleKey(fleet: fleet, vehicle: vehicle), time: UTCTime(milliseconds: time),
        coordinate: Coordinate(latitude: latitude, longitude: longitude),
        altitude: row[5].flatMap(Double.init), accuracy: row[6].flatMap(Double.init),
        speed: row[7].flatMap(Double.init), course: row[8].flatMap(Double.init),
        source: row[9] == "0" ? .location : .track)
      return try selection.contains(position.coordinate) ? body(position) : true
    }
  }

  func extent(_ selection: RecordingSelection) throws(FleetStoreError) -> RecordingExtent {
    let (condition, values) = Self.condition(selection, time: Self.moment)
    let row =
      try query(
        """
        SELECT count(*), \(Self.milliseconds("min(received)")), \(Self.milliseconds("max(received)"))
          FROM odograph.messages WHERE \(condition)
        """, values
      ).first ?? []
    var extent = RecordingExtent()
    let numbers = row.map { $0.flatMap(Int64.init) }
    guard numbers.count == 3, let count = numbers[0], let first = numbers[1], let last = numbers[2] else {
      return extent
    }
    extent.count = Int(count)
    extent.received = UTCTime(milliseconds: first)...UTCTime(milliseconds: last)
    return extent
  }

  /// Within one moment of the recorder, messages come in the order of their numbers, and those without in that of their
  /// times: the database keeps no other.
  func readMessages(
    _ selection: RecordingSelection, _ body: (StoredMessage) throws(FleetError) -> Bool
  ) throws(RecordingError) {
    let (condition, values) = Self.condition(selection, time: Self.moment)
    try read(
      """
      SELECT \(Self.milliseconds("received")), topic, fleet, vehicle, kind, qos, retain, latitude, longitude,
          payload, encode(payload_binary, 'hex')
        FROM odograph.messages WHERE \(condition)
        ORDER BY received, vehicle, fleet, epoch, seq, time, topic
      """, values
    ) { row throws(FleetError) in
      guard let received = row[0].flatMap(Int64.init), let topic = row[1] else { return true }
      var message = StoredMessage(
        received: UTCTime(milliseconds: received), topic: topic, kind: row[4],
        qos: row[5].flatMap(UInt8.init).flatMap(QoS.init(rawValue:)) ?? .atLeastOnce, retain: row[6] == "t",
        payload: row[9].map { Array($0.utf8) } ?? Self.bytes(hexadecimal: row[10] ?? ""))
      if let fleet = row[2], let vehicle = row[3] {
        message.vehicle = VehicleKey(fleet: fleet, vehicle: vehicle)
      }
      if let latitude = row[7].flatMap(Double.init), let longitude = row[8].flatMap(Double.init) {
        message.coordinate = Coordinate(latitude: latitude, longitude: longitude)
      }
      return try selection.contains(message.coordinate) ? body(message) : true
    }
  }

  private static let isPosition = """
    kind = 'location' AND latitude IS NOT NULL AND vehicle IS NOT NULL AND time IS NOT NULL
    """
  private static let moment = "coalesce(time, received)"

  private static func milliseconds(_ time: String) -> String {
    "floor(extract(epoch FROM \(time)) * 1000)::bigint"
  }

  /// The selection's condition with PostgreSQL's numbered parameters. A condition that stands twice in a command
  /// has its parameters once.
  private static func condition(_ selection: RecordingSelection, time: String) -> (String, [String]) {
    let condition = selection.condition(time: time)
    var sql = ""
    var number = 0
    for character in condition.sql {
      guard character == "?" else {
        sql.append(character)
        continue
      }
      if case .time = condition.values[number] {
        sql += "$\(number + 1)::timestamptz"
      } else {
        sql += "$\(number + 1)"
      }
      number += 1
    }
    let values = condition.values.map { value in
      switch value {
      case .text(let text): text
      case .time(let time): time.microsecondText
      }
    }
    return (sql, values)
  }

  private static func bytes(hexadecimal text: String) -> [UInt8] {
    var bytes: [UInt8] = []
    var high: UInt8?
    for character in text.utf8 {
      let digit = character <= 0x39 ? character &- 0x30 : character &- 0x57
      if let first = high {
        bytes.append(first << 4 | digit & 15)
        high = nil
      } else {
        high = digit & 15
      }
    }
    return bytes
  }

  // MARK: Rows

  private func query(_ sql: String, _ values: [String]) throws(FleetStoreError) -> [[String?]] {
    if connection == nil { try open() }
    do throws(PostgreSQLError) { return try connection?.run(sql, values).values ?? [] } catch {
      throw failure(error)
    }
  }

  private func read(
    _ sql: String, _ values: [String], _ body: ([String?]) throws(FleetError) -> Bool
  ) throws(RecordingError) {
    do throws(FleetStoreError) {
      if connection == nil { try open() }
      _ = try query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", [])
      _ = try query("DECLARE recording NO SCROLL CURSOR FOR " + sql, values)
    } catch { throw .recording(error) }
    var isOver = false
    while !isOver {
      let rows: [[String?]]
      do throws(FleetStoreError) { rows = try query("FETCH \(Self.portion) FROM recording", []) } catch {
        throw .recording(error)
      }
      isOver = rows.count < Self.portion
      for row in rows {
        do throws(FleetError) {
          guard try body(row) else {
            isOver = true
            break
          }
        } catch { throw .consumer(error) }
      }
    }
    do throws(FleetStoreError) { _ = try query("ROLLBACK", []) } catch { throw .recording(error) }
  }

  private func failure(_ error: PostgreSQLError) -> FleetStoreError {
    FleetStoreError(operation: "read", object: name, cause: error.message)
  }
}

extension UTCTime {
  /// As PostgreSQL reads it. Its times are microseconds; recorded ones are whole milliseconds, so that rounding the limit
  /// up changes nothing.
  fileprivate var microsecondText: String {
    UTCTime(milliseconds: ceiledMilliseconds).rfc3339
  }
}
