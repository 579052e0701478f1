internal import ArgumentParser
internal import Bytes
internal import Fleet
internal import FleetCommand
internal import FleetManagement
internal import JSON
internal import Telemetry

struct Command: ParsableCommand, BrokerOptions {
  static let configuration = CommandConfiguration(
    commandName: "command",
    abstract: "Sends a command to vehicles and waits for their responses.",
    discussion: """
        locate             a position that meets --accuracy, or the best one before
                           --timeout; the receiver is powered unless the vehicle has
                           not moved since such a position
        status             a status message now
        reload             read the configuration file again
        track              positions of a period from the vehicle's own history
                           (--from, --to)
        reset-regions      reset the states of all regions and determine them again
        forget-regions     delete the regions that were set remotely; those of the
                           configuration apply again (--yes)
        region-state       inside, outside or unknown, and since when: all regions,
                           or one (--region)
        zero               also report attitudes relative to the present one (--clear
                           ends this)
        level              at rest on level ground: remove the tilt of the device
                           from attitudes (--clear)
        set-odometer       set the odometer to the reading of the instrument panel
                           (--km)
        set-trip           set driver and purpose of the trip (--driver, --purpose)
        record             record the accelerometer from now on (--seconds); odograph
                           history fetches the samples
        simulate-location  replace the position of a recorded or simulated vehicle
                           (--at, --track, --none, --clear)

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
        odograph command set-trip --fleet delivery --vehicle van-1 \\
          --driver "A. Jansen" --purpose delivery
        odograph command track --fleet delivery --from 2026-11-21T08:00:00Z
        odograph command record --fleet delivery --vehicle van-1 --seconds 60
        odograph command simulate-location --fleet delivery --vehicle van-1 \\
          --at 48.1372,11.5756

      Exit codes: 0 all vehicles have executed the command; 64 usage; 69 broker unavailable, or a vehicle refused \
      or failed; 74 output not writable; 75 a vehicle did not answer in time; 130 Ctrl-C; 143 SIGTERM.
      """)

  @Argument(
    help: ArgumentHelp("\(Command.names.joined(separator: ", ")).", valueName: "command"),
    completion: .list(Command.names))
  var name: String

  @OptionGroup(title: "Vehicles") var chosen: ChangedVehicleArguments

  @OptionGroup var beginning: BeginningArguments

  @Option(help: ArgumentHelp("For track: start, RFC 3339.", valueName: "time"))
  var from: String?

  @Option(help: ArgumentHelp("For track: end, RFC 3339 (default: now).", valueName: "time"))
  var to: String?

  @Option(
    help: ArgumentHelp("For locate: required accuracy at 68 % (default: 50).", valueName: "meters"))
  var accuracy: Double?

  @Option(help: ArgumentHelp("For region-state: the region (default: all).", valueName: "name"))
  var region: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "For set-odometer: the reading of the vehicle's instrument panel.", valueName: "kilometers"))
  var km: Double?

  @Option(
    help: ArgumentHelp(
      "For set-trip: the driver from now on; \"\" for an unknown one.", valueName: "name"))
  var driver: String?

  @Option(
    help: ArgumentHelp(
      "For set-trip: purpose of the current or next trip; \"\" deletes it.", valueName: "text")
  )
  var purpose: String?

  @Option(help: ArgumentHelp("For record: duration.", valueName: "seconds"))
  var seconds: Double?

  @Option(
    help: ArgumentHelp(
      "For simulate-location: a fixed position in degrees, as in --at 48.1372,11.5756.",
      valueName: "latitude,longitude"))
  var at: String?

  @Option(
    help: ArgumentHelp(
      "For simulate-location: a file in the vehicle's folder of tracks (simulation.tracks).",
      valueName: "file"))
  var track: String?

  @Flag(help: "For simulate-location: a receiver without a fix.")
  var none = false

  @Flag(
    help:
      "For zero: report no relative attitudes. For level: remove the correction. For simulate-location: use the vehicle's own input."
  )
  var clear = false

  @Flag(help: "For forget-regions: confirm the deletion.")
  var yes = false

  @Option(
    help: ArgumentHelp(
      "Time limit for responses (default: 30, for locate 60). For locate: time limit for a sufficient fix; then the best fix is reported.",
      valueName: "seconds"))
  var timeout: Double?

  /// The time limit in seconds for the vehicles' responses.
  var effectiveTimeout: Double { timeout ?? (name == "locate" ? 60 : 30) }

  @Flag(help: "Print a JSON line for each vehicle.")
  var json = false

  @OptionGroup(title: "Broker") var broker: BrokerArguments

  func run() throws { try perform(CommandCommand.run, self) }

  /// The commands of the wire contract.
  static let names = VehicleCommand.all.map(\.name)
}

extension Command {
  /// An option that is an argument of the request.
  struct Given {
    var option: String
    var text = ""
    var parameter: String
    var value: JSONValue
    /// The values that the option accepts, if its unit differs from that of the argument; nil otherwise.
    var accepted: String?
  }

  /// The position of `--at` in degrees; nil if the option is missing or is not two numbers.
  var place: (latitude: Double, longitude: Double)? {
    let parts = (at ?? "").split(separator: ",", omittingEmptySubsequences: false)
      .map { Double($0.trimmingSpaces()) }
    guard parts.count == 2, let latitude = parts[0], let longitude = parts[1] else { return nil }
    return (latitude, longitude)
  }

  /// The arguments of the request that were given on the command line.
  var given: [Given] {
    var given: [Given] = []
    func add(_ option: String, _ text: String?, _ parameter: String? = nil) {
      guard let text else { return }
      given.append(
        Given(option: option, text: text, parameter: parameter ?? option, value: .string(text)))
    }
    if let accuracy {
      given.append(
        Given(option: "accuracy", text: "\(accuracy)", parameter: "accuracy", value: .number(accuracy)))
    }
    func add(_ option: String, _ number: Double?, _ parameter: String? = nil) {
      guard let number else { return }
      given.append(
        Given(
          option: option, text: "\(number)", parameter: parameter ?? option, value: .number(number)))
    }
    add("seconds", seconds)
    add("at", place?.latitude, "latitude")
    add("at", place?.longitude, "longitude")
    add("track", track)
    if none { given.append(Given(option: "none", parameter: "none", value: .bool(true))) }
    add("region", region)
    if clear { given.append(Given(option: "clear", parameter: "clear", value: .bool(true))) }
    if let km {
      given.append(
        Given(
          option: "km", text: "\(km)", parameter: "odometer", value: .number(1000 * km),
          accepted: "0 to 10000000"))
    }
    add("driver", driver)
    add("purpose", purpose)
    add("from", from)
    add("to", to)
    return given
  }

  /// Returns the remedy for a missing argument; nil for commands without required arguments.
  func remedy(of command: String) -> String? {
    switch command {
    case "set-odometer": "set the reading of the instrument panel, for example --km 48213.4"
    case "set-trip": "set the driver or the purpose, for example --driver \"A. Jansen\""
    case "record": "set a duration, for example --seconds 60"
    case "simulate-location": "give --at LATITUDE,LONGITUDE, --track FILE, --none or --clear"
    case "track": "set the start, for example --from 2026-11-21T08:00:00Z"
    default: nil
    }
  }
}
