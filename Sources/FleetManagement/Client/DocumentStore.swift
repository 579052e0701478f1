package import Fleet
package import JSON
internal import MQTT

/// The retained messages of vehicles, above all desired and reported documents.
///
/// Memory is bounded; messages beyond the limit are not stored, and reported as missing.
package struct DocumentStore: Sendable {
  /// The subject of a desired document and of the vehicle's report about it.
  package enum Subject: String, Hashable, Sendable, CaseIterable {
    case config
    case regions

    package var desired: String { rawValue + "/desired" }
    package var reported: String { rawValue + "/reported" }
    var state: String { rawValue + "/state" }

    /// The paths of the retained messages below a vehicle.
    package var paths: [String] { [desired, reported] + (self == .regions ? [state] : []) }

    /// Returns the message with a vehicle's desired document. It is retained, so that a vehicle that is asleep
    /// receives it when it reconnects.
    func message(_ payload: [UInt8], to key: VehicleKey, root: String) -> MQTTMessage {
      MQTTMessage(
        topic: key.topic(root: root, desired), payload: payload, qos: .atLeastOnce, retain: true,
        properties: MQTTMessageProperties(
          contentType: self == .regions ? "application/geo+json" : "application/json"))
    }
  }

  private struct StoredMessages: Sendable {
    var payloads: [String: [UInt8]] = [:]
    /// The paths whose message was not stored, because it exceeded the memory limit.
    var missing: Set<String> = []
    /// The paths whose message was published by this program and has not been received back.
    var unconfirmed: Set<String> = []
  }

  private let largestTotal: Int
  private var stored: [VehicleKey: StoredMessages] = [:]
  /// True if documents of further vehicles were dropped without recording their paths in `missing`, because
  /// too many vehicles are stored.
  private var isOverfull = false
  /// The paths whose message was published during the current connection, by vehicle.
  private var live: [VehicleKey: Set<String>] = [:]
  /// The size of all documents in bytes with overhead; shared documents count for each vehicle.
  package private(set) var size = 0
  /// The last distinct documents. A new document that is equal to one of them shares its bytes, because many
  /// vehicles have the same regions.
  private var recent: [[UInt8]] = []

  private static let shared = 16
  /// The number of vehicles from which, if the memory limit is reached, further vehicles are not even
  /// recorded as incomplete.
  private static let mostMissing = 100_000

  /// Creates an empty store.
  ///
  /// - Parameter largestTotal: the maximum size of all vehicles' documents in bytes.
  package init(largestTotal: Int = .max) { self.largestTotal = largestTotal }

  /// Records that what the broker has retained is received again.
  mutating func beginConnection() { live = [:] }

  /// Returns whether a message was published during the current connection, so that it is newer than what the broker
  /// had retained at its start.
  func isLive(_ path: String, of key: VehicleKey) -> Bool { live[key]?.contains(path) == true }

  /// Stores a message; an empty payload deletes it.
  /// - Parameters:
  ///   - isReceived: false for a message that this program has published.
  ///   - isLive: true for a message that was published during the current connection.
  /// - Returns: false for a message that was received before with the same payload.
  @discardableResult
  package mutating func apply(
    _ payload: [UInt8], _ path: String, of key: VehicleKey, isReceived: Bool = true, isLive: Bool = false
  ) -> Bool {
    if isLive, live.count < Self.mostMissing { live[key, default: []].insert(path) }
    let cost = Self.cost(payload, path, of: key)
    if stored[key] == nil, stored.count >= Self.mostMissing, size + cost > largestTotal {
      isOverfull = isOverfull || !payload.isEmpty
      return true
    }
    var kept = stored.removeValue(forKey: key) ?? StoredMessages()
    defer { if !kept.payloads.isEmpty || !kept.missing.isEmpty { stored[key] = kept } }
    if kept.payloads[path] ?? [] == payload, !kept.missing.contains(path) {
      return isReceived && kept.unconfirmed.remove(path) != nil
    }
    if let old = kept.payloads.removeValue(forKey: path) { size -= Self.cost(old, path, of: key) }
    kept.missing.remove(path)
    kept.unconfirmed.remove(path)
    guard !payload.isEmpty else { return true }
    if size + cost <= largestTotal {
      size += cost
      kept.payloads[path] = shared(payload)
      if !isReceived { kept.unconfirmed.insert(path) }
    } else {
      kept.missing.insert(path)
    }
    return true
  }

  /// The estimated overhead of a stored document in bytes: headers of an array and three strings (32 each),
  /// slots of two half-full dictionaries, and the vehicle's own entry.
  private static let overhead = 384

  private static func cost(_ payload: [UInt8], _ path: String, of key: VehicleKey) -> Int {
    payload.count + path.utf8.count + key.fleet.utf8.count + key.vehicle.utf8.count + overhead
  }

  private mutating func shared(_ payload: [UInt8]) -> [UInt8] {
    if let same = recent.first(where: { $0 == payload }) { return same }
    if recent.count >= Self.shared { recent.removeFirst() }
    recent.append(payload)
    return payload
  }

  /// The vehicles with stored messages, sorted.
  package var vehicles: [VehicleKey] { stored.keys.sorted() }

  /// Returns the payloads of a vehicle's stored messages by their path.
  package func payloads(of key: VehicleKey) -> [String: [UInt8]] { stored[key]?.payloads ?? [:] }

  /// The original desired and reported documents of a vehicle.
  package struct Documents: Hashable, Sendable {
    package var desired: [UInt8]?
    package var reported: [UInt8]?
    package var state: [UInt8]?
    /// True if some documents were not stored, because they exceeded the memory limit.
    package var isIncomplete = false

    /// The documents, parsed.
    package var parsed: VehicleDocuments {
      VehicleDocuments(
        desired: Self.json(desired), reported: Self.json(reported), state: Self.json(state))
    }

    package static func json(_ payload: [UInt8]?) -> JSONValue? {
      payload.flatMap { try? JSONValue(parsing: $0) }
    }
  }

  package func documents(_ subject: Subject, of key: VehicleKey) -> Documents {
    guard let kept = stored[key] else { return Documents(isIncomplete: isOverfull) }
    return Documents(
      desired: kept.payloads[subject.desired], reported: kept.payloads[subject.reported],
      state: kept.payloads[subject.state],
      isIncomplete: kept.missing.contains { $0.hasPrefix(subject.rawValue + "/") })
  }
}
