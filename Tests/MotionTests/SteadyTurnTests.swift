import Motion
import SensorFixtures
import Sensors
import Spatial
import TestSupport
import Testing

/// Steady turns about the vertical. For gyroscope and accelerometer they resemble rest with a large bias.
@Suite struct SteadyTurnTests {
  /// The gestures of the emulated vehicle in virtual time, with the noise of `EmulatedIIOD`.
  private struct Gestures {
    var manager = MotionManager(frame: .xMagneticNorthZVertical)
    /// Time in s until the compass was calibrated; nil if it never was.
    var timeToCalibrate: Double?
    /// Time in s in which the compass was calibrated.
    var calibratedTime = 0.0

    /// - Parameters:
    ///   - begin: time of the gestures in s at the first sample.
    ///   - iron: hard iron in µT, device frame.
    init(from begin: Double, seconds: Double, hertz: Double, iron: Vector3, seed: UInt64) {
      var random = SplitMix(seed: seed)
      func noise(_ deviation: Double) -> Vector3 {
        deviation * Vector3(random.normal(), random.normal(), random.normal())
      }
      for index in 0..<Int(seconds * hertz) {
        let time = Double(index) / hertz
        let reading = LiveVehicle.gestures(begin + time)
        manager.process([
          InertialScan(
            timestamp: Timestamp(seconds: 100 + time), specificForce: reading.specificForce + noise(0.01),
            rotationRate: reading.rotationRate + noise(0.002),
            magneticField: reading.magneticField + iron + noise(0.2))
        ])
        guard let field = manager.magneticField, field.accuracy != .uncalibrated else { continue }
        timeToCalibrate = timeToCalibrate ?? time
        calibratedTime += 1 / hertz
      }
    }
  }

  /// The compass of the emulated vehicle is calibrated within one repetition of the gestures, whichever gesture it starts with (previously
  /// never, for starts in or just before the turn).
  @Test(arguments: [25.0, 50, 100]) func startInAnyGestureCalibrates(hertz: Double) throws {
    for start in 0..<24 {
      let (begin, end) = (Double(start), 70.0)
      let run = Gestures(
        from: begin, seconds: end - begin, hertz: hertz, iron: .zero, seed: UInt64(start + 1))
      let time = try #require(run.timeToCalibrate, "start \(start) s")
      #expect(time < 24, "start \(start) s")
      #expect(run.calibratedTime > 0.8 * (end - begin - time), "start \(start) s")
      // The last gesture ended 2 s ago: level, facing north.
      let heading = try #require(run.manager.magneticHeading, "start \(start) s")
      #expect(abs(signedDegrees(from: 0, to: heading)) < 8, "start \(start) s")
    }
  }

  /// With 10 µT of hard iron, two repetitions of the gestures are sufficient.
  @Test func startInAnyGestureFindsHardIron() throws {
    for start in 0..<24 {
      let run = Gestures(
        from: Double(start), seconds: 94 - Double(start), hertz: 50, iron: Vector3(6, -8, 0),
        seed: UInt64(start + 1))
      let time = try #require(run.timeToCalibrate, "start \(start) s")
      #expect(time < 48, "start \(start) s")
      let heading = try #require(run.manager.magneticHeading, "start \(start) s")
      #expect(abs(signedDegrees(from: 0, to: heading)) < 12, "start \(start) s")
    }
  }

  /// Processes a level device that turns at a steady rate.
  ///
  /// - Parameters:
  ///   - turn: rate about the vertical in rad/s.
  ///   - bias: bias of the gyroscope in rad/s.
  ///   - iron: hard iron in µT; nil without a magnetometer.
  private func process(
    _ filter: inout ScreenedFilter, _ seconds: Range<Int>, hertz: Int = 100, turn: Double = 0,
    bias: Vector3 = .zero, iron: Vector3?
  ) {
    var random = SplitMix(seed: UInt64(seconds.lowerBound + 1))
    func noise(_ deviation: Double) -> Vector3 {
      deviation * Vector3(random.normal(), random.normal(), random.normal())
    }
    for index in (seconds.lowerBound * hertz)..<(seconds.upperBound * hertz) {
      let time = Double(index) / Double(hertz)
      let attitude = Quaternion(angle: turn * time, axis: Vector3(0, 0, 1))
      let field = iron.map { attitude.conjugate.rotate(Vector3(0, 20, -44)) + $0 + noise(0.3) }
      filter.process(
        InertialScan(
          timestamp: Timestamp(seconds: 10 + time),
          specificForce: Vector3(0, 0, standardGravity) + noise(0.02),
          rotationRate: Vector3(0, 0, turn) + bias + noise(0.002), magneticField: field))
    }
  }

