internal import ArgumentParser
internal import Fleet
internal import FleetCommand
internal import FleetStore
internal import Telemetry

struct Events: ParsableCommand, BrokerOptions {
  static let configuration = CommandConfiguration(
    commandName: "events",
    abstract: "Lists driving events: braking, cornering, speeding, tow, and others.",
    discussion: """
      Harsh braking, acceleration and cornering, swerves, kerbs, potholes, speeding, idling; tow and tilt of a \
      parked vehicle; low or unplugged supplies; positions that contradict the sensors. Reads what odograph record \
      has written (--recording), by vehicle and time. Without --recording it prints events as vehicles report \
      them, until it is stopped. An event that lasts is reported at its start, as ongoing, and at its end. From \
      the broker, text and jsonl contain both reports; from a recording, only the last one.

      Examples:
        odograph events --fleet delivery --severity high
        odograph events --recording fleet.sqlite van-1 --from 2026-11-21
        odograph events --recording fleet.sqlite --event harshBraking -o there.gpx
        odograph events --recording fleet.sqlite --json | jq .severity

      Exit codes: 0 done, also if the pipe is closed; 64 usage, or the recording cannot be read; 69 broker \
      unavailable or access refused; 74 output not writable; 75 timed out before the count was reached; 130 \
      Ctrl-C; 143 SIGTERM.
      """)

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

  func run() throws { try perform(EventsCommand.run, self) }

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
