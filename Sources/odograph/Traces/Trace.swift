internal import ArgumentParser
internal import Fleet
internal import FleetCommand
internal import FleetStore
internal import JSON
internal import Spatial

struct Trace: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "trace",
    abstract: "Lists, requests, fetches and verifies traces, and writes them as CSV or MCAP.",
    discussion: """
      A trace contains all sensors of a vehicle at full rate, some seconds before and after an impact or a requested \
      time. Vehicles with trace.enabled announce it on trace and send it in pieces on trace/piece, which odograph \
      record stores. The pieces may arrive in any order; size and checksum are verified.

      Examples:
        odograph trace list --recording fleet.sqlite
        odograph trace wait van-1 --timeout 60 -o crash.mcap
        odograph trace request van-1 --fleet delivery --before 20 --after 0

      Exit codes: those of each command.
      """,
    subcommands: [List.self, Request.self, Fetch.self, Wait.self, Verify.self, Export.self])

  struct List: ParsableCommand, BrokerOptions {
    static let configuration = CommandConfiguration(
      commandName: "list",
      abstract: "Lists traces and the impacts that caused them.",
      discussion: """
        Reads what odograph record has written (--recording), by vehicle and time, with the number of pieces that \
        have arrived. Without --recording it prints traces as vehicles announce them, until it is stopped. The last \
        report of a trace counts: the first one reports the impact, a later one how the vehicle came to rest.

        Examples:
          odograph trace list --recording fleet.sqlite
          odograph trace list --recording fleet.sqlite --cause impact --json
          odograph trace list --fleet delivery --timeout 5

        Exit codes: 0 done, also if the pipe is closed; 64 usage, or the recording cannot be read; 69 broker \
        unavailable or access refused; 74 output not writable; 75 timed out before the count was reached; 130 \
        Ctrl-C; 143 SIGTERM.
        """)

    @Argument(help: ArgumentHelp("Only this vehicle.", valueName: "vehicle"))
    var vehicle: String?

    @Option(
      help: ArgumentHelp(
        "Only traces caused by an impact, or by a command; repeat for several.", valueName: "cause"),
      completion: .list(["impact", "command"]))
    var cause: [String] = []

    @OptionGroup var journal: JournalOptions

    @OptionGroup(title: "Broker") var broker: BrokerArguments

    func run() throws { try perform(TraceCommand.list, self) }

    /// Returns the selection.
    ///
    /// - Throws: `FleetError` for invalid options.
    func selection() throws(FleetError) -> TraceSelection {
      var selection = TraceSelection()
      selection.part = try journal.selection(vehicles: vehicle.map { [$0] } ?? [])
      for word in cause where !["impact", "command"].contains(word) {
        throw .usage("use", "--cause \(word.prefix(40))", "must be impact or command")
      }
      selection.causes = cause
      return selection
    }
  }

  struct Request: ParsableCommand, BrokerOptions {
    static let configuration = CommandConfiguration(
      commandName: "request",
      abstract: "Requests a trace of all sensors of a vehicle at a given time.",
      discussion: """
        The time is now, or --at, a time within the last 30 s, which the vehicle has in memory. The response \
        contains the number of the trace. Its pieces follow when the requested period is over, as for an impact, \
        with the cause command. A vehicle records at most three such traces at the same time. It refuses without \
        trace.enabled, and if its sensors were off. The vehicle requires remote.enabled.

        Examples:
          odograph trace request van-1 --fleet delivery
          odograph trace request van-1 --fleet delivery --before 20 --after 0 --json
          odograph trace request van-1 --at 2026-11-22T08:03:20Z

        Exit codes: 0 the vehicle records the trace; 64 usage; 69 broker unavailable, or the vehicle refuses; 74 \
        output not writable; 75 the vehicle did not answer in time; 130 Ctrl-C; 143 SIGTERM.
        """)

    @Argument(help: ArgumentHelp("The vehicle.", valueName: "vehicle"))
    var vehicle: String

    @Option(help: ArgumentHelp("Time, RFC 3339 (default: now).", valueName: "time"))
    var at: String?

    @Option(
      help: ArgumentHelp(
        "Seconds of the trace before the time (default: the vehicle's setting).", valueName: "seconds")
    )
    var before: Double?

    @Option(
      help: ArgumentHelp(
        "Seconds of the trace after the time (default: the vehicle's setting).", valueName: "seconds"))
    var after: Double?

    @Option(help: "The vehicle's fleet.")
    var fleet: [String] = []

    @Option(help: ArgumentHelp("Time limit for the response.", valueName: "seconds"))
    var timeout = 30.0

    @Flag(help: "Print a JSON line.")
    var json = false

    @OptionGroup(title: "Broker") var broker: BrokerArguments

    func run() throws { try perform(TraceCommand.request, self) }

    /// Returns the arguments of the request.
    ///
    /// - Throws: `FleetError` for invalid options.
    func arguments() throws(FleetError) -> [String: JSONValue] {
      guard (0.1...3600).contains(timeout) else {
        throw .usage("wait", "\(timeout) s", "--timeout must be 0.1 to 3600 seconds")
      }
      var arguments: [String: JSONValue] = [:]
      if let at {
        guard let time = UTCTime(rfc3339: at) else {
          throw .usage("use", "--at \(at.prefix(60))", "write a time as in 2026-11-21T08:00:00Z")
        }
        arguments["at"] = .string(time.rfc3339)
      }
      for (name, seconds) in [("before", before), ("after", after)] {
        guard let seconds else { continue }
        guard (0...60).contains(seconds) else {
          throw .usage("use", "--\(name) \(seconds)", "must be 0 to 60 seconds")
        }
        arguments[name] = .number(seconds)
      }
      return arguments
    }
  }

  struct Fetch: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "fetch",
      abstract: "Assembles a trace from a recording, and writes it.",
      discussion: """
          odotrace  the original bytes, for odograph trace verify and export
          csv       inertial sensors and barometer, which odographd plays with
                    replay.sensors
          mcap      everything, a channel for each kind of sample and each vehicle
                    signal, for Foxglove

        Size and checksum must match those that the vehicle reported; otherwise nothing is written, and the missing \
        pieces are listed. SI units, device frame.

        Examples:
          odograph trace fetch van-1 3 --recording fleet.sqlite -o crash.odotrace
          odograph trace fetch van-1 3 --recording fleet.sqlite -o crash.mcap
          odograph trace fetch van-1 3 --recording fleet.sqlite --format csv

        Exit codes: 0 done; 64 usage, or the recording cannot be read or lacks pieces of the trace; 74 the output \
        cannot be written; 130 Ctrl-C; 143 SIGTERM.
        """)

    @Argument(help: ArgumentHelp("The vehicle.", valueName: "vehicle"))
    var vehicle: String

    @Argument(
      help: ArgumentHelp("The number of the trace, as odograph trace list prints it.", valueName: "number"))
    var number: Int64

    @Option(
      help: ArgumentHelp(
        "The recording: an SQLite file, or a postgres:// URL (ODOGRAPH_STORE; default: odograph.sqlite).",
        valueName: "store"), completion: .file())
    var recording: String?

    @Option(help: "The fleet, if several fleets have a vehicle of this name.")
    var fleet: String?

    @Option(
      help: ArgumentHelp("The series, if the vehicle has restarted its trace numbers.", valueName: "series"))
    var series: String?

    @OptionGroup var output: TraceOutputArguments

    func run() throws { try perform(TraceCommand.fetch, self) }

    var place: String { recording ?? environment("ODOGRAPH_STORE") ?? "odograph.sqlite" }
  }

  struct Wait: ParsableCommand, BrokerOptions {
    static let configuration = CommandConfiguration(
      commandName: "wait",
      abstract: "Waits until a vehicle's trace has arrived completely.",
      discussion: """
        Subscribes to the broker, which retains no traces; older ones are in a recording. Prints a line for the \
        first complete trace, and writes it if --output names a file.

        Examples:
          odograph trace wait van-1 --fleet delivery --timeout 60 -o crash.odotrace
          odograph trace wait van-1 3 --timeout 60 --json

        Exit codes: 0 the trace has arrived; 64 usage; 69 broker unavailable or access refused; 74 output not \
        writable; 75 timed out before; 130 Ctrl-C; 143 SIGTERM.
        """)

    @Argument(help: ArgumentHelp("The vehicle.", valueName: "vehicle"))
    var vehicle: String

    @Argument(help: ArgumentHelp("Only the trace with this number.", valueName: "number"))
    var number: Int64?

    @Option(help: "Only of this fleet; repeat for several.")
    var fleet: [String] = []

    @OptionGroup var output: TraceOutputArguments

    @Flag(help: "Print the message as a JSON line.")
    var json = false

    @OptionGroup var time: TimeLimitArguments

    @OptionGroup(title: "Broker") var broker: BrokerArguments

    func run() throws { try perform(TraceCommand.wait, self) }
  }

  struct Verify: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "verify",
      abstract: "Verifies a trace file, and prints its contents.",
      discussion: """
        Prints the time, the period before and after it, the number of samples of each kind, and whether the \
        checksum of every block is valid. odograph trace export writes the intact blocks of a damaged trace.

        Examples:
          odograph trace fetch van-1 3 --recording fleet.sqlite -o van-1.odotrace
          odograph trace verify van-1.odotrace
          odograph trace verify van-1.odotrace --json | jq .samples

        Exit codes: 0 the trace is intact; 1 a part of it is lost; 64 usage, or the file is not a trace; 74 the \
        output cannot be written.
        """)

    @Argument(help: "The trace file; - is standard input.", completion: .file(extensions: ["odotrace"]))
    var file: String

    @Flag(help: "Print a JSON object.") var json = false

    func run() throws { try perform(TraceCommand.verify, self) }
  }

  struct Export: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "export",
      abstract: "Writes a trace file as CSV or MCAP.",
      discussion: """
          csv   inertial sensors and barometer, which odographd plays with
                replay.sensors
          mcap  everything, a channel for each kind of sample and each vehicle signal,
                for Foxglove

        Examples:
          odograph trace fetch van-1 3 --recording fleet.sqlite -o blow.odotrace
          odograph trace export blow.odotrace -o crash.mcap
          odograph trace export blow.odotrace --format csv > crash.csv

        Exit codes: 0 done; 64 usage, or the file is not a trace or has no samples for the format; 74 output not \
        writable.
        """)

    @Argument(help: "The trace file; - is standard input.", completion: .file(extensions: ["odotrace"]))
    var file: String

    @OptionGroup var output: TraceOutputArguments

    func run() throws { try perform(TraceCommand.export, self) }
  }
}
