import Motion
import Spatial
import TestSupport
import Testing

@Suite struct OrientationTests {
  /// The six orientations: which device axis is up, and what Core Motion's gravity reads.
  static let table: [(DeviceOrientation, gravity: Vector3, up: UpDirection.Axis, isPositive: Bool)] = [
    (.portrait, Vector3(0, -1, 0), .y, true),
    (.portraitUpsideDown, Vector3(0, 1, 0), .y, false),
    (.landscapeLeft, Vector3(-1, 0, 0), .x, true),
    (.landscapeRight, Vector3(1, 0, 0), .x, false),
    (.faceUp, Vector3(0, 0, -1), .z, true),
    (.faceDown, Vector3(0, 0, 1), .z, false),
  ]

  private func settle(_ detector: inout OrientationDetector, _ gravity: Vector3, at start: Double)
    -> DeviceOrientation?
  {
    var change: DeviceOrientation?
    for index in 0...5 {
      change =
        detector.process(gravity: gravity, at: Timestamp(seconds: start + 0.1 * Double(index))) ?? change
    }
    return change
  }

  @Test(arguments: table)
  func theSixOrientations(
    orientation: DeviceOrientation, gravity: Vector3, up: UpDirection.Axis, isPositive: Bool
  ) throws {
    var detector = OrientationDetector()
    #expect(settle(&detector, gravity, at: 0) == orientation)
    #expect(detector.orientation == orientation)
    let direction = try #require(UpDirection(gravity: gravity * 9.8))
    #expect(direction.axis == up && direction.isPositive == isPositive && direction.angle < 1e-6)
    #expect((direction.vector + gravity).length < 1e-12)
    #expect(orientation.gravity == gravity)
  }

  @Test func aTurnedDeviceMatchesItsName() throws {
    // Held upright, then turned a quarter counter-clockwise as seen from the front: the top points left.
    let upright = Attitude(eulerAngles: EulerAngles(roll: 0, pitch: .pi / 2, yaw: 0))
    let turned = Attitude(
      quaternion: upright.quaternion * Quaternion(angle: .pi / 2, axis: Vector3(0, 0, 1)))
    var detector = OrientationDetector()
    #expect(settle(&detector, turned.gravity, at: 0) == .landscapeLeft)
  }

  @Test func thereIsHysteresisAt45Degrees() {
    var detector = OrientationDetector()
    _ = settle(&detector, Vector3(0, 0, -1), at: 0)
    func tilted(_ degrees: Double) -> Vector3 {
      Attitude(eulerAngles: EulerAngles(roll: 0, pitch: degrees.radians, yaw: 0)).gravity
    }
    #expect(settle(&detector, tilted(51), at: 1) == nil)
    #expect(settle(&detector, tilted(53), at: 2) == .portrait)
    #expect(settle(&detector, tilted(39), at: 3) == nil)
    #expect(settle(&detector, tilted(37), at: 4) == .faceUp)
  }

  @Test func aSwingThroughAnOrientationIsNotOne() {
    var detector = OrientationDetector()
    _ = settle(&detector, Vector3(0, 0, -1), at: 0)
    #expect(detector.process(gravity: Vector3(0, -1, 0), at: Timestamp(seconds: 1)) == nil)
    #expect(detector.process(gravity: Vector3(0, -1, 0), at: Timestamp(seconds: 1.2)) == nil)
    #expect(detector.process(gravity: Vector3(0, 0, -1), at: Timestamp(seconds: 1.3)) == nil)
    #expect(detector.process(gravity: Vector3(0, -1, 0), at: Timestamp(seconds: 1.4)) == nil)
    #expect(detector.process(gravity: Vector3(0, -1, 0), at: Timestamp(seconds: 1.64)) == nil)
    #expect(detector.process(gravity: Vector3(0, -1, 0), at: Timestamp(seconds: 1.66)) == .portrait)
  }

  @Test func nothingWithoutADirection() {
    var detector = OrientationDetector()
    #expect(settle(&detector, .zero, at: 0) == nil)
    #expect(settle(&detector, Vector3(.nan, 0, -1), at: 1) == nil)
    #expect(detector.orientation == nil)
    #expect(UpDirection(gravity: .zero) == nil)
  }

