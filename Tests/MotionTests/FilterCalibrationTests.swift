import Motion
import Spatial
import Testing

@Suite struct FilterCalibrationTests {
  @Test func biasBetweenTemperatures() throws {
    var calibration = AttitudeCalibration()
    #expect(calibration.bias(at: 20) == nil)
    calibration.keep(.init(temperature: 31, bias: Vector3(0.02, 0, 0), deviation: .zero))
    calibration.keep(.init(temperature: 9, bias: Vector3(0, 0, 0), deviation: .zero))
    #expect(calibration.biases.map(\.temperature) == [10, 30])
    #expect(abs((calibration.bias(at: 15)?.bias.x ?? 0) - 0.005) < 1e-12)
    #expect(calibration.bias(at: -40)?.bias.x == 0)
    #expect(calibration.bias(at: 90)?.bias.x == 0.02)
    calibration.keep(.init(temperature: 29, bias: Vector3(0.03, 0, 0), deviation: .zero))
    #expect(calibration.biases.count == 2)
    #expect(calibration.bias(at: 90)?.bias.x == 0.03)
  }

  @Test func keptCalibrationIsUsed() {
    var simulation = FilterSimulation(seed: 5)
    simulation.hardIron = Vector3(8, -6, 10)
    simulation.magnetometerLag = 0.02
    var first = AttitudeFilter()
    _ = FilterAccuracyTests.error(&first, simulation.samples(90))
    let kept = first.calibration(temperature: 20)
    #expect(kept.hardIron != nil && kept.magnetometerLag != nil && kept.biases.count == 1)
    var second = AttitudeFilter(calibration: kept)
    #expect(FilterAccuracyTests.error(&second, simulation.samples(40)) < 1.2)
    #expect(!second.flags.hasDiscardedCalibration)
  }

  @Test func calibrationThatNoLongerFitsIsDiscarded() {
    var calibration = AttitudeCalibration()
    calibration.hardIron = Vector3(30, -20, 10)
    calibration.hardIronDeviation = Vector3(repeating: 0.3)
    calibration.keep(
      .init(temperature: nil, bias: Vector3(repeating: 0.1), deviation: Vector3(repeating: 1e-3)))
    var filter = AttitudeFilter(calibration: calibration)
    let error = FilterAccuracyTests.error(&filter, FilterSimulation(seed: 6).samples(90), from: 60)
    #expect(error < 2.5)
    #expect(filter.flags.hasDiscardedCalibration)
    #expect((filter.gyroscopeBias - FilterSimulation(seed: 6).gyroscopeBias).length < 0.002)
  }
}
