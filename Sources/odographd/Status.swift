import AgentCore
import ArgumentParser

struct Status: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract:
      "Prints the state of the running agent: sensors, location, queue, broker, energy, errors.",
    discussion: """
      The agent answers on a local socket (control.socket), to its own user and group.

      Examples:
        odographd status
        odographd status --json | jq .status.counters

      Exit codes: 0 done; 1 the agent does not answer, see standard error; 64 wrong arguments; 78 wrong \
      configuration.
      """)

  @OptionGroup var options: ConfigurationOptions

  @Option(
    help: ArgumentHelp("The agent's socket, instead of the configured one.", valueName: "path"),
    completion: .file())
  var socket: String?

  @Flag(help: "Print the whole response as a JSON object.")
  var json = false

  func run() throws {
    try ending {
      // The default socket needs no configuration; a configuration named explicitly must be valid.
      let isNamed = options.config != nil || !options.assignments.isEmpty
      let configuration = socket != nil ? nil : isNamed ? try options.load() : options.found
      let query = StatusQuery(configuration, socket: socket)
      do {
        if json {
          Swift.print(String(decoding: try query.document(), as: UTF8.self))
        } else {
          for line in try query.lines() { Swift.print(line) }
        }
      } catch { throw Failure("\(error)\(query.remedy(for: error))") }
    }
  }
}

struct Support: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "support",
    abstract:
      "Writes a support report: configuration, state, sensors, check; without secrets or positions.",
    discussion: """
      Credentials, privacy zones and positions are left out. Review the report before you send it: it contains names of \
      vehicle, hosts and files.

      Examples:
        odographd support --config /etc/odographd/odograph.toml --output -

      Exit codes: 0 written; 1 not writable, or the file exists; 64 wrong arguments; 78 wrong configuration.
      """)

  @OptionGroup var options: ConfigurationOptions

  @Option(
    help: ArgumentHelp("Output file; - is standard output.", valueName: "file"),
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
