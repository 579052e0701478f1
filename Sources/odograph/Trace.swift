internal import ArgumentParser
internal import FleetStore

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

  struct List: ParsableCommand {
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
    @OptionGroup var options: TraceListOptions

    func run() throws { try perform(TraceCommand.list, options) }
  }

  struct Request: ParsableCommand {
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
    @OptionGroup var options: TraceRequestOptions

    func run() throws { try perform(TraceCommand.request, options) }
  }

  struct Fetch: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "fetch",
      abstract: "Assembles a trace from a recording, and writes it.",
      discussion: """
          odotrace  the original bytes, for odograph trace verify and export
          csv       inertial sensors and barometer, which odographd plays with replay.sensors
          mcap      everything, a channel for each kind of sample and each vehicle signal, for Foxglove

        Size and checksum must match those that the vehicle reported; otherwise nothing is written, and the missing \
        pieces are listed. SI units, device frame.

        Examples:
          odograph trace fetch van-1 3 --recording fleet.sqlite -o crash.odotrace
          odograph trace fetch van-1 3 --recording fleet.sqlite -o crash.mcap
          odograph trace fetch van-1 3 --recording fleet.sqlite --format csv

        Exit codes: 0 done; 64 usage, or the recording cannot be read or lacks pieces of the trace; 74 the output \
        cannot be written; 130 Ctrl-C; 143 SIGTERM.
        """)
    @OptionGroup var options: TraceFetchOptions

    func run() throws { try perform(TraceCommand.fetch, options) }
  }

  struct Wait: ParsableCommand {
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
    @OptionGroup var options: TraceWaitOptions

    func run() throws { try perform(TraceCommand.wait, options) }
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
    @OptionGroup var options: TraceVerifyOptions

    func run() throws { try perform(TraceCommand.verify, options) }
  }

  struct Export: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "export",
      abstract: "Writes a trace file as CSV or MCAP.",
      discussion: """
          csv   inertial sensors and barometer, which odographd plays with replay.sensors
          mcap  everything, a channel for each kind of sample and each vehicle signal, for Foxglove

        Examples:
          odograph trace fetch van-1 3 --recording fleet.sqlite -o blow.odotrace
          odograph trace export blow.odotrace -o crash.mcap
          odograph trace export blow.odotrace --format csv > crash.csv

        Exit codes: 0 done; 64 usage, or the file is not a trace or has no samples for the format; 74 output not \
        writable.
        """)
    @OptionGroup var options: TraceExportOptions

    func run() throws { try perform(TraceCommand.export, options) }
  }
}
