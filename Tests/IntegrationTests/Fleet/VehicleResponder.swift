import Foundation
import MQTT
import Platform
import TestSupport

/// A simulated vehicle for remote management: answers commands, accepts settings and regions, and reports the results.
final class VehicleResponder: Sendable {
  private let session: MQTTSession
  private let ready = Locked(false)

  /// - Parameters:
  ///   - name: Name in the form `fleet/vehicle`.
  ///   - refuses: A setting, region or command that it refuses.
  init(port: Int, name: String, refuses: String? = nil, version311: Bool = false) throws {
    var configuration = MQTTConfiguration(
      brokers: [.init(host: "127.0.0.1", port: port)], clientID: "vehicle-\(name)")
    configuration.protocolVersion = version311 ? .v311 : .automatic
    let base = "odograph/v1/\(name)"
    let (box, ready) = (Locked<MQTTSession?>(nil), ready)
    let queue = ResponderQueue()
    session = try MQTTSession(
      configuration: configuration,
      subscriptions: ["command/+", "config/desired", "regions/desired"].map {
        MQTTSubscription("\(base)/\($0)")
      },
      outbound: queue,
      handlers: .init(
        received: { messages in
          for message in messages {
            for answer in Self.answers(to: message, base: base, refuses: refuses) { queue.append(answer) }
          }
          box.withLock { $0 }?.wakeUp()
          return .kept
        },
        subscriptionAnswered: { filter, _ in
          if filter.hasSuffix("regions/desired") { ready.withLock { $0 = true } }
        }))
    box.withLock { [session] in $0 = session }
    try session.start()
  }

  func waitUntilReady() async throws { try await eventually { self.ready.withLock { $0 } } }

  func stop() { session.stop(drain: 1) }

  private static func answers(to message: MQTTMessage, base: String, refuses: String?) -> [MQTTMessage] {
    let path = message.topic.dropFirst(base.count + 1)
    let json = (try? JSONSerialization.jsonObject(with: Data(message.payload))) as? [String: Any] ?? [:]
    var object: [String: Any] = ["time": FleetPayload.time()]
    object["version"] = json["version"]
    var topic = base
    var isRetained = true
    switch path {
    case "config/desired":
      var settings = json["settings"] as? [String: Any] ?? [:]
      topic += "/config/reported"
      if let refuses, settings.removeValue(forKey: refuses) != nil {
        object["state"] = "refused"
        object["refused"] = [["key": refuses, "reason": "out of range"]]
      } else {
        object["state"] = "applied"
        object["settings"] = settings
      }
    case "regions/desired":
      topic += "/regions/reported"
      let features = json["features"] as? [[String: Any]] ?? []
      let names = features.compactMap { $0["id"] as? String }
      object["state"] = "applied"
      object["accepted"] = names.filter { $0 != refuses }
      object["refused"] = names.enumerated().filter { $0.element == refuses }.map {
        ["index": $0.offset, "region": $0.element, "reason": "too many corners"] as [String: Any]
      }
    default:
      isRetained = false
      topic = message.properties.responseTopic ?? "\(message.topic)/response"
      object["command"] = String(path.split(separator: "/").last ?? "")
      object["id"] = json["id"]
      object["state"] = object["command"] as? String == refuses ? "refused" : "done"
      object["result"] = ["latitude": 48.1]
    }
    guard let payload = try? JSONSerialization.data(withJSONObject: object) else { return [] }
    return [
      MQTTMessage(
        topic: topic, payload: Array(payload), qos: .atLeastOnce, retain: isRetained,
        properties: MQTTMessageProperties(correlationData: message.properties.correlationData))
    ]
  }
}

/// Messages to send. Tests need no flow control or retransmission.
private final class ResponderQueue: OutboundProvider {
  private let waiting = Locked<(next: UInt64, records: [OutboundRecord])>((0, []))

  func append(_ message: MQTTMessage) {
    waiting.withLock { state in
      state.records.append(OutboundRecord(token: state.next, message: message))
      state.next += 1
    }
  }

  func next(limit: Int) -> [OutboundRecord] {
    waiting.withLock { state in
      let records = Array(state.records.prefix(limit))
      state.records.removeFirst(records.count)
      return records
    }
  }

  func acknowledged(_ tokens: [UInt64]) {}
  func rejected(_ token: UInt64, reason: MQTTReasonCode) {}
  func offerAgain() {}
}
