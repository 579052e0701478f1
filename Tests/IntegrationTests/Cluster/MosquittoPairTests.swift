import Foundation
import TestSupport
import Testing

/// A site with two mosquitto brokers bridged to a centre, with the kit's files (`Config/clusters/mosquitto`): requests at the centre reach
/// the vehicle at either broker, and messages wait while the recorder or the centre is unavailable.
@Suite(.serialized) struct MosquittoPairTests {
  private static let members = ["acme/van-1", "dispatch", "dashboard", "simulator"]

  private static func pair() throws -> ClusterFixture {
    try ClusterFixture(
      .mosquitto, members, extra: ["user simulator", "topic write odograph/v1/#"], fleets: ["demo", "probe"])
  }

  @Test(.timeLimit(.minutes(6))) func requestsReachTheVehicleAtEitherBroker() async throws {
    let pair = try Self.pair()
    let state = try TemporaryDirectory()
    let brokers = pair.order(0).map { "\"mqtts://\($0.host):\($0.mqtt)\"" }.joined(separator: ",")
    let settings = [
      "input.mode=simulation", "status.interval=5", "vehicle.fleet=acme", "vehicle.id=van-1",
      "mqtt.broker=[\(brokers)]", "mqtt.keepalive=5", "mqtt.backoff_limit=2",
      "mqtt.ca_file=\(pair.authorityFile)",
      "mqtt.certificate_file=\(pair.certificateFile(of: "acme/van-1"))",
      "mqtt.key_file=\(pair.keyFile(of: "acme/van-1"))", "remote.enabled=true",
      "store.path=\(state.file("outbox.sqlite"))",
    ]
    let agent = try ChildProcess(
      BuiltProduct.path("odographd"), ["run"] + settings.flatMap { ["--set", $0] },
      output: state.file("agent.out"))
    defer { agent.kill() }
    let at = ["--broker", pair.fleetAddress()] + pair.options(of: "dispatch")
    let one = ["--fleet", "acme", "--vehicle", "van-1"]
    func expectManaged(_ filter: Int) async throws {
      // The bridge of a broker that the vehicle has just reached may still be connecting.
      let heard = try await OdographProcess.run(
        ["tail", "--kind", "location", "--count", "1", "--timeout", "120"] + at)
      #expect(heard.status == 0, "\(heard.output)")
      let set = try await OdographProcess.run(
        ["config", "set", "location.distance_filter=\(filter)", "--timeout", "60"] + one + at)
      #expect(set.status == 0 && set.output.contains("acme/van-1  applied"), "\(set.output)")
      let located = try await OdographProcess.run(["command", "locate"] + one + at)
      #expect(located.status == 0 && located.output.contains("acme/van-1  done"), "\(located.output)")
    }
    try await expectManaged(5)
    try pair.act("save", 1)
    try pair.act("kill", 1)
    try await expectManaged(6)
    // Broker 1 returns with its stored state; broker 2 is killed, so that the vehicle returns to broker 1.
    try pair.act("up", 1)
    try pair.act("kill", 2)
    try await expectManaged(7)
  }

  /// Uses the queue limits of the kit's `odograph.conf`.
  @Test(.timeLimit(.minutes(6))) func messagesWaitForRecorderAndCentre() async throws {
    let pair = try Self.pair()
    let state = try TemporaryDirectory()
    let path = state.file("fleet.sqlite")
    let record = RecordProcess(
      into: path, ["--broker", pair.fleetAddress(), "--fleet", "demo"] + pair.options(of: "dashboard"),
      state: state)
    try record.start()
    let load = FleetLoad()
    try load.start(try ClusterLoad.configuration(pair))
    // The tables exist once the recorder is subscribed.
    try await eventually { record.count(of: "recording") > 0 || FileManager.default.fileExists(atPath: path) }
    let reader = try SQLiteReader(path)
    func stored() throws -> Int {
      try reader.rows("SELECT count(*) FROM messages").first?[0].flatMap(Int.init) ?? 0
    }
    // Once a message is stored, the recorder's session exists.
    try await eventually {
      load.publish(1)
      try await Task.sleep(for: .milliseconds(200))
      return try stored() > 0
    }
    try await eventually { load.isSettled }
    let missed = try load.published - stored()

    #expect(try await record.finish() == 143)
    load.publish(20_000)
    try await eventually { load.isSettled }
    try record.start()
    try await eventually { try stored() + missed >= load.published }

    // The centre is stopped: messages wait at the site's broker.
    try pair.act("save", 3)
    try pair.act("kill", 3)
    load.publish(20_000)
    try await eventually { load.isSettled }
    try pair.act("up", 3)
    try await eventually { try stored() + missed >= load.published }
    #expect(try stored() + missed == load.published)
    #expect(try await record.finish() == 143)
  }
}
