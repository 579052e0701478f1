import Glibc
import Navigation
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

/// Stops in an outage when the speed error exceeds the stated standard deviation.
@Suite struct OutageStopTests {
  /// A drive whose last part is an outage on a straight road, and the filter's result.
  private struct Run {
    private(set) var filter = NavigationFilter()
    private let drive: SyntheticDrive
    private var generator: SeededGenerator
    private var time: Double
    private var speed: Double
    private let toDevice: Quaternion
    private let heading: Vector3
    private var truth: SyntheticDrive.State
    /// Additional force and rotation rate measured by the sensors, in the vehicle's frame.
    var disturbance = (force: Vector3.zero, rate: Vector3.zero)
    private(set) var (stopped, count) = (0, 0)

    init(_ generator: SeededGenerator) throws {
      self.generator = generator
      drive = SyntheticDrive(length: 240, mounting: self.generator.nextRotation())
      let samples = drive.samples(&self.generator)
      let cut = try #require(samples.firstIndex { $0.truth.time > 180 && abs($0.truth.speed - 12) < 0.2 })
      filter.play(samples[..<cut])
      truth = samples[cut].truth
      (time, speed) = (truth.time, truth.speed)
      heading = truth.forward
      toDevice = drive.mounting.conjugate * truth.attitude.conjugate
    }

    /// Drives straight ahead.
    /// - Parameter vibration: standard deviation of the noise relative to that at rest.
    mutating func advance(_ seconds: Double, acceleration: Double, vibration: Double) {
      (stopped, count) = (0, 0)
      for _ in 0..<Int(seconds * drive.rate) {
        truth.position += heading * (speed / drive.rate)
        time += 1 / drive.rate
        speed = max(0, speed + acceleration / drive.rate)
        func noise(_ deviation: Double) -> Vector3 {
          deviation * vibration
            * Vector3(generator.nextNormal(), generator.nextNormal(), generator.nextNormal())
        }
        let force = toDevice.rotate(acceleration * heading + Vector3(0, 0, 9.80767))
        let toDevice = drive.mounting.conjugate
        filter.process(
          InertialScan(
            timestamp: Timestamp(seconds: 100 + time),
            specificForce: force + toDevice.rotate(disturbance.force) + drive.accelerometerBias
              + noise(drive.accelerometerNoise),
            rotationRate: toDevice.rotate(disturbance.rate) + drive.gyroscopeBias
              + noise(drive.gyroscopeNoise)))
        count += 1
        stopped += filter.estimate?.isStopped == true ? 1 : 0
      }
    }

    /// True speed in m/s, from which the duration of braking follows.
    var trueSpeed: Double { speed }

    /// Position error in m.
    var error: Double? { filter.error(truth) }
  }

  /// A bump turns the device by 1.1° without a measurement of the gyroscope.
  @Test func stopIsDetectedAfterABump() throws {
    var (inside, detected) = (0, 0)
    let runs = 10
    for seed in 1...UInt64(runs) {
      var run = try Run(SeededGenerator(seed: seed))
      run.disturbance.rate = Vector3(0.02 / 0.2, 0, 0)
      run.advance(0.2, acceleration: 0, vibration: 5)
      run.disturbance.rate = .zero
      run.advance(20, acceleration: 0, vibration: 5)
      run.advance(run.trueSpeed / 2, acceleration: -2, vibration: 5)
      run.advance(10, acceleration: 0, vibration: 1)
      detected += run.stopped * 2 > run.count ? 1 : 0
      guard let estimate = run.filter.estimate, let error = run.error else { continue }
      inside += error <= estimate.radius95 ? 1 : 0
    }
    print("after a bump: \(detected) of \(runs) stops detected, \(inside) inside the 95 % radius")
    #expect(detected * 10 >= runs * 9)
    #expect(inside * 10 >= runs * 9)
  }

  /// A pulse of 0.4 m/s² for 10 s: the speed is then wrong by 4 m/s, and the position by much more than the correlation of the two states
  /// at the stop suggests.
  @Test(arguments: [-0.4, 0.4]) func stopCorrectionIsUncertain(_ pulse: Double) throws {
    var (inside, detected) = (0, 0)
    let runs = 10
    for seed in 1...UInt64(runs) {
      var run = try Run(SeededGenerator(seed: seed))
      run.disturbance.force = Vector3(0, pulse, 0)
      run.advance(10, acceleration: 0, vibration: 5)
      run.disturbance.force = .zero
      run.advance(30, acceleration: 0, vibration: 5)
      run.advance(run.trueSpeed / 2, acceleration: -2, vibration: 5)
      run.advance(10, acceleration: 0, vibration: 1)
      detected += run.stopped * 2 > run.count ? 1 : 0
      guard let estimate = run.filter.estimate, let error = run.error else { continue }
      inside += error <= 1.5 * estimate.radius95 ? 1 : 0
    }
    print("pulse of \(pulse) m/s²: \(detected) of \(runs) stops detected, \(inside) within 1.5 radii of 95 %")
    #expect(detected * 10 >= runs * 9)
    #expect(inside * 10 >= runs * 9)
  }

  /// Rolling at constant speed with 2.5 times the vibration at rest is not detected as a stop.
  @Test(arguments: [5.0, 10]) func smoothRoadIsNoStop(_ speed: Double) throws {
    var run = try Run(SeededGenerator.announced())
    run.advance(run.trueSpeed - speed, acceleration: -1, vibration: 5)
    run.advance(60, acceleration: 0, vibration: 2.5)
    #expect(run.stopped == 0, "\(run.stopped) of \(run.count)")
  }
}
