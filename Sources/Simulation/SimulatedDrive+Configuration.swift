internal import Sensors
public import Spatial

extension SimulatedDrive {
  /// The scenario of a simulation.
  public enum Scenario: String, Hashable, Sendable, CaseIterable {
    /// The vehicle drives its route repeatedly.
    case drive
    /// The vehicle is at rest at the start of its route with the engine off.
    case parked
    /// The vehicle drives, but its receiver has no reception.
    case noLocation
  }

  /// The maximum sample rate of each sensor in Hz: 0.001 ... 10,000, or 0 for a missing sensor. A demand can
  /// be lower.
  public struct Rates: Hashable, Sendable {
    public var accelerometer = 100.0
    public var gyroscope = 100.0
    public var magnetometer = 50.0
    public var barometer = 1.0
    public var thermometer = 1.0
    public var positioning = 1.0

    public init() {}

    subscript(kind: SensorKind) -> Double {
      switch kind {
      case .accelerometer: accelerometer
      case .gyroscope: gyroscope
      case .magnetometer: magnetometer
      case .barometer: barometer
      case .thermometer: thermometer
      case .positioning: positioning
      case .wifi, .cellular: 0
      }
    }
  }

  /// The parameters of a simulation. Equal configurations give bit-identical samples.
  public struct Configuration: Hashable, Sendable {
    public var scenario = Scenario.drive
    /// Seed of all noise, biases, hills and random outages.
    public var seed: UInt64 = 1
    /// The streets, within about 20 km of their middle. Farther out, the flat frame distorts distances by
    /// more than a few parts in a thousand.
    public var route = Route.demo
    public var style = DrivingStyle()
    public var suspension = Suspension()
    /// Mean altitude of the hills, m above mean sea level.
    public var altitude = 519.0
    /// Steepest slope in metres of height per metre: 0 for flat streets, at most 0.15.
    public var steepestGrade = 0.035
    public var rates = Rates()
    public var inertialErrors = InertialErrors()
    public var environment = Environment()
    public var receiver = Receiver()
    /// Minimum duration of a stop in s for which the engine is switched off.
    public var parkingTime = 60.0
    /// Duration of a block of samples in s without another demand.
    public var blockDuration = 0.2
    /// Maximum time without events in s; after it the status is repeated, so that time advances.
    public var longestSilence = 1.0
    /// Civil time of the start, for the `time` of fixes; nil to omit it.
    public var startTime: UTCTime?
    /// Timestamp of the start of the simulation.
    public var startTimestamp = Timestamp(nanoseconds: 0)
    /// Duration of the simulation in s; nil for infinite.
    public var duration: Double?

    public init() {}

    /// Sensors without errors, on the same drive.
    public static var ideal: Configuration {
      var configuration = Configuration()
      configuration.inertialErrors = .ideal
      configuration.environment = .ideal
      configuration.receiver = .ideal
      return configuration
    }
  }
}

