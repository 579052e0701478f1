internal import Glibc
public import Navigation
public import Sensors
public import Simulation
public import Spatial

/// A vehicle on a flat road with bends, stops and starts, optionally with one ramp. Position, attitude and sensor values are known exactly.
public struct SyntheticDrive: Sendable {
  /// Sampling rates in Hz of the inertial sensors and of the receiver.
  public var rate: Double
  public var fixRate = 4.0
  /// Duration in s.
  public var length: Double
  /// Rotation from the device to the vehicle's axes right, forward, up.
  public var mounting: Quaternion
  /// Sensor biases in rad/s and m/s².
  public var gyroscopeBias = Vector3(0.004, -0.003, 0.005)
  public var accelerometerBias = Vector3(0.05, -0.08, 0.06)
  /// Standard deviation of a sample at rest in rad/s and m/s²; five times as much in motion.
  public var gyroscopeNoise = 0.0005
  public var accelerometerNoise = 0.01
  /// Standard deviation of positions in m, per axis.
  public var fixNoise = 0.3
  /// Delay in s of the timestamps of inertial samples.
  public var offset: Double
  /// Time in s before the vehicle starts to move.
  public var restTime = 20.0
  /// A slope between two times (s) with a grade in m per m, positive uphill; nil for a flat road.
  public var ramp: (times: ClosedRange<Double>, grade: Double)?

  public init(
    rate: Double = 50, length: Double = 300,
    mounting: Quaternion = Quaternion(angle: 0.4, axis: Vector3(0.3, -0.2, 1)), offset: Double = 0
  ) {
    (self.rate, self.length, self.mounting, self.offset) = (rate, length, mounting, offset)
  }

  public static let origin = Coordinate(latitude: 48, longitude: 11)
  public static let altitude = 500.0

  public struct State: Sendable {
    public var time = 0.0
    /// Metres east, north, up of the origin.
    public var position = Vector3.zero
    public var speed = 0.0
    /// Radians clockwise from north.
    public var heading = 0.0
    public var turnRate = 0.0
    public var acceleration = Vector3.zero
    /// Slope of the road in rad, positive uphill.
    public var slope = 0.0

    public var forward: Vector3 {
      Vector3(sin(heading) * cos(slope), cos(heading) * cos(slope), sin(slope))
    }
    public var velocity: Vector3 { speed * forward }
    /// Rotation from the vehicle to east, north, up.
    public var attitude: Quaternion {
      Quaternion(angle: -heading, axis: Vector3(0, 0, 1)) * Quaternion(angle: slope, axis: Vector3(1, 0, 0))
    }
  }

  public struct Sample: Sendable {
    public var scan: InertialScan
    public var truth: State
    /// Nil if no fix is due at this sample.
    public var fix: PositionFix?
    public var speed: WheelSpeed
  }

  /// Speed in m/s and its derivative; the vehicle is at rest for a quarter of the time.
  private func speed(at time: Double) -> (Double, Double) {
    let t = time - restTime
    guard t > 0 else { return (0, 0) }
    let (mean, swing, angular) = (6.0, 9.0, 2 * Double.pi / 70)
    // The phase of the sine makes the vehicle start from rest.
    let value = mean + swing * sin(angular * t - 2.3)
    return value > 0 ? (value, swing * angular * cos(angular * t - 2.3)) : (0, 0)
  }

  /// Slope of the road in rad and its derivative; the grade changes within 2 s at both ends of the ramp.
  private func slope(at time: Double) -> (Double, Double) {
    guard let ramp else { return (0, 0) }
    let ends = 2.0
    let angle = atan(ramp.grade)
    let into = min(time - ramp.times.lowerBound, ramp.times.upperBound - time)
    guard into > 0 else { return (0, 0) }
    guard into < ends else { return (angle, 0) }
    let rate = 0.5 * angle * Double.pi / ends * sin(Double.pi * into / ends)
    let isBeginning = time - ramp.times.lowerBound < ends
    return (0.5 * angle * (1 - cos(Double.pi * into / ends)), isBeginning ? rate : -rate)
  }

  private func curvature(at time: Double) -> Double {
    0.008 * sin(2 * Double.pi * time / 43) + 0.006 * sin(2 * Double.pi * time / 17)
  }

