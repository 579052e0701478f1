import Foundation
import MQTT
import TestSupport
import Testing

/// The example configuration and access list in `Config/mosquitto`: a vehicle can use its own topics only.
@Suite(.serialized) struct BrokerAccessTests {
  let authority: CertificateAuthority
  let broker: BrokerFixture

  init() throws {
    authority = try CertificateAuthority()
    broker = try Self.exampleBroker(authority)
  }

  /// Starts the example configuration with the test's paths, port and user.
  private static func exampleBroker(_ authority: CertificateAuthority) throws -> BrokerFixture {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "Config/mosquitto")
    let identity = try authority.issue("broker")
    let replaced = [
      "acl_file": folder.appending(path: "odograph.acl").path, "cafile": authority.certificateFile,
      "certfile": identity.certificateFile, "keyfile": identity.keyFile, "persistence_location": "DIRECTORY/",
    ]
    let text = try String(contentsOf: folder.appending(path: "odograph.conf"), encoding: .utf8)
    var lines: [String] = []
    for line in text.split(separator: "\n") where !line.hasPrefix("#") {
      let words = line.split(separator: " ", maxSplits: 1).map(String.init)
      // The fixture configures the listener. The example's limits replace the fixture's: without a queue limit, this broker closes the
      // connection after each refused publish.
      // Deploy/kit-check.sh tests the revocation list; this authority has none.
      if words[0] == "listener" || words[0] == "crlfile" { continue }
      lines.append(replaced[words[0]].map { "\(words[0]) \($0)" } ?? String(line))
    }
    #expect(replaced.keys.allSatisfy { key in lines.contains { $0.hasPrefix(key + " ") } })
    return try BrokerFixture(lines)
  }

  private func settings(_ name: String) throws -> MQTTConfiguration {
    let file = name.replacing("/", with: "-")
    let identity = try authority.issue(file, commonName: name)
    var settings = configuration(broker, "client-of-\(file)")
    settings.tls = MQTTTLS(
      trust: .file(authority.certificateFile),
      identity: .init(certificateFile: identity.certificateFile, keyFile: identity.keyFile))
    return settings
  }

  /// Publishes to all topics concurrently. Returns the topics that the broker refused, with the reason codes.
  private func refusals(of topics: [String], by name: String) async throws -> [String: MQTTReasonCode] {
    let store = MemoryOutbox()
    for topic in topics { store.append(MQTTMessage(topic: topic, text: "x", qos: .atLeastOnce)) }
    let session = try MQTTSession(
      configuration: settings(name), outbound: store, handlers: MQTTSession.Handlers())
    try session.start()
    try await eventually { store.isEmpty }
    session.stop()
    return Dictionary(uniqueKeysWithValues: store.rejected.map { (topics[Int($0.token) - 1], $0.reason) })
  }

  private static let vehicleTopics = [
    "status", "location", "location/event", "track", "heading", "attitude", "altitude", "motion",
    "region", "vehicle", "scan", "beacons/wanted", "trace", "trace/piece",
    "regions/reported",
    "config/reported", "command/locate/response",
  ]
  private static let requestTopics = [
    "config/desired", "regions/desired", "beacons/piece", "command/locate", "command/track",
  ]

  @Test(.timeLimit(.minutes(6))) func vehiclePublishesToItsOwnTopicsOnly() async throws {
    let own = Self.vehicleTopics.map { "odograph/v1/acme/van-1/\($0)" }
    let others =
      Self.vehicleTopics.flatMap { ["odograph/v1/acme/van-2/\($0)", "odograph/v1/other/van-1/\($0)"] }
      + Self.requestTopics.flatMap { ["odograph/v1/acme/van-1/\($0)", "odograph/v1/acme/van-2/\($0)"] } + [
        "odograph/v1/acme/van-1", "odograph/v1/acme/van-1/response", "odograph/v1/acme/van-1/unheard-of",
        "odograph/v1/acme/van-1/status/more",
        "odograph/v1/van-1/status", "odograph/v1/acme/status", "odograph/v2/acme/van-1/status", "status",
        "acme/van-1/status", "$SYS/broker/uptime", "owntracks/acme/van-1", "homeassistant/device_tracker/x",
      ]
    let refused = try await refusals(of: own + others, by: "acme/van-1")
    #expect(Set(refused.keys) == Set(others))
    #expect(refused.values.allSatisfy { $0 == .notAuthorized })
  }

  @Test(.timeLimit(.minutes(6))) func vehicleReceivesItsOwnRequestsOnly() async throws {
    let recorder = SessionRecorder()
    let filters = ["#", "$SYS/#", "odograph/v1/acme/van-2/#", "odograph/v1/+/+/config/desired"]
    let vehicle = try MQTTSession(
      configuration: settings("acme/van-1"), subscriptions: filters.map { MQTTSubscription($0) },
      handlers: recorder.handlers)
    try vehicle.start()
    try await eventually { recorder.answerCount == filters.count }
    let everything = ["acme/van-1", "acme/van-2", "other/van-1"].flatMap { vehicle in
      Self.requestTopics.map { "odograph/v1/\(vehicle)/\($0)" }
    }
    #expect(try await refusals(of: everything, by: "dispatch").isEmpty)
    let neighbour = ["odograph/v1/acme/van-2/location", "odograph/v1/acme/van-2/status"]
    #expect(try await refusals(of: neighbour, by: "acme/van-2").isEmpty)
    // Messages arrive in order: once this one has arrived, no earlier one is outstanding.
    #expect(try await refusals(of: ["odograph/v1/acme/van-1/command/end"], by: "dispatch").isEmpty)
    try await eventually { recorder.messages.contains { $0.topic.hasSuffix("/end") } }
    let own = Set((Self.requestTopics + ["command/end"]).map { "odograph/v1/acme/van-1/\($0)" })
    #expect(Set(recorder.messages.map(\.topic)) == own)
    vehicle.stop()
  }

  @Test(.timeLimit(.minutes(6))) func fleetRolesPublishTheirTopicsOnly() async throws {
    let spoken = Self.vehicleTopics.map { "odograph/v1/acme/van-1/\($0)" }
    #expect(try await Set(refusals(of: spoken, by: "dispatch").keys) == Set(spoken))
    let requests = Self.requestTopics.map { "odograph/v1/acme/van-1/\($0)" }
    #expect(try await Set(refusals(of: requests + spoken, by: "dashboard").keys) == Set(requests + spoken))
    // `odograph forget` publishes to all topics.
    let other = ["odograph/v2/acme/van-1/status", "owntracks/acme/van-1", "$SYS/broker/uptime"]
    #expect(try await Set(refusals(of: requests + spoken + other, by: "admin").keys) == Set(other))
  }

  @Test(.timeLimit(.minutes(6))) func onlyAdminForgetsVehicles() async throws {
    let store = MemoryOutbox()
    store.append(
      MQTTMessage(
        topic: "odograph/v1/acme/van-9/location", text: "{}", qos: .atLeastOnce, retain: true))
    let vehicle = try MQTTSession(
      configuration: settings("acme/van-9"), outbound: store, handlers: MQTTSession.Handlers())
    try vehicle.start()
    try await eventually { store.isEmpty }
    vehicle.stop()
    for (name, status, said) in [
      ("dispatch", Int32(69), "as it permits admin in Config/mosquitto/odograph.acl"),
      ("admin", 0, "1 retained messages of 1 vehicle are deleted"),
    ] {
      let identity = try authority.issue(name, commonName: name)
      let result = try await OdographProcess.run([
        "forget", "--fleet", "acme", "--vehicle", "van-9", "--yes", "--broker",
        "mqtts://127.0.0.1:\(broker.port)", "--ca", authority.certificateFile, "--cert",
        identity.certificateFile, "--key", identity.keyFile,
      ])
      #expect(result.status == status && result.output.contains(said), "\(name): \(result.output)")
    }
  }

  @Test(.timeLimit(.minutes(6))) func willForAnotherVehicleIsNotPublished() async throws {
    let recorder = SessionRecorder()
    let watcher = try MQTTSession(
      configuration: settings("dashboard"), subscriptions: [MQTTSubscription("odograph/#")],
      handlers: recorder.handlers)
    try watcher.start()
    try await eventually { recorder.answerCount == 1 }
    var thief = try settings("acme/van-2")
    thief.will = MQTTMessage(topic: "odograph/v1/acme/van-1/status", text: "forged", qos: .atLeastOnce)
    let link = try LinkProxy(to: broker.port)
    thief.brokers = [.init(host: "127.0.0.1", port: link.port)]
    let session = try MQTTSession(configuration: thief, handlers: recorder.handlers)
    try session.start()
    // The broker either refuses the connection or discards the will.
    try await eventually { !recorder.states.filter { "\($0)".contains("\(link.port)") }.isEmpty }
    link.setOpen(false)
    #expect(try await refusals(of: ["odograph/v1/acme/van-1/status"], by: "acme/van-1").isEmpty)
    try await eventually { !recorder.messages.isEmpty }
    #expect(recorder.payloads == ["x"])
    session.stop()
    watcher.stop()
  }

  @Test(.timeLimit(.minutes(6))) func clientsWithoutATrustedCertificateAreRefused() async throws {
    var nameless = try settings("acme/van-1")
    nameless.tls?.identity = nil
    nameless.connectTimeout = 5
    let other = try CertificateAuthority("Other").issue("acme-van-1", commonName: "acme/van-1")
    var foreign = try settings("acme/van-1")
    foreign.tls?.identity = .init(certificateFile: other.certificateFile, keyFile: other.keyFile)
    foreign.connectTimeout = 5
    for client in [nameless, foreign] {
      let recorder = SessionRecorder()
      let session = try MQTTSession(configuration: client, handlers: recorder.handlers)
      try session.start()
      try await eventually { !recorder.states.isEmpty }
      #expect(!recorder.states[0].isConnected, "\(recorder.states[0])")
      session.stop()
    }
  }

  /// The agent with an otherwise default configuration.
  @Test(.timeLimit(.minutes(6))) func agentDeliversThroughTheExample() async throws {
    let recorder = SessionRecorder()
    let watcher = try MQTTSession(
      configuration: settings("dispatch"), subscriptions: [MQTTSubscription("odograph/#")],
      handlers: recorder.handlers)
    try watcher.start()
    try await eventually { recorder.answerCount == 1 }
    let identity = try authority.issue("agent", commonName: "test/van")
    let agent = try AgentProcess([
      "mqtt.broker": "mqtts://127.0.0.1:\(broker.port)", "mqtt.ca_file": authority.certificateFile,
      "mqtt.certificate_file": identity.certificateFile, "mqtt.key_file": identity.keyFile,
      "mqtt.tls_minimum": "1.3", "input.mode": "simulation", "motion.events": "impact,activity",
    ])
    try await eventually {
      Set(recorder.wire.map(\.kind)).isSuperset(of: ["status", "location", "attitude"])
    }
    agent.child.terminate()
    try await eventually { recorder.wire.last { $0.kind == "status" }?.state == "offline" }
    #expect(recorder.messages.allSatisfy { $0.topic.hasPrefix("odograph/v1/test/van/") })
    // No dead letters: the broker refused no publish.
    #expect(try DeadLetterCommand(agent.directory).letters.isEmpty)
    watcher.stop()
  }
}
