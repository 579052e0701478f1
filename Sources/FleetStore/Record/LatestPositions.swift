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
  }

  /// A vehicle whose clock is ahead by more than this would stand still in `latest` until then: what it says is stored,
  /// but is not its newest position.
  static let daysAhead = 2

  private(set) var positions: [VehicleKey: Position] = [:]

  init(_ messages: [RecordedMessage]) {
    for message in messages { observe(message) }
  }

  private mutating func observe(_ message: RecordedMessage) {
    guard let fleet = message.fleet, let vehicle = message.vehicle else { return }
    let fields = message.fields
    if message.kind == MessageKind.location.rawValue, let time = fields.time, let latitude = fields.latitude,
      let longitude = fields.longitude
    {
      observe(
        Position(
          fleet: fleet, vehicle: vehicle, time: time, received: message.received, latitude: latitude,
          longitude: longitude, altitude: fields.altitude, accuracy: fields.accuracy, speed: fields.speed,
          course: fields.course, source: .location))
    }
    for fix in message.fixes {
      observe(
        Position(
          fleet: fleet, vehicle: vehicle, time: fix.time, received: message.received,
          latitude: fix.coordinate.latitude, longitude: fix.coordinate.longitude, altitude: fix.altitude,
          accuracy: fix.horizontalAccuracy, speed: fix.speed, source: .track))
    }
  }

  private mutating func observe(_ position: Position) {
    let limit = position.received.advanced(bySeconds: Double(Self.daysAhead) * 86_400)
    guard position.time <= limit else { return }
    let key = VehicleKey(fleet: position.fleet, vehicle: position.vehicle)
    if let known = positions[key], known.time >= position.time { return }
    positions[key] = position
  }

  /// In the order of `RecordingColumns.latest`, as arrays in PostgreSQL's text form.
  var arrays: [String] {
    let all = positions.values
    func quoted(_ text: String) -> String {
      "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
    func array(_ value: (Position) -> String?) -> String {
      "{" + all.map { value($0) ?? "NULL" }.joined(separator: ",") + "}"
    }
    func number(_ value: @escaping (Position) -> Double?) -> String {
      array { position in value(position).map { "\($0)" } }
    }
    func time(_ value: @escaping (Position) -> UTCTime) -> String {
      array { quoted(UTCTime(milliseconds: value($0).milliseconds).rfc3339) }
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
