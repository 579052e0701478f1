internal import Fleet
internal import FleetProgram
internal import FleetStore
internal import Spatial
internal import Telemetry

extension JournalFormat {
  /// Returns the writer for this format.
  /// - Parameter isSheet: true to write a single trip as text with all details, false for one line per trip.
  func tripWriter(isSheet: Bool) -> any DocumentWriter<ReportedTrip> {
    writer() ?? (isSheet ? TripSheetWriter() : TripLinesWriter())
  }
}

/// A text writer with a line for each trip.
struct TripLinesWriter: DocumentWriter {
  var bytes: [UInt8] = []
  private var columns = LineColumns([
    ("VEHICLE", 16, .left), ("TRIP", 5, .right), ("BEGUN", 20, .left), ("TIME", 6, .right),
    ("DISTANCE", 8, .right),
    ("MEAN", 10, .right), ("GREATEST", 10, .right),
  ])

  mutating func begin() { write(columns.head(rest: "KIND") + "\n") }

  mutating func append(_ told: ReportedTrip) {
    let trip = told.trip
    var rest = [trip.kind.name]
    if trip.phase != .ended { rest.append(told.isUnfinished ? "end not received" : trip.phase.rawValue) }
    rest += [TripText.events(trip), trip.driver, trip.purpose].compactMap(\.self)
    write(
      columns.line(
        [
          "\(told.vehicle)", "\(trip.trip.number)", JournalText.moment(trip.start.time),
          QuantityText.age((told.continuation?.end ?? trip.end.time).seconds(since: trip.start.time)),
          QuantityText.distance(trip.distance + (told.continuation?.distance ?? 0)),
          // The continuation of a trip under way has no speeds.
          told.continuation == nil ? trip.meanSpeed.map(QuantityText.speed) ?? "–" : "–",
          told.continuation == nil ? trip.greatestSpeed.map(QuantityText.speed) ?? "–" : "–",
        ], rest: rest.joined(separator: "  ")) + "\n")
  }

  mutating func end() {}
}

/// A text writer with all details of a trip.
struct TripSheetWriter: DocumentWriter {
  var bytes: [UInt8] = []

  mutating func begin() {}

  mutating func append(_ told: ReportedTrip) {
    let trip = told.trip
    write(JournalText.plain("\(told.vehicle)  trip \(trip.trip.number)  \(trip.kind.name)") + "\n")
    let isEnded = trip.phase == .ended
    let lines: [(String, [String?])] = [
      ("begun", TripText.end(trip.start)),
      (isEnded ? "ended" : told.isUnfinished ? "end lost" : "reported", TripText.end(trip.end)),
      (
        "distance",
        [
          QuantityText.distance(trip.distance),
          trip.estimated > 0 ? "\(QuantityText.distance(trip.estimated)) of it estimated" : nil,
        ]
      ),
      (
        "time",
        [
          "\(QuantityText.age(trip.moving)) moving", "\(QuantityText.age(trip.standing)) standing",
          trip.idling.map { "\(QuantityText.age($0)) of that idling" },
        ]
      ),
      (
        "speed",
        [
          trip.meanSpeed.map { "mean \(QuantityText.speed($0))" },
          trip.greatestSpeed.map { "greatest \(QuantityText.speed($0))" },
        ]
      ),
      (
        "energy",
        [
          trip.fuel.map { "\(ExportText.decimal($0, 3)) l" },
          trip.electricity.map { "\(ExportText.decimal($0, 3)) kWh" },
        ]
      ),
      (
        "since",
        told.continuation.map {
          ["\(QuantityText.distance($0.distance)) until \(JournalText.moment($0.end))"]
        } ?? []
      ),
      ("events", [TripText.events(trip)]), ("driver", [trip.driver]), ("purpose", [trip.purpose]),
      ("way", [TripText.way(trip)]), ("journal", [trip.trip.series, "revision \(trip.revision)"]),
    ]
    for (name, parts) in lines {
      let parts = parts.compactMap(\.self)
      guard !parts.isEmpty else { continue }
      let label = "  " + name + String(repeating: " ", count: 10 - name.count)
      write(label + JournalText.plain(parts.joined(separator: "  ")) + "\n")
    }
    for one in told.drivingEvents {
      let event = one.event
      let parts = [JournalText.moment(event.time), event.event.name, event.severity.rawValue]
      write(
        "  " + JournalText.plain((parts + DrivingEventText.details(event)).joined(separator: "  ")) + "\n")
    }
  }

  mutating func end() {}
}

/// Texts about trips.
enum TripText {
  static func end(_ end: TripMessage.End) -> [String?] {
    [
      JournalText.moment(end.time), end.coordinate.map(QuantityText.position),
      end.horizontalAccuracy.map { "±\(QuantityText.distance($0))" },
      end.odometer.flatMap { QuantityText.fixed($0 / 1000, decimals: 1) }.map { "odometer \($0) km" },
    ]
  }

  /// Returns the numbers of driving events by kind, such as `2 harshBraking, 1 kerb`; nil if there are none.
  static func events(_ trip: TripMessage) -> String? {
    guard !trip.events.isEmpty else { return nil }
    return trip.events.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { "\($0.value) \($0.key)" }
      .joined(separator: ", ")
  }

  private static func way(of count: Int, bound: Double?) -> String {
    "\(count) places" + (bound.map { " within \(QuantityText.distance($0))" } ?? "")
  }

  static func way(_ trip: TripMessage) -> String? {
    trip.way.isEmpty ? nil : way(of: trip.way.count, bound: trip.bound)
  }
}

/// Common texts about trips and driving events.
enum JournalText {
  /// Formats a time as UTC with seconds: `2026-11-21T12:00:00Z`.
  static func moment(_ time: UTCTime) -> String {
    let text = time.rfc3339
    return text.hasSuffix("Z") && text.utf8.count > 20 ? text.prefix(19) + "Z" : text
  }

  /// Removes terminal control characters.
  static func plain(_ text: String) -> String { StyledText(text).plain }
}
