import Motion
import Sensors
import Spatial
import TestSupport
import Testing

@Suite struct FilterAccuracyTests {
  /// RMS error in degrees over the moving samples after `from` s.
  static func error(
    _ filter: inout ScreenedFilter, _ samples: [FilterSimulation.Sample], from: Double = 0
  ) -> Double {
    var sum = 0.0
    var count = 0.0
    guard let first = samples.first?.time else { return .nan }
    for sample in samples {
      filter.update(gyroscope: sample.rate, at: sample.time)
      filter.update(accelerometer: sample.force, at: sample.time)
      filter.update(magnetometer: sample.field, at: sample.time)
      guard sample.isMoving, sample.time.seconds(since: first) > from else { continue }
      let angle = ((filter.quaternion9D ?? .identity) * sample.truth.conjugate).angle * 180 / Double.pi
      sum += angle * angle
      count += 1
    }
    return (sum / count).squareRoot()
  }

  static let seeds: [UInt64] = [1, 2, 3]

  @Test(arguments: seeds) func typicalSensorsAreAccurate(seed: UInt64) {
    var filter = ScreenedFilter()
    let error = Self.error(&filter, FilterSimulation(seed: seed).samples(60))
    #expect(error < 1.5, "seed \(seed)")
    #expect(
      [SensorKind.accelerometer, .gyroscope, .magnetometer].allSatisfy {
        filter.screen.health(of: $0)?.refused == 0
      })
  }

  @Test(arguments: seeds) func largeBiasIsFoundAtRest(seed: UInt64) {
    var simulation = FilterSimulation(seed: seed)
    simulation.gyroscopeBias = Vector3(0.06, -0.05, 0.07)
    var filter = ScreenedFilter()
    let error = Self.error(&filter, simulation.samples(60))
    #expect(error < 1.5, "seed \(seed)")
    #expect((filter.gyroscopeBias - simulation.gyroscopeBias).length < 0.002, "seed \(seed)")
  }

  @Test(arguments: seeds) func alignsInMotion(seed: UInt64) {
    var simulation = FilterSimulation(seed: seed)
    simulation.restTime = 0
    var filter = ScreenedFilter()
    #expect(Self.error(&filter, simulation.samples(60), from: 10) < 1.5, "seed \(seed)")
  }

  @Test(arguments: seeds) func magnetometerLagIsFound(seed: UInt64) {
    var simulation = FilterSimulation(seed: seed)
    simulation.magnetometerLag = 0.025
    var filter = ScreenedFilter()
    #expect(Self.error(&filter, simulation.samples(60)) < 1.5, "seed \(seed)")
    // Relative to the gyroscope, which lags by one sample itself.
    #expect(abs(filter.state.magnetometerLag - 0.02) < 0.002, "seed \(seed)")
  }

  @Test(arguments: seeds) func hardIronIsFound(seed: UInt64) {
    var simulation = FilterSimulation(seed: seed)
    simulation.hardIron = Vector3(8, -6, 10)
    var filter = ScreenedFilter()
    #expect(Self.error(&filter, simulation.samples(90), from: 40) < 2, "seed \(seed)")
    #expect((filter.state.hardIron - simulation.hardIron).length < 1, "seed \(seed)")
  }

  @Test(arguments: seeds) func softIronIsFound(seed: UInt64) {
    var simulation = FilterSimulation(seed: seed)
    simulation.softIron = [Vector3(0.12, 0.05, 0), Vector3(0.05, -0.08, 0.04), Vector3(0, 0.04, -0.04)]
    var filter = ScreenedFilter()
    #expect(Self.error(&filter, simulation.samples(180), from: 120) < 2.5, "seed \(seed)")
    // Inverse of the distortion, except for a common factor.
    let state = filter.state
    #expect(abs(state.softIronOffDiagonal.x + 0.05) < 0.02, "seed \(seed)")
    #expect(abs(state.softIronDiagonal.x - state.softIronDiagonal.y + 0.2) < 0.05, "seed \(seed)")
  }

  @Test(arguments: seeds) func clockErrorIsFound(seed: UInt64) {
    var simulation = FilterSimulation(seed: seed)
    simulation.clockError = 0.02
    var filter = ScreenedFilter()
    #expect(Self.error(&filter, simulation.samples(60), from: 20) < 1.5, "seed \(seed)")
    #expect(abs(filter.state.clockRateError - 0.02) < 0.006, "seed \(seed)")
  }

  @Test(arguments: seeds) func gapsAreBridged(seed: UInt64) {
    var random = SplitMix(seed: seed)
    var samples = FilterSimulation(seed: seed).samples(60)
    samples.removeAll { _ in Double.random(in: 0..<1, using: &random) < 0.1 }
    var filter = ScreenedFilter()
    #expect(Self.error(&filter, samples) < 1.2, "seed \(seed)")
  }

  @Test(arguments: seeds) func saturatedGyroscopeIsCorrected(seed: UInt64) {
    var simulation = FilterSimulation(seed: seed)
    simulation.rotation = 3
    let limit = Vector3(repeating: 7)
    var samples = simulation.samples(60)
    var clipped = 0
    for i in samples.indices {
      let rate = samples[i].rate
      samples[i].rate = rate.clamped(lowerBound: -limit, upperBound: limit)
      if samples[i].rate != rate { clipped += 1 }
    }
    #expect(clipped > 200)
    var filter = ScreenedFilter()
    #expect(Self.error(&filter, samples) < 9, "seed \(seed)")
    #expect(filter.counters.saturated > clipped / 2, "seed \(seed)")
  }

  /// A magnetometer at 20 Hz on a separate device with a lag and its own clock.
  @Test(arguments: seeds) func separateSensorsAreAccurate(seed: UInt64) {
    let samples = FilterSimulation(seed: seed).samples(60)
    var filter = ScreenedFilter()
    var worst = 0.0
    for (i, sample) in samples.enumerated() {
      filter.update(gyroscope: sample.rate, at: sample.time)
      if i % 2 == 0 {
        filter.update(accelerometer: sample.force, at: sample.time.advanced(bySeconds: 0.001))
      }
      if i % 10 == 3 {
        filter.update(magnetometer: sample.field, at: sample.time.advanced(bySeconds: -0.0007))
      }
      guard i > 6000 else { continue }
      worst = max(worst, ((filter.quaternion9D ?? .identity) * sample.truth.conjugate).angle)
    }
    #expect(worst < 2.5 * Double.pi / 180, "seed \(seed)")
  }
}
