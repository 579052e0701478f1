import AgentCore
import MQTT
import StoreAndForward
import Telemetry
import Testing

/// Configuration keys of the broker connection and of the store, and the resulting settings.
@Suite struct DeliveryConfigurationTests {
  private func load(_ settings: String...) throws -> AgentConfiguration {
    try AgentConfiguration(settings: ["vehicle.id=v"] + settings)
  }

  @Test func everyKeyOfTheLinkReachesTheClient() throws {
    let configuration = try load(
      "mqtt.broker=mqtts://a, mqtts://b:99", "mqtt.tls_minimum=1.3", "mqtt.alpn=mqtt", "mqtt.ca_file=/ca",
      "mqtt.certificate_file=/c", "mqtt.key_file=/k", "mqtt.user=u", "mqtt.password_file=/p",
      "mqtt.link=bursts", "mqtt.burst_interval=900", "mqtt.burst_linger=2", "mqtt.window=7",
      "mqtt.connect_timeout=9", "mqtt.backoff_base=3", "mqtt.backoff_limit=60", "mqtt.session_expiry=120",
      "mqtt.keepalive=77", "mqtt.protocol=3.1.1", "mqtt.message_expiry=55")
    let client = configuration.mqtt.client
    try client.validate()
    #expect(client.brokers == [.init(host: "a", port: 8883), .init(host: "b", port: 99)])
    var tls = MQTTTLS(
      trust: .file("/ca"), identity: .init(certificateFile: "/c", keyFile: "/k"))
    (tls.alpn, tls.minimumVersion) = ("mqtt", .tls13)
    #expect(client.tls == tls)
    #expect(client.userName == "u" && client.password == .file("/p"))
    #expect(client.linkPolicy == .bursts(linger: 2, interval: 900))
    #expect(client.publishWindow == 7 && client.connectTimeout == 9 && client.keepAlive == 77)
    #expect(client.backoffBase == 3 && client.backoffLimit == 60)
    #expect(client.sessionExpiryInterval == 120 && !client.cleanStart && client.protocolVersion == .v311)
    #expect(configuration.mqtt.messageExpiry == 55)
  }

  @Test func preSharedKeyReplacesCertificates() throws {
    let configuration = try load(
      "mqtt.broker=mqtts://a", "mqtt.psk_identity=v", "mqtt.psk_file=/psk", "mqtt.session_expiry=0")
    let client = configuration.mqtt.client
    #expect(client.tls?.trust == .preSharedKey(identity: "v", key: .file("/psk")))
    #expect(client.cleanStart && client.linkPolicy == .standing)
  }

  @Test func defaultConfigurationMatchesTheModules() throws {
    let configuration = try load()
    #expect(configuration.store.outbox == OutboxConfiguration())
    #expect(configuration.mqtt.messageExpiry == nil)
    try configuration.mqtt.client.validate()
  }

  @Test func everyStoreKeyReachesTheStore() throws {
    let outbox =
      try load(
        "store.sync=everything", "store.events_megabytes=1", "store.events_days=2",
        "store.state_megabytes=0.5", "store.state_days=1", "store.tracks_megabytes=3",
        "store.tracks_days=0.5",
        "store.other_megabytes=4", "store.other_days=0", "store.dead_letters=5", "store.memory_megabytes=6",
        "store.refused_hours=0.5"
      ).store.outbox
    #expect(outbox.events == .init(bytes: 1 << 20, age: 172_800, durability: .beforeAccepting))
    #expect(outbox.state == .init(bytes: 1 << 19, age: 86_400, durability: .beforeAccepting))
    #expect(outbox.tracks == .init(bytes: 3 << 20, age: 43_200, durability: .beforeAccepting))
    #expect(outbox.other == .init(bytes: 4 << 20, age: nil, durability: .beforeAccepting))
    #expect(outbox.deadLetters == 5 && outbox.memoryBytes == 6 << 20 && outbox.refusedAge == 1800)
    let relaxed = try load("store.sync=second").store.outbox
    #expect(DeliveryLane.allCases.allSatisfy { relaxed.limits(of: $0).durability == .withinASecond })
  }

  @Test(arguments: [
    (["mqtt.broker="], "key mqtt.broker: no broker is named"),
    (["mqtt.broker=mqtt://a,mqtts://b"], "key mqtt.broker: mqtt:// and mqtts:// cannot be mixed"),
    (["mqtt.ca_file=/ca"], "key mqtt.ca_file: mqtt.broker is not mqtts://"),
    (["mqtt.psk_file=/k"], "key mqtt.psk_file: mqtt.broker is not mqtts://"),
    (["mqtt.alpn=x"], "key mqtt.alpn: mqtt.broker is not mqtts://"),
    (["mqtt.broker=mqtts://a", "mqtt.psk_file=/k"], "mqtt.psk_identity and mqtt.psk_file go together"),
    (
      ["mqtt.broker=mqtts://a", "mqtt.psk_file=/k", "mqtt.psk_identity=i", "mqtt.ca_file=/c"],
      "key mqtt.psk_identity: a pre-shared key replaces certificates"
    ),
    (["mqtt.broker=mqtts://a", "mqtt.tls_minimum=1.1"], "\"1.1\" is not one of \"1.2\", \"1.3\""),
    (["mqtt.password_file=/p"], "key mqtt.password_file: a password needs a name"),
    (["mqtt.backoff_base=10", "mqtt.backoff_limit=5"], "key mqtt.backoff_limit: it is below"),
    (["mqtt.link=sometimes"], "\"sometimes\" is not one of \"always\", \"bursts\""),
    (["store.sync=never"], "\"never\" is not one of \"everything\""),
    (["store.events_megabytes=0"], "\"0\" is not a number from 0.01"),
  ])
  func invalidSettingsNameTheirRemedy(settings: [String], expected: String) {
    do {
      _ = try AgentConfiguration(settings: ["vehicle.id=v"] + settings)
      Issue.record("accepted")
    } catch {
      #expect("\(error)".contains(expected), "\(error)")
    }
  }
}
