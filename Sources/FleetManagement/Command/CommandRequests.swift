package import Fleet
package import JSON
package import MQTT
internal import Telemetry

extension VehicleRequests {
  /// Connects, and sends a command to the selected vehicles.
  ///
  /// - Parameters:
  ///   - seconds: the time to wait for responses, after which the broker may discard a request.
  ///   - beginning: returns messages of a recording, which name vehicles for brokers without retained
  ///     messages.
  /// - Throws: `FleetError` if no vehicle is found, for several vehicles if the command applies to one, and for
  ///   a broker that is unreachable or rejects a request.
  package init(
    _ command: VehicleCommand, _ arguments: [String: JSONValue], expiringAfter seconds: Double,
    to targets: VehicleTargets, at broker: MQTTConfiguration, beginning: BeginningQuery.Source
  ) throws(FleetError) {
    let responsePath = CommandMessage.responsePath(of: command.name)
    let operation = try ManagementOperation.reading(
      broker, targets, [MessageKind.status.rawValue], answers: [responsePath], beginning: beginning)
    do throws(FleetError) {
      let vehicles = try targets.resolve(found: operation.client.withState { $0.documents.vehicles })
      guard !command.isForOne || vehicles.count == 1 else {
        throw FleetError.usage(
          "send", command.name,
          "\(vehicles.count) vehicles would get the same values; name one with --vehicle")
      }
      let root = targets.root
      let ids = Dictionary(uniqueKeysWithValues: vehicles.map { ($0, CommandMessage.newIdentifier()) })
      self.init(operation, vehicles, timeout: seconds) { key in
        CommandMessage.request(
          command.name, arguments, id: ids[key] ?? "", to: key, root: root, expiringAfter: seconds)
      } answer: { message in
        guard let address = TopicAddress(topic: message.topic, root: root), address.path == responsePath,
          let id = ids[address.key], let json = CommandMessage.response(in: message, to: id)
        else { return nil }
        let state = json["state"]?.string ?? "unknown"
        return (
          address.key,
          VehicleOutcome(
            state: state, problems: [json["problem"]?.string].compactMap { $0 }, isGood: state == "done",
            result: json["result"])
        )
      }
    } catch {
      operation.close()
      throw error
    }
  }
}
