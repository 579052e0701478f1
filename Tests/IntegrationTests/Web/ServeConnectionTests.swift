import Foundation
import MQTT
import TestSupport
import Testing

/// The broker connections of `odograph serve`.
@Suite struct ServeConnectionTests {
  private static let van = "/api/v1/vehicles/test/van"

  /// The page and the management of vehicles share one clean session. The recorder and the alerts have a persistent session each, because
  /// each acknowledges a message when it has stored it.
  @Test(.timeLimit(.minutes(2))) func pageAndManagementShareAConnection() async throws {
    let (broker, directory) = (try BrokerFixture(), try TemporaryDirectory())
    let file = try directory.write(
      "serve.toml",
      """
      [server]
      recording = "fleet.sqlite"
      record = true
      [alerts]
      store = "alerts.sqlite"
      group = "none"
      [rules.moved]
      when = "event"
      events = ["moving"]
      [webhooks.ops]
      url = "http://127.0.0.1:9/alerts"

      """)
    try await publish(
      broker, "odograph/v1/test/van/status",
      #"{"state":"online","time":"\#(FleetPayload.time())","sessionStart":"\#(FleetPayload.time(-60))"}"#,
      retain: true)
    let before = broker.logCount("New client connected")
    let server = try ServeProcess(broker, ["--config", file])
    defer { server.child.terminate() }
    try await eventually { try await server.get(Self.van).status == 200 }

    // Published regions are delivered by the broker for two subscriptions, and reach the page.
    let put = try await server.ask(
      "PUT", Self.van + "/regions",
      #"{"type":"FeatureCollection","features":[{"type":"Feature","id":"depot","properties":{"radius":200},"#
        + #""geometry":{"type":"Point","coordinates":[11.5,48.1]}}]}"#, type: "application/geo+json")
    #expect(put.status == 202 && put.list("vehicles").first?["state"] as? String == "sent", "\(put.text)")
    try await eventually { try await server.get(Self.van).text.contains("depot") }
    let regions = try await server.get(Self.van + "/regions")
    #expect(regions.text.contains("depot") && regions.json["state"] as? String == "waiting")

    try await broker.waitForLog("New client connected", times: before + 3)
    let log = String(
      decoding: FileManager.default.contents(atPath: broker.directory.file("broker.log")) ?? Data(),
      as: UTF8.self)
    let sessions = log.split(separator: "\n").filter { $0.contains("New client connected") }.dropFirst(before)
    #expect(sessions.count == 3 && sessions.count { $0.contains(", c1,") } == 1, "\(sessions)")
  }

  /// With MQTT 3.1.1, a broker drops retained messages at QoS 1 beyond its limits. Documents are nevertheless read completely: a change
  /// must not be based on missing ones.
  @Test(.timeLimit(.minutes(2))) func documentsOfALargeFleetAreComplete() async throws {
    let broker = try BrokerFixture([
      "allow_anonymous true", "max_queued_messages 1000", "max_inflight_messages 20",
    ])
    let outbox = MemoryOutbox()
    let session = try MQTTSession(
      configuration: MQTTConfiguration(
        brokers: [.init(host: "127.0.0.1", port: broker.port)], clientID: "vehicles"), outbound: outbox,
      handlers: .init())
    let regions =
      #"{"type":"FeatureCollection","version":"1","features":[{"type":"Feature","id":"depot","#
      + #""properties":{"radius":200},"geometry":{"type":"Point","coordinates":[11.5,48.1]}}]}"#
    for number in 0..<500 {
      let topic = "odograph/v1/test/v\(number)/"
      let (time, start) = (FleetPayload.time(), FleetPayload.time(-60))
      for (path, payload) in [
        ("status", #"{"state":"online","time":"\#(time)","sessionStart":"\#(start)"}"#),
        ("location", #"{"time":"\#(time)","latitude":48.1,"longitude":11.5}"#),
        ("altitude", #"{"time":"\#(time)","pressure":960.5}"#), ("regions/desired", regions),
      ] {
        outbox.append(MQTTMessage(topic: topic + path, text: payload, qos: .atLeastOnce, retain: true))
      }
    }
    try session.start()
    try await eventually { outbox.isEmpty }
    session.stop()
    let server = try ServeProcess(broker, ["--mqtt-v311"])
    defer { server.child.terminate() }
    try await eventually { try await server.get("/api/v1/regions").status == 200 }
    let list = try await server.get("/api/v1/regions").list("regions")
    #expect((list.first?["vehicles"] as? [Any])?.count == 500 && list.count == 1)
    #expect(broker.logCount("Outgoing messages are being dropped for client") > 0)
  }
}
