package import ArgumentParser
package import Fleet
package import FleetConsole
internal import JSON
internal import MQTT
internal import Spatial
internal import Telemetry

/// The options of `odograph command`.
package struct CommandOptions: ParsableArguments {
  @Argument(
    help: ArgumentHelp("\(CommandOptions.names.joined(separator: ", ")).", valueName: "command"),
    completion: .list(CommandOptions.names))
  package var name: String

  @OptionGroup(title: "Vehicles") var chosen: ChangedVehicleArguments

  @Option(help: ArgumentHelp("Of track: from when on, RFC 3339.", valueName: "time"))
  package var from: String?

  @Option(help: ArgumentHelp("Of track: until when, RFC 3339 (default: now).", valueName: "time"))
  package var to: String?

  @Option(
    help: ArgumentHelp("Of locate: how exact is good enough, at 68 % (default: 50).", valueName: "meters"))
  package var accuracy: Double?

  @Option(help: ArgumentHelp("Of region-state: which region (default: all).", valueName: "name"))
  package var region: String?

  @Option(
    help: ArgumentHelp(
      "Of set-odometer: what the instrument panel of the one vehicle shows.", valueName: "kilometers"))
  package var km: Double?

  @Option(
    help: ArgumentHelp(
      "Of set-trip: who drives the one vehicle from now on; \"\" is nobody who is known.", valueName: "name"))
  package var driver: String?

  @Option(
    help: ArgumentHelp(
      "Of set-trip: what the trip under way, or the next one, is for; \"\" takes it back.", valueName: "text")
  )
  package var purpose: String?

  @Flag(help: "Of zero: tell attitudes in their frame only. Of level: take the device for level.")
  package var clear = false

  @Flag(help: "Of forget-regions: yes, delete them.")
  package var yes = false

  @Option(
    help: ArgumentHelp(
      "How long they have to answer. Of locate: for a fix that is exact enough; then the best one is told.",
      valueName: "seconds"))
  package var timeout = 30.0

  @Flag(help: "Print a JSON line for each vehicle.")
  package var json = false

  @OptionGroup(title: "Broker") package var broker: BrokerArguments

  package init() {}

  /// The commands of the contract.
  package static let names = [
    "locate", "status", "reload", "track", "reset-regions", "forget-regions", "region-state", "zero",
    "level", "set-odometer", "set-trip",
  ]
}

