internal import ArgumentParser
internal import Fleet
internal import FleetCommand
internal import FleetStore
internal import Glibc
internal import Telemetry

/// The options of `odograph events`.
struct EventsOptions: BrokerOptions {
  @Argument(help: ArgumentHelp("Only this vehicle.", valueName: "vehicle"))
  var vehicle: String?

  @Option(
    help: ArgumentHelp("Only events of this kind, for example tow; may be repeated.", valueName: "event"),
    completion: .list(DrivingEventMessage.Kind.known.map(\.name)))
  var event: [String] = []

  @Option(
    help: ArgumentHelp("Only low, medium or high severity; repeat for several.", valueName: "severity"),
    completion: .list(DrivingEventMessage.Severity.allCases.map(\.rawValue)))
  var severity: [String] = []

  @OptionGroup var journal: JournalOptions

  @OptionGroup(title: "Broker") var broker: BrokerArguments

  init() {}

  /// Returns the selection.
  ///
  /// - Throws: `FleetError` for invalid options.
  func selection() throws(FleetError) -> DrivingEventSelection {
    let severities = DrivingEventMessage.Severity.allCases.map(\.rawValue)
    for word in severity where !severities.contains(word) {
      throw .usage("use", "--severity \(word.prefix(40))", "must be \(severities.joined(separator: ", "))")
    }
    let known = DrivingEventMessage.Kind.known.map(\.name)
    for word in event where !known.contains(word) {
      throw .usage("use", "--event \(word.prefix(40))", "must be one of \(known.joined(separator: ", "))")
    }
    var selection = DrivingEventSelection()
    selection.part = try journal.selection(vehicles: vehicle.map { [$0] } ?? [])
    (selection.events, selection.severities) = (event, severity)
    return selection
  }
}

/// The `odograph events` command: shows driving events from a recording, or live.
enum EventsCommand {
  /// Runs the command.
  ///
  /// - Throws: `FleetError` for invalid options, a recording or broker that is unavailable, and a failed
  ///   output.
  static func run(_ options: EventsOptions) throws(FleetError) -> ExitStatus {
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
