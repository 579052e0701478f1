internal import Fleet
internal import Spatial
internal import Telemetry

/// The newest position of each vehicle in a batch: what `latest` is brought up to date with. Pure.
struct LatestPositions {
  struct Position {
    var fleet: String
    var vehicle: String
    /// By the vehicle's clock.
    var time: UTCTime
    /// By the recorder's clock.
    var received: UTCTime
    var latitude: Double
    var longitude: Double
    var altitude: Double?
    var accuracy: Double?
    var speed: Double?
    var course: Double?
    var source: RecordedPosition.Source

    fileprivate init(of message: RecordedMessage, fix place: Int?, key: VehicleKey, time: UTCTime) {
      (fleet, vehicle, self.time, received) = (key.fleet, key.vehicle, time, message.received)
      if let place {
        let fix = message.fixes[place]
        (latitude, longitude) = (fix.coordinate.latitude, fix.coordinate.longitude)
        (altitude, accuracy, speed) = (fix.altitude, fix.horizontalAccuracy, fix.speed)
        source = .track
      } else {
        let fields = message.fields
        (latitude, longitude) = (fields.latitude ?? 0, fields.longitude ?? 0)
        (altitude, accuracy, speed) = (fields.altitude, fields.accuracy, fields.speed)
        course = fields.course
        source = .location
      }
    }
  }

  /// A vehicle whose clock is ahead by more than this would stand still in `latest` until then: what it says is stored,
  /// but is not its newest position.
  static let daysAhead = 2

  /// One for each vehicle.
  let positions: [Position]

  /// Where a position stands in the batch: a message, and one of its fixes or nil for its own.
  private struct Entry {
    var time: UTCTime
    var message: Int
    var fix: Int?
  }

  init(_ messages: [RecordedMessage]) {
    var newest: [VehicleKey: Entry] = [:]
    for (index, message) in messages.enumerated() {
      guard let fleet = message.fleet, let vehicle = message.vehicle else { continue }
      let limit = message.received.advanced(bySeconds: Double(Self.daysAhead) * 86_400)
      var entry: Entry?
      if message.isLocation, let time = message.fields.time, time <= limit {
        entry = Entry(time: time, message: index)
      }
      for (place, fix) in message.fixes.enumerated() where fix.time <= limit {
        if let known = entry, known.time >= fix.time { continue }
        entry = Entry(time: fix.time, message: index, fix: place)
      }
      guard let entry else { continue }
      let key = VehicleKey(fleet: fleet, vehicle: vehicle)
      if let known = newest[key], known.time >= entry.time { continue }
      newest[key] = entry
    }
    positions = newest.map { key, entry in
      Position(of: messages[entry.message], fix: entry.fix, key: key, time: entry.time)
    }
  }

  /// In the order of `RecordingColumns.latest`, as arrays in PostgreSQL's text form.
  var arrays: [String] {
    func quoted(_ text: String) -> String {
      // Names hold neither as a rule, and this is done for each vehicle of each batch.
      guard text.utf8.contains(where: { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }) else {
        return "\"\(text)\""
      }
      return "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
    func array(_ value: (Position) -> String?) -> String {
      "{" + positions.map { value($0) ?? "NULL" }.joined(separator: ",") + "}"
    }
    func number(_ value: @escaping (Position) -> Double?) -> String {
      array { position in value(position).map { "\($0)" } }
    }
    func time(_ value: @escaping (Position) -> UTCTime) -> String {
      array { "\"\(UTCTime(milliseconds: value($0).milliseconds).rfc3339)\"" }
    }
    return [
      array { quoted($0.fleet) }, array { quoted($0.vehicle) }, time(\.time), time(\.received),
      number(\.latitude), number(\.longitude), number(\.altitude), number(\.accuracy), number(\.speed),
      number(\.course), array { $0.source.rawValue },
    ]
  }
}

extension RowWriter where Self: ~Copyable {
  /// In the order of `RecordingColumns.latest`.
  mutating func columns(of position: LatestPositions.Position) {
    text(position.fleet)
    text(position.vehicle)
    timestamp(position.time)
    timestamp(position.received)
    double(position.latitude)
    double(position.longitude)
    double(position.altitude)
    double(position.accuracy)
    double(position.speed)
    double(position.course)
    text(position.source.rawValue)
  }
}
