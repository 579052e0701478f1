import Navigation
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

/// Altitude by pressure during an outage; no effect otherwise.
@Suite struct PressureTests {
  /// Errors and their stated deviations in m at the end of a drive with a ramp.
  private struct Outcome {
    var error = 0.0
    var deviation = 0.0
    var horizontal = 0.0
    var radius95 = 0.0
  }

  private static let ramp = 190.0...220.0
  private static let outageStart = 180.0

  /// - Parameter hertz: rate of the barometer; nil for a drive without barometer.
  private func play(
    _ samples: [SyntheticDrive.Sample], hertz: Double?, errors: inout SeededGenerator, isSeen: Bool = false,
    usesSpeed: Bool = false
  ) -> Outcome? {
    var filter = NavigationFilter()
    var next = 0.0
    var fan = 0.0
    let scale = 1 - 0.03 * errors.nextNormal()
    for sample in samples {
      let time = sample.truth.time
      if let fix = sample.fix, isSeen || time < Self.outageStart { filter.process(fix) }
      if usesSpeed { filter.process(sample.speed) }
      filter.process(sample.scan)
      guard let hertz, time >= next else { continue }
      next += 1 / hertz
      if errors.nextUniform() < 1 / (180 * hertz) { fan = 8 * errors.nextNormal() }
      let height = 12 + scale * (SyntheticDrive.altitude + sample.truth.position.z)
      filter.process(
        PressureData(
          timestamp: sample.scan.timestamp,
          pressure: StandardAtmosphere.seaLevelPressure * StandardAtmosphere.pressureRatio(altitude: height)
            + fan + 1.5 * errors.nextNormal()))
    }
    guard let estimate = filter.estimate, let altitude = estimate.altitude, let last = samples.last else {
      return nil
    }
    return Outcome(
      error: altitude - SyntheticDrive.altitude - last.truth.position.z,
      deviation: estimate.verticalDeviation, horizontal: filter.error(last.truth) ?? .infinity,
      radius95: estimate.radius95)
  }

  private func samples(_ generator: inout SeededGenerator, length: Double) -> [SyntheticDrive.Sample] {
    var drive = SyntheticDrive(length: length)
    drive.ramp = (Self.ramp, -0.1)
    return drive.samples(&generator)
  }

  /// On the ramp of a garage during an outage of two minutes, the altitude is within its stated accuracy with and without a barometer.
  @Test func barometerMeasuresARampInAnOutage() throws {
    var generator = SeededGenerator.announced()
    for hertz in [1.0, 20, 1, 20] {
      let samples = samples(&generator, length: 300)
      #expect(samples[samples.count - 1].truth.position.z < -10)
      let plain = try #require(play(samples, hertz: nil, errors: &generator))
      let aided = try #require(play(samples, hertz: hertz, errors: &generator))
      #expect(abs(plain.error) < 3 * plain.deviation && abs(aided.error) < 3 * aided.deviation)
      #expect(aided.deviation <= plain.deviation && abs(aided.error) < 5)
      #expect(aided.horizontal < 2 * aided.radius95)
    }
  }

  /// In an outage of twelve minutes with wheel speeds, the barometer reduces the altitude deviation by more than 10 %, and the altitude is
  /// within its stated accuracy.
  @Test func barometerLimitsAltitudeErrorInALongOutage() throws {
    var generator = SeededGenerator.announced()
    for hertz in [1.0, 20] {
      let samples = samples(&generator, length: 900)
      let plain = try #require(play(samples, hertz: nil, errors: &generator, usesSpeed: true))
      let aided = try #require(play(samples, hertz: hertz, errors: &generator, usesSpeed: true))
      #expect(aided.deviation < 0.9 * plain.deviation, "\(aided) \(plain)")
      #expect(abs(plain.error) < 3 * plain.deviation && abs(aided.error) < 3 * aided.deviation)
    }
  }

  /// With a receiver, pressure does not change the estimate in any bit.
  @Test func barometerChangesNothingWithAReceiver() throws {
    var generator = SeededGenerator(seed: 5)
    let samples = samples(&generator, length: 240)
    let plain = try #require(play(samples, hertz: nil, errors: &generator, isSeen: true))
    let aided = try #require(play(samples, hertz: 1, errors: &generator, isSeen: true))
    #expect(plain.error == aided.error && plain.horizontal == aided.horizontal)
    #expect(plain.deviation == aided.deviation && plain.radius95 == aided.radius95)
  }
}
