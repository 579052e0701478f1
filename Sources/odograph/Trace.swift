internal import ArgumentParser
internal import FleetStore

struct Trace: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "trace",
    abstract: "Lists, asks for, fetches and verifies traces, and writes them as CSV or MCAP.",
    discussion: """
      A trace is every sensor of a vehicle at its full rate, some seconds before and after an impact, or around a \
      moment that somebody asks for. Vehicles with trace.enabled tell of it in trace and send it in pieces in \
      trace/piece, which odograph record keeps; whatever the order in which they come, they are put together and \
      checked by size and checksum.

      Examples:
        odograph trace list --recording fleet.sqlite
        odograph trace wait van-1 --timeout 60 -o crash.mcap
        odograph trace request van-1 --fleet delivery --before 20 --after 0

      Exit codes: those of each command.
      """,
    subcommands: [List.self, Request.self, Fetch.self, Wait.self, Verify.self, Export.self])

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list",
      abstract: "Lists traces, and what is known of the impacts.",
      discussion: """
        Out of what odograph record has written (--recording), by vehicle and in order of time, with how many of its \
        pieces are there; without it, as vehicles tell of them, until it is interrupted. Of each trace counts what its \
        vehicle told last: first that there was an impact, and later how the vehicle came to rest.

        Examples:
          odograph trace list --recording fleet.sqlite
          odograph trace list --recording fleet.sqlite --cause impact --json
          odograph trace list --fleet delivery --timeout 5

        Exit codes: 0 done, also when the reader left; 64 usage, or the recording cannot be read; 69 broker \
        unavailable, or refuses; 74 the output cannot be written; 75 the time was over before the count was reached; \
        130 Ctrl-C; 143 SIGTERM.
        """)
    @OptionGroup var options: TraceListOptions

    func run() throws { try perform(TraceCommand.list, options) }
  }

  struct Request: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "request",
      abstract: "Has a vehicle keep every sensor around a moment as a trace.",
      discussion: """
        The moment is now, or --at, a time within the last half minute, which the vehicle has in memory. The answer \
        says which trace it is; its pieces come when its time is over, as those of an impact do, with the cause \
        command. Three such traces may be recorded at once. A vehicle refuses without trace.enabled, and where its sensors \
        slept. It has to be managed over MQTT (remote.enabled).

        Examples:
          odograph trace request van-1 --fleet delivery
          odograph trace request van-1 --fleet delivery --before 20 --after 0 --json
          odograph trace request van-1 --at 2026-11-22T08:03:20Z

        Exit codes: 0 it is being kept; 64 usage; 69 broker unavailable, or the vehicle refuses; 74 the output cannot \
        be written; 75 it did not answer in time; 130 Ctrl-C; 143 SIGTERM.
        """)
    @OptionGroup var options: TraceRequestOptions

    func run() throws { try perform(TraceCommand.request, options) }
  }

  struct Fetch: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "fetch",
      abstract: "Puts a trace of a recording together, and writes it.",
      discussion: """
        odotrace  the bytes as they came, for odograph trace verify and export
        csv       the inertial sensors and the barometer, as odographd plays them with replay.sensors
        mcap      everything, a channel for each kind of sample and each signal of the bus, as Foxglove shows it

        Size and checksum must be those that the vehicle has told; else nothing is written, and what is missing is \
        said. SI units; the device's frame.

        Examples:
          odograph trace fetch van-1 3 --recording fleet.sqlite -o crash.odotrace
          odograph trace fetch van-1 3 --recording fleet.sqlite -o crash.mcap
          odograph trace fetch van-1 3 --recording fleet.sqlite --format csv

        Exit codes: 0 done; 64 usage, the recording cannot be read, or does not have all of it; 74 the output cannot \
        be written; 130 Ctrl-C; 143 SIGTERM.
        """)
    @OptionGroup var options: TraceFetchOptions

    func run() throws { try perform(TraceCommand.fetch, options) }
  }

  struct Wait: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "wait",
      abstract: "Waits for a vehicle's trace until it has come whole.",
      discussion: """
        Listens to the broker, which keeps none: what was sent before is in a recording. Prints a line of the first \
        trace that is whole, and writes it where --output names a file.

        Examples:
          odograph trace wait van-1 --fleet delivery --timeout 60 -o crash.odotrace
          odograph trace wait van-1 3 --timeout 60 --json

        Exit codes: 0 it is there; 64 usage; 69 broker unavailable, or refuses; 74 the output cannot be written; 75 \
        the time was over before; 130 Ctrl-C; 143 SIGTERM.
        """)
    @OptionGroup var options: TraceWaitOptions

    func run() throws { try perform(TraceCommand.wait, options) }
  }

  struct Verify: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "verify",
      abstract: "Checks a trace in a file, and says what is in it.",
      discussion: """
        The moment, the time before and after it, how many samples there are of which kind, and whether every block has \
        its checksum. What is whole of a damaged trace is written by odograph trace export all the same.

        Examples:
          odograph trace fetch van-1 3 --recording fleet.sqlite -o van-1.odotrace
          odograph trace verify van-1.odotrace
          odograph trace verify van-1.odotrace --json | jq .samples

        Exit codes: 0 all of it can be read; 1 something of it is lost; 64 usage, or the file is no trace; 74 the \
        output cannot be written.
        """)
    @OptionGroup var options: TraceVerifyOptions

    func run() throws { try perform(TraceCommand.verify, options) }
  }

  struct Export: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "export",
      abstract: "Writes a trace in a file as CSV or MCAP.",
      discussion: """
        csv   the inertial sensors and the barometer, as odographd plays them with replay.sensors
        mcap  everything, a channel for each kind of sample and each signal of the bus, as Foxglove shows it

        Examples:
          odograph trace fetch van-1 3 --recording fleet.sqlite -o blow.odotrace
          odograph trace export blow.odotrace -o crash.mcap
          odograph trace export blow.odotrace --format csv > crash.csv

        Exit codes: 0 done; 64 usage, the file is no trace, or has nothing for the form; 74 the output cannot be written.
        """)
    @OptionGroup var options: TraceExportOptions

    func run() throws { try perform(TraceCommand.export, options) }
  }
}
