import Motion
import Sensors
import Spatial
import TestSupport
import Testing

/// The manager's use of a stored calibration, of temperatures and of replaced hardware.
@Suite struct MotionManagerCalibrationTests {
  private static func calibration() -> MotionCalibration {
    var calibration = MotionCalibration()
    calibration.devices[.gyroscope] = "lsm6dsox"
    calibration.keep(
      .init(temperature: 10, bias: Vector3(0.01, 0, 0), deviation: Vector3(repeating: 2e-4)))
    calibration.keep(
      .init(temperature: 30, bias: Vector3(0.03, 0, 0), deviation: Vector3(repeating: 2e-4)))
    return calibration
  }

  private func turn(_ manager: inout MotionManager, at seconds: Double) {
    let time = Timestamp(seconds: seconds)
    // Real sensors never repeat a value.
    let noise = Double(Int((seconds * 100).rounded()) % 7 - 3) * 1e-4
    manager.process([InertialScan(timestamp: time, acceleration: Vector3(noise, 0, -1))])
    manager.process([InertialScan(timestamp: time, rotationRate: Vector3(0, noise, 1 + noise))])
  }

  private func bias(_ manager: inout MotionManager, at seconds: Double) throws -> Double {
    turn(&manager, at: seconds)
    return noiseFree(try #require(manager.deviceMotion?.rotationRate).x)
  }

  private func noiseFree(_ rate: Double) -> Double { -rate }

  @Test func theBiasFollowsTheTemperature() throws {
    var manager = MotionManager(frame: .xArbitraryZVertical, calibration: Self.calibration())
    #expect(abs(try bias(&manager, at: 0) - 0.03) < 1e-4)
    manager.process([InertialScan(timestamp: Timestamp(seconds: 0), temperature: 20)])
    #expect(abs(try bias(&manager, at: 0.01) - 0.02) < 1e-4)
    // The chip warms up while the vehicle turns continuously, so that the bias is never observed at rest.
    for index in 0..<100 {
      manager.process([InertialScan(timestamp: Timestamp(seconds: Double(index)), temperature: 28)])
    }
    #expect(abs(try bias(&manager, at: 0.02) - 0.028) < 1e-4)
    for rubbish in [Double.nan, .infinity, -273.15, 1000] {
      manager.process([InertialScan(timestamp: Timestamp(seconds: 200), temperature: rubbish)])
    }
    #expect(abs(try bias(&manager, at: 0.03) - 0.028) < 1e-4)
  }

  @Test func biasesAreLearnedAtTheirTemperatures() throws {
    var manager = MotionManager(frame: .xArbitraryZVertical)
    var seconds = 0.0
    for (temperature, bias) in [(5.0, 0.004), (45, 0.012)] {
      for _ in 0..<40 {
        manager.process([InertialScan(timestamp: Timestamp(seconds: seconds), temperature: temperature)])
      }
      for index in 0..<6000 {
        seconds += 0.01
        let noise = Double(index % 7 - 3) * 1e-4
        let time = Timestamp(seconds: seconds)
        manager.process([InertialScan(timestamp: time, acceleration: Vector3(noise, 0, -1))])
        manager.process([InertialScan(timestamp: time, rotationRate: Vector3(bias + noise, 0, 0))])
      }
      manager.process([InertialScan(timestamp: Timestamp(seconds: seconds), temperature: temperature)])
    }
    let learned = manager.calibration
    #expect(abs((learned.gyroBias(at: 5)?.bias.x ?? 0) - 0.004) < 2e-4)
    #expect(abs((learned.gyroBias(at: 45)?.bias.x ?? 0) - 0.012) < 2e-4)
    let restarted = MotionManager(frame: .xArbitraryZVertical, calibration: learned)
    #expect(restarted.calibration.gyroBiases == learned.gyroBiases)
  }

  private func active(_ device: String?) -> SourceStatus {
    SourceStatus(
      timestamp: Timestamp(seconds: 0), source: "iio", kinds: [.gyroscope, .thermometer],
      state: .active(rates: [:]), device: device)
  }

  @Test func otherHardwareDiscardsTheCalibration() throws {
    var manager = MotionManager(frame: .xArbitraryZVertical, calibration: Self.calibration())
    manager.observe(active(nil))
    manager.observe(active("lsm6dsox"))
    #expect(!manager.hasDiscardedCalibration && manager.calibration == Self.calibration())
    manager.observe(active("bmi160"))
    #expect(manager.hasDiscardedCalibration && manager.calibration.isEmpty)
    #expect(abs(try bias(&manager, at: 0)) < 1e-3)
    #expect(manager.calibration.devices[.gyroscope] == "bmi160")
  }
}