extension SimulatedDrive.Configuration {
  func check() throws(SimulationError) {
    for kind in SensorKind.allCases where rates[kind] != 0 {
      try Self.check(rates[kind], in: 0.001...10_000, "rates.\(kind.rawValue)")
    }
    try Self.check(style.acceleration, in: 0.3...2.5, "style.acceleration")
    try Self.check(style.braking, in: 0.3...3.5, "style.braking")
    try Self.check(style.lateralAcceleration, in: 0.5...3, "style.lateralAcceleration")
    try Self.check(style.lateralJerk, in: 0.5...10, "style.lateralJerk")
    try Self.check(suspension.rollGradient, in: 0...0.02, "suspension.rollGradient")
    try Self.check(suspension.pitchGradient, in: 0...0.02, "suspension.pitchGradient")
    try Self.check(altitude, in: -500...9000, "altitude")
    try Self.check(steepestGrade, in: 0...0.15, "steepestGrade")
    try Self.check(parkingTime, in: 10...1e9, "parkingTime")
    try Self.check(blockDuration, in: 0...60, "blockDuration")
    try Self.check(longestSilence, in: 0.01...3600, "longestSilence")
    try Self.check(startTimestamp.seconds, in: 0...1e9, "startTimestamp")
    if let duration { try Self.check(duration, in: 0...1e9, "duration") }
    for (value, name) in [
      (inertialErrors.accelerometerNoiseDensity, "accelerometerNoiseDensity"),
      (inertialErrors.accelerometerBias, "accelerometerBias"),
      (inertialErrors.accelerometerBiasWander, "accelerometerBiasWander"),
      (inertialErrors.gyroscopeNoiseDensity, "gyroscopeNoiseDensity"),
      (inertialErrors.gyroscopeBias, "gyroscopeBias"),
      (inertialErrors.gyroscopeBiasWander, "gyroscopeBiasWander"),
      (inertialErrors.roadVibration, "roadVibration"), (inertialErrors.roadRocking, "roadRocking"),
      (inertialErrors.idleVibration, "idleVibration"),
    ] {
      try Self.check(value, in: 0...100, "inertialErrors.\(name)")
    }
    try Self.check(inertialErrors.biasCorrelationTime, in: 1...1e9, "inertialErrors.biasCorrelationTime")
    try Self.check(inertialErrors.idleFrequency, in: 1...1000, "inertialErrors.idleFrequency")
    try Self.check(environment.declination, in: -180...180, "environment.declination")
    try Self.check(environment.inclination, in: -90...90, "environment.inclination")
    try Self.check(environment.fieldStrength, in: 0...200, "environment.fieldStrength")
    try Self.check(environment.hardIron.length, in: 0...5000, "environment.hardIron")
    try Self.check(environment.magnetometerNoise, in: 0...1000, "environment.magnetometerNoise")
    try Self.check(environment.seaLevelPressure, in: 80_000...120_000, "environment.seaLevelPressure")
    try Self.check(environment.barometerNoise, in: 0...10_000, "environment.barometerNoise")
    try Self.check(environment.weather, in: 0...10_000, "environment.weather")
    try Self.check(environment.temperature, in: -90...90, "environment.temperature")
    try Self.check(environment.warmUp, in: 0...100, "environment.warmUp")
    try Self.check(environment.thermometerNoise, in: 0...100, "environment.thermometerNoise")
    try Self.check(receiver.horizontalError, in: 0...1000, "receiver.horizontalError")
    try Self.check(receiver.verticalError, in: 0...1000, "receiver.verticalError")
    try Self.check(receiver.errorCorrelationTime, in: 0.1...1e9, "receiver.errorCorrelationTime")
    try Self.check(receiver.positionNoise, in: 0...1000, "receiver.positionNoise")
    try Self.check(receiver.velocityNoise, in: 0...100, "receiver.velocityNoise")
    try Self.check(receiver.courseThreshold, in: 0...100, "receiver.courseThreshold")
    try Self.check(receiver.coldStart, in: 0...1e9, "receiver.coldStart")
    try Self.check(receiver.hotStart, in: 0...1e9, "receiver.hotStart")
    try Self.check(receiver.hotStartLimit, in: 0...1e9, "receiver.hotStartLimit")
    try Self.check(receiver.reacquisition, in: 0...1e9, "receiver.reacquisition")
    if let mean = receiver.meanTimeBetweenOutages {
      try Self.check(mean, in: 1...1e9, "receiver.meanTimeBetweenOutages")
    }
    try Self.check(receiver.outageDuration.lowerBound, in: 0...1e9, "receiver.outageDuration")
    try Self.check(receiver.outageDuration.upperBound, in: 0...1e9, "receiver.outageDuration")
    try Self.check(receiver.geoidHeight, in: -120...120, "receiver.geoidHeight")
  }

  private static func check(
    _ value: Double, in range: ClosedRange<Double>, _ field: String
  ) throws(SimulationError) {
    guard range.contains(value) else {
      throw .configuration(
        field: field, problem: "\(value) is not in \(range.lowerBound) ... \(range.upperBound)")
    }
  }
}

/// An invalid configuration of a simulation, detected before it runs.
public enum SimulationError: Error, Hashable, Sendable, CustomStringConvertible {
  /// A waypoint cannot be driven; waypoints are numbered from 0.
  case waypoint(Int, problem: String)
  /// The route as a whole cannot be driven.
  case route(problem: String)
  /// A field of `SimulatedDrive.Configuration` is out of range.
  case configuration(field: String, problem: String)

  public var description: String {
    switch self {
    case .waypoint(let index, let problem): "simulated route, waypoint \(index): \(problem)"
    case .route(let problem): "simulated route: \(problem)"
    case .configuration(let field, let problem): "simulation setting \(field): \(problem)"
    }
  }
}
