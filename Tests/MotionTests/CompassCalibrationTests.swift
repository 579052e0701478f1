import Foundation
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

@testable import Motion

/// A compass of accelerometer and magnetometer without gyroscope, with simulated hard and soft iron.
@Suite struct CompassCalibrationTests {
  /// A device in the hand, sampled at 50 Hz.
  struct Hand {
    /// Hard iron in µT, device frame.
    let hardIron: Vector3
    /// Soft iron as a symmetric matrix that is applied to the field: xx, yy, zz, xy, xz, yz.
    let softIron: [Double]
    private let phases: [Double]
    private var generator: SeededGenerator
    private(set) var time = 0.0
    private var shaking = Vector3.zero

    /// Field in µT, east, north, up: 48 µT with a dip of 60°.
    static let field = Vector3(0, 24, -41.6)
    static let rate = 50.0

    init(seed: UInt64) {
      var generator = SeededGenerator(seed: seed)
      func uniform(_ limit: Double) -> Double { limit * (2 * generator.nextUniform() - 1) }
      hardIron = Vector3(uniform(40), uniform(40), uniform(40))
      softIron =
        (0..<3).map { _ in 1 + uniform(0.1) } + (0..<3).map { _ in uniform(0.06) }
      phases = (0..<6).map { _ in uniform(.pi) }
      self.generator = generator
    }

    /// A figure of eight: rotations about all axes, with tilts up to 70°.
    func figureOfEight(_ time: Double) -> Quaternion {
      let yaw = 1.3 * time + phases[0]
      let pitch = 1.2 * sin(1.9 * time + phases[1])
      let roll = 1.2 * sin(1.1 * time + phases[2])
      return Quaternion(angle: yaw, axis: Vector3(0, 0, 1)) * Quaternion(angle: pitch, axis: Vector3(1, 0, 0))
        * Quaternion(angle: roll, axis: Vector3(0, 1, 0))
    }

    /// Level within a few degrees, the top pointing `heading` degrees clockwise from magnetic north.
    func level(_ heading: Double) -> Quaternion {
      Quaternion(angle: -heading.radians, axis: Vector3(0, 0, 1))
        * Quaternion(angle: 0.1 * sin(phases[3]), axis: Vector3(1, 0, 0))
        * Quaternion(angle: 0.1 * sin(phases[4]), axis: Vector3(0, 1, 0))
    }

    /// Returns the next scan for an attitude (rotation of the device relative to east, north, up).
    mutating func scan(
      _ attitude: Quaternion, isMoving: Bool, kinds: Set<SensorKind> = [.accelerometer, .magnetometer]
    )
      -> InertialScan
    {
      time += 1 / Self.rate
      // m/s²: a hand that turns the device also accelerates it by some hundredths of g.
      shaking += 0.1 * (generator.nextNormalVector() * (isMoving ? 1.5 : 0.05) - shaking)
      let toDevice = attitude.conjugate
      let clean = toDevice.rotate(Self.field)
      let s = softIron
      let field = Vector3(
        s[0] * clean.x + s[3] * clean.y + s[4] * clean.z, s[3] * clean.x + s[1] * clean.y + s[5] * clean.z,
        s[4] * clean.x + s[5] * clean.y + s[2] * clean.z)
      var scan = InertialScan(timestamp: Timestamp(seconds: 10 + time))
      if kinds.contains(.accelerometer) {
        scan.specificForce =
          toDevice.rotate(Vector3(0, 0, standardGravity)) + shaking + 0.03 * generator.nextNormalVector()
      }
      if kinds.contains(.magnetometer) {
        scan.magneticField = field + hardIron + 0.5 * generator.nextNormalVector()
      }
      return scan
    }
  }

  private func turn(_ manager: inout MotionManager, _ hand: inout Hand, seconds: Double, block: Int = 10) {
    for _ in 0..<Int(seconds * Hand.rate) / block {
      manager.process((0..<block).map { _ in hand.scan(hand.figureOfEight(hand.time), isMoving: true) })
    }
  }

