package import ArgumentParser
package import Fleet
package import FleetCommand
internal import JSON
internal import MQTT
internal import Platform
internal import Telemetry

/// The options of `odograph forget`.
package struct ForgetOptions: BrokerOptions {
  @OptionGroup(title: "Vehicles") package var vehicles: VehicleArguments
  @Flag(help: "Delete the retained messages (default: only list them).")
  var yes = false
  @Flag(help: "Include vehicles that are online; they publish most of the messages again.")
  var online = false
  @Option(help: ArgumentHelp("Time limit for the broker's responses.", valueName: "seconds"))
  var timeout = 30.0
  @Flag(help: "Print a JSON line for each vehicle.") package var json = false

  @OptionGroup(title: "Broker") package var broker: BrokerArguments

  package init() {}
}

/// The `odograph forget` command: removes vehicles by deleting their retained messages, after showing them.
package enum ForgetCommand {
  /// Runs the command.
  ///
  /// - Throws: `FleetError` if no vehicle is named, for vehicles that are online, and for a broker that is
  ///   unreachable or rejects a request.
  package static func run(_ options: ForgetOptions) throws(FleetError) -> ExitStatus {
    guard (0.1...86_400).contains(options.timeout) else {
      throw .usage("wait", "\(options.timeout) s", "--timeout must be 0.1 to 86400 seconds")
    }
    let targets = options.vehicles.targets(options.broker)
    guard !targets.vehicles.isEmpty else {
      throw .usage(
        "forget", "vehicles that are not named", "name each with --vehicle, and its fleet with --fleet")
    }
    // Some brokers deliver retained messages only for exact topics; then only the messages on these topics
    // are found.
    let exact = (targets.named ?? []).flatMap { key in
      TopicScheme.kept.map { key.topic(root: targets.root, $0) }
    }
    let (exchange, kept) = try FleetExchange.reading(
      options.broker.configuration(), try targets.filters(["#"]) + exact)
    defer { exchange.close() }
    let vehicles = vehicles(kept, root: targets.root)
    guard !vehicles.isEmpty else {
      guard targets.named != nil else {
        throw FleetError(
          operation: "find", object: "their retained messages",
          cause:
            "the broker has no retained messages of these names, or delivers them for exact topics only; "
            + "name the fleet, too, with --fleet", kind: .unavailable)
      }
      StandardError.report(
        "nothing to forget: no retained messages on the documented topics of these vehicles"
      )
      return .done
    }
    if !exact.isEmpty, Set(kept.map(\.topic)).count == kept.count {
      // No message has arrived twice, so the broker has not delivered messages for the wildcard: otherwise
      // each would arrive for the wildcard and for its exact topic.
      StandardError.report(
        "the broker delivers retained messages for exact topics only, in a cluster perhaps only those of this node: "
          + "other topics are unknown")
    }
    if options.yes { try requireOne(of: vehicles, targets) }
    if options.yes, !options.online {
      for vehicle in vehicles where vehicle.isOnline {
        throw FleetError(
          operation: "forget", object: vehicle.key.description,
          cause: "it is online and would publish again immediately; stop it first, or add --online",
          kind: .unavailable)
      }
    }
    for vehicle in vehicles { try print(vehicle, options) }
    guard options.yes else {
      StandardError.report("nothing was deleted; add --yes to delete the messages")
      return .done
    }
    return try delete(vehicles, exchange, options)
  }

  /// Throws an error if several vehicles have the same name and no fleet is named.
  private static func requireOne(of vehicles: [RetainedVehicle], _ targets: VehicleTargets) throws(FleetError)
  {
    guard targets.fleets.isEmpty else { return }
    for (name, same) in Dictionary(grouping: vehicles, by: \.key.vehicle).sorted(by: { $0.key < $1.key })
    where same.count > 1 {
      throw .usage(
        "forget", "\"\(name)\"",
        "it exists in several fleets: \(same.map(\.key.fleet).joined(separator: ", ")); name its fleet with --fleet"
      )
    }
  }

  /// The retained messages of a vehicle.
  private struct RetainedVehicle {
    let key: VehicleKey
    /// The topics with a payload.
    var topics: Set<String> = []
    /// The paths below the vehicle's topic.
    var paths: Set<String> = []
    var isOnline = false
  }

  private static func vehicles(_ kept: [MQTTMessage], root: String) -> [RetainedVehicle] {
    var vehicles: [VehicleKey: RetainedVehicle] = [:]
    for message in kept where !message.payload.isEmpty {
      guard let key = TopicAddress(topic: message.topic, root: root)?.key else { continue }
      let path = String(message.topic.dropFirst(key.topic(root: root, "").count))
      vehicles[key, default: RetainedVehicle(key: key)].topics.insert(message.topic)
      vehicles[key]?.paths.insert(path)
      if path == MessageKind.status.rawValue {
        let state = (try? JSONValue(parsing: message.payload))?["state"]?.string
        vehicles[key]?.isOnline = state == StatusMessage.State.online.rawValue
      }
    }
    return vehicles.values.sorted { $0.key < $1.key }
  }

  private static func print(_ vehicle: RetainedVehicle, _ options: ForgetOptions) throws(FleetError) {
    guard options.json else {
      let state = vehicle.isOnline ? "  online" : ""
      return try CommandOutput.print(
        "\(vehicle.key)\(state)  \(vehicle.paths.sorted().joined(separator: ", "))\n")
    }
    let line = JSONWriter.object { json in
      json.field("fleet", vehicle.key.fleet)
      json.field("vehicle", vehicle.key.vehicle)
      json.field("online", vehicle.isOnline)
      json.field("kept", texts: vehicle.paths.sorted())
    }
    try CommandOutput.print(line + [0x0A])
  }

  private static func delete(
    _ vehicles: [RetainedVehicle], _ exchange: FleetExchange, _ options: ForgetOptions
  ) throws(FleetError) -> ExitStatus {
    var waiting: [UInt64: String] = [:]
    for topic in vehicles.flatMap(\.topics) {
      // An empty payload clears a retained message (MQTT 5, 3.3.1.3).
      let message = MQTTMessage(topic: topic, payload: [], qos: .atLeastOnce, retain: true)
      waiting[exchange.publish(message)] = topic
    }
    let all = waiting.count
    var refusals: [String] = []
    let deadline = SystemClock.monotonic + Int64(options.timeout * 1e9)
    while !waiting.isEmpty {
      switch try exchange.next(until: deadline) {
      case .published(let token, let reason)?:
        guard let topic = waiting.removeValue(forKey: token), let reason, reason.isError else { continue }
        refusals.append("\(topic): \(reason)")
      case .interrupted(let status)?:
        StandardError.report(
          "\(all - waiting.count - refusals.count) of \(all) retained messages are deleted")
        return status
      case .message?, .answered?, .connected?, .disconnected?: continue
      case nil:
        StandardError.report(
          "the broker has not answered for \(waiting.count) of \(all) retained messages; try again")
        return .timedOut
      }
    }
    StandardError.report(
      "\(all - refusals.count) retained messages of \(vehicles.count) vehicle\(vehicles.count == 1 ? "" : "s") are deleted"
    )
    guard let first = refusals.first else { return .done }
    throw FleetError(
      operation: "delete", object: first,
      cause: "and \(refusals.count - 1) more; check the access list for this user", kind: .unavailable)
  }
}

extension TopicScheme {
  /// The paths of retained messages below a vehicle.
  fileprivate static let kept =
    [MessageKind.status, .location, .altitude, .vehicle].map(\.rawValue) + [
      configDesired, configReported, regionsDesired, regionsReported, regionsState, beaconsWanted,
    ]
}
