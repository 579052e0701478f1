package import Fleet
package import JSON
internal import MQTT
package import Spatial
package import Telemetry

/// A command to a vehicle, with its state.
package struct CommandRequest: Hashable, Sendable {
  package enum State: String, Hashable, Sendable, CaseIterable {
    /// The broker has not acknowledged the command.
    case sending
    /// The broker has the command; the vehicle has not responded.
    case waiting
    case done
    case refused
    case failed
    /// The command has expired without a response: the broker discards it, and no response is expected.
    case silent
  }

  package var id: String
  package var vehicle: VehicleKey
  package var command: String
  package var arguments: [String: JSONValue]
  /// The name of the user who sent the command.
  package var by: String
  package var asked: UTCTime
  /// The time at which the broker discards the command.
  package var expires: UTCTime
  package var isSent = false
  /// The reason for which the broker rejected the command; nil otherwise.
  package var brokerRefusal: String?
  package var answer: CommandResponseMessage?
  /// The time at which the response was received; nil before.
  package var answered: UTCTime?

  package init(
    id: String, vehicle: VehicleKey, command: String, arguments: [String: JSONValue], by: String,
    asked: UTCTime, expires: UTCTime
  ) {
    (self.id, self.vehicle, self.command, self.arguments) = (id, vehicle, command, arguments)
    (self.by, self.asked, self.expires) = (by, asked, expires)
  }

  package func state(at now: UTCTime) -> State {
    if let answer {
      switch answer.state {
      case .done: return .done
      case .refused: return .refused
      case .failed: return .failed
      }
    }
    if brokerRefusal != nil { return .refused }
    if now > expires { return .silent }
    return isSent ? .waiting : .sending
  }
}

/// The last commands to each vehicle, with their responses. Their number is bounded.
package struct CommandHistory: Sendable {
  private var requests: [String: CommandRequest] = [:]
  /// The identifiers of requests, oldest first.
  private var order: [String] = []
  /// The identifiers of each vehicle's requests, oldest first.
  private var byVehicle: [VehicleKey: [String]] = [:]

  /// The maximum numbers of stored requests per vehicle and in total.
  package static let requestsPerVehicle = 20
  package static let requestsInAll = 5_000

  package init() {}

  package subscript(id: String) -> CommandRequest? { requests[id] }

  /// Returns the last requests to a vehicle, newest first.
  package func requests(to key: VehicleKey) -> [CommandRequest] {
    (byVehicle[key] ?? []).reversed().compactMap { requests[$0] }
  }

  /// Adds a request, and drops the oldest ones beyond the limits.
  mutating func add(_ request: CommandRequest) {
    requests[request.id] = request
    order.append(request.id)
    byVehicle[request.vehicle, default: []].append(request.id)
    if let own = byVehicle[request.vehicle], own.count > Self.requestsPerVehicle { forget(own[0]) }
    if order.count > Self.requestsInAll { forget(order[0]) }
  }

  private mutating func forget(_ id: String) {
    order.removeAll { $0 == id }
    guard let key = requests.removeValue(forKey: id)?.vehicle else { return }
    byVehicle[key]?.removeAll { $0 == id }
    if byVehicle[key]?.isEmpty == true { byVehicle[key] = nil }
  }

  /// Records the broker's acknowledgement or rejection of a request.
  mutating func settle(_ id: String, refusal: String?) {
    requests[id]?.isSent = refusal == nil
    requests[id]?.brokerRefusal = refusal
  }

  /// Records the response in a message.
  mutating func receive(_ message: MQTTMessage, at address: TopicAddress, _ time: UTCTime) {
    // The responses to other programs need not be read.
    let isAwaited = (byVehicle[address.key] ?? []).contains { id in
      requests[id].map { $0.answer == nil && CommandMessage.responsePath(of: $0.command) == address.path }
        ?? false
    }
    guard isAwaited else { return }
    // A response counts only if it was published to the topic of the request's vehicle. A client with write
    // access to the topics of one vehicle can therefore not answer for another vehicle.
    guard let (id, json) = CommandMessage.response(in: message), var request = requests[id],
      request.answer == nil, request.vehicle == address.key,
      address.path == CommandMessage.responsePath(of: request.command),
      let answer = try? CommandResponseMessage(json: json)
    else { return }
    (request.answer, request.answered, request.isSent) = (answer, time, true)
    requests[id] = request
  }
}
