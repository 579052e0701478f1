import Foundation
import SensorFixtures
import Sensors
import Spatial
import TestSupport
import Testing

/// Motion events from hardware that delivers samples in blocks, at real-time pace.
@Suite(.serialized) struct MotionLiveTests {
  private static let imu = [EmulatedIIOD.Chip("imu", [.accelerometer, .gyroscope])]
  private static let twoChips = [
    EmulatedIIOD.Chip("accel", [.accelerometer]), EmulatedIIOD.Chip("gyro", [.gyroscope]),
  ]

  private func agent(_ server: EmulatedIIOD, _ settings: [String: String]) throws -> AgentProcess {
    let port: Int = try FreePort.next()
    let defaults = [
      "input.mode": "hardware", "iio.contexts": server.uri, "iio.rate": "100", "gpsd.enabled": "false",
      "mqtt.broker": "mqtt://127.0.0.1:\(port)", "attitude.frame": "xArbitraryZVertical",
      "attitude.filter": "0", "heading.enabled": "false",
    ]
    return try AgentProcess(defaults.merging(settings) { $1 }, print: true)
  }

  /// Reading of a device turned about the x axis by `angle` (rad) that rotates at `rate` (rad/s).
  private static func turned(_ angle: Double, _ rate: Double) -> EmulatedIIOD.Reading {
    EmulatedIIOD.Reading(
      specificForce: Quaternion(angle: angle, axis: Vector3(1, 0, 0)).conjugate.rotate(
        Vector3(0, 0, 9.80665)),
      rotationRate: Vector3(rate, 0, 0))
  }

  /// Rotation of ±80° at 0.9 Hz, in blocks of 0.1 s and 0.5 s, from one chip and from two.
  @Test(.timeLimit(.minutes(2)), arguments: [(false, "0.01"), (false, "0.5"), (true, "0.5")])
  func rotationIsNoShake(hasTwoChips: Bool, interval: String) throws {
    let server = try EmulatedIIOD(hasTwoChips ? Self.twoChips : Self.imu) { time in
      let (amplitude, turn) = (80.0.radians, 2 * Double.pi * 0.9)
      return Self.turned(amplitude * sin(turn * time), amplitude * turn * cos(turn * time))
    }
    let agent = try agent(
      server,
      [
        "attitude.interval": interval, "motion.events": "shake,impact", "motion.impact_threshold": "1.5",
      ])
    func span() -> Double {
      let times = agent.messages.filter { $0.kind == "attitude" }.compactMap { Self.time($0) }
      return (times.last ?? 0) - (times.first ?? 0)
    }
    #expect(waitUntil(atMost: 40) { span() >= 8 }, "\(agent.log)")
    #expect(agent.child.terminate() == 0)
    let messages = agent.messages
    #expect(!messages.contains { $0.kind == "motion" }, "\(messages.filter { $0.kind == "motion" })")
    let times = messages.filter { $0.kind == "attitude" }.compactMap { Self.time($0) }
    let steps = zip(times, times.dropFirst()).map { $1 - $0 }
    let usual = steps.sorted()[steps.count / 2]
    #expect(abs(usual - (Double(interval) ?? 0)) < 0.002, "\(usual)")
    let size = server.captures.map(\.blockSize).max() ?? 0
    print("two chips \(hasTwoChips), interval \(interval): \(times.count) attitudes, blocks of up to \(size)")
    // One block yields several messages.
    #expect(size >= (interval == "0.5" ? 40 : 5))
  }

