internal import ArgumentParser
internal import FleetWeb

struct Serve: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Shows the fleet on a map in the browser.",
    discussion: """
      Listens to the broker, and serves a page with the fleet as it moves, and the same as JSON, GeoJSON and server-sent \
      events below /api/v1. Without a login, configured in the file of --config, only programs on this machine are served. \
      A broker that is away is tried again and again, and the page says so.

      The map needs Leaflet, as the package libjs-leaflet has it. /health/live and /health/ready tell how the server is, \
      /metrics tells it to Prometheus.

      Examples:
        odograph serve
        odograph serve --fleet delivery --listen 127.0.0.1:9000
        odograph serve --config serve.toml

      Exit codes: 0 the time was over; 64 usage; 69 the address cannot be listened at; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup var options: ServeOptions

  func run() throws { try perform(ServeCommand.run, options) }
}
