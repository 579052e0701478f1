internal import ArgumentParser
internal import FleetWeb

struct Serve: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Shows the fleet on a map in the browser.",
    discussion: """
      Listens to the broker, and serves a page with the fleet as it moves. Only programs on this machine reach it.

      Examples:
        odograph serve
        odograph serve --fleet delivery --listen 127.0.0.1:9000

      Exit codes: 0 the time was over; 64 usage; 69 broker unavailable, or the address cannot be listened at; 130 Ctrl-C; \
      143 SIGTERM.
      """)

  @OptionGroup var options: ServeOptions

  func run() throws { try perform(ServeCommand.run, options) }
}