  /// An acceleration of 0.5 s, followed by an impact from the other side.
  @Test(.timeLimit(.minutes(2))) func impactAfterAnAccelerationHasItsSide() throws {
    let server = try EmulatedIIOD(Self.imu) { time in
      // Repeats every 4 s. User acceleration in g with Core Motion's sign.
      let phase = time.truncatingRemainder(dividingBy: 4)
      let pulse = (phase - 2.5) / 0.08
      let user = (2..<2.5).contains(phase) ? 3.0 : (0..<1).contains(pulse) ? -8 * sin(.pi * pulse) : 0
      return EmulatedIIOD.Reading(specificForce: Vector3(-user, 0, 1) * 9.80665)
    }
    let agent = try agent(server, ["motion.events": "impact", "attitude.interval": "0.5"])
    func impacts() -> [Message] { agent.messages.filter { $0.kind == "motion" } }
    #expect(
      waitUntil(atMost: 40) { impacts().count { $0.payload["side"] as? String == "left" } >= 2 },
      "\(impacts())")
    #expect(agent.child.terminate() == 0)
    let left = impacts().filter { $0.payload["side"] as? String == "left" }
    #expect(left.allSatisfy { ($0.payload["peak"] as? Double ?? 0) > 6 }, "\(left)")
    let others = impacts().filter { $0.payload["side"] as? String != "left" }
    #expect(others.allSatisfy { $0.payload["side"] as? String == "right" }, "\(others)")
  }

  /// Each service that `status` reports as available is published.
  @Test(.timeLimit(.minutes(2)), arguments: [SensorKind.gyroscope, .magnetometer])
  func singleSensorPublishesItsAvailableServices(kind: SensorKind) throws {
    let server = try EmulatedIIOD([EmulatedIIOD.Chip("alone", [kind])]) { _ in
      EmulatedIIOD.Reading(rotationRate: Vector3(0, 0, 0.5))
    }
    let agent = try agent(
      server, ["attitude.interval": "0.1", "heading.enabled": "true", "status.interval": "2"])
    func last(_ kind: String) -> Message? { agent.messages.last { $0.kind == kind } }
    func services() -> [String: String] { last("status")?.payload["services"] as? [String: String] ?? [:] }
    let service = kind == .gyroscope ? "rotationRate" : "magneticField"
    #expect(waitUntil(atMost: 40) { services()[service] == "available" }, "\(agent.log)")
    for other in ["attitude", "heading", "trueHeading", "gravity"] {
      #expect(services()[other] != "available")
    }
    if kind == .gyroscope {
      #expect(waitUntil(atMost: 20) { last("attitude")?.payload["rotationRate"] != nil })
      let rate = last("attitude")?.payload["rotationRate"] as? [Double]
      #expect(abs((rate?.last ?? 0) - 0.5) < 0.1)
    } else {
      func compass() -> [String: Any]? { last("status")?.payload["compass"] as? [String: Any] }
      #expect(
        waitUntil(atMost: 20) { compass()?["magneticField"] != nil }, "\(String(describing: last("status")))")
      #expect(compass()?["calibrationWanted"] == nil)
    }
    #expect(agent.child.terminate() == 0)
  }

  /// Accelerometer and magnetometer without gyroscope, with hard iron: turned for some seconds, then held
  /// level, facing east.
  @Test(.timeLimit(.minutes(2))) func aCompassWithoutGyroscopeCalibrates() throws {
    let chips = [EmulatedIIOD.Chip("accel", [.accelerometer]), EmulatedIIOD.Chip("mag", [.magnetometer])]
    @Sendable func reading(_ attitude: Quaternion) -> EmulatedIIOD.Reading {
      let toDevice = attitude.conjugate
      return EmulatedIIOD.Reading(
        specificForce: toDevice.rotate(Vector3(0, 0, 9.80665)),
        magneticField: toDevice.rotate(Vector3(0, 24, -41.6)) + Vector3(30, -25, 20))
    }
    let server = try EmulatedIIOD(chips) { time in
      reading(
        Quaternion(angle: 1.7 * time, axis: Vector3(0, 0, 1))
          * Quaternion(angle: 1.2 * sin(2.3 * time), axis: Vector3(1, 0, 0))
          * Quaternion(angle: 1.2 * sin(1.3 * time), axis: Vector3(0, 1, 0)))
    }
    let agent = try agent(
      server, ["heading.enabled": "true", "heading.interval": "0.5", "heading.filter": "0", "iio.rate": "50"])
    func headings() -> [Message] { agent.messages.filter { $0.kind == "heading" } }
    #expect(
      waitUntil(atMost: 40) {
        headings().last.map { $0.payload["calibration"] as? String != "uncalibrated" } ?? false
      },
      "\(agent.log)")
    let east = Quaternion(angle: -90.0.radians, axis: Vector3(0, 0, 1))
    server.play { _ in reading(east) }
    func error() -> Double {
      abs((headings().last?.payload["magneticHeading"] as? Double ?? 0) - 90)
    }
    // Gravity and field are averaged over some seconds.
    func isAccurate() -> Bool {
      error() < 5 && error() <= 2 * (headings().last?.payload["headingAccuracy"] as? Double ?? 0)
    }
    #expect(waitUntil(atMost: 30) { isAccurate() }, "\(String(describing: headings().last))")
    #expect(headings().last?.payload["calibrationWanted"] == nil)
    #expect(agent.child.terminate() == 0)
  }

  /// Time of a message in seconds.
  private static func time(_ message: Message) -> Double? {
    (message.payload["time"] as? String).flatMap(UTCTime.init(rfc3339:)).map { Double($0.nanoseconds) * 1e-9 }
  }
}
