import Foundation
import TestSupport
import Testing

/// State of `odograph serve` before it has received a message.
@Suite struct ServeInitialStateTests {
  /// A broker without persistence loses its retained messages with a restart; parked vehicles are silent for hours.
  @Test(.timeLimit(.minutes(2))) func startsFromItsRecordingIfTheBrokerLostItsMessages() async throws {
    let directory = try TemporaryDirectory()
    let file = directory.file("fleet.sqlite")
    do {
      let broker = try BrokerFixture()
      let session = FleetPayload.time()
      try await publish(
        broker, "odograph/v1/demo/van-1/status", FleetPayload.status("online", session: session, seq: 1),
        retain: true)
      try await publish(
        broker, "odograph/v1/demo/van-1/location",
        FleetPayload.location(48.1, 11.5, speed: 0, course: 0, seq: 2), retain: true)
      let record = try ChildProcess(
        BuiltProduct.path("odograph"),
        ["record", file, "--broker", "mqtt://127.0.0.1:\(broker.port)", "--seconds", "3"])
      #expect(record.waitForExit() == 0, "\(record.output)")
      broker.stop()
    }
    let broker = try BrokerFixture()
    let server = try ServeProcess(broker, ["--recording", file])
    let vehicles = try await server.get("/api/v1/vehicles").list("vehicles")
    #expect(vehicles.map { $0["vehicle"] as? String } == ["van-1"])
    let position = vehicles.first?["position"] as? [String: Any]
    #expect(position?["latitude"] as? Double == 48.1)
    #expect(server.child.terminate() == 143)
  }
}
