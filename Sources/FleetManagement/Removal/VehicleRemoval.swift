package import Fleet
internal import JSON
package import MQTT
internal import Platform
internal import Telemetry

/// The retained messages of a vehicle.
package struct RetainedVehicle: Hashable, Sendable {
  package let key: VehicleKey
  /// The topics with a payload.
  fileprivate let topics: [String]
  /// The paths below the vehicle's topic.
  package let paths: Set<String>
  package let isOnline: Bool

  fileprivate init(key: VehicleKey, _ payloads: [String: [UInt8]], root: String) {
    self.key = key
    paths = Set(payloads.keys)
    topics = payloads.keys.map { key.topic(root: root, $0) }
    let status = payloads[MessageKind.status.rawValue].flatMap { try? JSONValue(parsing: $0) }
    isOnline = status?["state"]?.string == StatusMessage.State.online.rawValue
  }
}

/// The removal of vehicles: their retained messages, found on creation and deleted on request.
package final class VehicleRemoval {
  /// The result of a deletion.
  package enum Outcome: Hashable, Sendable {
    /// The broker has answered for each message; `refused` contains a topic and the reason for each rejection.
    case completed(deleted: Int, refused: [String])
    /// The broker has not answered in time for a number of messages.
    case timedOut(missing: Int, of: Int)
    /// A signal ended the deletion.
    case interrupted(signal: Int32, deleted: Int, of: Int)
  }

  package let vehicles: [RetainedVehicle]
  /// True if the broker delivers retained messages for exact topics only, so that messages on other topics can
  /// exist.
  package let hasUnknownTopics: Bool
  private let operation: ManagementOperation

  /// Connects, and finds the retained messages of vehicles.
  ///
  /// - Throws: `FleetError` if nothing is found for vehicles without a fleet, and for a broker that is
  ///   unreachable or rejects a request.
  package init(of targets: VehicleTargets, at broker: MQTTConfiguration) throws(FleetError) {
    // Some brokers deliver retained messages only for exact topics; then only the messages on these topics
    // are found.
    let exact = (targets.named ?? []).flatMap { key in
      TopicScheme.retainedPaths.map { key.topic(root: targets.root, $0) }
    }
    operation = try ManagementOperation.reading(broker, targets, ["#"], exact: exact)
    let (store, copies) = operation.client.withState { ($0.documents, $0.copies) }
    vehicles = store.vehicles.map { RetainedVehicle(key: $0, store.payloads(of: $0), root: targets.root) }
    // If no message has arrived twice, the broker has not delivered messages for the wildcard: otherwise each
    // would arrive for the wildcard and for its exact topic.
    hasUnknownTopics = !exact.isEmpty && copies == 0
    guard vehicles.isEmpty, targets.named == nil else { return }
    operation.close()
    throw FleetError(
      operation: "find", object: "their retained messages",
      cause:
        "the broker has no retained messages of these names, or delivers them for exact topics only; "
        + "name the fleet, too, with --fleet", kind: .unavailable)
  }

  /// Deletes the messages.
  ///
  /// - Parameter seconds: the time limit for the broker's answers.
  package func delete(within seconds: Double) throws(FleetError) -> Outcome {
    var waiting: [UInt64: String] = [:]
    for topic in vehicles.flatMap(\.topics) {
      // An empty payload clears a retained message (MQTT 5, 3.3.1.3).
      let message = MQTTMessage(topic: topic, payload: [], qos: .atLeastOnce, retain: true)
      waiting[operation.client.publish(message)] = topic
    }
    let all = waiting.count
    var refused: [String] = []
    let deadline = MonotonicTime.after(seconds)
    while !waiting.isEmpty {
      switch try operation.next(until: deadline) {
      case .published(let token, let reason)?:
        guard let topic = waiting.removeValue(forKey: token), let reason, reason.isError else { continue }
        refused.append("\(topic): \(reason)")
      case .interrupted(let signal)?:
        return .interrupted(signal: signal, deleted: all - waiting.count - refused.count, of: all)
      case .message?, .answered?, .connected?, .disconnected?: continue
      case nil: return .timedOut(missing: waiting.count, of: all)
      }
    }
    return .completed(deleted: all - refused.count, refused: refused)
  }

  /// Disconnects from the broker.
  package func close() { operation.close() }
}
