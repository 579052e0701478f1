package import Fleet
package import FleetCommand
package import JSON
internal import MQTT
internal import Platform
internal import Telemetry

/// A connection for requests to one vehicle.
package final class VehicleQuestion {
  package enum Answer {
    /// The result of a successful command.
    case result(JSONValue)
    /// The reason of a rejection or failure.
    case problem(String)
    case timedOut
    case interrupted(ExitStatus)
  }

  package let vehicle: VehicleKey
  private let exchange: FleetExchange
  private let topic: String
  private var id = ""
  private var token: UInt64?

  /// Connects to the broker.
  ///
  /// - Throws: `FleetError` if the options do not name exactly one vehicle, if the vehicle declines remote
  ///   management, or if the broker is unreachable.
  package init(_ broker: BrokerArguments, _ targets: VehicleTargets, command: String) throws(FleetError) {
    let path = "command/\(command)"
    let exchange = try FleetExchange(
      broker.configuration(), filters: try targets.filters([path + "/response"]),
      kept: try targets.filters(["status"]))
    do throws(FleetError) {
      try exchange.open()
      let retained = try exchange.retained()
      let vehicles = try targets.resolve(retained, canBegin: false)
      guard let vehicle = vehicles.first, vehicles.count == 1 else {
        throw FleetError.usage(
          "ask", "\(vehicles.count) vehicles", "name one, with --fleet and --vehicle")
      }
      guard VehicleRequests.unmanaged(retained, root: targets.root).isEmpty else {
        throw FleetError(
          operation: "ask", object: vehicle.description, cause: VehicleRequests.notManaged, kind: .unavailable
        )
      }
      (self.exchange, self.vehicle) = (exchange, vehicle)
      topic = vehicle.topic(root: targets.root, path)
    } catch {
      exchange.close()
      throw error
    }
  }

  package func close() { exchange.close() }

  /// Returns the exit status of a received signal; nil if there is none.
  func interruption() -> ExitStatus? { exchange.interruption() }

  /// Sends a request; answers to earlier requests are ignored from now on.
  /// - Parameter timeout: the seconds after which the broker may discard the request.
  package func ask(_ arguments: [String: JSONValue], timeout: Double) {
    id = String(UInt64.random(in: 0 ... .max), radix: 16)
    token = exchange.publish(
      MQTTMessage(
        topic: topic, text: JSONValue.object(arguments.merging(["id": .string(id)]) { $1 }).text,
        qos: .atLeastOnce,
        properties: MQTTMessageProperties(
          contentType: "application/json", messageExpiryInterval: UInt32(timeout.rounded(.up)),
          responseTopic: topic + "/response", correlationData: Array(id.utf8))))
  }

  /// Returns the next answer to the last request, or that none arrived within `seconds`.
  package func answer(within seconds: Double) throws(FleetError) -> Answer {
    let deadline = SystemClock.monotonic + Int64(seconds * 1e9)
    while let event = try exchange.next(until: deadline) {
      switch event {
      case .published(let published, let reason?) where published == token:
        return .problem("by the broker: \(reason); check its access list for this user")
      case .message(let message):
        guard !message.retain, message.topic == topic + "/response",
          let json = try? JSONValue(parsing: message.payload)
        else { continue }
        let correlation = message.properties.correlationData.map { String(decoding: $0, as: UTF8.self) }
        guard correlation ?? json["id"]?.string == id else { continue }
        guard json["state"]?.string == "done" else {
          return .problem(json["problem"]?.string ?? json["state"]?.string ?? "no reason given")
        }
        return .result(json["result"] ?? .object([:]))
      case .disconnected(let reason): StandardError.report("\(reason); connecting again")
      case .interrupted(let status): return .interrupted(status)
      case .published, .connected, .answered: break
      }
    }
    return .timedOut
  }
}