  /// Generates the samples, with noise from the generator.
  public func samples(_ generator: inout SeededGenerator) -> [Sample] {
    let interval = 1 / rate
    let frame = LocalFrame(origin: Self.origin, altitude: Self.altitude)
    // Normal gravity at latitude 48° and altitude 500 m.
    let gravity = Vector3(0, 0, 9.80767)
    let latitude = Self.origin.latitude.radians
    let earth = 7.292115e-5 * Vector3(0, cos(latitude), sin(latitude))
    var state = State()
    var nextFix = 0.0
    var samples: [Sample] = []
    samples.reserveCapacity(Int(length * rate))
    func noise(_ deviation: Double) -> Vector3 {
      deviation * Vector3(generator.nextNormal(), generator.nextNormal(), generator.nextNormal())
    }
    for index in 0..<Int(length * rate) {
      let time = Double(index) * interval
      let (speed, change) = speed(at: time)
      if index > 0 {
        let (middle, _) = self.speed(at: time - interval / 2)
        let turn = middle * curvature(at: time - interval / 2) * interval
        let heading = state.heading + turn / 2
        let (slope, _) = slope(at: time - interval / 2)
        state.position +=
          middle * interval * Vector3(sin(heading) * cos(slope), cos(heading) * cos(slope), sin(slope))
        state.heading += turn
      }
      (state.time, state.speed) = (time, speed)
      state.turnRate = speed * curvature(at: time)
      let (slope, tilting) = slope(at: time)
      state.slope = slope
      let right = Vector3(cos(state.heading), -sin(state.heading), 0)
      let upward = right.cross(state.forward)
      state.acceleration =
        change * state.forward + speed * state.turnRate * cos(slope) * right + speed * tilting * upward
      let toDevice = mounting.conjugate * state.attitude.conjugate
      let shaking = speed > 0 ? 5.0 : 1
      let force =
        toDevice.rotate(state.acceleration + gravity) + accelerometerBias
        + noise(accelerometerNoise * shaking)
      let turning =
        mounting.conjugate.rotate(Vector3(tilting, 0, 0))
        + toDevice.rotate(Vector3(0, 0, -state.turnRate) + earth)
        + gyroscopeBias
        + noise(gyroscopeNoise * shaking)
      var fix: PositionFix?
      if time >= nextFix - 1e-9 {
        nextFix += 1 / fixRate
        fix = self.fix(state, frame: frame, noise(fixNoise), noise(0.05))
      }
      let stamp = Timestamp(seconds: 100 + time)
      samples.append(
        Sample(
          scan: InertialScan(
            timestamp: Timestamp(seconds: 100 + time + offset), specificForce: force, rotationRate: turning),
          truth: state, fix: fix, speed: WheelSpeed(timestamp: stamp, speed: speed)))
    }
    return samples
  }

  private func fix(_ state: State, frame: LocalFrame, _ error: Vector3, _ velocityError: Vector3)
    -> PositionFix
  {
    var fix = PositionFix(timestamp: Timestamp(seconds: 100 + state.time), mode: .threeDimensional)
    fix.coordinate = frame.coordinate(at: SIMD2(state.position.x + error.x, state.position.y + error.y))
    fix.altitudeEllipsoidal = Self.altitude + state.position.z + error.z
    fix.horizontalError = 2.4477 * fixNoise
    fix.verticalError = 1.96 * fixNoise
    let velocity = state.velocity + velocityError
    fix.speed = hypot(velocity.x, velocity.y)
    fix.course = normalizedDegrees(atan2(velocity.x, velocity.y).degrees)
    fix.climb = velocity.z
    fix.speedError = 1.96 * 0.05
    return fix
  }
}

extension NavigationFilter {
  /// Processes samples; fixes are used only at times for which `isSeen` returns true.
  public mutating func play(
    _ samples: some Sequence<SyntheticDrive.Sample>, isSeen: (Double) -> Bool = { _ in true },
    usesSpeed: Bool = false
  ) {
    for sample in samples {
      if let fix = sample.fix, isSeen(sample.truth.time) { process(fix) }
      if usesSpeed { process(sample.speed) }
      process(sample.scan)
    }
  }

  /// Horizontal distance in m between estimate and truth; nil without an estimate.
  public func error(_ truth: SyntheticDrive.State) -> Double? {
    guard let estimate else { return nil }
    let frame = LocalFrame(origin: SyntheticDrive.origin, altitude: SyntheticDrive.altitude)
    let offset = frame.offset(of: estimate.coordinate)
    return hypot(offset.x - truth.position.x, offset.y - truth.position.y)
  }
}

extension SeededGenerator {
  /// A uniformly distributed rotation (K. Shoemake, 1992).
  public mutating func nextRotation() -> Quaternion {
    let (u, a, b) = (nextUniform(), 2 * Double.pi * nextUniform(), 2 * Double.pi * nextUniform())
    let (s, c) = ((1 - u).squareRoot(), u.squareRoot())
    return Quaternion(w: s * sin(a), x: s * cos(a), y: c * sin(b), z: c * cos(b))
  }
}
