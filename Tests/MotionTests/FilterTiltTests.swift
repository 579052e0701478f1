import Glibc
import Motion
import Sensors
import Spatial
import TestSupport
import Testing

/// Tilt where the motion model of a hand does not apply: unobserved rotations, engines, vehicles.
@Suite struct FilterTiltTests {
  private static let seeds: [UInt64] = [1, 2, 3]

  /// A vehicle on a plane, at 100 Hz without a magnetometer, with accelerations along its y axis by time.
  private struct Drive {
    var noise = 0.05
    var vibration = 0.0
    /// rad/s
    var bias = Vector3(0.004, -0.003, 0.002)
    var filter = ScreenedFilter()
    private(set) var time = 0.0
    private var angle = 0.0
    private var random: SplitMix

    init(seed: UInt64) { random = SplitMix(seed: seed) }

    mutating func normal(_ deviation: Double) -> Vector3 {
      func one(_ random: inout SplitMix) -> Double {
        (0..<12).reduce(-6) { sum, _ in sum + Double.random(in: 0..<1, using: &random) }
      }
      return deviation * Vector3(one(&random), one(&random), one(&random))
    }

    /// - Parameters:
    ///   - acceleration: m/s² forward, by s since the start.
    ///   - turn: rad/s to the left.
    ///   - deviation: standard deviation in m/s² of the known acceleration that is passed to the filter; nil passes none.
    mutating func go(
      _ seconds: Double, turn: Double = 0, tilt: Quaternion = .identity, aided deviation: Double? = nil,
      _ acceleration: (Double) -> Double = { _ in 0 }
    ) {
      for _ in 0..<Int(seconds * 100) {
        time += 0.01
        angle += 0.01 * turn
        let stamp = Timestamp(seconds: 10 + time)
        let forward = Vector3(0, acceleration(time), 0)
        let shake = vibration * FilterSimulation.sine(2 * .pi * 23.7 * time)
        filter.process(
          .init(
            timestamp: stamp,
            specificForce: tilt.conjugate.rotate(forward + Vector3(0, 0, 9.806_65)) + normal(noise),
            rotationRate: tilt.conjugate.rotate(Vector3(0, 0, turn)) + bias + normal(0.002)
              + Vector3(shake, 0.5 * shake, 0.3 * shake)))
        if let deviation {
          filter.process(
            KnownAcceleration(timestamp: stamp, deviceFrame: forward, deviation: deviation))
        }
      }
    }

    /// Rides a motorcycle that leans to the left so that the direction of the force is constant in the device.
    ///
    /// - Parameters:
    ///   - speed: m/s, by s since the start of the ride.
    ///   - lean: rad, by s since the start of the ride.
    /// - Returns: the largest error of the vertical in degrees.
    mutating func ride(
      _ seconds: Double, speed: (Double) -> Double, lean: (Double) -> Double
    ) -> Double {
      let (left, forward, up) = (Vector3(-1, 0, 0), Vector3(0, 1, 0), Vector3(0, 0, 1))
      var worst = 0.0
      for i in 0..<Int(seconds * 100) {
        let t = Double(i) / 100
        time += 0.01
        let angle = lean(t)
        let roll = (lean(t + 0.001) - lean(t - 0.001)) / 0.002
        let throttle = (speed(t + 0.001) - speed(t - 0.001)) / 0.002
        let sideways = standardGravity * tan(angle)
        let tilt = Quaternion(angle: -angle, axis: forward)
        let force = sideways * left + throttle * forward + standardGravity * up
        filter.process(
          .init(
            timestamp: Timestamp(seconds: 10 + time),
            specificForce: tilt.conjugate.rotate(force) + normal(noise),
            rotationRate: tilt.conjugate.rotate((sideways / speed(t)) * up) - roll * forward + bias
              + normal(0.02)))
        worst = max(worst, tiltError(tilt))
      }
      return worst
    }

    /// Angle in degrees between the filter's vertical and the true one.
    func tiltError(_ tilt: Quaternion = .identity) -> Double {
      let up = Vector3(0, 0, 1)
      return Quaternion.shortest(
        from: filter.quaternion6D.conjugate.rotate(up), to: tilt.conjugate.rotate(up)
      ).angle * 180 / .pi
    }

    var biasError: Double { (filter.gyroscopeBias - bias).length * 180 / .pi }
  }

  /// An unobserved rotation of 30° is corrected at rest within 10 s (previously 25° to 30° remained after 30 s).
  @Test(arguments: seeds, [0.0, 0.05]) func tiltChangedInAGapIsCorrectedAtRest(
    seed: UInt64, vibration: Double
  ) {
    var drive = Drive(seed: seed)
    drive.vibration = vibration
    drive.go(30)
    #expect(drive.tiltError() < 1)
    let tilt = Quaternion(angle: .pi / 6, axis: Vector3(0.8, 0.6, 0))
    drive.go(10, tilt: tilt)
    #expect(drive.tiltError(tilt) < 1, "seed \(seed)")
  }

