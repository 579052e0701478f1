package import Fleet
package import FleetControl
internal import JSON
package import MQTT
package import Spatial
internal import Telemetry

/// What is known of vehicles' settings, regions and commands: what the broker keeps, and what was asked through this server.
///
/// A value without any I/O: messages go in, documents and requests come out. Memory is bounded; what has no room is not
/// kept, and said to be missing.
package struct ManagementState: Sendable {
  /// What a vehicle is managed by: `{subject}/desired` and `{subject}/reported`.
  package enum Subject: String, Hashable, Sendable, CaseIterable {
    case config
    case regions
  }

  /// Paths below a vehicle whose kept messages are read.
  package static let paths = [
    TopicScheme.configDesired, TopicScheme.configReported, TopicScheme.regionsDesired,
    TopicScheme.regionsReported, TopicScheme.regionsState,
  ]

  /// Where answers to commands come.
  package static let answers = "command/+/response"

  private struct Kept: Sendable {
    var payloads: [String: [UInt8]] = [:]
    /// Paths whose message found no room.
    var missing: Set<String> = []
    /// Identifiers of requests, oldest first.
    var requests: [String] = []
  }

  package let root: String
  private let largestTotal: Int
  private var vehicles: [VehicleKey: Kept] = [:]
  /// Whether there are vehicles of which nothing is known here for lack of room, not even that something is missing.
  private var isOverfull = false
  /// Bytes of all documents with what it takes to keep them; one that several vehicles share counts for each.
  package private(set) var size = 0
  /// The last documents that were different: regions that many vehicles have in common are kept once.
  private var recent: [[UInt8]] = []
  private var requests: [String: CommandRequest] = [:]
  /// Identifiers of requests, oldest first.
  private var order: [String] = []

  /// Requests that are remembered: of a vehicle, and of all.
  package static let requestsPerVehicle = 20
  package static let requestsInAll = 5_000
  private static let shared = 16
  /// Vehicles of which it is known that something is missing, and nothing else.
  private static let mostMissing = 100_000

  /// - Parameter largestTotal: bytes that documents of all vehicles may have.
  package init(root: String, largestTotal: Int = 256 << 20) {
    (self.root, self.largestTotal) = (root, largestTotal)
  }

  // MARK: Messages

  /// Takes in a message.
  /// - Returns: the request that it answers; nil for any other message.
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
    // Whoever may write to another vehicle's topic answers for that one only.
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
    var kept = vehicles[key] ?? Kept()
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

  /// Bytes beside the texts: heads of an array and of three strings on the heap (32 each), slots of two dictionaries that are
  /// half full, and the vehicle's own entry, as if it had no other document.
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

  /// What is wanted of a vehicle and what it says of it, as it came.
  package struct Documents: Hashable, Sendable {
    var desired: [UInt8]?
    var reported: [UInt8]?
    var state: [UInt8]?
    /// Whether some of it found no room.
    package var isIncomplete = false

    /// What can be read of it.
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

  /// Remembers a request, in place of the oldest ones where there is no room.
  package mutating func add(_ request: CommandRequest) {
    requests[request.id] = request
    order.append(request.id)
    vehicles[request.vehicle, default: Kept()].requests.append(request.id)
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

  /// The broker has a request, or will not have it.
  package mutating func settle(_ id: String, refusal: String?) {
    requests[id]?.isSent = refusal == nil
    requests[id]?.brokerRefusal = refusal
  }

  package func request(_ id: String) -> CommandRequest? { requests[id] }

  /// The last requests to a vehicle, newest first.
  package func requests(to key: VehicleKey) -> [CommandRequest] {
    (vehicles[key]?.requests ?? []).reversed().compactMap { requests[$0] }
  }
}
