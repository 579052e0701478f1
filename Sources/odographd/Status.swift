import AgentCore
import ArgumentParser

struct Status: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract:
      "Asks the running agent how it is: sensors, filter, location, queue, broker, energy, last error.",
    discussion: """
      The agent answers on a local socket (control.socket), whatever else it is busy with; its owner and group may ask.

      Examples:
        odographd status
        odographd status --json | jq .status.counters

      Exit codes: 0 the agent has answered; 1 it does not, standard error says why; 64 wrong arguments; 78 wrong \
      configuration.
      """)

  @OptionGroup var options: ConfigurationOptions

  @Option(
    help: ArgumentHelp("The agent's socket, in place of the configuration's.", valueName: "path"),
    completion: .file())
  var socket: String?

  @Flag(help: "Write the whole answer, a JSON object.")
  var json = false

  func run() throws {
    try ending {
      // The usual socket needs no configuration; one that is named has to be right.
      let isNamed = options.config != nil || !options.assignments.isEmpty
      let configuration = socket != nil ? nil : isNamed ? try options.load() : options.found
      let query = StatusQuery(configuration, socket: socket)
      do {
        if json {
          Swift.print(String(decoding: try query.document(), as: UTF8.self))
        } else {
          for line in try query.lines() { Swift.print(line) }
        }
      } catch {
        throw Failure(
          "\(error); check that the agent runs, that you are in its group, and that XDG_RUNTIME_DIR is what the agent had"
        )
      }
    }
  }
}

struct Support: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "support",
    abstract:
      "Writes a report for somebody who helps: configuration, state, sensors, check; no secrets, no places.",
    discussion: """
      Credentials, privacy zones and positions are left out. Look through it all the same before you pass it on: names of \
      vehicle, hosts and files are in it.

      Examples:
        odographd support --config /etc/odographd/odograph.toml --output -

      Exit codes: 0 written; 1 the file cannot be written, or is there already; 64 wrong arguments; 78 wrong configuration.
      """)

  @OptionGroup var options: ConfigurationOptions

  @Option(
    help: ArgumentHelp("Where to write it; - is standard output.", valueName: "file"),
    completion: .file())
  var output = "odographd-support.txt"

  func run() throws {
    try ending {
      let report = SupportReport(try options.layers(), version: AgentVersion.current)
      guard output != "-" else { return Swift.print(report.text(), terminator: "") }
      do {
        try report.write(to: output)
      } catch {
        throw Failure("\(error); name another file with --output")
      }
      Swift.print("written: \(output)")
    }
  }
}
