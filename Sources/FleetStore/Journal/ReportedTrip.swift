package import Fleet
internal import JSON
package import Spatial
package import Telemetry

/// The last message about a trip, from a recording or live.
package struct ReportedTrip: Hashable, Sendable {
  package var vehicle: VehicleKey
  package var trip: TripMessage
  /// The original message, including unknown members.
  package var payload: [UInt8]
  /// The driving events of the trip; empty if not requested.
  package var drivingEvents: [ReportedDrivingEvent] = []
  /// The positions after the trip's last message, for a recorded trip under way; otherwise nil.
  package var continuation: TripContinuation?
  /// True for a recorded trip without an end message, whose last message is more than a day old or that a
  /// later trip follows.
  package var isUnfinished = false

  /// Decodes a trip; nil for an invalid payload.
  package init?(vehicle: VehicleKey, payload: [UInt8]) {
    guard let json = try? JSONValue(parsing: payload), let trip = try? TripMessage(json: json) else {
      return nil
    }
    (self.vehicle, self.trip, self.payload) = (vehicle, trip, payload)
  }
}

/// The way of a trip under way after its last message, from the recorded positions. Suspect positions, those
/// from radio beacons, and those less accurate than `leastAccuracy` are ignored.
package struct TripContinuation: Hashable, Sendable {
  /// The length of the way between the positions in m.
  package var distance: Double
  /// The time of the last position; that of the trip's last message if there is none.
  package var end: UTCTime

  /// The accuracy in m up to which a position adds to the distance: about twice the accuracy of a fix between
  /// houses.
  static let leastAccuracy = 100.0

  package init(distance: Double, end: UTCTime) { (self.distance, self.end) = (distance, end) }
}

/// The last message about a driving event, from a recording or live.
package struct ReportedDrivingEvent: Hashable, Sendable {
  package var vehicle: VehicleKey
  package var event: DrivingEventMessage
  /// The original message, including unknown members.
  package var payload: [UInt8]

  /// Decodes a driving event; nil for an invalid payload.
  package init?(vehicle: VehicleKey, payload: [UInt8]) {
    guard let json = try? JSONValue(parsing: payload), let event = try? DrivingEventMessage(json: json) else {
      return nil
    }
    (self.vehicle, self.event, self.payload) = (vehicle, event, payload)
  }
}

/// A selection of trips.
package struct TripSelection: Sendable {
  /// The vehicles, and the range of the trips' starts.
  package var part = RecordingSelection()
  package var number: Int64?
  /// The kinds; empty for all.
  package var kinds: [String] = []

  package init() {}

  /// True if the selection includes all trips.
  package var isAll: Bool { part.isAll && number == nil && kinds.isEmpty }

  package func contains(_ told: ReportedTrip) -> Bool {
    if let number, told.trip.trip.number != number { return false }
    return kinds.isEmpty || kinds.contains(told.trip.kind.name)
  }
}

/// A selection of driving events.
package struct DrivingEventSelection: Sendable {
  /// The vehicles, and the range of the events' starts.
  package var part = RecordingSelection()
  /// The kinds of events; empty for all.
  package var events: [String] = []
  package var severities: [String] = []
  /// The series and number of the trip to which the events belong; nil for events of all trips.
  package var trip: JournalNumber?

  package init() {}

  /// True if the selection includes all driving events.
  package var isAll: Bool { part.isAll && events.isEmpty && severities.isEmpty && trip == nil }

  package func contains(_ told: ReportedDrivingEvent) -> Bool {
    guard events.isEmpty || events.contains(told.event.event.name) else { return false }
    if let trip, told.event.trip != trip.number || told.event.journal.series != trip.series { return false }
    return severities.isEmpty || severities.contains(told.event.severity.rawValue)
  }
}

extension RecordingTables {
  package func readTrips(
    _ selection: TripSelection, _ body: (ReportedTrip) throws(FleetError) -> Bool
  ) throws(FleetError) {
    let table = JournalTable.trips
    let condition = selection.part.condition(
      time: table.begin,
      and: [
        ("number", selection.number.map { [.number($0)] } ?? []), ("kind", selection.kinds.map { .text($0) }),
      ], Self.dialect.parameter)
    try read(table, condition) { vehicle, payload throws(FleetError) in
      guard let told = ReportedTrip(vehicle: vehicle, payload: payload) else { return true }
      return try body(told)
    }
  }

  package func readDrivingEvents(
    _ selection: DrivingEventSelection, _ body: (ReportedDrivingEvent) throws(FleetError) -> Bool
  ) throws(FleetError) {
    let table = JournalTable.drivingEvents
    let condition = selection.part.condition(
      time: table.begin,
      and: [
        ("event", selection.events.map { .text($0) }), ("severity", selection.severities.map { .text($0) }),
        ("trip", selection.trip.map { [.number($0.number)] } ?? []),
        ("series", selection.trip.map { [.text($0.series)] } ?? []),
      ], Self.dialect.parameter)
    try read(table, condition) { vehicle, payload throws(FleetError) in
      guard let told = ReportedDrivingEvent(vehicle: vehicle, payload: payload) else { return true }
      return try body(told)
    }
  }

  private func read(
    _ table: JournalTable, _ condition: RecordingSelection.Condition,
    _ body: (VehicleKey, [UInt8]) throws(FleetError) -> Bool
  ) throws(FleetError) {
    guard version >= JournalTable.version else {
      throw .usage("read", "\(table.title) of \(name)", RecordingAddress.olderVersion)
    }
    try read(
      """
      SELECT fleet, vehicle, payload FROM \(Self.dialect.schema)\(table.name) WHERE \(condition.sql)
        ORDER BY vehicle, fleet, \(table.begin), series, number
      """, condition.values
    ) { row throws(FleetError) in
      guard let fleet = row.text(0), let vehicle = row.text(1) else { return true }
      return try body(VehicleKey(fleet: fleet, vehicle: vehicle), row.payload(2))
    }
  }
}
