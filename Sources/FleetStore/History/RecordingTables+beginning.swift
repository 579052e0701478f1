package import Fleet
internal import FleetManagement
internal import MQTT
internal import Sensors
package import Spatial
internal import Telemetry
internal import VehicleData

extension RecordedBeginning {
  /// Reads the vehicles' last messages from a recording.
  ///
  /// - Parameters:
  ///   - place: an SQLite file, or the URL of a database.
  ///   - query: the vehicles and kinds of messages.
  /// - Throws: `FleetError` if the recording does not exist, is not a recording, or has no table `latest`.
  package static func read(_ place: String, _ query: BeginningQuery) throws(FleetError) -> RecordedBeginning {
    try RecordingAddress.open(place).beginning(query, at: Moment.now.time)
  }
}

/// The limits of the search for a vehicle's last message of each kind, for which there is no index.
///
/// A status is sent about every minute, so the search finds it quickly. Some vehicles never send altitudes or
/// regions: without a limit, the search would read their whole history.
enum LookBack {
  /// The number of days before a vehicle's last position that are searched.
  static let days = 7.0
  /// The number of vehicles in one query that uses an index.
  static let portion = 500
  /// The maximum number of messages that are read for all vehicles together, which takes about a second.
  static let total = 500_000

  /// Returns the maximum number of messages that are read for each vehicle.
  static func messages(ofEachOf vehicles: Int) -> Int { min(max(total / max(vehicles, 1), 200), 50_000) }
}

/// The last message of each kind of a vehicle, as a broker would retain them. A pure value type.
struct RetainedMessages {
  struct Entry: Hashable {
    /// The time of reception by the recorder's clock.
    var received: UTCTime
    /// The time of the message by the vehicle's clock; nil if the message has none.
    var time: UTCTime?
    /// True if the message has a sequence number. A will has none, and its time is that of the connection,
    /// earlier than its arrival.
    var isNumbered = false
    /// The accuracy in m of a position that has a time and no sequence number; infinite if the message states
    /// no accuracy. Nil for all other messages.
    var accuracy: Double?
    var message: MQTTMessage

    /// Returns whether this message is later than another one. Messages with sequence numbers, and positions,
    /// are compared by the vehicle's clock, because they can arrive late. Other messages are compared by
    /// arrival. Of two positions of the same time, the more accurate one is later.
    func isLater(than other: Entry) -> Bool {
      if let accuracy, let theirs = other.accuracy, let time, let otherTime = other.time {
        if time != otherTime { return time > otherTime }
        if accuracy != theirs { return accuracy < theirs }
      }
      guard isNumbered, other.isNumbered, let time, let theirs = other.time, time != theirs else {
        return received > other.received
      }
      return time > theirs
    }
  }

  // Messages with sequence numbers are stored separately: their order does not depend on their arrival, and
  // is only defined among them.
  private var numbered: [String: Entry] = [:]
  private var others: [String: Entry] = [:]

  mutating func hear(_ word: Entry, kind: String) {
    let known = word.isNumbered ? numbered[kind] : others[kind]
    if let known, !word.isLater(than: known) { return }
    if word.isNumbered { numbered[kind] = word } else { others[kind] = word }
  }

  func has(_ kind: String) -> Bool {
    [numbered[kind], others[kind]].contains { $0?.message.payload.isEmpty == false }
  }

  /// The last messages in order of arrival. A message with an empty payload, which clears a retained message,
  /// is omitted.
  var kept: [Entry] {
    numbered.merging(others) { $1.isLater(than: $0) ? $1 : $0 }.values
      .filter { !$0.message.payload.isEmpty }
      .sorted { ($0.received, $0.message.topic) < ($1.received, $1.message.topic) }
  }
}

extension RecordingTables {
  package func beginning(_ query: BeginningQuery, at now: UTCTime) throws(FleetError) -> RecordedBeginning {
    guard version >= 4 else {
      throw .usage("begin from", name, RecordingAddress.olderVersion)
    }
    var beginning = RecordedBeginning(name: name)
    let positions = try latest(query)
    var vehicles = Set(positions.keys)
    // Vehicles named in the query are included even if they have no position.
    for fleet in query.vehicles.isEmpty ? [] : query.fleets {
      for vehicle in query.vehicles { vehicles.insert(VehicleKey(fleet: fleet, vehicle: vehicle)) }
    }
    let listed = vehicles.sorted()
    var last: [VehicleKey: RetainedMessages] = [:]
    for begin in stride(from: 0, to: listed.count, by: LookBack.portion) {
      try hearExact(listed[begin..<min(begin + LookBack.portion, listed.count)], query, &last)
    }
    let limit = LookBack.messages(ofEachOf: listed.count)
    var words: [RetainedMessages.Entry] = []
    for vehicle in listed {
      var own = last[vehicle] ?? RetainedMessages()
      try hearRecent(of: vehicle, positions[vehicle], query, limit: limit, at: now, &own)
      let kept = own.kept
      guard !kept.isEmpty else { continue }
      beginning.vehicles.append(vehicle)
      words += kept
    }
    words.sort { ($0.received, $0.message.topic) < ($1.received, $1.message.topic) }
    beginning.messages = words.map(\.message)
    beginning.newest = words.last?.received
    return beginning
  }

