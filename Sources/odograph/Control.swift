internal import ArgumentParser

struct Check: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Tests a broker's configuration and access list as a consumer.",
    discussion: """
      Tests name lookup, TCP, TLS and login; reads the broker's limits; subscribes to the fleet's topics; \
      publishes to the management topics of a vehicle that does not exist, without leaving retained messages; \
      looks for retained states. Prints one line for each finding: ok, warning, failed, or unknown if the broker \
      does not report it.

      Examples:
        odograph check --broker mqtts://ann@broker.example --fleet delivery
        odograph check --profile work --json | jq '.[] | select(.verdict != "ok")'

      Exit codes: 0 nothing failed; 64 usage; 69 something failed; 74 output not writable; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup var options: CheckOptions

  func run() throws { try perform(CheckCommand.run, options) }
}

struct Command: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "command",
    abstract: "Sends a command to vehicles and waits for their responses.",
    discussion: """
        locate             a position that meets --accuracy, or the best one before --timeout; the receiver is \
      powered unless the vehicle has not moved since such a position
        status             a status message now
        reload             read the configuration file again
        track              positions of a period from the vehicle's own history (--from, --to)
        reset-regions      reset the states of all regions and determine them again
        forget-regions     delete the regions that were set remotely; those of the configuration apply again (--yes)
        region-state       inside, outside or unknown, and since when: all regions, or one (--region)
        zero               also report attitudes relative to the present one (--clear ends this)
        level              at rest on level ground: remove the tilt of the device from attitudes (--clear)
        set-odometer       set the odometer to the reading of the instrument panel (--km)
        set-trip           set driver and purpose of the trip (--driver, --purpose)
        record             record the accelerometer from now on (--seconds); odograph history fetches the samples
        simulate-location  replace the position of a recorded or simulated vehicle (--at, --track, --none, --clear)

      Without --vehicle, the command goes to every vehicle of the fleet with a retained status, or in the recording \
      (--recording). All fleets require --every-vehicle. A vehicle that is asleep or offline responds when it \
      reconnects; with MQTT 5 the request expires after --timeout.

      Examples:
        odograph command locate --fleet delivery --vehicle van-1
        odograph command locate --fleet delivery --vehicle van-1 --accuracy 10
        odograph command status --fleet delivery --json | jq .state
        odograph command reload --fleet delivery
        odograph command region-state --fleet delivery --json | jq .result
        odograph command level --fleet delivery --vehicle van-1 --clear
        odograph command set-odometer --fleet delivery --vehicle van-1 --km 48213
        odograph command set-trip --fleet delivery --vehicle van-1 --driver "A. Jansen" --purpose delivery
        odograph command track --fleet delivery --from 2026-11-21T08:00:00Z
        odograph command record --fleet delivery --vehicle van-1 --seconds 60
        odograph command simulate-location --fleet delivery --vehicle van-1 --at 48.1372,11.5756

      Exit codes: 0 all vehicles have executed the command; 64 usage; 69 broker unavailable, or a vehicle refused \
      or failed; 74 output not writable; 75 a vehicle did not answer in time; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup var options: CommandOptions

  func run() throws { try perform(CommandCommand.run, options) }
}

struct Forget: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "forget",
    abstract: "Deletes the retained messages of removed vehicles.",
    discussion: """
      Lists what would be deleted: status, last location, regions, desired and reported settings, and everything \
      else retained below the vehicle's topic. --yes deletes it. Name one or more vehicles. A vehicle that is online \
      is skipped, because it would publish again immediately. Recordings are not changed. With a broker that \
      delivers retained messages only for exact topics (RabbitMQ), only the documented topics of vehicles named with \
      --fleet and --vehicle are deleted.

      Examples:
        odograph forget --fleet delivery --vehicle van-7
        odograph forget --fleet delivery --vehicle van-7 --yes

      Exit codes: 0 done; 64 usage; 69 broker unavailable or refuses, or a vehicle is online; 74 output not writable; 75 the \
      broker did not answer in time; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup var options: ForgetOptions

  func run() throws { try perform(ForgetCommand.run, options) }
}

struct Simulate: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "simulate",
    abstract: "Simulates vehicles and publishes their messages, to test a broker under load.",
    discussion: """
      The vehicles drive the same streets at different positions and times, and publish status, location and \
      events as odographd does. Positions that they could not send during an outage follow as a track. Reports are \
      spread evenly over time. If the broker is slower than the vehicles, messages are dropped and counted. A \
      connection's will is that of its first vehicle; with as many --connections as --vehicles each vehicle has \
      its own.

      Several processes can simulate parts of one fleet with --part, the same options and the same --seed. --told \
      writes which sequence numbers each vehicle has published and which the broker has not acknowledged; odograph \
      verify compares a recording with that file. At the end simulate waits up to 30 s for acknowledgements; a \
      second Ctrl-C or SIGTERM stops it.

      Examples:
        odograph simulate --vehicles 2000               # 2000 messages a second
        odograph simulate --vehicles 50 --live-rate 10 --seconds 60
        odograph simulate --vehicles 500 --connections 500    # one for each
        odograph simulate --vehicles 20 --outages 30 --outage-seconds 20
        odograph simulate --vehicles 100 --seconds 10 --clear --json
        odograph simulate --vehicles 2000 --seed 7 --part 1/4 --seconds 60 --told one.jsonl

      Exit codes: 0 done; 64 usage; 69 broker unavailable; 74 output not writable; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup var options: SimulateOptions

  func run() throws { try perform(SimulateCommand.run, options) }
}
