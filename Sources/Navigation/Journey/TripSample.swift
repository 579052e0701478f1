public import Spatial

/// What is known of the vehicle at one moment, as far as trips go by it.
public struct TripSample: Hashable, Sendable {
  public var timestamp: Timestamp
  /// Civil time of the same moment by a clock that is kept right; nil where there is none.
  public var time: UTCTime?
  /// Whether a place was found at this moment.
  public var isLocated: Bool
  /// The place as others may know it; nil where nobody may, and where none was found.
  public var coordinate: Coordinate?
  /// Metres at 68 %; nil where nobody says.
  public var accuracy: Double?
  /// Whether the place is exact enough to be drawn.
  public var isExact: Bool
  /// m/s over ground, at least 0; nil where it is not measured.
  public var speed: Double?
  /// Motion by positions alone; nil if speeds are measured. It replaces the speed.
  public var motion: Odometer.PositionMotion?
  /// Metres of the odometer, and those of them that were closed, not measured.
  public var distance: Double
  public var estimated: Double
  /// Nil where nobody says, and where the bus that said it is lost.
  public var ignition: Bool?
  /// Since when it is so; nil takes it for new.
  public var ignitionSince: Timestamp?
  /// Whether the accelerometer sees the vehicle rest; nil without one.
  public var isResting: Bool?
  /// m/s by the wheels, not older than some seconds; nil where they say nothing.
  public var wheelSpeed: Double?
  /// Litres an hour, and watts out of the traction battery (negative into it); nil where the bus does not tell them.
  public var fuelRate: Double?
  public var power: Double?

  public init(
    timestamp: Timestamp, time: UTCTime? = nil, isLocated: Bool = false, coordinate: Coordinate? = nil,
    accuracy: Double? = nil, isExact: Bool = true, speed: Double? = nil, distance: Double,
    estimated: Double = 0, ignition: Bool? = nil, ignitionSince: Timestamp? = nil, isResting: Bool? = nil,
    wheelSpeed: Double? = nil, fuelRate: Double? = nil, power: Double? = nil
  ) {
    self.timestamp = timestamp
    self.time = time
    self.isLocated = isLocated
    self.coordinate = coordinate
    self.accuracy = accuracy
    self.isExact = isExact
    self.speed = speed
    self.distance = distance
    self.estimated = estimated
    self.ignition = ignition
    self.ignitionSince = ignitionSince
    self.isResting = isResting
    self.wheelSpeed = wheelSpeed
    self.fuelRate = fuelRate
    self.power = power
  }

  /// Whether something tells of this moment whether the vehicle moves.
  var isWatched: Bool { isLocated || wheelSpeed != nil || isResting == true }

  /// Whether its numbers are those of a vehicle on the earth.
  var isSound: Bool {
    (coordinate?.isValid ?? true) && (accuracy.map { $0.isFinite && $0 >= 0 } ?? true)
      && (speed.map { $0.isFinite && $0 >= 0 && $0 < OdometerSample.fastest } ?? true)
      && (0...OdometerState.farthest).contains(distance) && estimated >= 0 && estimated.isFinite
  }

  /// Whether the speed is the mean since the last decision, from positions alone.
  var isSpeedDerived: Bool { motion != nil }

  /// With the speed of `motion`, and without implausible signals of the CAN bus, as of a wrong DBC file.
  var screened: TripSample {
    var sample = self
    if case .moving(let speed) = motion { sample.speed = speed }
    if case .resting = motion { sample.speed = 0 }
    if let speed = wheelSpeed, !(0..<OdometerSample.fastest).contains(speed) { sample.wheelSpeed = nil }
    if let rate = fuelRate, !(0...Self.greatestFuelRate).contains(rate) { sample.fuelRate = nil }
    if let power, !(-Self.greatestPower...Self.greatestPower).contains(power) { sample.power = nil }
    return sample
  }

  /// l/h and W that no road vehicle takes: a truck's engine of 500 kW burns 150 l/h.
  private static let (greatestFuelRate, greatestPower) = (1000.0, 1e7)

  /// The moment as a trip begins or ends at it.
  var point: TripPoint {
    TripPoint(
      time: time, coordinate: coordinate, accuracy: coordinate == nil ? nil : accuracy, distance: distance,
      estimated: estimated)
  }
}