  /// Returns the position of each vehicle in the table `latest`, with its time of recording.
  private func latest(
    _ query: BeginningQuery
  ) throws(FleetError) -> [VehicleKey: (position: RecordedPosition, received: UTCTime)] {
    var selection = RecordingSelection()
    (selection.fleets, selection.vehicles) = (query.fleets, query.vehicles)
    let condition = selection.condition(time: "time", Self.dialect.parameter)
    let milliseconds = Self.dialect.milliseconds
    var rows: [VehicleKey: (position: RecordedPosition, received: UTCTime)] = [:]
    try read(
      """
      SELECT fleet, vehicle, \(milliseconds("time")), \(milliseconds("received")), latitude, longitude, altitude,
          accuracy, speed, course, source
        FROM \(Self.dialect.schema)latest WHERE \(condition.sql)
      """, condition.values
    ) { row throws(FleetError) in
      guard let fleet = row.text(0), let vehicle = row.text(1), let time = row.integer(2),
        let received = row.integer(3), let latitude = row.double(4), let longitude = row.double(5)
      else { return true }
      let position = RecordedPosition(
        vehicle: VehicleKey(fleet: fleet, vehicle: vehicle), time: UTCTime(milliseconds: time),
        coordinate: Coordinate(latitude: latitude, longitude: longitude), altitude: row.double(6),
        accuracy: row.double(7), speed: row.double(8), course: row.double(9),
        source: row.text(10).flatMap(RecordedPosition.Source.init(rawValue:)) ?? .location)
      rows[position.vehicle] = (position, UTCTime(milliseconds: received))
      return true
    }
    return rows
  }

  /// Reads the messages that an index finds: messages without a time, and status messages without a sequence
  /// number. The latter are wills, whose time is earlier than their arrival. One query reads many vehicles,
  /// because it must search every daily partition for wills.
  private func hearExact(
    _ vehicles: ArraySlice<VehicleKey>, _ query: BeginningQuery, _ last: inout [VehicleKey: RetainedMessages]
  ) throws(FleetError) {
    var values: [RecordingSelection.Condition.Value] = []
    func list(_ texts: some Sequence<String>) -> String {
      texts.map { text in
        values.append(.text(text))
        return Self.dialect.parameter(values.count, .text(text))
      }.joined(separator: ", ")
    }
    let messages = "\(Self.dialect.schema)messages"
    var sql = """
      SELECT \(wordColumns) FROM \(messages) WHERE time IS NULL AND vehicle IN (\(list(Set(vehicles.map(\.vehicle)))))
          AND fleet IN (\(list(Set(vehicles.map(\.fleet))))) AND kind IN (\(list(Self.kinds(of: query))))
      """
    // OwnTracks messages have no sequence numbers, and OwnTracks wills are on the location topic.
    if query.profile == .native {
      let topics = vehicles.map { $0.topic(root: query.root, MessageKind.status.rawValue) }
      sql += """
         UNION ALL SELECT * FROM (SELECT \(wordColumns) FROM \(messages) WHERE topic IN (\(list(topics)))
            AND hash IS NOT NULL AND time IS NOT NULL LIMIT \(LookBack.total)) AS wills
        """
    }
    let wanted = Set(vehicles)
    try read(sql, values) { row throws(FleetError) in
      if let (vehicle, kind, word) = Self.word(row, query), wanted.contains(vehicle) {
        last[vehicle, default: RetainedMessages()].hear(word, kind: kind)
      }
      return true
    }
  }

  /// Reads a vehicle's message with the last position, and the last messages of each kind within
  /// `LookBack.days`.
  /// - Parameter limit: the maximum number of messages that are read.
  private func hearRecent(
    of vehicle: VehicleKey, _ latest: (position: RecordedPosition, received: UTCTime)?,
    _ query: BeginningQuery, limit: Int, at now: UTCTime, _ last: inout RetainedMessages
  ) throws(FleetError) {
    let from = (latest.map { min($0.position.time, now) } ?? now).advanced(bySeconds: -LookBack.days * 86_400)
    let to = now.advanced(bySeconds: Double(LatestPositions.daysAhead) * 86_400)
    let recent = recentSQL(
      vehicle, from: from, to: to, position: latest?.position.time, kinds: query.paths, limit: limit)
    try read(recent.sql, recent.values) { row throws(FleetError) in
      if let (owner, kind, word) = Self.word(row, query), owner == vehicle { last.hear(word, kind: kind) }
      return true
    }
    let location = MessageKind.location.rawValue
    guard let latest, query.profile == .native, !last.has(location) else { return }
    // No message has the last position: it is from a track, or its message was deleted. Its message is
    // created from `latest`.
    last.hear(
      RetainedMessages.Entry(
        received: latest.received, time: latest.position.time,
        message: latest.position.message(root: query.root)), kind: location)
  }

