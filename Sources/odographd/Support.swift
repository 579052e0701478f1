import AgentCore
import ArgumentParser

struct Support: ParsableCommand {
  static let configuration = CommandConfiguration(
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

  @Option(help: ArgumentHelp("Where to write it; - is standard output.", valueName: "file"))
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
