import Foundation
import Motion
import Sensors
import Spatial
import TestSupport
import Testing

@Suite struct LevelTests {
  private func tilted(roll: Double, pitch: Double) -> Vector3 {
    Attitude(eulerAngles: EulerAngles(roll: roll.radians, pitch: pitch.radians, yaw: 0)).gravity
  }

  /// Measures at 100 Hz a device that rotates about its x axis by `turn` degrees per second after the first second.
  private func measure(
    _ gravity: Vector3, noise: Double = 0.003, vibration: Double = 0, turn: Double = 0, seed: UInt64 = 3
  ) -> LevelCalibrator.Outcome? {
    var generator = SplitMix(seed: seed)
    var calibrator = LevelCalibrator()
    for index in 0..<300 {
      let time = Double(index) / 100
      let turned = Quaternion(angle: (turn * max(0, time - 1)).radians, axis: Vector3(1, 0, 0)).rotate(
        gravity)
      let shaking = vibration * sin(2 * .pi * 27 * time)
      let reading =
        turned + Vector3(shaking, 0, shaking)
        + noise * Vector3(generator.normal(), generator.normal(), generator.normal())
      let outcome = calibrator.process(acceleration: reading, at: Timestamp(seconds: time))
      if case .measuring = outcome { continue }
      return outcome
    }
    return nil
  }

  @Test(arguments: [(0.0, 0.0), (5, -3), (-30, 10), (0, 89), (90, 0), (175, 4)])
  func tiltIsMeasuredAtRest(roll: Double, pitch: Double) throws {
    let gravity = tilted(roll: roll, pitch: pitch)
    guard case .done(let level)? = measure(gravity, vibration: 0.1) else {
      Issue.record("not measured")
      return
    }
    let error = Quaternion.shortest(from: level.gravity, to: gravity).angle.degrees
    #expect(error < 0.15)
    let truth = acos(max(-1, min(1, -gravity.z))).degrees
    #expect(abs(level.tilt - truth) < 0.15)
    #expect((level.corrected(gravity) - Vector3(0, 0, -1)).length < 0.003)
  }

  @Test func movementIsDistinguishedFromNoise() {
    for seed in 0..<20 as Range<UInt64> {
      guard case .moved(let degrees)? = measure(Vector3(0, 0, -1), turn: 5, seed: seed) else {
        Issue.record("movement not detected")
        continue
      }
      #expect((1..<2).contains(degrees))
      guard case .noisy(let scatter)? = measure(Vector3(0, 0, -1), noise: 0.2, seed: seed) else {
        Issue.record("noise not detected")
        continue
      }
      #expect(scatter > 2)
    }
  }

  /// The device's top remains forward for any mounting that is not upright.
  @Test func topIsForwardFaceUpAndFaceDown() throws {
    for roll in stride(from: -180.0, through: 180, by: 15) where abs(abs(roll) - 90) > 30 {
      for pitch in [-20.0, -1, 0, 1, 20] {
        let level = try #require(LevelCalibration(gravity: tilted(roll: roll, pitch: pitch)))
        let top = level.corrected(Vector3(0, 1, 0))
        #expect(atan2(abs(top.x), top.y).degrees < 25, "roll \(roll), pitch \(pitch): \(top)")
      }
    }
    // Mounted upright, the back is forward.
    let upright = try #require(LevelCalibration(gravity: Vector3(0, -1, 0)))
    #expect((upright.corrected(Vector3(0, 0, -1)) - Vector3(0, 1, 0)).length < 1e-9)
  }

  /// A vehicle facing east with a tilted device.
  private func manager(_ mounting: Quaternion, level: LevelCalibration?, gyroscope: Bool) -> MotionManager {
    var calibration = MotionCalibration()
    calibration.level = level
    var manager = MotionManager(frame: .xMagneticNorthZVertical, calibration: calibration)
    for index in 0..<800 {
      let noise = Vector3(repeating: 1e-5 * Double(index % 7))
      var scan = InertialScan(timestamp: Timestamp(seconds: Double(index) / 100))
      // Constant braking at the end.
      let force = Vector3(0, index >= 780 ? -0.2 * standardGravity : 0, standardGravity)
      scan.specificForce = mounting.rotate(force) + noise
      if gyroscope { scan.rotationRate = noise }
      // North is to the left, and the field points down.
      scan.magneticField = mounting.rotate(Vector3(-21, 0, -43)) + noise
      manager.process([scan])
    }
    return manager
  }

  @Test(arguments: [false, true])
  func motionIsInTheLevelVehicleAxes(gyroscope: Bool) throws {
    let mounting = Quaternion(angle: 30.0.radians, axis: Vector3(1, 0.3, 0))
    let tilted = manager(mounting, level: nil, gyroscope: gyroscope)
    let raw = try #require(tilted.deviceMotion)
    #expect(raw.gravity.z > -0.9)
    let level = try #require(LevelCalibration(gravity: mounting.rotate(Vector3(0, 0, -1))))
    #expect(abs(level.tilt - 30) < 0.1)
    let leveled = manager(mounting, level: level, gyroscope: gyroscope)
    let motion = try #require(leveled.deviceMotion)
    let slack = gyroscope ? 0.02 : 0.1
    #expect((motion.gravity - Vector3(0, 0, -1)).length < slack, "\(motion.gravity)")
    // Core Motion's sign: braking reads (0, +, 0).
    #expect((motion.userAcceleration - Vector3(0, 0.2, 0)).length < slack, "\(motion.userAcceleration)")
    let heading = try #require(motion.heading)
    #expect(abs(signedDegrees(from: 90, to: heading)) < (gyroscope ? 2 : 6), "\(heading)")
    let attitude = try #require(leveled.magneticAttitude)
    #expect((attitude.gravity - Vector3(0, 0, -1)).length < slack)
    let field = try #require(motion.magneticField?.field)
    #expect((field - Vector3(-21, 0, -43)).length < 1)
    // Raw sensor data is not corrected.
    #expect(leveled.accelerometerData == tilted.accelerometerData)
    #expect(leveled.calibration.level == level)
  }

  @Test func levelSurvivesARestartAndAClockStepBack() throws {
    let level = try #require(LevelCalibration(gravity: Vector3(0.1, -0.2, -1)))
    var manager = manager(.identity, level: nil, gyroscope: true)
    manager.level = level
    manager.process([InertialScan(timestamp: Timestamp(seconds: -100), acceleration: Vector3(0, 0, -1))])
    #expect(manager.level == level)
    let again = MotionManager(
      frame: .xArbitraryZVertical, calibration: try MotionCalibration(text: manager.calibration.text))
    #expect(again.level == level)
    manager.level = nil
    #expect(manager.calibration.level == nil)
  }
}
