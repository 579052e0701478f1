internal import Bytes
internal import Fleet
internal import FleetCommand
internal import FleetManagement
internal import FleetProgram
internal import JSON
internal import MQTT
internal import Telemetry

/// The `odograph command` command: sends a request to vehicles and waits for their responses.
enum CommandCommand {
  /// Runs the command. Returns `.done` if all vehicles have executed it.
  /// - Throws: `FleetError` for invalid options, and for a broker that is unreachable or rejects a request.
  static func run(_ options: Command) throws(FleetError) -> ExitStatus {
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
    _ options: Command
  ) throws(FleetError) -> (VehicleCommand, arguments: [String: JSONValue]) {
    guard let command = VehicleCommand.named(options.name) else {
      let meant =
        Spelling.nearest(to: options.name, among: Command.names).map { "did you mean \($0)? " } ?? ""
      throw .usage(
        "send", "\"\(options.name.prefix(40))\"",
        "\(meant)the commands are \(Command.names.joined(separator: ", ")); history, samples and trace request are odograph's own"
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
    _ requests: VehicleRequests, after seconds: Double, _ options: Command
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
