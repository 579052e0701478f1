internal import ArgumentParser
internal import Fleet
internal import FleetAlerts
internal import FleetCommand
internal import FleetProgram

struct Alerts: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "alerts",
    abstract: "Lists, tests, silences and ends alerts of odograph serve.",
    discussion: """
      odograph serve evaluates the rules in its configuration and notifies receivers: webhooks and mailboxes. \
      Alerts, silences and queued notifications are in one file, named by store in [alerts]. These commands use \
      the file that odograph serve has created, and do not create one. If the server uses another file than that \
      of the configuration, name it with --store.

      Examples:
        odograph alerts check --config serve.toml
        odograph alerts list --config serve.toml
        odograph alerts silence --config serve.toml --rule battery-low --for 2h

      Exit codes: 0 done; 64 usage, or a file that cannot be used; 69 a receiver has not accepted a test; 74 the \
      output cannot be written; 130 Ctrl-C; 143 SIGTERM.
      """,
    subcommands: [List.self, Check.self, Test.self, Silence.self, End.self, Retry.self])

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list",
      abstract: "Lists open alerts.",
      discussion: """
        Prints name, start, severity, rule, vehicle and summary of each alert. Queued and failed notifications are \
        printed to standard error. --vehicle also accepts FLEET/VEHICLE.

        Examples:
          odograph alerts list --config serve.toml
          odograph alerts list --config serve.toml --all --rule battery-low
          odograph alerts list --config serve.toml --fleet demo --vehicle van-1
          odograph alerts list --config serve.toml --json | jq .summary

        Exit codes: 0 done; 64 usage, or a file that cannot be used; 74 output not writable.
        """)

    @OptionGroup var file: AlertsFileArguments
    @Flag(help: "Also list ended alerts.") var all = false
    @Option(help: ArgumentHelp("Only alerts of this rule.", valueName: "name")) var rule: String?
    @OptionGroup var vehicles: VehicleArguments
    @Flag(help: "Print a JSON line for each alert.") var json = false

    func run() throws { try perform(AlertsCommand.list, self) }
  }

  struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "check",
      abstract: "Validates the configuration, and lists rules and receivers.",
      discussion: """
        Validates the whole file as odograph serve does, and reports errors with file, line and column. Nothing is \
        sent or opened: certificates and the recording are checked when the server starts.

        Examples:
          odograph alerts check --config serve.toml

        Exit codes: 0 the file is valid; 64 it has an error; 74 output not writable.
        """)

    @OptionGroup var file: AlertsFileArguments

    func run() throws { try perform(AlertsCommand.check, self) }
  }

  struct Test: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "test",
      abstract: "Sends a test notification to receivers.",
      discussion: """
        The notification is marked as a test ("test": true, or in its subject), contains no alert, and is sent once. \
        The response of each receiver is printed.

        Examples:
          odograph alerts test --config serve.toml
          odograph alerts test --config serve.toml --receiver ops

        Exit codes: 0 all receivers have accepted it; 64 usage; 69 a receiver has not accepted it; 74 output not \
        writable; 130 Ctrl-C; 143 SIGTERM.
        """)

    @OptionGroup var file: AlertsFileArguments
    @Option(help: ArgumentHelp("Only this receiver (default: all).", valueName: "name"))
    var receiver: String?

    func run() throws { try perform(AlertsCommand.test, self) }
  }

  struct Silence: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "silence",
      abstract: "Suppresses notifications for some time.",
      discussion: """
        Selects alerts by rule, by fleet or vehicle, or both; --vehicle also accepts FLEET/VEHICLE. odograph serve \
        applies a silence within about a second. Silenced alerts are still listed, and so are silences. When a silence ends, receivers are notified \
        of alerts that are still open. If receivers were notified of an alert before, they are notified of its end \
        immediately.

        Examples:
          odograph alerts silence --config serve.toml --for 30m
          odograph alerts silence --config serve.toml --rule battery-low --for 2h
          odograph alerts silence --config serve.toml --vehicle demo/van-1 --for 1d
          odograph alerts silence --config serve.toml --rule battery-low --end

        Exit codes: 0 done; 64 usage, or a file that cannot be used; 74 output not writable.
        """)

    @OptionGroup var file: AlertsFileArguments
    @Option(help: ArgumentHelp("Alerts of this rule (default: all).", valueName: "name"))
    var rule: String?
    @OptionGroup var vehicles: VehicleArguments
    @Option(name: .customLong("for"), help: ArgumentHelp("Duration, as in 2h.", valueName: "time"))
    var duration: String?
    @Flag(help: "End silences of this rule and these vehicles.") var end = false

    func run() throws { try perform(AlertsCommand.silence, self) }
  }

  struct End: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "end",
      abstract: "Ends alerts that do not end automatically.",
      discussion: """
        For example, use it for alerts of a vehicle that was removed while the server was stopped. The receivers \
        of the alert are notified of its end. If the condition persists, it raises the next alert only after it \
        has been false once. odograph serve ends the alert within about a second, or when it starts next, and logs \
        it.

        Examples:
          odograph alerts end --config serve.toml 9d0f6b1c22a4e871-17

        Exit codes: 0 done; 64 usage, an alert that is not open, or a file that cannot be used; 74 the output cannot be \
        written.
        """)

    @OptionGroup var file: AlertsFileArguments
    @Argument(help: ArgumentHelp("Names of alerts, as odograph alerts list prints them.", valueName: "id"))
    var alerts: [String]

    func run() throws { try perform(AlertsCommand.end, self) }
  }

  struct Retry: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "retry",
      abstract: "Sends failed notifications again.",
      discussion: """
        A notification that its receiver has not accepted within give_up_after is set aside. This command queues \
        all these notifications again; odograph serve sends them within about a second.

        Examples:
          odograph alerts retry --config serve.toml

        Exit codes: 0 done; 64 usage, or a file that cannot be used; 74 output not writable.
        """)

    @OptionGroup var file: AlertsFileArguments

    func run() throws { try perform(AlertsCommand.retry, self) }
  }
}

/// The configuration file of `odograph serve`, which contains the alert settings.
struct AlertsFileArguments: ParsableArguments {
  @Option(
    help: ArgumentHelp("The configuration of odograph serve.", valueName: "file"), completion: .file())
  var config: String

  @Option(
    help: ArgumentHelp(
      "File with the alerts (default: `store` of the table [alerts]).", valueName: "file"),
    completion: .file())
  var store: String?

  /// Reads the alert settings.
  /// - Throws: `FleetError` for an invalid file, and for a file without alerts.
  func settings() throws(FleetError) -> AlertSettings {
    let file = try SettingsFile(path: config)
    guard var settings = try AlertSettings(file) else {
      throw .usage(
        "use", config, "it has no alerts; add [alerts] with store, and rules as [rules.NAME]")
    }
    settings.store = store ?? settings.store
    return settings
  }
}
