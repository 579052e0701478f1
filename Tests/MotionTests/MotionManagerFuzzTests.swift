import Foundation
import Motion
import Sensors
import Spatial
import TestSupport
import Testing

/// No sequence of events traps or makes the manager report a non-finite number.
@Suite struct MotionManagerFuzzTests {
  private static let nasty: [Double] = [
    0, -0.0, .nan, .infinity, -.infinity, .greatestFiniteMagnitude, -.greatestFiniteMagnitude,
    .leastNonzeroMagnitude, 1e-300, 1e12, 199, 999.9, 1e5,
  ]

  private struct Source {
    var random: SplitMix
    var time: Int64 = 0

    mutating func component(_ scale: Double) -> Double {
      switch Int.random(in: 0..<60, using: &random) {
      case 0: nasty[Int.random(in: 0..<nasty.count, using: &random)]
      case 1: 100 * scale * Double.random(in: -1...1, using: &random)
      default: scale * Double.random(in: -1...1, using: &random)
      }
    }

    mutating func vector(_ scale: Double) -> Vector3 {
      Vector3(component(scale), component(scale), component(scale))
    }

    mutating func stamp() -> Timestamp {
      switch Int.random(in: 0..<4000, using: &random) {
      case 0: time = Int64.random(in: .min ... .max, using: &random)
      case 1: time = [Int64.min, .max, 0, -1][Int.random(in: 0..<4, using: &random)]
      case 2..<10: time &+= Int64.random(in: -1_000_000_000...5_000_000_000, using: &random)
      case 10..<400: time &+= Int64.random(in: -20_000_000...20_000_000, using: &random)
      default: time &+= Int64.random(in: 0...5_000_000, using: &random)
      }
      return Timestamp(nanoseconds: time)
    }
  }

  /// Description of an invalid output; nil if all are valid.
  private func objection(_ manager: MotionManager) -> String? {
    if let motion = manager.deviceMotion {
      guard motion.gravity.isFinite, motion.userAcceleration.isFinite, motion.rotationRate?.isFinite ?? true,
        motion.magneticField?.field.isFinite ?? true, motion.heading?.isFinite ?? true
      else { return "\(motion)" }
      if let attitude = motion.attitude {
        let angles = attitude.eulerAngles
        guard attitude.quaternion.isFinite, abs(attitude.quaternion.norm - 1) < 1e-6, angles.roll.isFinite,
          angles.yaw.isFinite, abs(angles.pitch) <= .pi / 2 + 1e-9, abs(angles.roll) <= .pi + 1e-9,
          abs(angles.yaw) <= .pi + 1e-9
        else { return "\(attitude)" }
      }
    }
    if let heading = manager.magneticHeading, !(0..<360).contains(heading) { return "heading \(heading)" }
    if let accuracy = manager.headingAccuracy, !(0...90).contains(accuracy) { return "accuracy \(accuracy)" }
    let calibration = manager.calibration
    guard (try? MotionCalibration(text: calibration.text)) == calibration else { return calibration.text }
    return nil
  }

  /// 50,000 samples per seed; 250,000 with `ODOGRAPH_FULL`.
  @Test(arguments: [61, 62, 63, 64] as [UInt64]) func randomEvents(seed: UInt64) throws {
    let count = Shared.isFullRun ? 250_000 : 50_000
    var source = Source(random: SplitMix(seed: seed))
    var manager = MotionManager(frame: AttitudeReferenceFrame.allCases[Int(seed % 4)])
    for index in 0..<count {
      let scale = index % 3000 < 1000 ? 0.01 : 1.0
      switch Int.random(in: 0..<200, using: &source.random) {
      case 0:
        manager.process([InertialScan(timestamp: source.stamp(), temperature: source.component(80))])
      case 1:
        manager.update(
          location: Coordinate(latitude: source.component(90), longitude: source.component(180)),
          altitude: source.component(1000),
          time: UTCTime(nanoseconds: Int64.random(in: .min ... .max, using: &source.random)))
      case 2 where index % 50 == 0:
        manager.observe(
          SourceStatus(
            timestamp: source.stamp(), source: "iio", kinds: [.gyroscope, .magnetometer],
            state: .active(rates: [.gyroscope: source.component(100)]),
            device: ["a", "b", nil][Int.random(in: 0..<3, using: &source.random)]))
      case 3 where index % 50 == 0:
        manager.frame = .allCases.randomElement(using: &source.random) ?? .xArbitraryZVertical
      case 4..<66:
        manager.process([InertialScan(timestamp: source.stamp(), rotationRate: source.vector(8 * scale))])
      case 66..<132:
        manager.process([
          InertialScan(
            timestamp: source.stamp(), acceleration: Vector3(0, 0, -1) + source.vector(2 * scale))
        ])
      default:
        manager.process([
          InertialScan(
            timestamp: source.stamp(), magneticField: Vector3(0, 20, -40) + source.vector(60 * scale))
        ])
      }
      guard index % 16 == 0, let objection = objection(manager) else { continue }
      Issue.record("seed \(seed), event \(index): \(objection)")
      return
    }
    let health = try #require(manager.health(of: .gyroscope))
    #expect(health.notFinite > 0 && health.outOfOrder > 0 && health.accepted > 1000, "seed \(seed)")
  }
}