  private static func kinds(of query: BeginningQuery) -> [String] {
    [MessageKind.location.rawValue] + query.paths
  }

  /// Decodes a row with the columns `wordColumns`; nil if its kind is not requested.
  private static func word(
    _ row: Row, _ query: BeginningQuery
  ) -> (vehicle: VehicleKey, kind: String, word: RetainedMessages.Entry)? {
    guard let topic = row.text(0), let kind = row.text(1), kinds(of: query).contains(kind),
      let vehicle = query.profile.address(of: topic, root: query.root)?.key
    else { return nil }
    var word = RetainedMessages.Entry(
      received: UTCTime(milliseconds: row.integer(2) ?? 0),
      time: row.integer(3).map { UTCTime(milliseconds: $0) }, isNumbered: row.integer(4) == 1,
      message: MQTTMessage(topic: topic, payload: row.payload(5), qos: .atLeastOnce, retain: true))
    guard kind == MessageKind.location.rawValue, !word.isNumbered, !word.message.payload.isEmpty else {
      return (vehicle, kind, word)
    }
    let fields = PayloadFields(word.message.payload)
    // Older versions recorded OwnTracks waypoints and encrypted messages as locations.
    if query.profile == .ownTracks, fields.ownTracksKind != kind { return nil }
    if word.time != nil, fields.latitude != nil { word.accuracy = fields.accuracy ?? .infinity }
    return (vehicle, kind, word)
  }

  /// The columns: topic, kind, recorder's time, vehicle's time, whether there is a sequence number, and
  /// payload.
  private var wordColumns: String {
    let milliseconds = Self.dialect.milliseconds
    return """
      topic, kind, \(milliseconds("received")) AS received_at, \(milliseconds("time")) AS said_at,
          CASE WHEN epoch IS NULL THEN 0 ELSE 1 END AS is_numbered, \(Self.dialect.payload)
      """
  }

  /// Returns the SQL for a vehicle's messages that can be the last of their kind: with and without a sequence
  /// number, the last in the time range. It also returns the message with the last position.
  private func recentSQL(
    _ vehicle: VehicleKey, from: UTCTime, to: UTCTime, position: UTCTime?, kinds: [String], limit: Int
  ) -> (sql: String, values: [RecordingSelection.Condition.Value]) {
    var values: [RecordingSelection.Condition.Value] = []
    func bind(_ value: RecordingSelection.Condition.Value) -> String {
      values.append(value)
      return Self.dialect.parameter(values.count, value)
    }
    let messages = "\(Self.dialect.schema)messages"
    let own = "vehicle = \(bind(.text(vehicle.vehicle))) AND fleet = \(bind(.text(vehicle.fleet)))"
    let span = "time >= \(bind(.time(from))) AND time < \(bind(.time(to)))"
    let names = kinds.map { bind(.text($0)) }.joined(separator: ", ")
    var sql = """
      SELECT * FROM (SELECT recent.*, row_number() OVER (PARTITION BY kind, is_numbered
          ORDER BY CASE is_numbered WHEN 1 THEN said_at ELSE received_at END DESC, received_at DESC) AS place
        FROM (SELECT \(wordColumns) FROM \(messages) WHERE \(own) AND \(span) ORDER BY time DESC LIMIT \(limit)) AS recent
        WHERE kind IN (\(names))) AS ranked WHERE place = 1
      """
    if let position {
      sql += """
         UNION ALL SELECT \(wordColumns), 1 FROM \(messages) WHERE \(own) AND time = \(bind(.time(position)))
          AND kind = 'location' AND latitude IS NOT NULL
        """
    }
    return (sql, values)
  }
}

extension RecordedPosition {
  /// Returns a `location` message with this position. It has no sequence number, because the vehicle did not
  /// send it.
  fileprivate func message(root: String) -> MQTTMessage {
    var location = Location(timestamp: Timestamp(nanoseconds: time.nanoseconds), coordinate: coordinate)
    (location.altitude, location.horizontalAccuracy) = (altitude, accuracy)
    (location.speed, location.course) = (speed, course)
    if source == .coarse { location.positionSource = .coarse }
    if source == .suspect { location.suspicion = Suspicion(.other) }
    let decoded = LocationMessage(
      identity: nil, time: time, location: PrivacyPolicy.unrestricted(location))
    return MQTTMessage(
      topic: vehicle.topic(root: root, MessageKind.location.rawValue), payload: decoded.payload,
      qos: .atLeastOnce,
      retain: true)
  }
}
