import Motion
import Simulation
import Spatial
import TestSupport
import Testing

/// The zero of an inclinometer: measured at rest on a level surface, and subtracted from later readings.
@Suite struct LevelMeasurementTests {
  /// Gravity in g of a device that is rotated about its own axes by angles in rad.
  private func gravity(roll: Double, pitch: Double) -> Vector3 {
    Attitude(eulerAngles: EulerAngles(roll: roll, pitch: pitch, yaw: 0.7)).gravity
  }

  /// Passes 100 readings per second, with the noise of a low-cost sensor, until the calibrator has a result.
  private func measure(_ gravity: Vector3, _ generator: inout SeededGenerator) -> LevelCalibrator.Outcome? {
    var calibrator = LevelCalibrator()
    for step in 0..<1000 {
      let noise = Vector3(
        .random(in: -0.005...0.005, using: &generator), .random(in: -0.005...0.005, using: &generator),
        .random(in: -0.005...0.005, using: &generator))
      let outcome = calibrator.process(
        acceleration: gravity + noise, at: Timestamp(seconds: Double(step) / 100))
      if case .measuring(let progress) = outcome {
        #expect((0..<1).contains(progress))
      } else {
        #expect(step == 200, "decided after \(step) readings")
        return outcome
      }
    }
    return nil
  }

  @Test(arguments: [(0.0, 0.0), (0.05, -0.03), (-0.4, 0.2), (0.1, 1.3), (3.0, -0.2)])
  func levelIsMeasuredAtRestAndSubtracted(roll: Double, pitch: Double) throws {
    var generator = SeededGenerator.announced()
    let mounted = gravity(roll: roll, pitch: pitch)
    guard case .done(let calibration)? = measure(mounted, &generator) else {
      Issue.record("level not measured")
      return
    }
    // The attitude during the measurement reads as level.
    let level = calibration.inclination(of: mounted)
    #expect(abs(level?.roll ?? 9) < 0.002 && abs(level?.pitch ?? 9) < 0.002)
    #expect(try #require(calibration.tilt(of: mounted)) < 0.1)
    #expect(calibration.corrected(mounted).dot(Vector3(0, 0, -1)) > 0.99999)
    // If the vehicle leans by 10°, the reading is 10° for any mounting of the device.
    let lean = Quaternion(angle: 10 * .pi / 180, axis: Vector3(0.6, 0.8, 0))
    let leaning = calibration.rotation.conjugate.rotate(lean.rotate(Vector3(0, 0, -1)))
    #expect(abs(try #require(calibration.tilt(of: leaning)) - 10) < 0.1)
    let expected = try #require(Attitude(gravity: lean.rotate(Vector3(0, 0, -1)))?.eulerAngles)
    let told = calibration.inclination(of: leaning)
    #expect(
      abs((told?.roll ?? 9) - expected.roll) < 0.002 && abs((told?.pitch ?? 9) - expected.pitch) < 0.002)
  }

  @Test func movingDeviceIsNotMeasured() {
    var calibrator = LevelCalibrator()
    var outcome = LevelCalibrator.Outcome.measuring(progress: 0)
    for step in 0..<200 {
      // Tips over at 10 °/s after the first second.
      let angle = max(0, Double(step) / 100 - 1) * 10 * .pi / 180
      outcome = calibrator.process(
        acceleration: gravity(roll: angle, pitch: 0), at: Timestamp(seconds: Double(step) / 100))
      if case .moved = outcome { break }
    }
    guard case .moved(let degrees) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(degrees > LevelCalibrator.defaultTolerance && degrees < 3)
  }

  /// On a sloping surface, two readings half a turn apart yield the mounting of the device.
  @Test func slopeCancelsOut() throws {
    let slope = Quaternion(angle: 0.06, axis: Vector3(0, 1, 0))
    let seat = Quaternion(angle: 0.03, axis: Vector3(1, 0, 0))
    func reading(turned angle: Double) -> Vector3 {
      let heading = Quaternion(angle: angle, axis: Vector3(0, 0, 1))
      return seat.conjugate.rotate(heading.conjugate.rotate(slope.conjugate.rotate(Vector3(0, 0, -1))))
    }
    let calibration = try #require(
      LevelCalibration(gravity: reading(turned: 0.4), turnedAround: reading(turned: 0.4 + .pi)))
    let seated = seat.conjugate.rotate(Vector3(0, 0, -1))
    #expect(calibration.gravity.dot(seated) > 1 - 1e-9)
  }

  @Test func levelRequiresAGravityDirection() {
    #expect(LevelCalibration(gravity: .zero) == nil)
    #expect(LevelCalibration(gravity: Vector3(0, 0, -1), turnedAround: Vector3(0, 0, 1)) == nil)
    #expect(LevelCalibration.none.tilt(of: .zero) == nil)
    var calibrator = LevelCalibrator()
    for step in 0..<300 {
      let outcome = calibrator.process(
        acceleration: Vector3(.nan, 0, -1), at: Timestamp(seconds: Double(step) / 100))
      #expect(outcome == .measuring(progress: 0))
    }
  }
}
