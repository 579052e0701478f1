internal import ArgumentParser
internal import Fleet
internal import FleetWeb

struct Serve: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Shows the fleet on a map in the browser.",
    discussion: """
      Listens to the broker, and serves a page with the fleet as it moves, and the same as JSON, GeoJSON and server-sent \
      events below /api/v1. Without a login, configured in the file of --config, only programs on this machine are served. \
      A broker that is away is tried again and again, and the page says so.

      The map needs Leaflet, as the package libjs-leaflet has it. /health/live and /health/ready tell how the server is, \
      /metrics tells it to Prometheus. SIGHUP lets it read users, tokens and the certificate again.

      With --recording it answers for the past, out of what odograph record has written or is writing. --record records in \
      the same process, under the same session at the broker as odograph record with the same store and selection: either \
      takes up what the other has left, and nothing is lost while neither runs. A recorder of its own goes on while the \
      server is restarted or brought up to date, and several can share a fleet: that is what a service wants, and --record \
      what one machine with one command does.

      Examples:
        odograph serve
        odograph serve --recording fleet.sqlite
        odograph serve --recording fleet.sqlite --record --keep 90d
        odograph serve --fleet delivery --listen 127.0.0.1:9000
        odograph serve --config serve.toml

      Exit codes: 0 the time was over; 64 usage; 69 the address cannot be listened at; 74 the recording cannot be opened \
      to record; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup var options: ServeOptions

  func run() throws { try perform(ServeCommand.run, options) }
}

struct Access: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "access",
    abstract: "Makes entries of users and tokens for odograph serve.",
    discussion: """
      Who may see what in the browser stands in the file that --config names: Config/serve.md says how.

      Examples:
        echo 'correct horse battery' | odograph access password ann
        odograph access token prometheus

      Exit codes: 0 done; 64 usage; 74 output gone; 130 Ctrl-C.
      """,
    subcommands: [AccessPassword.self, AccessToken.self])
}

struct AccessPassword: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "password",
    abstract: "Makes a user's entry, with the hash of a password.",
    discussion: """
      Asks for the password on the terminal, without showing it, or takes the first line of standard input. Prints \
      the entry with the password's hash by yescrypt, for the file that --config of odograph serve \
      names. SIGHUP lets a running server take it over.

      Examples:
        echo 'correct horse battery' | odograph access password ann
        echo 'correct horse battery' | odograph access password bob --role operate

      Exit codes: 0 done; 64 usage; 74 output gone; 130 Ctrl-C.
      """)

  @OptionGroup var options: EntryOptions

  func run() throws { try perform(EntryCommand.password, options) }
}

struct AccessToken: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "token",
    abstract: "Makes a program's token, and its entry.",
    discussion: """
      Prints the token, which nobody can read out again later, and the entry with its SHA-256 for the file that \
      --config of odograph serve names. SIGHUP lets a running server take it over.

      Examples:
        odograph access token prometheus
        odograph access token shop --fleet delivery --expires 2027-01-31

      Exit codes: 0 done; 64 usage; 74 output gone.
      """)

  @OptionGroup var options: EntryOptions

  @Option(help: ArgumentHelp("When it ends, as 2027-01-31; without it never.", valueName: "time"))
  var expires: String?

  func run() throws {
    try perform({ options throws(FleetError) in try EntryCommand.token(options, expires: expires) }, options)
  }
}
