import Motion
import Spatial
import Testing

@Suite struct FilterCalibrationTests {
  @Test func storedCalibrationIsUsed() {
    var simulation = FilterSimulation(seed: 5)
    simulation.hardIron = Vector3(8, -6, 10)
    simulation.magnetometerLag = 0.02
    var first = ScreenedFilter()
    _ = FilterAccuracyTests.error(&first, simulation.samples(90))
    let kept = first.filter.calibration(temperature: 20)
    #expect(kept.magnetometer != nil && kept.magnetometerLag != nil && kept.gyroBiases.count == 1)
    var second = ScreenedFilter(calibration: kept)
    let error = FilterAccuracyTests.error(&second, simulation.samples(40))
    #expect(error < 1.2)
    #expect(!second.flags.hasDiscardedCalibration)
  }

  @Test func outdatedCalibrationIsDiscarded() {
    var calibration = MotionCalibration()
    calibration.magnetometer = .init(
      hardIron: Vector3(30, -20, 10), hardIronDeviation: Vector3(repeating: 0.3))
    calibration.keep(
      .init(temperature: nil, bias: Vector3(repeating: 0.1), deviation: Vector3(repeating: 1e-3)))
    var filter = ScreenedFilter(calibration: calibration)
    let error = FilterAccuracyTests.error(&filter, FilterSimulation(seed: 6).samples(90), from: 60)
    #expect(error < 2.5)
    #expect(filter.flags.hasDiscardedCalibration)
    #expect((filter.gyroscopeBias - FilterSimulation(seed: 6).gyroscopeBias).length < 0.002)
    // The discarded parameters are not stored again.
    let kept = filter.filter.calibration(updating: calibration)
    #expect((kept.magnetometer?.hardIron.length ?? 0) < 2)
    #expect(kept.gyroBiases.allSatisfy { $0.bias.length < 0.02 })
  }

  /// The hard iron cannot be observed at rest and is not stored, independently of the filter's stated deviation.
  @Test func onlyObservedParametersAreStored() {
    var simulation = FilterSimulation(seed: 7)
    simulation.restTime = 100
    simulation.hardIron = Vector3(8, -6, 10)
    var filter = ScreenedFilter()
    _ = FilterAccuracyTests.error(&filter, simulation.samples(60))
    let kept = filter.filter.calibration()
    #expect(kept.magnetometer == nil && kept.magnetometerLag == nil && kept.gyroscopeScaleError == nil)
    #expect(kept.gyroBiases.count == 1)
  }
}
