internal import ArgumentParser

struct Config: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "config",
    abstract: "Shows and changes vehicle settings remotely.",
    discussion: """
      --recording reads vehicle names from a recording of odograph record, for brokers that do not deliver \
      retained messages to wildcard subscriptions (RabbitMQ); the vehicles are then queried by name. A document \
      that the broker does not deliver even then is shown as recorded: desired documents regardless of their age, \
      reported ones from the week before the vehicle's last position, in a large fleet from at least the vehicle's \
      last 200 messages.

      Examples:
        odograph config show --fleet delivery --vehicle van-1
        odograph config show --recording fleet.sqlite
        odograph config set status.interval=30 --fleet delivery --vehicle van-1
        odograph config set --unset location.distance_filter --fleet delivery
        odograph config set --file winter.json --fleet delivery --stages 5,100
        odograph config diff --fleet delivery

      Exit codes: 0 done; 1 diff found differences; 64 usage; 69 broker unavailable, or a vehicle refused; 74 \
      output not writable; 75 a vehicle did not report in time, or was not asked; 130 Ctrl-C; 143 SIGTERM.
      """,
    subcommands: [Show.self, Set.self, Diff.self])

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show",
      abstract: "Prints the settings that were set remotely and are in effect.",
      discussion: """
        Examples:
          odograph config show --fleet delivery --vehicle van-1
          odograph config show --fleet delivery --json | jq .reported.settings

        Exit codes: 0 done; 64 usage; 69 broker unavailable; 74 output not writable; 130 Ctrl-C; 143 SIGTERM.
        """)
    @OptionGroup var options: VehicleQueryOptions

    func run() throws { try perform(ConfigCommand.show, options) }
  }

  struct Diff: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "diff",
      abstract: "Shows settings that differ from the desired ones.",
      discussion: """
        Examples:
          odograph config diff --fleet delivery

        Exit codes: 0 no differences; 1 differences found; 64 usage; 69 broker unavailable; 74 output not \
        writable; 130 Ctrl-C; 143 SIGTERM.
        """)
    @OptionGroup var options: VehicleQueryOptions

    func run() throws { try perform(ConfigCommand.diff, options) }
  }

  struct Set: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "set",
      abstract: "Sets vehicle settings and waits for confirmation.",
      discussion: """
        Settings are added to the desired ones. An offline vehicle applies them when it reconnects. With --stages, \
        each stage waits until its vehicles have applied the settings; a refusal stops the rollout.

        Requires --fleet or --vehicle; changing every vehicle of every fleet requires --every-vehicle.

        Examples:
          odograph config set status.interval=30 --fleet delivery --vehicle van-1
          odograph config set 'motion.events=["impact", "shake"]' \\
            --fleet delivery --vehicle van-1
          odograph config set --unset location.distance_filter --fleet delivery
          odograph config set --file winter.json --fleet delivery --stages 5,100

        Exit codes: 0 done; 64 usage; 69 broker unavailable, or a vehicle refused; 74 output not writable; 75 a vehicle did not \
        report in time, or was not asked; 130 Ctrl-C; 143 SIGTERM.
        """)
    @OptionGroup var options: ConfigSetOptions

    func run() throws { try perform(ConfigCommand.set, options) }
  }
}
