internal import Fleet
internal import FleetCommand
internal import FleetProgram
internal import FleetStore
internal import Glibc
internal import Spatial
internal import Telemetry

/// The `odograph trips` command: shows trips from a recording, or live.
enum TripsCommand {
  /// Runs the command.
  ///
  /// - Throws: `FleetError` for invalid options, a recording or broker that is unavailable, and a failed
  ///   output.
  static func run(_ options: Trips) throws(FleetError) -> ExitStatus {
    let selection = try options.selection()
    let format = try options.journal.format()
    signal(SIGPIPE, SIG_IGN)
    if let place = options.journal.recording { return try read(options, selection, format, place) }
    let follower = JournalFollower<ReportedTrip>(
      options: options.journal, broker: options.broker, kind: .trip, vehicles: selection.part.vehicles,
      read: { vehicle, payload in
        guard let told = ReportedTrip(vehicle: vehicle, payload: payload), selection.contains(told) else {
          return nil
        }
        return format.isDocument && told.trip.phase != .ended ? nil : told
      }, isNew: { $0.isNew($1) })
    return try follower.run(format.tripWriter(isSheet: options.number != nil))
  }

  private static func read(
    _ options: Trips, _ selection: TripSelection, _ format: JournalFormat, _ place: String
  ) throws(FleetError) -> ExitStatus {
    let isSheet = options.number != nil && format == .text
    let reading = try JournalReading(place, options.journal, format.tripWriter(isSheet: isSheet))
    return try reading.run("trip", isAll: selection.isAll) { () throws(FleetError) in
      var metres = 0.0
      let continuations =
        format == .text
        ? try reading.recording.continuations(selection, at: Moment.now.time) : [:]
      // The recording runs one query at a time. The trips are therefore collected before their events are
      // read.
      var sheets: [ReportedTrip] = []
      try reading.recording.readTrips(selection) { recorded throws(FleetError) in
        var told = recorded
        if format == .text, told.trip.phase != .ended {
          told.continuation = continuations[told.vehicle]?[told.trip.trip]
          told.isUnfinished = told.continuation == nil
        }
        metres += told.trip.distance + (told.continuation?.distance ?? 0)
        guard isSheet else { return try reading.append(told) }
        sheets.append(told)
        return reading.shouldContinue
      }
      for var told in sheets where reading.shouldContinue {
        told.drivingEvents = try reading.recording.drivingEvents(of: told)
        _ = try reading.append(told)
      }
      guard let number = options.number, let vehicle = options.vehicle, reading.written == 0,
        reading.shouldContinue
      else { return ", \(QuantityText.distance(metres))" }
      throw .usage(
        "find", "trip \(number) of \(vehicle)",
        "\(reading.recording.name) has no such trip that matches the options; odograph trips \(vehicle) --recording \(reading.recording.name) lists what it has"
      )
    }
  }
}
