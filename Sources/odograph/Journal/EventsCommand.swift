internal import Fleet
internal import FleetCommand
internal import FleetProgram
internal import FleetStore
internal import Glibc
internal import Telemetry

/// The `odograph events` command: shows driving events from a recording, or live.
enum EventsCommand {
  /// Runs the command.
  ///
  /// - Throws: `FleetError` for invalid options, a recording or broker that is unavailable, and a failed
  ///   output.
  static func run(_ options: Events) throws(FleetError) -> ExitStatus {
    let selection = try options.selection()
    let format = try options.journal.format()
    signal(SIGPIPE, SIG_IGN)
    if let place = options.journal.recording {
      let reading = try JournalReading(place, options.journal, format.drivingEventWriter)
      return try reading.run("driving event", isAll: selection.isAll) { () throws(FleetError) in
        try reading.recording.readDrivingEvents(selection) { told throws(FleetError) in
          try reading.append(told)
        }
        return ""
      }
    }
    let follower = JournalFollower<ReportedDrivingEvent>(
      options: options.journal, broker: options.broker, kind: .drivingEvent,
      vehicles: selection.part.vehicles,
      read: { vehicle, payload in
        guard let told = ReportedDrivingEvent(vehicle: vehicle, payload: payload), selection.contains(told)
        else {
          return nil
        }
        return format.isDocument && told.event.isOngoing ? nil : told
      }, isNew: { $0.isNew($1) })
    return try follower.run(format.drivingEventWriter)
  }
}
