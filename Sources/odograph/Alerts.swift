internal import ArgumentParser
internal import Fleet
internal import FleetAlerts
internal import FleetWeb

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
        printed to standard error.

        Examples:
          odograph alerts list --config serve.toml
          odograph alerts list --config serve.toml --all --rule battery-low
          odograph alerts list --config serve.toml --json | jq .summary

        Exit codes: 0 done; 64 usage, or a file that cannot be used; 74 output not writable.
        """)
    @OptionGroup var options: AlertsListOptions

    func run() throws { try perform(AlertsCommand.list, options) }
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
    @OptionGroup var options: AlertsCheckOptions

    func run() throws {
      try perform(
        { options throws(FleetError) in
          try ServeConfiguration.check(options.file.config)
          return try AlertsCommand.check(options)
        }, options)
    }
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
    @OptionGroup var options: AlertsTestOptions

    func run() throws { try perform(AlertsCommand.test, options) }
  }

  struct Silence: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "silence",
      abstract: "Suppresses notifications for some time.",
      discussion: """
        Selects alerts by rule, by fleet or vehicle, or both; odograph serve applies a silence within about a \
        second. Silenced alerts are still listed, and so are silences. When a silence ends, receivers are notified \
        of alerts that are still open. If receivers were notified of an alert before, they are notified of its end \
        immediately.

        Examples:
          odograph alerts silence --config serve.toml --for 30m
          odograph alerts silence --config serve.toml --rule battery-low --for 2h
          odograph alerts silence --config serve.toml --vehicle demo/van-1 --for 1d
          odograph alerts silence --config serve.toml --rule battery-low --end

        Exit codes: 0 done; 64 usage, or a file that cannot be used; 74 output not writable.
        """)
    @OptionGroup var options: AlertsSilenceOptions

    func run() throws { try perform(AlertsCommand.silence, options) }
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
    @OptionGroup var options: AlertsEndOptions

    func run() throws { try perform(AlertsCommand.end, options) }
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
    @OptionGroup var options: AlertsRetryOptions

    func run() throws { try perform(AlertsCommand.retry, options) }
  }
}
