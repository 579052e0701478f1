internal import ArgumentParser
internal import Fleet
internal import FleetCommand
internal import FleetProgram
internal import FleetWeb

struct Serve: ParsableCommand, BrokerOptions {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Serves a web page with the fleet on a map, and an HTTP API.",
    discussion: """
      Subscribes to the broker and serves a live page, and the same data as JSON, GeoJSON and server-sent events \
      below /api/v1. Without a login, which the file of --config defines, only programs on this machine are served. \
      If the broker is unavailable, serve reconnects, and the page shows it. A recording that is unavailable is \
      opened later.

      The map needs Leaflet from the package libjs-leaflet. /health/live and /health/ready report the server's \
      health, /metrics is for Prometheus. SIGHUP reloads users, tokens and the certificate.

      With --recording the page shows history that odograph record has written or is writing. --record records in \
      the same process, with the same session at the broker as odograph record with the same store and selection: \
      each resumes where the other stopped, and no message is lost while neither runs. A separate recorder \
      continues while the server is restarted or upgraded, and several can split a fleet; prefer it for a service \
      (odograph-record).

      Examples:
        odograph serve
        odograph serve --recording fleet.sqlite
        odograph serve --recording fleet.sqlite --record --keep 90d
        odograph serve --fleet delivery --listen 127.0.0.1:9000
        odograph serve --config serve.toml

      Exit codes: 0 time limit reached; 64 usage; 69 the server cannot listen at the address; 74 sessions, \
      audit or alerts cannot be stored; 130 Ctrl-C; 143 SIGTERM.
      """)

  @Option(
    help: ArgumentHelp(
      "Configuration file: users, alerts, maps. Without one only this machine is served.",
      valueName: "file"), completion: .file(extensions: ["toml"]))
  var config: String?

  @Option(
    help: ArgumentHelp(
      "The address and port to listen at (default: 127.0.0.1:8080).", valueName: "address"))
  var listen: String?

  @Option(
    help: ArgumentHelp(
      "Serve history from this recording: an SQLite file, or a postgres:// URL.", valueName: "store"),
    completion: .file())
  var recording: String?

  @Flag(
    help:
      "Also record into the recording, as odograph record does, with the same session at the broker.")
  var record = false

  @Option(
    help: ArgumentHelp(
      "With --record: delete messages older than this, for example 90d, at the start and every hour (default: never).",
      valueName: "days"))
  var keep: String?

  @Option(
    help: ArgumentHelp(
      "The folder with Leaflet (default: /usr/share/javascript/leaflet, of the package libjs-leaflet).",
      valueName: "folder"), completion: .directory)
  var leaflet: String?

  @Option(
    help: ArgumentHelp("Base map: a file of raster tiles (MBTiles).", valueName: "file"),
    completion: .file(extensions: ["mbtiles"]))
  var map: String?

  @OptionGroup var vehicles: VehicleArguments

  @OptionGroup var time: TimeLimitArguments

  @OptionGroup(title: "Broker") var broker: BrokerArguments

  @OptionGroup(title: "Broker") var words: MessageProfileArguments

  func run() throws {
    try perform({ command throws(FleetError) in try command.serve() }, self)
  }

  /// Serves until the time limit or a signal.
  /// - Throws: `FleetError` for invalid options, and an address at which the server cannot listen.
  private func serve() throws(FleetError) -> ExitStatus {
    let context = ServeContext(
      configuration: try ServeConfiguration(overrides), broker: try broker.configuration(),
      selection: try vehicles.selection(broker, words), advice: { [broker] in broker.advice(on: $0) })
    let ending = try FleetServer.run(context, timeout: time.limit())
    return ending.isTimeOver ? .done : try ending.status()
  }

  private var overrides: ServeConfiguration.Overrides {
    var overrides = ServeConfiguration.Overrides(file: config)
    (overrides.listen, overrides.leaflet, overrides.map) = (listen, leaflet, map)
    (overrides.recording, overrides.records, overrides.keep) = (recording, record, keep)
    return overrides
  }
}
