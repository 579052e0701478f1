import Foundation
import Simulation
import TestSupport
import Testing

/// Odometer of an agent that is killed during a drive, as received by a subscriber to all topics.
@Suite(.serialized, .needs(.gpsd), .timeLimit(.minutes(4))) struct OdometerKillTests {
  @Test func noReadingIsLowerAfterAKill() throws {
    let kills = Shared.isFullRun ? 60 : 8
    let (broker, directory) = (try BrokerFixture(), try TemporaryDirectory())
    var random = SeededGenerator.announced()
    let receiver = try LiveReceiver(at: .init(latitude: 48, longitude: 11, speed: 0, course: 0))
    let person = try Operator(broker)
    func agent() throws -> AgentProcess {
      try AgentProcess(
        [
          "input.mode": "hardware", "gpsd.port": "\(receiver.port)", "iio.enabled": "false",
          "mqtt.broker": "mqtt://127.0.0.1:\(broker.port)",
        ], directory: directory,
        environment: ["STATE_DIRECTORY": directory.path, "RUNTIME_DIRECTORY": directory.path])
    }
    let drive = (0..<600).map { second -> LiveReceiver.Epoch in
      // 15 m/s with a turn each half minute.
      let (leg, part) = (Double(second / 30), Double(second % 30))
      let isEast = Int(leg) % 2 == 1
      let (north, east): (Double, Double) =
        isEast
        ? (450 * (leg + 1) / 2, 450 * (leg - 1) / 2 + 15 * part) : (450 * leg / 2 + 15 * part, 450 * leg / 2)
      return .init(
        latitude: 48 + north / 111_200, longitude: 11 + east / 74_500, speed: 15, course: isEast ? 90 : 0)
    }
    receiver.play(drive, from: Int(Date().timeIntervalSince1970) + 2)
    var running = try agent()
    func readings(_ kind: String) -> [Operator.Received] { person.received(Operator.vehicle + kind) }
    #expect(waitUntil(atMost: 40) { readings("location").count > 5 }, "\(running.log)")
    for _ in 0..<kills {
      let statuses = readings("status").count
      let due = readings("location").count + Int.random(in: 1...4, using: &random)
      #expect(waitUntil(atMost: 40) { readings("location").count >= due }, "\(running.log)")
      running.child.kill()
      _ = running.child.waitForExit()
      running = try agent()
      // Waits for the will and the status of the new agent.
      let isBack = waitUntil(atMost: 40) {
        let states = readings("status").dropFirst(statuses).map { $0.json["state"] as? String }
        return states.drop { $0 != "offline" }.contains("online")
      }
      #expect(isBack, "\(running.log)")
    }
    #expect(running.child.terminate() == 0)
    var told: [(seq: Int, metres: Double)] = []
    for message in ["status", "location", "track"].flatMap(readings) {
      guard let seq = message.json["seq"] as? Int, let metres = message.json["odometer"] as? Double else {
        continue
      }
      told.append((seq, metres))
    }
    let all = told.sorted { $0.seq < $1.seq }.map(\.metres)
    let falls = zip(all, all.dropFirst()).map { $0 - $1 }.filter { $0 > 0 }
    print(
      "\(kills) kills, \(all.count) readings up to \(all.last ?? 0) m, \(falls.count) lower, by up to \(falls.max() ?? 0) m"
    )
    #expect(falls.isEmpty && (all.last ?? 0) > 100)
    let first = told.map(\.seq).min() ?? .max
    for status in readings("status") where status.json["odometer"] == nil {
      #expect(status.json["seq"] as? Int ?? 0 < first, "\(status.json)")
    }
  }
}
