internal import ArgumentParser
internal import Fleet
internal import FleetAlerts
internal import FleetWeb

struct Alerts: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "alerts",
    abstract: "Lists, tests, silences and ends alerts of odograph serve.",
    discussion: """
      odograph serve watches vehicles by the rules in its configuration, and tells receivers: webhooks and mailboxes. \
      Alerts, silences and what waits for receivers are in one file, store below [alerts], which these commands read \
      beside it. They change what a server has made, and make no file themselves: --store names the one that the \
      server uses, where the configuration says something else to it.

      Examples:
        odograph alerts check --config serve.toml
        odograph alerts list --config serve.toml
        odograph alerts silence --config serve.toml --rule battery-low --for 2h

      Exit codes: 0 done; 64 usage, or a file that cannot be used; 69 a receiver has not taken a test; 74 the output \
      cannot be written; 130 Ctrl-C; 143 SIGTERM.
      """,
    subcommands: [List.self, Check.self, Test.self, Silence.self, End.self, Retry.self])

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list",
      abstract: "Lists open alerts.",
      discussion: """
        Its name, when each began, how much it matters, its rule and vehicle, and what it is. What waits for receivers, and what \
        was given up, is said on standard error.

        Examples:
          odograph alerts list --config serve.toml
          odograph alerts list --config serve.toml --all --rule battery-low
          odograph alerts list --config serve.toml --json | jq .summary

        Exit codes: 0 done; 64 usage, or a file that cannot be used; 74 the output cannot be written.
        """)
    @OptionGroup var options: AlertsListOptions

    func run() throws { try perform(AlertsCommand.list, options) }
  }

  struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "check",
      abstract: "Checks the configuration, and shows rules and receivers.",
      discussion: """
        Reads all of the file as odograph serve does; what is wrong is told with file, line and column. Nothing is \
        sent or opened: whether certificates and the recording can be read, the start finds out.

        Examples:
          odograph alerts check --config serve.toml

        Exit codes: 0 all is right; 64 something is wrong; 74 the output cannot be written.
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
      abstract: "Sends a test message to receivers.",
      discussion: """
        The message is marked as a test ("test": true, or so in its subject), has no alert in it, and is sent once. What \
        came back is printed for each receiver.

        Examples:
          odograph alerts test --config serve.toml
          odograph alerts test --config serve.toml --receiver ops

        Exit codes: 0 all have taken it; 64 usage; 69 a receiver has not taken it; 74 the output cannot be written; \
        130 Ctrl-C; 143 SIGTERM.
        """)
    @OptionGroup var options: AlertsTestOptions

    func run() throws { try perform(AlertsCommand.test, options) }
  }

  struct Silence: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "silence",
      abstract: "Tells nobody of some alerts for a time.",
      discussion: """
        By rule, by fleet or vehicle, or both; odograph serve heeds it within a second or so. Alerts are listed all the \
        same, and silences with them. When the time is over, those that are \
        still open are told. The end of an alert that was told before is told at once.

        Examples:
          odograph alerts silence --config serve.toml --for 30m
          odograph alerts silence --config serve.toml --rule battery-low --for 2h
          odograph alerts silence --config serve.toml --vehicle demo/van-1 --for 1d
          odograph alerts silence --config serve.toml --rule battery-low --end

        Exit codes: 0 done; 64 usage, or a file that cannot be used; 74 the output cannot be written.
        """)
    @OptionGroup var options: AlertsSilenceOptions

    func run() throws { try perform(AlertsCommand.silence, options) }
  }

  struct End: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "end",
      abstract: "Ends alerts that nothing else ends.",
      discussion: """
        As of a vehicle that was retired while the server was away. Receivers that were told of an alert are told that \
        it has ended, once; what makes it may hold on, and makes the next alert after it has not held. odograph serve \
        ends it within a second or so, or when it starts next, and says so.

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
      abstract: "Sends again what was given up.",
      discussion: """
        A message that no receiver has taken for give_up_after is kept aside. This puts all of them back; odograph serve \
        sends them within a second or so.

        Examples:
          odograph alerts retry --config serve.toml

        Exit codes: 0 done; 64 usage, or a file that cannot be used; 74 the output cannot be written.
        """)
    @OptionGroup var options: AlertsRetryOptions

    func run() throws { try perform(AlertsCommand.retry, options) }
  }
}
