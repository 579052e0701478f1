internal import ArgumentParser
internal import Fleet
internal import FleetCommand
internal import FleetProgram

struct Verify: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Compares a recording with what simulated vehicles have sent.",
    discussion: """
      Compares the files of odograph simulate --told, one for each process, with a recording or with lines of \
      odograph tail, and reports missing and duplicated sequence numbers of each vehicle. Messages that the broker \
      has acknowledged must be recorded; other messages may be recorded, and are counted separately. Several \
      recordings, such as those of recorders that split a fleet, count as one.

      Examples:
        odograph simulate --vehicles 2000 --seed 7 --part 1/2 --seconds 900 \\
          --told one.jsonl
        odograph simulate --vehicles 2000 --seed 7 --part 2/2 --seconds 900 \\
          --told two.jsonl
        odograph verify one.jsonl two.jsonl \\
          --recording postgres://fleet@db.example/fleet
        odograph verify one.jsonl two.jsonl --recording a.sqlite \\
          --recording b.sqlite --json
        # odograph verify one.jsonl --lines heard.jsonl

      Exit codes: 0 each number is recorded once; 1 numbers are missing or duplicated; 64 usage, or a file or \
      recording cannot be read; 74 output not writable; 130 Ctrl-C; 143 SIGTERM.
      """)

  @Argument(
    help: ArgumentHelp("Files of odograph simulate --told, one for each process.", valueName: "file"),
    completion: .file(extensions: ["jsonl"]))
  var told: [String]

  @Option(
    help: ArgumentHelp(
      "The recording: an SQLite file, or a postgres:// URL; repeat for several recorders' "
        + "(ODOGRAPH_STORE; default: odograph.sqlite).", valueName: "store"), completion: .file())
  var recording: [String] = []

  @Option(
    help: ArgumentHelp(
      "Instead of a recording: lines of odograph tail; - for standard input.", valueName: "file"),
    completion: .file())
  var lines: String?

  @Flag(name: .customLong("json"), help: "Print the result as a JSON object.")
  var isJSON = false

  func run() throws { try perform(VerifyCommand.run, self) }
}
