package import Fleet
package import FleetManagement
internal import JSON
package import MQTT
package import Spatial
internal import Telemetry

/// The state of vehicles' settings, regions and commands: retained documents, and requests sent through this
/// server.
///
/// A value type without I/O: messages are applied; documents and requests are returned. Memory is bounded;
/// documents beyond the limit are not stored, and reported as missing.
package struct ManagementState: Sendable {
  /// A managed subject: `{subject}/desired` and `{subject}/reported`.
  package enum Subject: String, Hashable, Sendable, CaseIterable {
    case config
    case regions
  }

  /// The paths below a vehicle whose retained messages are read.
  package static let paths = [
    TopicScheme.configDesired, TopicScheme.configReported, TopicScheme.regionsDesired,
    TopicScheme.regionsReported, TopicScheme.regionsState,
  ]

  /// The topic filter of responses to commands, below a vehicle's topic.
  package static let answers = "command/+/response"

  private struct StoredMessages: Sendable {
    var payloads: [String: [UInt8]] = [:]
    /// The paths whose message was not stored, because it exceeded the memory limit.
    var missing: Set<String> = []
    /// The identifiers of requests, oldest first.
    var requests: [String] = []
  }

  package let root: String
  private let largestTotal: Int
  private var vehicles: [VehicleKey: StoredMessages] = [:]
  /// True if documents of further vehicles were dropped without recording their paths in `missing`, because
  /// too many vehicles are stored.
  private var isOverfull = false
  /// The size of all documents in bytes with overhead; shared documents count for each vehicle.
  package private(set) var size = 0
  /// The last distinct documents. A new document that is equal to one of them shares its bytes, because many
  /// vehicles have the same regions.
  private var recent: [[UInt8]] = []
  private var requests: [String: CommandRequest] = [:]
  /// The identifiers of requests, oldest first.
  private var order: [String] = []

  /// The maximum numbers of stored requests per vehicle and in total.
  package static let requestsPerVehicle = 20
  package static let requestsInAll = 5_000
  private static let shared = 16
  /// The number of vehicles from which, if the memory limit is reached, further vehicles are not even
  /// recorded as incomplete.
  private static let mostMissing = 100_000

  /// Creates an empty state.
  ///
  /// - Parameter largestTotal: the maximum size of all vehicles' documents in bytes.
  package init(root: String, largestTotal: Int = 256 << 20) {
    (self.root, self.largestTotal) = (root, largestTotal)
  }

  // MARK: Messages

  /// Applies a message.
  /// - Returns: the request that it answers; nil for other messages.
  package mutating func receive(_ message: MQTTMessage, at time: UTCTime) -> CommandRequest? {
    guard let address = TopicAddress(topic: message.topic, root: root) else { return nil }
    if Self.paths.contains(address.path) {
      keep(message.payload, address.path, of: address.key)
      return nil
    }
    guard !message.retain, address.path.hasPrefix("command/"), address.path.hasSuffix("/response"),
      let json = try? JSONValue(parsing: message.payload)
    else { return nil }
    let correlation = message.properties.correlationData.map { String(decoding: $0, as: UTF8.self) }
    // A response counts only if it was published to the topic of the request's vehicle. A client with write
    // access to the topics of one vehicle can therefore not answer for another vehicle.
    guard let id = correlation ?? json["id"]?.string, var request = requests[id], request.answer == nil,
      request.vehicle == address.key, address.path == "command/\(request.command)/response",
      let answer = try? CommandResponseMessage(json: json)
    else { return nil }
    (request.answer, request.answered, request.isSent) = (answer, time, true)
    requests[id] = request
    return request
  }

  private mutating func keep(_ payload: [UInt8], _ path: String, of key: VehicleKey) {
    let cost = Self.cost(payload, path, of: key)
    if vehicles[key] == nil, vehicles.count >= Self.mostMissing, size + cost > largestTotal {
      isOverfull = isOverfull || !payload.isEmpty
      return
    }
    var kept = vehicles[key] ?? StoredMessages()
    if let old = kept.payloads.removeValue(forKey: path) { size -= Self.cost(old, path, of: key) }
    kept.missing.remove(path)
    if !payload.isEmpty {
      if size + cost <= largestTotal {
        size += cost
        kept.payloads[path] = shared(payload)
      } else {
        kept.missing.insert(path)
      }
    }
    vehicles[key] = kept.payloads.isEmpty && kept.missing.isEmpty && kept.requests.isEmpty ? nil : kept
  }

  /// The estimated overhead of a stored document in bytes: headers of an array and three strings (32 each),
  /// slots of two half-full dictionaries, and the vehicle's own entry.
  static let overhead = 384

  static func cost(_ payload: [UInt8], _ path: String, of key: VehicleKey) -> Int {
    payload.count + path.utf8.count + key.fleet.utf8.count + key.vehicle.utf8.count + overhead
  }

  private mutating func shared(_ payload: [UInt8]) -> [UInt8] {
    if let same = recent.first(where: { $0 == payload }) { return same }
    if recent.count >= Self.shared { recent.removeFirst() }
    recent.append(payload)
    return payload
  }

  // MARK: Documents

  /// The original desired and reported documents of a vehicle.
  package struct Documents: Hashable, Sendable {
    var desired: [UInt8]?
    var reported: [UInt8]?
    var state: [UInt8]?
    /// True if some documents were not stored, because they exceeded the memory limit.
    package var isIncomplete = false

    /// The documents, parsed.
    package var parsed: VehicleDocuments {
      VehicleDocuments(
        desired: Self.json(desired), reported: Self.json(reported), state: Self.json(state))
    }

    static func json(_ payload: [UInt8]?) -> JSONValue? { payload.flatMap { try? JSONValue(parsing: $0) } }
  }

  package func documents(_ subject: Subject, of key: VehicleKey) -> Documents {
    guard let kept = vehicles[key] else { return Documents(isIncomplete: isOverfull) }
    let name = subject.rawValue
    return Documents(
      desired: kept.payloads[name + "/desired"], reported: kept.payloads[name + "/reported"],
      state: kept.payloads[name + "/state"],
      isIncomplete: kept.missing.contains { $0.hasPrefix(name + "/") })
  }

  // MARK: Requests

  /// Adds a request, and drops the oldest ones beyond the limits.
  package mutating func add(_ request: CommandRequest) {
    requests[request.id] = request
    order.append(request.id)
    vehicles[request.vehicle, default: StoredMessages()].requests.append(request.id)
    if let own = vehicles[request.vehicle]?.requests, own.count > Self.requestsPerVehicle {
      forget(own[0])
    }
    if order.count > Self.requestsInAll { forget(order[0]) }
  }

  private mutating func forget(_ id: String) {
    order.removeAll { $0 == id }
    guard let request = requests.removeValue(forKey: id) else { return }
    vehicles[request.vehicle]?.requests.removeAll { $0 == id }
  }

  /// Records the broker's acknowledgement or rejection of a request.
  package mutating func settle(_ id: String, refusal: String?) {
    requests[id]?.isSent = refusal == nil
    requests[id]?.brokerRefusal = refusal
  }

  package func request(_ id: String) -> CommandRequest? { requests[id] }

  /// Returns the last requests to a vehicle, newest first.
  package func requests(to key: VehicleKey) -> [CommandRequest] {
    (vehicles[key]?.requests ?? []).reversed().compactMap { requests[$0] }
  }
}
