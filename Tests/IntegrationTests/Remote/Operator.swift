import Foundation
import MQTT
import Platform
import TestSupport

/// Manages a vehicle through a broker and records the vehicle's messages.
final class Operator {
  static let vehicle = "odograph/v1/test/van/"

  struct Received {
    var topic: String
    var json: [String: Any]
    var correlation: [UInt8]?
    /// Message expiry in s.
    var expiry: UInt32?
  }

  private let session: MQTTSession
  private let messages = Locked<[MQTTMessage]>([])

  init(_ broker: BrokerFixture, version: MQTTConfiguration.ProtocolVersion = .automatic) throws {
    var configuration = MQTTConfiguration(
      brokers: [.init(host: "127.0.0.1", port: broker.port)],
      clientID: "operator-\(UUID().uuidString.prefix(8))")
    configuration.protocolVersion = version
    configuration.backoffLimit = 1
    let messages = messages
    let subscribed = Locked(0)
    session = try MQTTSession(
      configuration: configuration,
      subscriptions: [
        MQTTSubscription(Self.vehicle + "#"), MQTTSubscription("answers/#"), MQTTSubscription("owntracks/#"),
      ],
      handlers: MQTTSession.Handlers(
        received: { batch in
          messages.withLock { $0 += batch }
          return .kept
        },
        subscriptionAnswered: { _, _ in subscribed.withLock { $0 += 1 } }))
    try session.start()
    waitUntil(atMost: 60) { subscribed.withLock { $0 } >= 3 }
  }

  deinit { session.stop(drain: 1) }

  /// Publishes below the vehicle's topic.
  func send(
    _ path: String, _ text: String, retain: Bool = false, properties: MQTTMessageProperties = .init()
  ) {
    publish(Self.vehicle + path, text, retain: retain, properties: properties)
  }

  func publish(
    _ topic: String, _ text: String, retain: Bool = false, properties: MQTTMessageProperties = .init()
  ) {
    session.publishNow(
      MQTTMessage(
        topic: topic, text: text, qos: .atLeastOnce, retain: retain, properties: properties))
  }

  /// The JSON messages below the vehicle's topic, oldest first, with their relative topics; responses without their identifier.
  var all: [(name: String, json: Any)] {
    messages.withLock { $0 }.compactMap { message in
      guard message.topic.hasPrefix(Self.vehicle),
        let json = try? JSONSerialization.jsonObject(with: Data(message.payload))
      else { return nil }
      let name = message.topic.dropFirst(Self.vehicle.count)
      let end = name.range(of: "/response/").map { name.index(before: $0.upperBound) }
      return (String(name[..<(end ?? name.endIndex)]), json)
    }
  }

  func received(_ topic: String) -> [Received] {
    messages.withLock { $0 }.filter { $0.topic == topic }.compactMap { message in
      let json = try? JSONSerialization.jsonObject(with: Data(message.payload)) as? [String: Any]
      return json.map {
        Received(
          topic: message.topic, json: $0, correlation: message.properties.correlationData,
          expiry: message.properties.messageExpiryInterval)
      }
    }
  }

  /// Number of empty messages on a topic, which delete the retained one.
  func deletions(_ topic: String) -> Int {
    messages.withLock { $0 }.count { $0.topic == topic && $0.payload.isEmpty }
  }

  /// Reports on settings, oldest first.
  var reports: [[String: Any]] { received(Self.vehicle + "config/reported").map(\.json) }

  /// Requests settings and waits for the next report.
  func want(_ document: String, retain: Bool = true) -> [String: Any]? {
    let before = reports.count
    send("config/desired", document, retain: retain)
    waitUntil(atMost: 60) { reports.count > before }
    return reports.dropFirst(before).first
  }

  /// Sends a command and waits for its response; nil if none arrives.
  /// - Parameters:
  ///   - topic: Response topic; nil: a topic below the command's own response topic.
  ///   - place: Topic on which the response is expected; nil: the response topic.
  func command(
    _ name: String, _ arguments: String = "", topic: String? = nil, place: String? = nil,
    atMost seconds: Double = 60
  ) -> [String: Any]? {
    let correlation = Array(UUID().uuidString.utf8)
    let topic = topic ?? Self.vehicle + "command/\(name)/response/\(UUID().uuidString)"
    send(
      "command/\(name)", arguments,
      properties: MQTTMessageProperties(responseTopic: topic, correlationData: correlation))
    func answer() -> Received? { received(place ?? topic).first { $0.correlation == correlation } }
    waitUntil(atMost: seconds) { answer() != nil }
    return answer()?.json
  }

  /// State in the last `status`.
  var state: String? { received(Self.vehicle + "status").last?.json["state"] as? String }
}

/// `odographd` with a configuration file, which remote settings override.
struct ManagedAgent {
  let child: ChildProcess
  let directory: TemporaryDirectory

  init(
    _ broker: BrokerFixture, remote: String, directory: TemporaryDirectory, version: String = "5",
    profile: String = #"["native"]"#, sessionExpiry: Int = 3600
  ) throws {
    self.directory = directory
    try directory.write(
      "agent.toml",
      """
      [vehicle]
      fleet = "test"
      id = "van"
      [input]
      mode = "simulation"
      speed = 5
      [iio]
      rate = 20
      # The preset car publishes rarely, so that tests would be slow.
      [location]
      reporting = "distance"
      [heading]
      interval = 1
      filter = 1
      [attitude]
      filter = 0
      [mqtt]
      link = "always"
      broker = "mqtt://127.0.0.1:\(broker.port)"
      protocol = "\(version)"
      keepalive = 5
      session_expiry = \(sessionExpiry)
      profile = \(profile)
      [store]
      path = "\(directory.file("outbox.sqlite"))"
      [regions]
      state = "\(directory.file("regions.state"))"
      [remote]
      path = "\(directory.file("remote"))"
      \(remote)
      """)
    child = try ChildProcess(
      "sh",
      [
        "-c", #"exec "$0" "$@" >>"$LOG" 2>&1"#, BuiltProduct.path("odographd"), "run", "--config",
        directory.file("agent.toml"),
      ],
      environment: ["LOG": directory.file("log")])
  }

  var log: String { (try? String(contentsOfFile: directory.file("log"), encoding: .utf8)) ?? "" }
}

/// Reason for a refusal or failure; empty if there is none.
func problem(of message: [String: Any]?) -> String { message?["problem"] as? String ?? "" }
