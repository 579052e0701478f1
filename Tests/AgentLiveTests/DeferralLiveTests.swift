import Foundation
import JSON
import SensorFixtures
import Spatial
import Telemetry
import TestSupport
import Testing

/// Deferred updates of a live receiver.
@Suite(.serialized) struct DeferralLiveTests {
  /// Batches follow each other without a gap, each with the same number of fixes; gpsd is watched once.
  @Test(.timeLimit(.minutes(3)), .needs(.gpsd)) func batchesHaveEqualSizes() throws {
    let vehicle = try LiveVehicle()
    vehicle.drive(seconds: 120)
    let agent = try AgentProcess(
      vehicle.settings.merging([
        "iio.enabled": "false", "location.deferral_timeout": "4", "location.pauses_automatically": "false",
        "heading.enabled": "false", "attitude.enabled": "false", "mqtt.broker": "mqtt://127.0.0.1:1",
      ]) { $1 }, print: true)
    func tracks() throws -> [TrackMessage] {
      try agent.messages.filter { $0.kind == "track" }.map { message in
        let payload = try JSONSerialization.data(withJSONObject: message.payload)
        return try TrackMessage(json: try JSONValue(parsing: [UInt8](payload)))
      }
    }
    // The first batch may start between two fixes.
    #expect(try waitUntil { try tracks().count >= 6 }, "\(agent.log)")
    let batches = try tracks().dropFirst()
    print("fixes in each batch: \(try tracks().map(\.fixes.count))")
    // On a loaded machine, a fix that is delayed past the end of its batch belongs to the next one.
    #expect(batches.allSatisfy { (3...5).contains($0.fixes.count) }, "\(batches.map(\.fixes.count))")
    let times = batches.flatMap { $0.fixes.map(\.time) }
    let steps = zip(times, times.dropFirst()).map { $1.seconds(since: $0) }
    #expect(steps.allSatisfy { abs($0 - 1) < 0.01 }, "\(steps)")
    #expect(vehicle.watches == 1)
    #expect(agent.child.terminate() == 0)
  }
}
