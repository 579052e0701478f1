internal import ArgumentParser
internal import Bytes
internal import Fleet
internal import FleetCommand
internal import FleetManagement
internal import JSON
internal import MQTT
internal import Telemetry

/// The options of `odograph command`.
struct CommandOptions: BrokerOptions {
  @Argument(
    help: ArgumentHelp("\(CommandOptions.names.joined(separator: ", ")).", valueName: "command"),
    completion: .list(CommandOptions.names))
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

  init() {}

  /// The commands of the wire contract.
  static let names = VehicleCommand.all.map(\.name)
}

/// The `odograph command` command: sends a request to vehicles and waits for their responses.
enum CommandCommand {
  /// Runs the command. Returns `.done` if all vehicles have executed it.
  /// - Throws: `FleetError` for invalid options, and for a broker that is unreachable or rejects a request.
  static func run(_ options: CommandOptions) throws(FleetError) -> ExitStatus {
    let (command, arguments) = try request(options)
    let targets = try options.chosen.targets(options.broker)
    let timeout = options.effectiveTimeout
    var requests = try VehicleRequests(
      command, arguments, expiringAfter: timeout, to: targets, at: options.broker.configuration(),
      beginning: options.beginning.recorded)
    defer { requests.close() }
    let ending = try requests.waitWithProgress()
    try print(requests, after: ending == nil ? timeout : requests.elapsed, options)
    if let ending { return ending }
    return requests.reports.outcomes.count < requests.vehicles.count ? .timedOut : requests.status
  }

  private static func request(
    _ options: CommandOptions
  ) throws(FleetError) -> (VehicleCommand, arguments: [String: JSONValue]) {
    guard let command = VehicleCommand.named(options.name) else {
      let meant =
        Spelling.nearest(to: options.name, among: CommandOptions.names).map { "did you mean \($0)? " } ?? ""
      throw .usage(
        "send", "\"\(options.name.prefix(40))\"",
        "\(meant)the commands are \(CommandOptions.names.joined(separator: ", ")); history, samples and trace request are odograph's own"
      )
    }
    guard (0.1...3600).contains(options.effectiveTimeout) else {
      throw .usage("wait", "\(options.effectiveTimeout) s", "--timeout must be 0.1 to 3600 seconds")
    }
    var members: [String: JSONValue] = [:]
    if let at = options.at, options.place == nil {
      throw .usage("use", "--at \(at.prefix(60))", "set latitude and longitude, for example 48.1372,11.5756")
    }
    for given in options.given {
      guard let parameter = command.parameter(given.parameter) else {
        throw .usage(
          "use", "--\(given.option)", "it belongs to \(VehicleCommand.owners(of: given.parameter))")
      }
      guard let value = parameter.value(of: given.value) else {
        throw .usage(
          "use", "--\(given.option) \(given.text.prefix(60))", "give \(given.accepted ?? parameter.accepted)")
      }
      members[given.parameter] = value
    }
    if command.name == "forget-regions", !options.yes {
      throw .usage(
        "send", "forget-regions",
        "it deletes the remotely set regions of each selected vehicle; confirm with --yes, or use reset-regions to reset only the region states"
      )
    }
    let isMissing =
      command.parameters.contains { $0.isRequired && members[$0.name] == nil }
      || (!command.requiresOne.isEmpty && !command.requiresOne.contains { members[$0] != nil })
    if isMissing, let remedy = options.remedy(of: command.name) {
      throw .usage("send", command.name, remedy)
    }
    members["timeout"] = command.fixTimeout(of: options.effectiveTimeout)
    return (command, members)
  }

  private static func print(
    _ requests: VehicleRequests, after seconds: Double, _ options: CommandOptions
  ) throws(FleetError) {
    try CommandOutput.print(requests.vehicles, asJSON: options.json) { key in
      let answer = requests.reports.outcomes[key]
      var members: [String: JSONValue] = [
        "command": .string(options.name), "state": .string(requests.reports.state(of: key)),
      ]
      members["problem"] = answer?.problem.map { .string($0) }
      members["result"] = answer?.result
      members["seconds"] = answer.map { .number(($0.seconds * 1000).rounded() / 1000) }
      return members
    } lines: { key in
      var line = StyledText(key.description, style: .bold)
      guard let answer = requests.reports.outcomes[key] else {
        let text = requests.pendingText(
          of: key, unanswered: "no answer within \(QuantityText.fixed(seconds, decimals: 0) ?? "–") s")
        line.append("  \(text)", style: TextStyle(.red))
        return [line]
      }
      line.append("  \(answer.state)", style: TextStyle(answer.isGood ? .green : .red))
      if let problem = answer.problem { line.append("  \(problem)") }
      if let result = answer.result { line.append("  \(result.text)") }
      line.append("  \(QuantityText.delay(answer.seconds))", style: .dim)
      return [line]
    }
  }
}

extension CommandOptions {
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
  fileprivate var place: (latitude: Double, longitude: Double)? {
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
  fileprivate func remedy(of command: String) -> String? {
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
