internal import Fleet
internal import FleetCommand
internal import FleetProgram
internal import FleetStore
internal import Spatial
internal import Telemetry

extension JournalFormat {
  var drivingEventWriter: any DocumentWriter<ReportedDrivingEvent> { writer() ?? DrivingEventLinesWriter() }
}

/// A text writer with a line for each event.
struct DrivingEventLinesWriter: DocumentWriter {
  var bytes: [UInt8] = []
  private var columns = LineColumns([
    ("TIME", 20, .left), ("VEHICLE", 16, .left), ("EVENT", 16, .left), ("SEVERITY", 8, .left),
  ])

  mutating func begin() { write(columns.head(rest: "WHAT IS KNOWN") + "\n") }

  mutating func append(_ told: ReportedDrivingEvent) {
    let event = told.event
    let known = DrivingEventText.details(event)
    write(
      columns.line(
        [
          JournalText.moment(event.time), "\(told.vehicle)", event.event.name, event.severity.rawValue,
        ], rest: known.joined(separator: "  ")) + "\n")
  }

  mutating func end() {}
}

/// Texts about driving events.
enum DrivingEventText {
  static func details(_ event: DrivingEventMessage) -> [String] {
    var parts: [String?] = [event.isOngoing ? "ongoing" : nil]
    if let peak = event.peak {
      let limit = event.limit.map { " over \(quantity($0, of: event.event))" } ?? ""
      parts.append("peak \(quantity(peak, of: event.event))\(limit)")
    }
    parts += [
      event.duration.map { $0 < 60 ? "for \(ExportText.decimal($0, 1)) s" : "for \(QuantityText.age($0))" },
      event.speed.map { "at \(QuantityText.speed($0))" }, event.coordinate.map(QuantityText.position),
      event.region.map { "in \($0)" }, event.trip.map { "trip \($0)" },
      event.confidence < 1 ? "\(Int((event.confidence * 100).rounded())) % sure" : nil,
    ]
    return parts.compactMap(\.self)
  }

  /// Formats a peak or a limit in the event's unit; for an event of an unknown kind, without a unit.
  private static func quantity(_ value: Double, of event: DrivingEventMessage.Kind) -> String {
    let number = ExportText.decimal(value, 2)
    switch event {
    case .harshBraking, .harshAcceleration, .harshCornering, .swerve, .kerb, .pothole: return number + " m/s²"
    case .overSpeed: return QuantityText.speed(value)
    case .tilt: return ExportText.decimal(value.degrees, 1) + "°"
    case .supplyLow, .unplugged: return number + " V"
    case .positionContradicted: return QuantityText.distance(value)
    case .idling, .tow, .other: return number
    }
  }
}