  /// A device that turns from the first sample on. The turn is not mistaken for a bias (previously completely). Unknown hard iron may add a
  /// part of it.
  @Test(arguments: [0.15, -0.5], [0.0, 10]) func steadyTurnIsNoBias(turn: Double, iron: Double) {
    var filter = ScreenedFilter()
    process(&filter, 0..<20, turn: turn, iron: Vector3(iron, 0, 0))
    #expect(filter.gyroscopeBias.length < (iron == 0 ? 0.02 : 0.3) * abs(turn))
  }

  /// A large bias about the vertical is found at rest, although the force does not show it.
  @Test(arguments: [nil, Vector3(60, 0, 0)]) func largeBiasIsFoundAtRest(iron: Vector3?) {
    let bias = Vector3(0.01, -0.02, 0.2)
    var filter = ScreenedFilter()
    process(&filter, 0..<8, bias: bias, iron: iron)
    #expect((filter.gyroscopeBias - bias).length < 0.005)
  }

  /// A rotation about a horizontal axis would rotate the force, so a large horizontal bias is found sooner.
  @Test(arguments: [nil, Vector3(60, 0, 0)]) func largeHorizontalBiasIsFoundAtRest(iron: Vector3?) {
    let bias = Vector3(0.1, -0.1, 0)
    var filter = ScreenedFilter()
    process(&filter, 0..<4, bias: bias, iron: iron)
    #expect((filter.gyroscopeBias - bias).length < 0.005)
  }

  /// A slow, steady tilt rotates the force, so its rate is not mistaken for a bias.
  @Test func slowTiltIsNoBias() {
    var filter = ScreenedFilter()
    process(&filter, 0..<10, iron: .zero)
    let tilt = 0.6.radians
    for index in 1000..<4000 {
      let time = Double(index) / 100
      let attitude = Quaternion(angle: tilt * (time - 10), axis: Vector3(1, 0, 0))
      filter.process(
        InertialScan(
          timestamp: Timestamp(seconds: 10 + time),
          specificForce: attitude.conjugate.rotate(Vector3(0, 0, standardGravity)),
          rotationRate: Vector3(tilt, 0, 0)))
    }
    #expect(filter.gyroscopeBias.length < 0.2.radians)
  }

  /// Without a magnetometer, a steady turn at the start becomes the bias, and the next rest corrects it (previously after a minute).
  @Test func restCorrectsTheBiasOfATurn() {
    var filter = ScreenedFilter()
    process(&filter, 0..<5, turn: 0.4, iron: nil)
    #expect(filter.gyroscopeBias.length > 0.3)
    process(&filter, 5..<12, iron: nil)
    #expect(filter.gyroscopeBias.length < 0.005)
  }

  /// After a change to a quarter of the sampling rate, the samples do not count as gaps, and rest corrects the bias.
  @Test(arguments: [nil, Vector3.zero]) func lowerSamplingRateIsNoGap(iron: Vector3?) {
    var filter = ScreenedFilter()
    process(&filter, 0..<10, hertz: 400, iron: iron)
    let bias = Vector3(0.1, -0.1, 0)
    process(&filter, 10..<30, hertz: 100, bias: bias, iron: iron)
    #expect((filter.gyroscopeBias - bias).length < 0.005)
  }

  /// A field that changes by 4 µT every 10 s at rest resembles repeated turns. The changed bias is found after three minutes.
  @Test func varyingFieldDelaysTheBiasOnly() {
    var filter = ScreenedFilter()
    process(&filter, 0..<10, iron: .zero)
    let bias = Vector3(0, 0, 1.5.radians)
    for start in stride(from: 10, to: 260, by: 10) {
      process(&filter, start..<(start + 10), bias: bias, iron: Vector3(0.4 * Double(start - 10), 0, 0))
    }
    #expect((filter.gyroscopeBias - bias).length < 0.005)
  }

  /// With a magnetometer, a bias that has changed by 3 °/s is found within 20 s of rest (previously after a minute).
  @Test func changedBiasIsFoundByTheConstantField() {
    var filter = ScreenedFilter()
    process(&filter, 0..<10, iron: .zero)
    let bias = Vector3(0, 0, 3.0.radians)
    process(&filter, 10..<30, bias: bias, iron: .zero)
    #expect((filter.gyroscopeBias - bias).length < 0.005)
  }
}
