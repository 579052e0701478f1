internal import ArgumentParser
internal import Fleet
internal import FleetCommand

struct History: ParsableCommand, BrokerOptions {
  static let configuration = CommandConfiguration(
    commandName: "history",
    abstract: "Fetches recorded accelerometer samples of a period.",
    discussion: """
      With recorder.enabled = true the vehicle records at 50 Hz into a ring buffer of limited size. It sends the \
      samples in pieces of 80 s. The output is a sensor recording in CSV (t in seconds, ax, ay, az in m/s², device \
      frame), which odographd plays with replay.sensors. With --output, the same command resumes after the last \
      row of an existing file.

      Examples:
        odograph history --fleet delivery --vehicle van-1 --from 2026-11-21T08:00:00Z

      Exit codes: 0 all stored samples have arrived; 64 usage, or the file has another source; 69 broker \
      unavailable, or the vehicle does not record or has no samples of the period; 74 output not writable; 75 no \
      answer in time; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup(title: "Vehicle") var vehicles: VehicleArguments

  @Option(help: ArgumentHelp("Start, RFC 3339.", valueName: "time"))
  var from: String

  @Option(help: ArgumentHelp("End, RFC 3339 (default: now).", valueName: "time"))
  var to: String?

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp("Output file; an existing one is resumed.", valueName: "file"),
    completion: .file())
  var output: String?

  @Option(help: ArgumentHelp("Time limit for each piece.", valueName: "seconds"))
  var timeout = 30.0

  @OptionGroup(title: "Broker") var broker: BrokerArguments

  func run() throws { try perform(HistoryCommand.run, self) }
}
