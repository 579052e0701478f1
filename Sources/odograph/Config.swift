internal import ArgumentParser
internal import FleetControl

struct Config: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "config",
    abstract: "Shows and changes vehicles' settings from afar.",
    discussion: """
      --recording names vehicles out of what odograph record has stored, at a broker that does not hand out for wildcards \
      what it keeps (RabbitMQ): they are then asked for by name. What the broker does not hand out even so is shown as it was \
      recorded: what is wanted of a vehicle always, what it said about it from the week before its last position, of a \
      large fleet from its last 200 messages at least.

      Examples:
        odograph config show --fleet delivery --vehicle van-1
        odograph config show --recording fleet.sqlite
        odograph config set status.interval=30 --fleet delivery --vehicle van-1
        odograph config set --unset location.distance_filter --fleet delivery
        odograph config set --file winter.json --fleet delivery --stages 5,100
        odograph config diff --fleet delivery

      Exit codes: 0 done; 1 diff found differences; 64 usage; 69 broker unavailable, or a vehicle refused; 74 output \
      gone; 75 one did not report in time, or was not asked; 130 Ctrl-C; 143 SIGTERM.
      """,
    subcommands: [Show.self, Set.self, Diff.self])

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show",
      abstract: "Prints the settings that were set from afar and are in force.",
      discussion: """
        Examples:
          odograph config show --fleet delivery --vehicle van-1
          odograph config show --fleet delivery --json | jq .reported.settings

        Exit codes: 0 done; 64 usage; 69 broker unavailable; 74 output gone; 130 Ctrl-C; 143 SIGTERM.
        """)
    @OptionGroup var options: VehicleQueryOptions

    func run() throws { try performBeginning(ConfigCommand.show, options) }
  }

  struct Diff: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "diff",
      abstract: "Shows settings that differ from the desired ones.",
      discussion: """
        Examples:
          odograph config diff --fleet delivery

        Exit codes: 0 nothing differs; 1 something does; 64 usage; 69 broker unavailable; 74 output gone; 130 Ctrl-C; \
        143 SIGTERM.
        """)
    @OptionGroup var options: VehicleQueryOptions

    func run() throws { try performBeginning(ConfigCommand.diff, options) }
  }

  struct Set: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "set",
      abstract: "Sets vehicle settings and waits for confirmation.",
      discussion: """
        Settings come on top of those wanted before. A vehicle that is away reads them when it is back. With \
        --stages, each stage waits until its vehicles have taken them, and a refusal stops the roll-out.

        Give --fleet or --vehicle; every vehicle of every fleet is changed only with --every-vehicle.

        Examples:
          odograph config set status.interval=30 --fleet delivery --vehicle van-1
          odograph config set 'motion.events=["impact", "shake"]' \\
            --fleet delivery --vehicle van-1
          odograph config set --unset location.distance_filter --fleet delivery
          odograph config set --file winter.json --fleet delivery --stages 5,100

        Exit codes: 0 done; 64 usage; 69 broker unavailable, or a vehicle refused; 74 output gone; 75 a vehicle did not \
        report in time, or was not asked; 130 Ctrl-C; 143 SIGTERM.
        """)
    @OptionGroup var options: ConfigSetOptions

    func run() throws { try performBeginning(ConfigCommand.set, options) }
  }
}
