internal import Fleet
internal import Spatial
internal import Telemetry

/// The newest position of each vehicle in a batch, for updating `latest`. A pure value type.
struct LatestPositions {
  struct Position {
    var fleet: String
    var vehicle: String
    /// The time of the position by the vehicle's clock.
    var time: UTCTime
    /// The time of reception by the recorder's clock.
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
        source =
          switch fields.event {
          case RecordedPosition.Source.coarse.rawValue: .coarse
          case RecordedPosition.Source.suspect.rawValue: .suspect
          default: .location
          }
      }
    }
  }

  /// The maximum number of days by which a vehicle's clock may be ahead of the recorder's. A position further
  /// in the future is ignored: it would stay in `latest` until that time.
  static let daysAhead = 2

  /// The positions, one for each vehicle.
  let positions: [Position]

  /// A candidate for a vehicle's newest position: the index of its message in the batch, and the index of its
  /// fix in a track. `fix` is nil for the position of a `location` message.
  private struct Entry {
    var time: UTCTime
    /// The time of reception by the recorder's clock.
    var received: UTCTime
    var message: Int
    var fix: Int?
    /// The accuracy in m of a `location` message's position; infinite if unknown, nil for a fix of a track.
    var accuracy: Double?

    /// The time, or the time of reception if the vehicle's clock is ahead; see `RecordingColumns.follows`.
    private var moment: UTCTime {
      time.seconds(since: received) > MessageStamp.clockTolerance ? received : time
    }

    /// Returns whether this position replaces another one: if it is later, or has the same time and is more
    /// accurate. A fix of a track does not replace a position of the same time, because tracks round their
    /// accuracy.
    func replaces(_ other: Entry) -> Bool {
      guard time == other.time else { return (moment, time) > (other.moment, other.time) }
      guard let accuracy, let known = other.accuracy else { return false }
      return accuracy < known
    }
  }

  init(_ messages: [RecordedMessage]) {
    var newest: [VehicleKey: Entry] = [:]
    // Elements of a span are accessed in place, because copying the messages would take longer than
    // everything else. The messages are examined in order of arrival, so that the result does not depend on
    // the batch size.
    let rows = messages.span
    for index in rows.indices {
      let limit = rows[index].received.advanced(bySeconds: Double(Self.daysAhead) * 86_400)
      var entry: Entry?
      if let time = rows[index].fields.time, time <= limit, rows[index].fields.latitude != nil,
        rows[index].kind == MessageKind.location.rawValue
      {
        entry = Entry(
          time: time, received: rows[index].received, message: index,
          accuracy: rows[index].fields.accuracy ?? .infinity)
      }
      if !rows[index].fixes.isEmpty {
        for (place, fix) in rows[index].fixes.enumerated() where fix.time <= limit {
          if let known = entry, known.time >= fix.time { continue }
          entry = Entry(time: fix.time, received: rows[index].received, message: index, fix: place)
        }
      }
      guard let entry, let fleet = rows[index].fleet, let vehicle = rows[index].vehicle else { continue }
      let key = VehicleKey(fleet: fleet, vehicle: vehicle)
      if let known = newest[key], !entry.replaces(known) { continue }
      newest[key] = entry
    }
    positions = newest.map { key, entry in
      Position(of: messages[entry.message], fix: entry.fix, key: key, time: entry.time)
    }
  }

  /// The columns of `RecordingColumns.latest` as arrays in PostgreSQL's binary format.
  var arrays: [[UInt8]] {
    func array(_ type: CopyRows.ElementType, _ element: (inout CopyRows, Position) -> Void) -> [UInt8] {
      var elements = CopyRows(arrayOf: type, count: positions.count)
      for position in positions { element(&elements, position) }
      return elements.bytes
    }
    return [
      array(.text) { $0.text($1.fleet) }, array(.text) { $0.text($1.vehicle) },
      array(.timestamp) { $0.timestamp($1.time) }, array(.timestamp) { $0.timestamp($1.received) },
      array(.double) { $0.double($1.latitude) }, array(.double) { $0.double($1.longitude) },
      array(.double) { $0.double($1.altitude) }, array(.double) { $0.double($1.accuracy) },
      array(.double) { $0.double($1.speed) }, array(.double) { $0.double($1.course) },
      array(.text) { $0.text($1.source.rawValue) },
    ]
  }
}

extension RowWriter where Self: ~Copyable {
  /// Writes the columns in the order of `RecordingColumns.latest`.
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
