internal import ArgumentParser
internal import FleetControl

struct Check: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Tests a broker's set-up and access list as a consumer sees it.",
    discussion: """
      Tries name lookup, TCP, TLS and login; reads the broker's limits; subscribes to the fleet's topics; publishes \
      to the management topics of a vehicle that does not exist, without leaving anything; looks for kept states. \
      A line for each finding: ok, warning, failed, or unknown where the broker does not tell.

      Examples:
        odograph check --broker mqtts://ann@broker.example --fleet delivery
        odograph check --profile work --json | jq '.[] | select(.verdict != "ok")'

      Exit codes: 0 nothing failed; 64 usage; 69 something failed; 74 output gone; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup var options: CheckOptions

  func run() throws { try perform(CheckCommand.run, options) }
}

struct Command: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "command",
    abstract: "Asks vehicles for something and waits for their answers.",
    discussion: """
        locate             a position that is accurate enough (--accuracy), or the best until --timeout \
      is over; the receiver is powered unless the vehicle has been at rest since such a position
        status             a status message now
        reload             read the configuration file again
        track              the positions of a time, from the vehicle's own history (--from, --to)
        reset-regions      reset the states of all regions and decide them again
        forget-regions     delete the regions that were set remotely; the configuration's are watched \
      again (--yes)
        region-state       inside, outside or unknown, and since when: all regions, or one (--region)
        zero               tell attitudes relative to now, too (--clear ends that)
        level              at rest on level ground: take off how the device is tilted (--clear)
        set-odometer       take over what the instrument panel shows (--km)
        set-trip           say who drives and what the trip is for (--driver, --purpose)
        record             record the accelerometer from now on (--seconds); odograph history fetches it
        simulate-location  replace the position of a recorded or simulated vehicle (--at, --track, \
      --none, --clear)

      Without --vehicle, every vehicle of the fleet is asked of which the broker keeps a status, or of which a recording \
      knows (--recording); all fleets are asked only with --every-vehicle. A vehicle that is asleep or offline answers when it is back, or not: the request \
      expires after --timeout under MQTT 5.

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

      Exit codes: 0 all have done it; 64 usage; 69 broker unavailable, or one of them refused or failed; 74 output \
      gone; 75 one did not answer in time; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup var options: CommandOptions

  func run() throws { try performBeginning(CommandCommand.run, options) }
}

struct Forget: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "forget",
    abstract: "Deletes what the broker keeps of vehicles that are no more.",
    discussion: """
      Shows what would go: status, last location, regions, settings wanted and reported, whatever is retained below the \
      vehicle's topic. With --yes it is deleted. Vehicles are named, one or several; one that is online is left alone, \
      as it would be back at once. What was recorded stays where it was recorded. A broker that hands out what it keeps \
      by exact topics only, as RabbitMQ, is asked for the topics of the contract of vehicles named with --fleet and --vehicle; \
      what there is besides stays.

      Examples:
        odograph forget --fleet delivery --vehicle van-7
        odograph forget --fleet delivery --vehicle van-7 --yes

      Exit codes: 0 done; 64 usage; 69 broker unavailable or refuses, or a vehicle is online; 74 output gone; 75 the \
      broker did not answer in time; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup var options: ForgetOptions

  func run() throws { try perform(ForgetCommand.run, options) }
}

struct Simulate: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "simulate",
    abstract: "Drives many virtual vehicles at once.",
    discussion: """
      Each vehicle drives the same streets at its own place and time, and sends status, location and events as \
      odographd does; what it could not send during an outage comes afterwards, as a track. Reports are spread \
      evenly over time. A broker that is slower than the vehicles costs messages, and their number is said. \
      The broker's will for a connection is that of its first vehicle: --connections as many as --vehicles \
      gives each vehicle its own. Several processes drive one fleet with --part: the same options and --seed for all, each \
      with a part of its own. --told writes which numbers each vehicle has told and which of them the broker has not \
      acknowledged; odograph verify holds a recording against that. At the end it waits up to 30 s for what the broker has not acknowledged; a second \
      Ctrl-C or SIGTERM ends that.

      Examples:
        odograph simulate --vehicles 2000               # 2000 messages a second
        odograph simulate --vehicles 50 --live-rate 10 --seconds 60
        odograph simulate --vehicles 500 --connections 500    # one for each
        odograph simulate --vehicles 20 --outages 30 --outage-seconds 20
        odograph simulate --vehicles 100 --seconds 10 --clear --json
        odograph simulate --vehicles 2000 --seed 7 --part 1/4 --seconds 60 --told one.jsonl

      Exit codes: 0 done; 64 usage; 69 broker unavailable; 74 output gone; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup var options: SimulateOptions

  func run() throws { try perform(SimulateCommand.run, options) }
}