  /// Error of the heading and its stated accuracy in degrees after six seconds in an attitude.
  private func heading(_ manager: inout MotionManager, _ hand: inout Hand, _ degrees: Double) throws
    -> (error: Double, accuracy: Double)
  {
    for _ in 0..<30 {
      manager.process((0..<10).map { _ in hand.scan(hand.level(degrees), isMoving: false) })
    }
    let heading = try #require(manager.magneticHeading)
    return (abs(signedDegrees(from: degrees, to: heading)), try #require(manager.headingAccuracy))
  }

  /// After 30 s of figures of eight, 95 % of the headings are accurate to 5°, and 95 % of the errors are covered by the stated accuracy.
  @Test func headingsAreAccurateAfterAFigureOfEight() throws {
    var results: [(error: Double, accuracy: Double)] = []
    var before: [Double] = []
    for seed in 1...20 as ClosedRange<UInt64> {
      var manager = MotionManager(frame: .xMagneticNorthZVertical)
      var hand = Hand(seed: seed)
      before.append(try heading(&manager, &hand, 90).error)
      #expect(manager.magneticField?.accuracy == .uncalibrated, "seed \(seed)")
      turn(&manager, &hand, seconds: 30)
      for index in 0..<8 {
        results.append(try heading(&manager, &hand, 45 * Double(index)))
      }
      #expect(try #require(manager.magneticField?.accuracy) >= .low, "seed \(seed)")
      let fit = try #require(manager.calibration.magnetometer, "seed \(seed)")
      #expect((fit.hardIron - hand.hardIron).length < 8, "seed \(seed): \(fit.hardIron), \(hand.hardIron)")
    }
    let errors = results.map(\.error).sorted()
    let covered = results.filter { $0.error <= 1.96 * $0.accuracy }.count
    let accuracies = results.map(\.accuracy).sorted()
    print(
      "heading error: median \(errors[80]), 95 % \(errors[151]), largest \(errors[159]);",
      "stated accuracy: median \(accuracies[80]), largest \(accuracies[159]); covered \(covered) of 160;",
      "before calibration: median \(before.sorted()[10])")
    #expect(errors[151] <= 5)
    #expect(covered >= 152)
    // Ensures that the coverage does not result from a poor stated accuracy.
    #expect(accuracies[80] < 4)
  }

  @Test func calibrationIsRestored() throws {
    var manager = MotionManager(frame: .xMagneticNorthZVertical)
    var hand = Hand(seed: 3)
    turn(&manager, &hand, seconds: 30)
    let text = manager.calibration.text
    var next = MotionManager(
      frame: .xMagneticNorthZVertical, calibration: try MotionCalibration(text: text))
    let restored = try heading(&next, &hand, 90)
    #expect(restored.error < 5 && restored.error <= 1.96 * restored.accuracy, "\(restored)")
    #expect(try #require(next.magneticField?.accuracy) >= .low)
  }

  /// A vehicle that turns only about the vertical calibrates the compass for level headings.
  @Test(arguments: 1...5 as ClosedRange<UInt64>)
  func levelCircleCalibratesLevelHeadings(seed: UInt64) throws {
    var manager = MotionManager(frame: .xMagneticNorthZVertical)
    var hand = Hand(seed: seed)
    for index in 0..<150 {
      let degrees = Double(index) * 720 / 150
      manager.process((0..<10).map { _ in hand.scan(hand.level(degrees), isMoving: false) })
    }
    for index in 0..<8 {
      let result = try heading(&manager, &hand, 45 * Double(index))
      #expect(result.error < 10 && result.error <= 2.5 * result.accuracy, "seed \(seed): \(result)")
    }
    #expect(try #require(manager.magneticField?.accuracy) >= .low, "seed \(seed)")
  }

  /// A magnet that is attached later contradicts the calibration, and new rotations calibrate it again.
  @Test func changedMagnetismIsDetected() throws {
    var manager = MotionManager(frame: .xMagneticNorthZVertical)
    var hand = Hand(seed: 5)
    turn(&manager, &hand, seconds: 30)
    let calibrated = try heading(&manager, &hand, 90)
    #expect(calibrated.error < 5)
    func magnetized(_ scan: InertialScan) -> InertialScan {
      var scan = scan
      scan.magneticField = scan.magneticField.map { $0 + Vector3(50, -30, 20) }
      return scan
    }
    for _ in 0..<60 {
      manager.process((0..<10).map { _ in magnetized(hand.scan(hand.level(90), isMoving: false)) })
    }
    #expect(manager.magneticField?.accuracy == .uncalibrated)
    for _ in 0..<150 {
      manager.process(
        (0..<10).map { _ in magnetized(hand.scan(hand.figureOfEight(hand.time), isMoving: true)) })
    }
    for _ in 0..<30 {
      manager.process((0..<10).map { _ in magnetized(hand.scan(hand.level(180), isMoving: false)) })
    }
    #expect(abs(signedDegrees(from: 180, to: try #require(manager.magneticHeading))) < 5)
    #expect(try #require(manager.magneticField?.accuracy) >= .low)
  }

  /// The compass remains uncalibrated without an accelerometer.
  @Test func calibrationRequiresAnAccelerometer() {
    var manager = MotionManager(frame: .xMagneticNorthZVertical)
    var hand = Hand(seed: 1)
    for _ in 0..<1500 {
      manager.process([hand.scan(hand.figureOfEight(hand.time), isMoving: true, kinds: [.magnetometer])])
    }
    #expect(manager.magneticField?.accuracy == .uncalibrated && manager.headingAccuracy == nil)
  }
}