/// Asks vehicles to do something, and waits for their answers.
///
/// Requests go out with the response topic and correlation data of MQTT 5. The response topic is the one where answers
/// go under 3.1.1 as well, so that an access list needs one line for both; there the request's `id` tells them apart.
package enum CommandCommand {
  /// Returns `.done` when every vehicle has done it.
  /// - Throws: `FleetError` for options that make no sense and a broker that cannot be reached or refuses.
  package static func run(_ options: CommandOptions) throws(FleetError) -> ExitStatus {
    let arguments = try arguments(options)
    let targets = try options.chosen.targets(options.broker)
    try targets.requireChoice()
    let path = "command/\(options.name)"
    func responseTopic(_ key: VehicleKey) -> String { key.topic(root: targets.root, path + "/response") }
    let exchange = try FleetExchange(
      options.broker.configuration(), filters: try targets.filters([path + "/response"]),
      kept: try targets.filters(["status"]))
    try exchange.open()
    defer { exchange.close() }
    let retained = try exchange.retained()
    let vehicles = try targets.resolve(retained)
    if ["set-odometer", "set-trip"].contains(options.name), vehicles.count > 1 {
      throw .usage(
        "send", options.name, "\(vehicles.count) vehicles would show the same; name one: --vehicle")
    }
    var asked: [String: VehicleKey] = [:]
    var requests = VehicleRequests(exchange, vehicles, retained: retained, root: targets.root) { key in
      let id = String(UInt64.random(in: 0 ... .max), radix: 16)
      asked[id] = key
      return MQTTMessage(
        topic: key.topic(root: targets.root, path),
        text: JSONValue.object(arguments.merging(["id": .string(id)]) { $1 }).text, qos: .atLeastOnce,
        properties: MQTTMessageProperties(
          contentType: "application/json", messageExpiryInterval: UInt32(options.timeout.rounded(.up)),
          responseTopic: responseTopic(key), correlationData: Array(id.utf8)))
    }
    let ending = try requests.wait(timeout: options.timeout) { message in
      guard !message.retain, let json = try? JSONValue(parsing: message.payload) else { return nil }
      let correlation = message.properties.correlationData.map { String(decoding: $0, as: UTF8.self) }
      guard let id = correlation ?? json["id"]?.string, let key = asked[id],
        responseTopic(key) == message.topic
      else { return nil }
      let state = json["state"]?.string ?? "unknown"
      return (
        key,
        VehicleOutcome(
          state: state, problems: [json["problem"]?.string].compactMap { $0 }, isGood: state == "done",
          result: json["result"])
      )
    }
    try print(vehicles, requests, after: ending == nil ? options.timeout : requests.elapsed, options)
    if let ending { return ending }
    if requests.outcomes.count < vehicles.count { return .timedOut }
    return requests.status
  }

  private static func arguments(_ options: CommandOptions) throws(FleetError) -> [String: JSONValue] {
    guard CommandOptions.names.contains(options.name) else {
      let meant =
        Spelling.nearest(to: options.name, among: CommandOptions.names).map { "did you mean \($0)? " } ?? ""
      throw .usage(
        "send", "\"\(options.name.prefix(40))\"",
        "\(meant)the commands are \(CommandOptions.names.joined(separator: ", ")); history, samples and trace request are odograph's own"
      )
    }
    guard (0.1...3600).contains(options.timeout) else {
      throw .usage("wait", "\(options.timeout) s", "--timeout is 0.1 to 3600 seconds")
    }
    var members: [String: JSONValue] = [:]
    if options.name == "locate" { members["timeout"] = .number(max(0, min(300, options.timeout - 1))) }
    if let accuracy = options.accuracy {
      guard options.name == "locate" else { throw .usage("use", "--accuracy", "it belongs to locate") }
      guard (1...100_000).contains(accuracy) else {
        throw .usage("use", "--accuracy \(accuracy)", "give 1 to 100000 metres")
      }
      members["accuracy"] = .number(accuracy)
    }
    if let region = options.region {
      guard options.name == "region-state" else {
        throw .usage("use", "--region", "it belongs to region-state")
      }
      members["region"] = .string(region)
    }
    if options.name == "forget-regions", !options.yes {
      throw .usage(
        "send", "forget-regions",
        "it deletes the regions that were set remotely, in each vehicle that is asked; add --yes, or reset-regions only decides anew"
      )
    }
    if options.clear {
      guard ["zero", "level"].contains(options.name) else {
        throw .usage("use", "--clear", "it belongs to zero and level")
      }
      members["clear"] = .bool(true)
    }
    if let kilometers = options.km {
      guard options.name == "set-odometer" else {
        throw .usage("use", "--km", "it belongs to set-odometer")
      }
      guard (0...10_000_000).contains(kilometers) else {
        throw .usage("use", "--km \(kilometers)", "give 0 to 10000000")
      }
      members["odometer"] = .number(1000 * kilometers)
    } else if options.name == "set-odometer" {
      throw .usage("send", "set-odometer", "say what the instrument panel shows, as in --km 48213.4")
    }
    for (name, text) in [("driver", options.driver), ("purpose", options.purpose)] {
      guard let text else { continue }
      guard options.name == "set-trip" else {
        throw .usage("use", "--\(name)", "it belongs to set-trip")
      }
      guard text.utf8.count <= 200, text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
      else {
        throw .usage("use", "--\(name)", "give at most 200 bytes without control characters")
      }
      members[name] = .string(text)
    }
    if options.name == "set-trip", options.driver == nil, options.purpose == nil {
      throw .usage("send", "set-trip", "say who drives or what for, as in --driver \"A. Jansen\"")
    }
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
    _ vehicles: [VehicleKey], _ requests: VehicleRequests, after seconds: Double, _ options: CommandOptions
  ) throws(FleetError) {
    try CommandOutput.print(vehicles, asJSON: options.json) { key in
      let answer = requests.outcomes[key]
      var members: [String: JSONValue] = ["command": .string(options.name), "state": requests.state(of: key)]
      members["problem"] = answer?.problem.map { .string($0) }
      members["result"] = answer?.result
      members["seconds"] = answer.map { .number(($0.seconds * 1000).rounded() / 1000) }
      return members
    } lines: { key in
      var line = StyledText(key.description, style: .bold)
      guard let answer = requests.outcomes[key] else {
        let text =
          requests.unsent.contains(key)
          ? VehicleRequests.unsent : "no answer within \(QuantityText.fixed(seconds, decimals: 0) ?? "–") s"
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
