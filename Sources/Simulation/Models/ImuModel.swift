internal import Glibc
internal import Spatial

/// A model of an inertial sensor with a constant bias, a slowly varying bias, white noise and road vibration.
struct InertialModel: Sendable {
  private let errors: SimulatedDrive.InertialErrors
  private let noiseDensity: Double
  private let biasWander: Double
  private let bias: Vector3
  /// Frequency of the road vibration in Hz.
  private let frequency: Double
  private var generator: SeededGenerator
  private var wander: GaussMarkov<Vector3>
  private var road: VibrationNoise

  /// Samples per second. A sensor filters frequencies above its rate, and therefore has less noise at a lower
  /// rate.
  var rate: Double {
    didSet { road = VibrationNoise(frequency: frequency, rate: rate) }
  }

  /// Creates an accelerometer; 11 Hz is the frequency of wheel hop.
  init(accelerometer errors: SimulatedDrive.InertialErrors, rate: Double, generator: SeededGenerator) {
    self.init(
      errors, noiseDensity: errors.accelerometerNoiseDensity, bias: errors.accelerometerBias,
      biasWander: errors.accelerometerBiasWander, frequency: 11, rate: rate, generator: generator)
  }

  /// Creates a gyroscope; 2.5 Hz is the frequency at which a body rocks on its springs.
  init(gyroscope errors: SimulatedDrive.InertialErrors, rate: Double, generator: SeededGenerator) {
    self.init(
      errors, noiseDensity: errors.gyroscopeNoiseDensity, bias: errors.gyroscopeBias,
      biasWander: errors.gyroscopeBiasWander, frequency: 2.5, rate: rate, generator: generator)
  }

  private init(
    _ errors: SimulatedDrive.InertialErrors, noiseDensity: Double, bias: Double, biasWander: Double,
    frequency: Double, rate: Double, generator: SeededGenerator
  ) {
    self.errors = errors
    (self.noiseDensity, self.biasWander, self.frequency) = (noiseDensity, biasWander, frequency)
    (self.rate, self.generator) = (rate, generator)
    self.bias = bias * self.generator.nextNormalVector()
    wander = GaussMarkov(correlationTime: errors.biasCorrelationTime, generator: &self.generator)
    road = VibrationNoise(frequency: frequency, rate: rate)
  }

  /// Returns the specific force (m/s²), `elapsed` seconds after the previous sample.
  mutating func force(
    _ motion: VehicleMotion, at timestamp: Timestamp, elapsed: Double, engineRuns: Bool
  ) -> Vector3 {
    let shaking = errors.roadVibration * min(1.5, motion.speed / 15)
    var force = measured(motion.specificForce, shaking: shaking * Vector3(0.4, 0.4, 1), elapsed: elapsed)
    if engineRuns, errors.idleFrequency < 0.45 * rate {
      let turns = (errors.idleFrequency * timestamp.seconds).truncatingRemainder(dividingBy: 1)
      let phase = 2 * Double.pi * turns
      force += errors.idleVibration * Vector3(0.3 * cos(phase), 0.5 * sin(phase), sin(phase + 0.7))
    }
    return force
  }

  /// Returns the rotation rate (rad/s), `elapsed` seconds after the previous sample.
  mutating func rotation(_ motion: VehicleMotion, elapsed: Double) -> Vector3 {
    let rocking = errors.roadRocking * min(1.5, motion.speed / 15)
    return measured(motion.rotationRate, shaking: rocking * Vector3(1, 1, 0.2), elapsed: elapsed)
  }

  private mutating func measured(_ truth: Vector3, shaking: Vector3, elapsed: Double) -> Vector3 {
    wander.advance(by: elapsed, generator: &generator)
    var value = truth + bias + biasWander * wander.value
    value += noiseDensity * rate.squareRoot() * generator.nextNormalVector()
    value += shaking * road.next(generator: &generator)
    return value
  }
}

extension SimulatedDrive {
  /// The errors of an inertial sensor and its vibration. The defaults are those of a good automotive MEMS
  /// chip in a passenger car; `ideal` has none.
  public struct InertialErrors: Hashable, Sendable {
    /// White noise of the accelerometer, m/s²/√Hz; the standard deviation of a sample at 100 Hz is ten times
    /// this value.
    public var accelerometerNoiseDensity = 0.001
    /// Standard deviation of the accelerometer's constant bias per axis, m/s².
    public var accelerometerBias = 0.04
    /// Standard deviation of the accelerometer's varying bias, m/s².
    public var accelerometerBiasWander = 0.01
    /// White noise of the gyroscope, rad/s/√Hz.
    public var gyroscopeNoiseDensity = 0.00007
    /// Standard deviation of the gyroscope's constant bias per axis, rad/s.
    public var gyroscopeBias = 0.004
    /// Standard deviation of the gyroscope's varying bias, rad/s.
    public var gyroscopeBiasWander = 0.0004
    /// Correlation time of the varying biases, s.
    public var biasCorrelationTime = 1200.0
    /// Road vibration at 15 m/s in m/s², root mean square of the vertical axis; grows with speed. The other
    /// two axes have 40 % of it.
    public var roadVibration = 0.35
    /// Rocking by the road at 15 m/s in rad/s, root mean square of pitch and roll.
    public var roadRocking = 0.006
    /// Amplitude of the idling engine in m/s², at `idleFrequency`. The engine is off while the vehicle is
    /// parked.
    public var idleVibration = 0.05
    /// Frequency in Hz; 26 is a four-cylinder engine at 780 revolutions per minute.
    public var idleFrequency = 26.0

    public init() {}

    /// Sensors without errors.
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
