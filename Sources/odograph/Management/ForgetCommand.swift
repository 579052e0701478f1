internal import Fleet
internal import FleetCommand
internal import FleetManagement
internal import FleetProgram
internal import JSON
internal import MQTT
internal import Platform
internal import Telemetry

/// The `odograph forget` command: removes vehicles by deleting their retained messages, after showing them.
enum ForgetCommand {
  /// Runs the command.
  ///
  /// - Throws: `FleetError` if no vehicle is named, for vehicles that are online, and for a broker that is
  ///   unreachable or rejects a request.
  static func run(_ options: Forget) throws(FleetError) -> ExitStatus {
    guard (0.1...86_400).contains(options.timeout) else {
      throw .usage("wait", "\(options.timeout) s", "--timeout must be 0.1 to 86400 seconds")
    }
    let targets = options.vehicles.targets(options.broker)
    guard !targets.vehicles.isEmpty else {
      throw .usage(
        "forget", "vehicles that are not named", "name each with --vehicle, and its fleet with --fleet")
    }
    let removal = try VehicleRemoval(of: targets, at: options.broker.configuration())
    defer { removal.close() }
    let vehicles = removal.vehicles
    guard !vehicles.isEmpty else {
      StandardError.report(
        "nothing to forget: no retained messages on the documented topics of these vehicles"
      )
      return .done
    }
    if removal.hasUnknownTopics {
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
    return try status(of: removal.delete(within: options.timeout), vehicles.count)
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

  private static func print(_ vehicle: RetainedVehicle, _ options: Forget) throws(FleetError) {
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

  private static func status(
    of outcome: VehicleRemoval.Outcome, _ vehicles: Int
  ) throws(FleetError) -> ExitStatus {
    switch outcome {
    case .interrupted(let signal, let deleted, let all):
      StandardError.report("\(deleted) of \(all) retained messages are deleted")
      return ExitStatus(signal: signal)
    case .timedOut(let missing, let all):
      StandardError.report(
        "the broker has not answered for \(missing) of \(all) retained messages; try again")
      return .timedOut
    case .completed(let deleted, let refused):
      StandardError.report(
        "\(deleted) retained messages of \(vehicles) vehicle\(vehicles == 1 ? "" : "s") are deleted")
      guard let first = refused.first else { return .done }
      throw FleetError(
        operation: "delete", object: first,
        cause: (refused.count > 1 ? "and \(refused.count - 1) more; " : "")
          + "the broker's access list must permit this user to write all topics of the vehicle, as it permits admin in "
          + "Config/mosquitto/odograph.acl", kind: .unavailable)
    }
  }
}
