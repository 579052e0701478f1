package import Fleet
package import JSON
package import MQTT
internal import Platform

/// A connection for requests to one vehicle.
package final class VehicleQuestion {
  package enum Answer {
    /// The result of a successful command.
    case result(JSONValue)
    /// The reason of a rejection or failure.
    case problem(String)
    case timedOut
    case interrupted(signal: Int32)
  }

  package let vehicle: VehicleKey
  private let operation: ManagementOperation
  private let command: String
  private let root: String
  private let lost: (MQTTDisconnection) -> Void
  private var id = ""
  private var token: UInt64?

  /// Connects to the broker.
  ///
  /// - Parameter lost: called after each lost connection, which is retried.
  /// - Throws: `FleetError` if the targets are not exactly one vehicle, if the vehicle declines remote
  ///   management, or if the broker is unreachable.
  package init(
    _ broker: MQTTConfiguration, _ targets: VehicleTargets, command: String,
    lost: @escaping (MQTTDisconnection) -> Void
  ) throws(FleetError) {
    let operation = try ManagementOperation.reading(
      broker, targets, ["status"], answers: [CommandMessage.responsePath(of: command)])
    do throws(FleetError) {
      let found = operation.client.withState { $0.documents.vehicles }
      let vehicles = try targets.resolve(found: found, canBegin: false)
      guard let vehicle = vehicles.first, vehicles.count == 1 else {
        throw FleetError.usage(
          "ask", "\(vehicles.count) vehicles", "name one, with --fleet and --vehicle")
      }
      guard operation.client.withState({ $0.isManaged(vehicle) }) else {
        throw FleetError(
          operation: "ask", object: vehicle.description, cause: RequestOutcomes.notManaged, kind: .unavailable
        )
      }
      (self.operation, self.vehicle, self.command, self.lost) = (operation, vehicle, command, lost)
      root = targets.root
    } catch {
      operation.close()
      throw error
    }
  }

  package func close() { operation.close() }

  /// Returns the number of a received signal; nil if there is none.
  package func interruption() -> Int32? { operation.interruption() }

  /// Sends a request; answers to earlier requests are ignored from now on.
  /// - Parameter timeout: the seconds after which the broker may discard the request.
  package func ask(_ arguments: [String: JSONValue], timeout: Double) {
    id = CommandMessage.newIdentifier()
    token = operation.client.publish(
      CommandMessage.request(command, arguments, id: id, to: vehicle, root: root, expiringAfter: timeout))
  }

  /// Returns the next answer to the last request, or that none arrived within `seconds`.
  package func answer(within seconds: Double) throws(FleetError) -> Answer {
    let deadline = MonotonicTime.after(seconds)
    let topic = vehicle.topic(root: root, CommandMessage.responsePath(of: command))
    while let event = try operation.next(until: deadline) {
      switch event {
      case .published(let published, let reason?) where published == token:
        return .problem("by the broker: \(reason); check its access list for this user")
      case .message(let message):
        guard message.topic == topic, let json = CommandMessage.response(in: message, to: id) else {
          continue
        }
        guard json["state"]?.string == "done" else {
          return .problem(json["problem"]?.string ?? json["state"]?.string ?? "no reason given")
        }
        return .result(json["result"] ?? .object([:]))
      case .disconnected(let reason): lost(reason)
      case .interrupted(let signal): return .interrupted(signal: signal)
      case .published, .connected, .answered: break
      }
    }
    return .timedOut
  }
}