  /// Rotates the device in the hand by 12° without a measurement of any sensor.
  private static func tilt(_ samples: inout [FilterSimulation.Sample], _ range: Range<Int>) {
    let turn = Quaternion(angle: 12 * .pi / 180, axis: Vector3(0.6, 0.8, 0))
    let before = samples[range.lowerBound].truth
    let tilt = (before.conjugate * turn * before).normalized
    for i in range {
      samples[i].rate = tilt.conjugate.rotate(samples[i].rate)
      samples[i].force = tilt.conjugate.rotate(samples[i].force)
      samples[i].field = tilt.conjugate.rotate(samples[i].field)
      samples[i].truth = (samples[i].truth * tilt).normalized
    }
  }

  /// Returns the error of the vertical in degrees after each sample.
  private static func tiltErrors(_ samples: [FilterSimulation.Sample]) -> [Double] {
    var filter = ScreenedFilter()
    return samples.map { sample in
      filter.update(gyroscope: sample.rate, at: sample.time)
      filter.update(accelerometer: sample.force, at: sample.time)
      filter.update(magnetometer: sample.field, at: sample.time)
      let e = filter.quaternion6D * sample.truth.conjugate
      return 2 * asin(min(1, (e.x * e.x + e.y * e.y).squareRoot())) * 180 / .pi
    }
  }

  /// An unobserved rotation of 12° in a hand that turns and moves the device: at most 2° remain after 10 s (previously 8° to 11°).
  @Test(arguments: seeds) func unobservedTiltInTheHandIsCorrected(seed: UInt64) throws {
    var samples = FilterSimulation(seed: seed).samples(45)
    Self.tilt(&samples, 6000..<samples.count)
    let errors = Self.tiltErrors(samples)
    #expect(try #require(errors[6000..<6100].max()) > 10, "seed \(seed)")
    #expect(try #require(errors[8000...].max()) < 2, "seed \(seed)")
  }

  /// The acceleration of a motorcycle is not mistaken for a tilt, although it leans as fast as a hand turns (previously 30° to 37°).
  @Test(arguments: seeds) func coordinatedLeanIsNoTilt(seed: UInt64) {
    func step(_ t: Double, over duration: Double) -> Double {
      let x = max(0, min(1, t / duration))
      return x * x * (3 - 2 * x)
    }
    let rides: [(name: String, speed: (Double) -> Double, lean: (Double) -> Double)] = [
      (
        "curve", { _ in 20 },
        { 30.0.radians * (step($0, over: 0.8) - step($0 - 8, over: 0.8)) }
      ),
      ("winding road", { _ in 25 }, { 40.0.radians * FilterSimulation.sine(2 * .pi * $0 / 8) }),
      (
        "full throttle after a turn", { 4 + 20 * step($0 - 2, over: 5) },
        { 15.0.radians * (step($0 - 0.2, over: 0.6) - step($0 - 2, over: 0.6)) }
      ),
    ]
    for ride in rides {
      var drive = Drive(seed: seed)
      drive.go(20)
      drive.noise = 0.3
      let error = drive.ride(30, speed: ride.speed, lean: ride.lean)
      #expect(error < 8, "\(ride.name), seed \(seed)")
    }
  }

  /// An unobserved rotation of 12° is corrected at rest within 5 s (previously 11° remained).
  @Test(arguments: seeds) func unobservedTiltAtRestIsCorrectedWithinSeconds(seed: UInt64) {
    var drive = Drive(seed: seed)
    drive.go(30)
    let tilt = Quaternion(angle: 12 * .pi / 180, axis: Vector3(0.8, 0.6, 0))
    drive.go(5, tilt: tilt)
    #expect(drive.tiltError(tilt) < 1, "seed \(seed)")
  }

  /// A car that brakes and accelerates turns too slowly to be mistaken for a hand: its acceleration is no tilt.
  @Test(arguments: seeds) func accelerationOfACarIsNoTilt(seed: UInt64) {
    var drive = Drive(seed: seed)
    drive.go(30)
    drive.noise = 0.3
    drive.go(6, turn: 0.1) { _ in 3 }
    #expect(drive.tiltError() < 3, "seed \(seed)")
  }

  /// The smooth acceleration of a train is not mistaken for a tilt within 10 s.
  @Test func smoothTrainAccelerationIsNoTilt() {
    var drive = Drive(seed: 4)
    drive.go(60)
    drive.go(10) { _ in 1.2 }
    #expect(drive.tiltError() < 3)
  }

