import Foundation
import SensorFixtures
import Spatial
import TestSupport
import Testing

/// A live receiver that repeats its position while the vehicle moves.
@Suite(.serialized) struct FrozenReceiverTests {
  /// Half a minute at 15 m/s, then the same position, with that speed or at rest.
  @Test(.timeLimit(.minutes(3)), .needs(.gpsd), arguments: [15.0, 0])
  func onlyAPositionRepeatedInMotionWithdrawsTheBound(speed: Double) throws {
    let (vehicle, last) = try Self.vehicle(speed: speed)
    let agent = try Self.agent(vehicle, ["location.reporting": "bounded"])
    // Validities in seconds of the reports since the last position.
    func validities() -> [Double] {
      Self.reports(agent, from: last).compactMap { ($0["predict"] as? [String: Any])?["validity"] as? Double }
    }
    #expect(waitUntil(atMost: 90) { !validities().isEmpty }, "\(agent.log)")
    let isWithdrawn = waitUntil(atMost: speed > 0 ? 60 : 10) { validities().contains { $0 < 30 } }
    #expect(isWithdrawn == (speed > 0), "\(validities()) \(agent.log)")
    #expect(agent.child.terminate() == 0)
  }

  /// With default reporting, the radius includes the distance driven since the position was correct.
  @Test(.timeLimit(.minutes(3)), .needs(.gpsd)) func theRadiusGrowsWithTheDistanceDriven() throws {
    let (vehicle, last) = try Self.vehicle(speed: 15)
    let agent = try Self.agent(vehicle, [:])
    func radius() -> Double {
      Self.reports(agent, from: last).compactMap { $0["horizontalAccuracy"] as? Double }.max() ?? 0
    }
    #expect(waitUntil(atMost: 120) { radius() >= 150 }, "\(radius()) \(agent.log)")
    #expect(agent.child.terminate() == 0)
  }

  private static func vehicle(speed: Double) throws -> (LiveVehicle, last: LiveReceiver.Epoch) {
    let vehicle = try LiveVehicle()
    var epochs = (0..<30).map { second in
      LiveReceiver.Epoch(
        latitude: LiveVehicle.start.latitude + 15 * Double(second) / 111_195,
        longitude: LiveVehicle.start.longitude, speed: 15, course: 0)
    }
    var last = epochs[epochs.count - 1]
    last.speed = speed
    epochs += Array(repeating: last, count: 90)
    vehicle.receiver.play(epochs, from: Int(Date().timeIntervalSince1970) + 1)
    return (vehicle, last)
  }

  private static func agent(_ vehicle: LiveVehicle, _ settings: [String: String]) throws -> AgentProcess {
    try AgentProcess(
      vehicle.settings.merging([
        "iio.enabled": "false", "heading.enabled": "false", "attitude.enabled": "false",
        "location.pauses_automatically": "false", "mqtt.broker": "mqtt://127.0.0.1:1",
      ]) { $1 }.merging(settings) { $1 }, print: true)
  }

  /// The `location` messages with positions near the last one.
  private static func reports(_ agent: AgentProcess, from last: LiveReceiver.Epoch) -> [[String: Any]] {
    agent.messages.filter { $0.kind == "location" && abs(($0.latitude ?? 0) - last.latitude) < 30 / 111_195 }
      .map(\.payload)
  }
}
