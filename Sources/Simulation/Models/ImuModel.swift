internal import Glibc
internal import Spatial

/// Turns what a vehicle does into what its accelerometer says.
struct AccelerometerModel: Sendable {
  private let errors: SimulatedDrive.InertialErrors
  private var generator: SeededGenerator
  private let bias: Vector3
  private var wander: GaussMarkovVector
  private var road: Vibration

  /// Samples per second: a sensor filters out what its rate cannot carry, and so is less noisy at a lower one.
  var rate: Double {
    didSet { road = Vibration(frequency: Self.shaking, rate: rate) }
  }

  /// Hz, where wheels hop.
  private static let shaking = 11.0

  init(errors: SimulatedDrive.InertialErrors, rate: Double, generator: SeededGenerator) {
    self.errors = errors
    self.generator = generator
    self.rate = rate
    bias = errors.accelerometerBias * self.generator.nextNormalVector()
    wander = GaussMarkovVector(correlationTime: errors.biasCorrelationTime, generator: &self.generator)
    road = Vibration(frequency: Self.shaking, rate: rate)
  }

  /// The specific force (m/s²) of a moment `elapsed` seconds after the last one.
  mutating func sample(
    _ motion: VehicleMotion, at timestamp: Timestamp, elapsed: Double, engineRuns: Bool
  ) -> Vector3 {
    wander.advance(by: elapsed, generator: &generator)
    var force = motion.specificForce + bias + errors.accelerometerBiasWander * wander.value
    force += errors.accelerometerNoiseDensity * rate.squareRoot() * generator.nextNormalVector()
    let shaking = errors.roadVibration * min(1.5, motion.speed / 15)
    force += shaking * Vector3(0.4, 0.4, 1) * road.next(generator: &generator)
    if engineRuns, errors.idleFrequency < 0.45 * rate {
      let turns = (errors.idleFrequency * timestamp.seconds).truncatingRemainder(dividingBy: 1)
      let phase = 2 * Double.pi * turns
      force += errors.idleVibration * Vector3(0.3 * cos(phase), 0.5 * sin(phase), sin(phase + 0.7))
    }
    return force
  }
}

/// Turns what a vehicle does into what its gyroscope says.
struct GyroscopeModel: Sendable {
  private let errors: SimulatedDrive.InertialErrors
  private var generator: SeededGenerator
  private let bias: Vector3
  private var wander: GaussMarkovVector
  private var road: Vibration

  /// Samples per second.
  var rate: Double {
    didSet { road = Vibration(frequency: Self.rocking, rate: rate) }
  }

  /// Hz, where a body rocks on its springs.
  private static let rocking = 2.5

  init(errors: SimulatedDrive.InertialErrors, rate: Double, generator: SeededGenerator) {
    self.errors = errors
    self.generator = generator
    self.rate = rate
    bias = errors.gyroscopeBias * self.generator.nextNormalVector()
    wander = GaussMarkovVector(correlationTime: errors.biasCorrelationTime, generator: &self.generator)
    road = Vibration(frequency: Self.rocking, rate: rate)
  }

  /// The rotation rate (rad/s) of a moment `elapsed` seconds after the last one.
  mutating func sample(_ motion: VehicleMotion, elapsed: Double) -> Vector3 {
    wander.advance(by: elapsed, generator: &generator)
    var rotation = motion.rotationRate + bias + errors.gyroscopeBiasWander * wander.value
    rotation += errors.gyroscopeNoiseDensity * rate.squareRoot() * generator.nextNormalVector()
    let rocking = errors.roadRocking * min(1.5, motion.speed / 15)
    rotation += rocking * Vector3(1, 1, 0.2) * road.next(generator: &generator)
    return rotation
  }
}

extension SimulatedDrive {
  /// The errors of an inertial sensor and of how it is shaken. The defaults are those of a good automotive MEMS
  /// chip in a passenger car; `ideal` has none.
  public struct InertialErrors: Hashable, Sendable {
    /// White noise of the accelerometer, m/s²/√Hz: the standard deviation of a sample at 100 Hz is 10 times it.
    public var accelerometerNoiseDensity = 0.001
    /// Standard deviation of the accelerometer's constant bias per axis, m/s².
    public var accelerometerBias = 0.04
    /// Standard deviation of what its bias wanders besides, m/s².
    public var accelerometerBiasWander = 0.01
    /// White noise of the gyroscope, rad/s/√Hz.
    public var gyroscopeNoiseDensity = 0.00007
    /// Standard deviation of the gyroscope's constant bias per axis, rad/s.
    public var gyroscopeBias = 0.004
    /// Standard deviation of what its bias wanders besides, rad/s.
    public var gyroscopeBiasWander = 0.0004
    /// In what time a bias forgets its wandering, s.
    public var biasCorrelationTime = 1200.0
    /// Shaking by the road at 15 m/s, m/s², root mean square of the vertical axis; grows with speed. Shared by
    /// the other two axes at 40 %.
    public var roadVibration = 0.35
    /// Rocking by the road at 15 m/s, rad/s, root mean square of pitch and roll.
    public var roadRocking = 0.006
    /// Amplitude of the engine's idling, m/s², at `idleFrequency`. It stops while the vehicle is parked.
    public var idleVibration = 0.05
    /// Hz: 26 is a four-cylinder engine at 780 revolutions per minute.
    public var idleFrequency = 26.0

    public init() {}

    /// Sensors that tell the truth.
    public static var ideal: InertialErrors {
      var errors = InertialErrors()
      errors.accelerometerNoiseDensity = 0
      errors.accelerometerBias = 0
      errors.accelerometerBiasWander = 0
      errors.gyroscopeNoiseDensity = 0
      errors.gyroscopeBias = 0
      errors.gyroscopeBiasWander = 0
      errors.roadVibration = 0
      errors.roadRocking = 0
      errors.idleVibration = 0
      return errors
    }
  }
}