  /// An engine at idle, whose vibration scatters the samples of a block by 2.2 °/s, counts as rest (previously never).
  @Test(arguments: seeds) func idlingEngineIsRest(seed: UInt64) {
    var drive = Drive(seed: seed)
    drive.vibration = 2.2 * 1.414 * .pi / 180
    drive.noise = 0.12
    drive.go(36)
    #expect(drive.filter.flags.isAtRest, "seed \(seed)")
    #expect(drive.biasError < 0.1, "seed \(seed)")
  }

  /// With the engine running on the road, a slow bend is not mistaken for a bias.
  @Test(arguments: seeds) func slowBendIsNoBias(seed: UInt64) {
    var drive = Drive(seed: seed)
    drive.vibration = 2.2 * 1.414 * .pi / 180
    drive.go(36)
    // The road scatters the means of blocks by 0.2 m/s², like a sine with a period of 0.7 s.
    drive.go(40, turn: 0.8 * .pi / 180) { 0.3 * FilterSimulation.sine(9 * $0) }
    #expect(!drive.filter.flags.isAtRest, "seed \(seed)")
    #expect(drive.biasError < 0.15, "seed \(seed)")
  }

  /// A slow turn of 20 s is not mistaken for a bias after the bias has been observed.
  @Test(arguments: seeds) func slowTurnIsNoBias(seed: UInt64) {
    var drive = Drive(seed: seed)
    drive.go(20)
    drive.go(20, turn: 0.7 * .pi / 180)
    #expect(drive.biasError < 0.15, "seed \(seed)")
  }

  /// In a drive of ten minutes without a stop, the bias error remains bounded (previously up to 3.3 °/s on a real drive).
  @Test(arguments: seeds) func biasStaysBounded(seed: UInt64) {
    var drive = Drive(seed: seed)
    drive.go(20)
    drive.noise = 0.3
    drive.go(600, turn: 0.05) { 2 * FilterSimulation.sine(0.2 * $0) + FilterSimulation.sine(0.031 * $0) }
    #expect(drive.biasError < 0.9, "seed \(seed)")
    #expect(drive.biasError < 2 * drive.filter.state.gyroscopeBiasDeviation.length * 180 / .pi + 0.6)
  }

  /// An alignment during an acceleration is corrected afterwards.
  @Test(arguments: seeds) func alignmentWhileDrivingIsCorrected(seed: UInt64) {
    var drive = Drive(seed: seed)
    drive.noise = 0.3
    drive.go(8) { _ in 2 }
    #expect(drive.tiltError() > 5)
    drive.go(25)
    #expect(drive.tiltError() < 2, "seed \(seed)")
  }

  // MARK: Known accelerations

  @Test(arguments: seeds) func knownAccelerationIsSeparatedFromGravity(seed: UInt64) {
    func run(aided: Bool) -> Double {
      var drive = Drive(seed: seed)
      drive.go(10)
      drive.noise = 0.3
      var worst = 0.0
      for _ in 0..<60 {
        drive.go(2, turn: 0.02, aided: aided ? 0.05 : nil) { 2 * FilterSimulation.sine(0.25 * $0) }
        worst = max(worst, drive.tiltError())
      }
      return worst
    }
    #expect(run(aided: true) < 0.7, "seed \(seed)")
    #expect(run(aided: false) > 2, "seed \(seed)")
  }

  /// A known acceleration is valid for half a second; non-finite and outdated ones are ignored.
  @Test func knownAccelerationExpires() {
    var drive = Drive(seed: 5)
    drive.go(10)
    func tell(_ vector: Vector3, after seconds: Double = 0, deviation: Double = 0.05) {
      drive.filter.process(
        KnownAcceleration(
          timestamp: Timestamp(seconds: 10 + drive.time + seconds), deviceFrame: vector, deviation: deviation)
      )
    }
    tell(Vector3(0, .nan, 0))
    tell(Vector3(0, 5, 0), deviation: .infinity)
    tell(Vector3(0, 5, 0), after: -30)
    drive.go(5)
    #expect(drive.tiltError() < 0.5)
    // A wrong value without a successor has no lasting effect.
    tell(Vector3(0, 5, 0))
    drive.go(20)
    #expect(drive.tiltError() < 1)
  }

  @Test func knownAccelerationInTheEarthFrameIsRotated() {
    let attitude = Quaternion(angle: 1, axis: Vector3(0, 0, 1))
    let known = KnownAcceleration(
      timestamp: Timestamp(seconds: 1), eastNorthUp: Vector3(1, 2, 3), attitude: attitude, deviation: 0.1)
    #expect((attitude.rotate(known.vector) - Vector3(1, 2, 3)).length < 1e-12)
    #expect(known.deviation == 0.1)
  }
}