  @Test func theClosestAxisIsNeverFartherThanACubesCorner() {
    var generator = SplitMix.announced()
    for _ in 0..<2000 {
      let gravity = Vector3(generator.normal(), generator.normal(), generator.normal())
      guard let up = UpDirection(gravity: gravity), let down = gravity.normalized else { continue }
      #expect(up.angle <= 54.74)
      #expect(
        abs(
          up.vector.dot(down * -1)
            - Quaternion(angle: up.angle.radians, axis: Vector3(0, 0, 1)).rotate(
              Vector3(1, 0, 0)
            ).x) < 1e-9)
    }
  }
}

@Suite struct LevelCalibrationTests {
  @Test func theSurfaceBecomesZero() throws {
    let mounting = Attitude(eulerAngles: EulerAngles(roll: 0.1, pitch: -0.2, yaw: 0))
    let calibration = try #require(LevelCalibration(gravity: mounting.gravity))
    let level = try #require(calibration.inclination(of: mounting.gravity * 0.98))
    #expect(abs(level.roll) < 1e-9 && abs(level.pitch) < 1e-9)
    #expect((calibration.corrected(mounting.gravity) - Vector3(0, 0, -1)).length < 1e-9)
    #expect(abs(try #require(calibration.tilt(of: Vector3(0, 0, -1))) - mounting.tiltDegrees) < 1e-9)
    #expect(LevelCalibration(gravity: .zero) == nil)
    #expect(calibration.inclination(of: .zero) == nil)
  }

  @Test func smallSlopesReadTrueOnAnUnevenMounting() throws {
    let mounting = Quaternion(angle: 0.3, axis: Vector3(1, 0.4, 0))
    let calibration = try #require(LevelCalibration(gravity: mounting.rotate(Vector3(0, 0, -1))))
    let slope = Attitude(eulerAngles: EulerAngles(roll: 0.05, pitch: 0.03, yaw: 0))
    let read = try #require(calibration.inclination(of: mounting.rotate(slope.gravity)))
    #expect(abs(read.roll - 0.05) < 1e-3 && abs(read.pitch - 0.03) < 1e-3)
  }

  @Test func turningAroundCancelsTheSurface() throws {
    let surface = Attitude(eulerAngles: EulerAngles(roll: 0, pitch: 0.02, yaw: 0)).gravity
    let other = Attitude(eulerAngles: EulerAngles(roll: 0, pitch: -0.02, yaw: 0)).gravity
    let sensor = Quaternion(angle: 0.05, axis: Vector3(0, 1, 0))
    let calibration = try #require(
      LevelCalibration(gravity: sensor.rotate(surface), turnedAround: sensor.rotate(other)))
    #expect((calibration.gravity - sensor.rotate(Vector3(0, 0, -1))).length < 1e-9)
  }

  @Test func theCalibratorAveragesAndNoticesMotion() {
    var generator = SplitMix.announced()
    let truth = Vector3(0.1, -0.05, -0.99)
    var calibrator = LevelCalibrator()
    var outcome = LevelCalibrator.Outcome.measuring(progress: 0)
    for index in 0...200 {
      let noise = Vector3(generator.normal(), generator.normal(), generator.normal()) * 0.003
      outcome = calibrator.process(acceleration: truth + noise, at: Timestamp(seconds: Double(index) / 100))
      if index < 200 {
        guard case .measuring(let progress) = outcome, abs(progress - Double(index) / 200) < 1e-9 else {
          Issue.record("\(outcome) after \(index) samples")
          return
        }
      }
    }
    guard case .done(let calibration) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect((calibration.tilt(of: truth) ?? 9) < 0.05)

    var moving = LevelCalibrator()
    let outcomes = (0...200).map { index in
      moving.process(
        acceleration: Vector3(0, Double(index) / 200 * 0.3, -1), at: Timestamp(seconds: Double(index) / 100))
    }
    #expect(outcomes.contains { if case .moved = $0 { true } else { false } })
  }
}

extension Attitude {
  fileprivate var tiltDegrees: Double {
    Quaternion.shortest(from: gravity, to: Vector3(0, 0, -1)).angle.degrees
  }
}
