import Simulation
import Testing
import Traces

/// Detection of a sensor's quantization step from its values.
@Suite struct StepFinderTests {
  struct Sensor: Sendable {
    var step, rest, least: Double
  }

  /// Steps of accelerometers (m/s²), gyroscopes (rad/s) and barometers (Pa) around their values at rest, with little
  /// and much noise.
  @Test(
    arguments: [
      Sensor(step: 9.80665 / 16384, rest: 9.80665, least: 7.5e-5),
      Sensor(step: 9.80665 / 2048, rest: 9.80665, least: 7.5e-5),
      Sensor(step: 9.80665 / 2048, rest: 0, least: 7.5e-5),
      Sensor(step: 0.000133, rest: 0.002, least: 1.6e-5), Sensor(step: 0.0010642, rest: 0, least: 1.6e-5),
      Sensor(step: 1, rest: 101_325, least: 0.1), Sensor(step: 0.5, rest: 98_000, least: 0.1),
    ], [2.0, 16, 300])
  func isFoundByNoise(sensor: Sensor, noise: Double) throws {
    for seed in 1...20 as ClosedRange<UInt64> {
      var random = SeededGenerator(seed: seed)
      var finder = StepFinder(least: sensor.least)
      for _ in 0..<2000 {
        let raw = (sensor.rest / sensor.step + noise * random.nextNormal()).rounded()
        _ = finder.process(raw * sensor.step)
      }
      let found = try #require(finder.step, "seed \(seed)")
      #expect(abs(found / sensor.step - 1) < 1e-9, "seed \(seed): \(found)")
    }
  }

  /// A constant value and values without quantization yield no step.
  @Test func constantValuesHaveNoStep() {
    var still = StepFinder(least: 0.1)
    for _ in 0..<1000 { _ = still.process(101_325) }
    #expect(still.step == nil)
    var (random, turned) = (SeededGenerator(seed: 4), StepFinder(least: 7.5e-5))
    for _ in 0..<5000 { _ = turned.process(9.8 + 0.05 * random.nextNormal()) }
    #expect(turned.step == nil)
  }
}
