internal import ArgumentParser
internal import Fleet
internal import FleetCommand
internal import FleetProgram
internal import FleetWeb
internal import Spatial

struct Access: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "access",
    abstract: "Creates entries of users and tokens for odograph serve.",
    discussion: """
      The file of --config defines users, tokens and their permissions. Config/serve.toml, \
      packaged as /etc/odograph/serve.toml, explains its keys.

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

  @OptionGroup var entry: EntryArguments

  func run() throws { try perform(AccessCommand.password, self) }
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

  @OptionGroup var entry: EntryArguments

  @Option(
    help: ArgumentHelp(
      "Expiry: a time, or a date for 00:00 UTC at its start, for example 2027-01-31 (default: never).",
      valueName: "time"))
  var expires: String?

  func run() throws { try perform(AccessCommand.token, self) }
}

/// The permissions of a new entry in the configuration.
struct EntryArguments: ParsableArguments {
  @Argument(help: ArgumentHelp("The user's or the token's name.", valueName: "name"))
  var name: String

  @Option(help: "view, or operate to send commands, settings and regions too.")
  var role: Role = .view

  @Option(
    help: ArgumentHelp("Visible fleet; repeat for several (default: all).", valueName: "fleet"))
  var fleet: [String] = []

  @Option(
    help: ArgumentHelp("Visible vehicle; repeat for several.", valueName: "fleet/vehicle"))
  var vehicle: [String] = []

  /// Returns the entry.
  ///
  /// - Throws: `FleetError` for an invalid name or vehicle.
  func entry() throws(FleetError) -> AccessEntry {
    let entry = try AccessEntry(name: name, role: role, fleets: fleet, vehicles: vehicle)
    for vehicle in vehicle {
      let parts = vehicle.split(separator: "/", omittingEmptySubsequences: false)
      guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }) else {
        throw .usage("use", "--vehicle \(vehicle.prefix(80))", "write fleet/vehicle")
      }
    }
    return entry
  }
}

extension Role: ExpressibleByArgument {}

/// The `odograph access` commands: create entries for the configuration's tables `users` and `tokens`, and
/// print them.
enum AccessCommand {
  /// Prompts for a password without echo, or reads it from the first line of standard input, and prints the
  /// entry.
  /// - Throws: `FleetError` for an invalid name or password.
  static func password(_ options: AccessPassword) throws(FleetError) -> ExitStatus {
    let entry = try options.entry.entry()
    guard let password = try PasswordPrompt.read(for: entry.name) else { return .interrupted }
    try CommandOutput.print(try entry.user(password: password))
    return .done
  }

  /// Creates a token, and prints it with its entry.
  /// - Throws: `FleetError` for an invalid name or time.
  static func token(_ options: AccessToken) throws(FleetError) -> ExitStatus {
    let entry = try options.entry.entry()
    if let expires = options.expires {
      guard let end = UTCTime(rfc3339: expires) ?? UTCTime(rfc3339: expires + "T00:00:00Z") else {
        throw .usage(
          "use", "--expires \(expires.prefix(40))",
          "write a date or a time as 2027-01-31 or 2027-01-31T18:00:00Z")
      }
      guard end > Moment.now.time else {
        throw .usage("use", "--expires \(expires.prefix(40))", "this time is in the past; use a later one")
      }
    }
    let (token, text) = entry.token(expiry: options.expires)
    try CommandOutput.print(
      "# The token, which is not stored: send it as Authorization: Bearer \(token)\n\(text)")
    return .done
  }
}
