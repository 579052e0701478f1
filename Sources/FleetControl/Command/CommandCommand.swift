package import ArgumentParser
package import Fleet
package import FleetConsole
internal import JSON
internal import MQTT
internal import Platform
internal import Spatial
internal import Telemetry

/// The options of `odograph command`.
package struct CommandOptions: ParsableArguments {
  @OptionGroup(title: "Broker") package var broker: BrokerArguments

  @Argument(help: ArgumentHelp("\(CommandOptions.names.joined(separator: ", ")).", valueName: "command"))
  package var name: String

  @OptionGroup(title: "Vehicles") package var chosen: ChangedVehicleArguments

  @Option(help: ArgumentHelp("Of track: from when on, RFC 3339.", valueName: "time"))
  package var from: String?

  @Option(help: ArgumentHelp("Of track: until when, RFC 3339 (default: now).", valueName: "time"))
  package var to: String?

  @Option(help: ArgumentHelp("How long they have to answer.", valueName: "seconds"))
  package var timeout = 30.0

  @Flag(help: "Print a JSON line for each vehicle.")
  package var json = false

  package init() {}

  /// The commands of the contract.
  package static let names = ["locate", "status", "reload", "track", "reset-regions"]
}

/// Asks vehicles to do something, and waits for their answers.
///
/// Requests go out with the response topic and correlation data of MQTT 5. The response topic is the one where answers
/// go under 3.1.1 as well, so that an access list needs one line for both; there the request's `id` tells them apart.
package enum CommandCommand {
  private struct Answer {
    var state: String
    var problem: String?
    var result: JSONValue?
    var seconds: Double
  }

  /// Returns `.done` when every vehicle has done it.
  /// - Throws: `FleetError` for options that make no sense and a broker that cannot be reached or refuses.
  package static func run(_ options: CommandOptions) throws(FleetError) -> ExitStatus {
    let arguments = try arguments(options)
    let targets = try options.chosen.targets(options.broker)
    try targets.requireChoice()
    let path = "command/\(options.name)"
    let isNamed = targets.named != nil
    let exchange = try FleetExchange(
      options.broker.options(), filters: try targets.filters([path + "/response"]),
      kept: isNamed ? [] : try targets.filters(["status"]))
    try exchange.open()
    defer { exchange.close() }
    let vehicles = try targets.resolve(isNamed ? [] : try exchange.retained())
    var waiting: [String: VehicleKey] = [:]
    var tokens: [UInt64: VehicleKey] = [:]
    var answers: [VehicleKey: Answer] = [:]
    let begin = SystemClock.monotonic
    for key in vehicles {
      let id = "\(String(UInt64.random(in: 0 ... .max), radix: 16))"
      var members = arguments
      members["id"] = .string(id)
      let responseTopic = key.topic(root: targets.root, path + "/response")
      let message = MQTTMessage(
        topic: key.topic(root: targets.root, path),
        payload: Array(JSONValue.object(members).text.utf8),
        qos: .atLeastOnce,
        properties: MQTTMessageProperties(
          contentType: "application/json", messageExpiryInterval: UInt32(options.timeout.rounded(.up)),
          responseTopic: responseTopic, correlationData: Array(id.utf8)))
      waiting[id] = key
      tokens[exchange.publish(message)] = key
    }
    let deadline = begin + Int64(options.timeout * 1e9)
    var unsent = Set(vehicles)
    var ending: ExitStatus?
    while ending == nil, answers.count < vehicles.count, let event = try exchange.next(until: deadline) {
      let seconds = Double(SystemClock.monotonic - begin) * 1e-9
      switch event {
      case .published(let token, let reason):
        guard let key = tokens[token] else { continue }
        unsent.remove(key)
        guard let reason else { continue }
        answers[key] = Answer(
          state: "refused", problem: "by the broker: \(reason); check its access list for this user",
          seconds: seconds)
      case .message(let message):
        guard !message.retain, let json = try? JSONValue(parsing: message.payload) else { continue }
        let correlation = message.properties.correlationData.map { String(decoding: $0, as: UTF8.self) }
        guard let id = correlation ?? json["id"]?.string, let key = waiting[id],
          key.topic(root: targets.root, path + "/response") == message.topic
        else { continue }
        answers[key] = Answer(
          state: json["state"]?.string ?? "unknown", problem: json["problem"]?.string, result: json["result"],
          seconds: seconds)
      case .disconnected(let reason): StandardError.say("\(reason); connecting again")
      case .interrupted(let status): ending = status
      default: break
      }
    }
    let seconds = Double(SystemClock.monotonic - begin) * 1e-9
    try print(vehicles, answers, unsent: unsent, after: ending == nil ? options.timeout : seconds, options)
    if let ending { return ending }
    let isDone = vehicles.allSatisfy { answers[$0]?.state == "done" }
    if isDone { return .done }
    return answers.count < vehicles.count ? .timedOut : .unavailable
  }

  private static func arguments(_ options: CommandOptions) throws(FleetError) -> [String: JSONValue] {
    guard CommandOptions.names.contains(options.name) else {
      throw .usage(
        "send", "\"\(options.name.prefix(40))\"",
        "the commands are \(CommandOptions.names.joined(separator: ", "))")
    }
    guard (0.1...3600).contains(options.timeout) else {
      throw .usage("wait", "\(options.timeout) s", "--timeout is 0.1 to 3600 seconds")
    }
    var members: [String: JSONValue] = [:]
    if options.name == "locate" { members["timeout"] = .number(max(0, min(300, options.timeout - 1))) }
    for (name, text) in [("from", options.from), ("to", options.to)] {
      guard let text else { continue }
      guard options.name == "track" else {
        throw .usage("use", "--\(name)", "it belongs to track")
      }
      guard let time = UTCTime(rfc3339: text) else {
        throw .usage("use", "--\(name) \(text.prefix(60))", "write a time as in 2026-11-21T08:00:00Z")
      }
      members[name] = .string(time.rfc3339)
    }
    if options.name == "track", members["from"] == nil {
      throw .usage("send", "track", "say from when on, as in --from 2026-11-21T08:00:00Z")
    }
    return members
  }

  private static func print(
    _ vehicles: [VehicleKey], _ answers: [VehicleKey: Answer], unsent: Set<VehicleKey>, after seconds: Double,
    _ options: CommandOptions
  ) throws(FleetError) {
    if options.json {
      let lines = vehicles.map { key in
        let answer = answers[key]
        var members: [String: JSONValue] = ["fleet": .string(key.fleet), "vehicle": .string(key.vehicle)]
        members["command"] = .string(options.name)
        members["state"] = .string(answer?.state ?? (unsent.contains(key) ? "unsent" : "unanswered"))
        members["problem"] = answer?.problem.map { .string($0) }
        members["result"] = answer?.result
        members["seconds"] = answer.map { .number(($0.seconds * 1000).rounded() / 1000) }
        return JSONValue.object(members).text + "\n"
      }
      return try CommandOutput.print(lines.joined())
    }
    let lines = vehicles.map { key -> StyledText in
      let answer = answers[key]
      var line = StyledText(key.description, style: .bold)
      guard let answer else {
        let text =
          unsent.contains(key)
          ? PendingReport.unsent : "no answer within \(QuantityText.fixed(seconds, decimals: 0) ?? "–") s"
        line.append("  \(text)", style: TextStyle(.red))
        return line
      }
      line.append("  \(answer.state)", style: TextStyle(answer.state == "done" ? .green : .red))
      if let problem = answer.problem { line.append("  \(problem)") }
      if let result = answer.result { line.append("  \(result.text)") }
      line.append("  \(QuantityText.delay(answer.seconds))", style: .dim)
      return line
    }
    try CommandOutput.print(lines, styles: CommandOutput.usesStyles)
  }
}
