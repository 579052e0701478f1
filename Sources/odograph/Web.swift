internal import ArgumentParser
internal import Fleet
internal import FleetWeb

struct Serve: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Serves a web page with the fleet on a map, and an HTTP API.",
    discussion: """
      Subscribes to the broker and serves a live page, and the same data as JSON, GeoJSON and server-sent events \
      below /api/v1. Without a login, which the file of --config defines, only programs on this machine are served. \
      If the broker is unavailable, serve reconnects, and the page shows it.

      The map needs Leaflet from the package libjs-leaflet. /health/live and /health/ready report the server's \
      health, /metrics is for Prometheus. SIGHUP reloads users, tokens and the certificate.

      With --recording the page shows history that odograph record has written or is writing. --record records in \
      the same process, with the same session at the broker as odograph record with the same store and selection: \
      each resumes where the other stopped, and no message is lost while neither runs. A separate recorder \
      continues while the server is restarted or upgraded, and several can split a fleet; prefer it for a service.

      Examples:
        odograph serve
        odograph serve --recording fleet.sqlite
        odograph serve --recording fleet.sqlite --record --keep 90d
        odograph serve --fleet delivery --listen 127.0.0.1:9000
        odograph serve --config serve.toml

      Exit codes: 0 time limit reached; 64 usage; 69 the server cannot listen at the address; 74 the recording \
      cannot be opened to record; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup var options: ServeOptions

  func run() throws { try perform(ServeCommand.run, options) }
}

struct Access: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "access",
    abstract: "Creates entries of users and tokens for odograph serve.",
    discussion: """
      The file of --config defines users, tokens and their permissions; see Config/serve.md.

      Examples:
        echo 'correct horse battery' | odograph access password ann
        odograph access token prometheus

      Exit codes: 0 done; 64 usage; 74 output not writable; 130 Ctrl-C.
      """,
    subcommands: [AccessPassword.self, AccessToken.self])
}

struct AccessPassword: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "password",
    abstract: "Creates a user's entry with the hash of a password.",
    discussion: """
      Asks for the password on the terminal without echo, or reads the first line of standard input. Prints an entry \
      with the yescrypt hash of the password, for the file of odograph serve --config. SIGHUP reloads it in a \
      running server.

      Examples:
        echo 'correct horse battery' | odograph access password ann
        echo 'correct horse battery' | odograph access password bob --role operate

      Exit codes: 0 done; 64 usage; 74 output not writable; 130 Ctrl-C.
      """)

  @OptionGroup var options: EntryOptions

  func run() throws { try perform(EntryCommand.password, options) }
}

struct AccessToken: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "token",
    abstract: "Creates a program's token and its entry.",
    discussion: """
      Prints the token, which cannot be recovered later, and an entry with its SHA-256 for the file of odograph \
      serve --config. SIGHUP reloads it in a running server.

      Examples:
        odograph access token prometheus
        odograph access token shop --fleet delivery --expires 2027-01-31

      Exit codes: 0 done; 64 usage; 74 output not writable.
      """)

  @OptionGroup var options: EntryOptions

  @Option(help: ArgumentHelp("Expiry, for example 2027-01-31 (default: never).", valueName: "time"))
  var expires: String?

  func run() throws {
    try perform({ options throws(FleetError) in try EntryCommand.token(options, expires: expires) }, options)
  }
}
