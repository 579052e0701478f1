internal import Sensors
public import Spatial

extension SimulatedDrive {
  /// What happens in a simulation.
  public enum Scenario: String, Hashable, Sendable, CaseIterable {
    /// The vehicle drives its route round and round.
    case drive
    /// The vehicle stands at the start of its route with the engine off.
    case parked
    /// The vehicle drives, but its receiver never hears a satellite.
    case noLocation
  }

  /// How often each sensor samples at most, Hz; 0.001 ... 10,000, or 0 for a sensor that the vehicle has not
  /// got. A demand may ask for less.
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

  /// All that a simulation depends on: equal configurations give equal samples, bit by bit.
  public struct Configuration: Hashable, Sendable {
    public var scenario = Scenario.drive
    /// From which all noise, bias, hills and random outages are drawn.
    public var seed: UInt64 = 1
    /// The streets; within some 20 km of their middle, farther out the flat frame stretches distances by more
    /// than a few parts in a thousand.
    public var route = Route.demo
    public var style = DrivingStyle()
    public var suspension = Suspension()
    /// Metres above mean sea level, the middle height of the hills.
    public var altitude = 519.0
    /// The steepest slope, metres of height per metre; 0 for flat streets, 0.15 at most.
    public var steepestGrade = 0.035
    public var rates = Rates()
    public var inertialErrors = InertialErrors()
    public var environment = Environment()
    public var receiver = Receiver()
    /// A stop of at least this long is parking, s: the engine is switched off meanwhile.
    public var parkingTime = 60.0
    /// How long a block of samples spans as long as no demand says otherwise, s.
    public var blockDuration = 0.2
    /// How long nothing is said at the most, s: then the status is said again, so that time passes.
    public var longestSilence = 1.0
    /// The simulated time of its start, for the fixes' `time`; nil leaves that out, for callers that stamp.
    public var startTime: UTCTime?
    /// Where the device's time line begins.
    public var startTimestamp = Timestamp(nanoseconds: 0)
    /// After how many seconds the simulation ends; nil for never.
    public var duration: Double?

    public init() {}

    /// Sensors without any error, on the same drive.
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

/// Why a simulation cannot be set up: the caller's mistake, found before anything runs.
public enum SimulationError: Error, Hashable, Sendable, CustomStringConvertible {
  /// A waypoint cannot be driven; waypoints count from 0.
  case waypoint(Int, problem: String)
  /// The route as a whole cannot be driven.
  case route(problem: String)
  /// A field of `SimulatedDrive.Configuration` is out of its range.
  case configuration(field: String, problem: String)

  public var description: String {
    switch self {
    case .waypoint(let index, let problem): "simulated route, waypoint \(index): \(problem)"
    case .route(let problem): "simulated route: \(problem)"
    case .configuration(let field, let problem): "simulation setting \(field): \(problem)"
    }
  }
}
