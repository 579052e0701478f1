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

      With --recording it answers for the past, out of what odograph record has written or is writing. --record records in       the same process, under the same session at the broker as odograph record with the same store and selection: either       takes up what the other has left, and nothing is lost while neither runs. A recorder of its own goes on       while the server is restarted or brought up to date, and several can share a fleet; so it is what a service wants, and       --record what one machine with one command does.

      Examples:
        odograph serve
        odograph serve --recording fleet.sqlite
        odograph serve --recording fleet.sqlite --record --keep 90d
        odograph serve --fleet delivery --listen 127.0.0.1:9000
        odograph serve --config /etc/odograph/serve.toml

      Exit codes: 0 the time was over; 64 usage; 69 the address cannot be listened at; 74 the recording cannot be opened \
      to record; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup var options: ServeOptions

  func run() throws { try perform(ServeCommand.run, options) }
}
