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
