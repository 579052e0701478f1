public import Spatial

/// The input of the trip recorder at one time.
public struct TripSample: Hashable, Sendable {
  public var timestamp: Timestamp
  /// Civil time from a synchronized clock; nil if unavailable.
  public var time: UTCTime?
  /// True if a position was available at this time.
  public var isLocated: Bool
  /// The published position; nil if hidden or unknown.
  public var coordinate: Coordinate?
  /// The 68 % radius in m; nil if unknown.
  public var accuracy: Double?
  /// True if the position is accurate enough for the track.
  public var isExact: Bool
  /// The ground speed in m/s, at least 0; nil if not measured.
  public var speed: Double?
  /// Motion derived from positions; nil if speeds are measured. If it is not nil, it replaces `speed`.
  public var motion: Odometer.PositionMotion?
  /// The odometer in m.
  public var distance: Double
  /// The part of the odometer in m that was estimated in gaps instead of measured.
  public var estimated: Double
  /// The state of the ignition; nil if unknown or if the CAN bus is lost.
  public var ignition: Bool?
  /// The time since which `ignition` has this state; nil for the time of the sample.
  public var ignitionSince: Timestamp?
  /// True if the accelerometer detects rest; nil without an accelerometer.
  public var isResting: Bool?
  /// The wheel speed in m/s, at most a few seconds old; nil if unknown.
  public var wheelSpeed: Double?
  /// Fuel rate in l/h; nil if the vehicle does not report it.
  public var fuelRate: Double?
  /// Power from the traction battery in W, negative while charging; nil if the vehicle does not report it.
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

  /// True if the sample shows whether the vehicle moves.
  var isWatched: Bool { isLocated || wheelSpeed != nil || isResting == true }

  /// True if the values are plausible for a vehicle.
  var isSound: Bool {
    (coordinate?.isValid ?? true) && (accuracy.map { $0.isFinite && $0 >= 0 } ?? true)
      && (speed.map { $0.isFinite && $0 >= 0 && $0 < OdometerSample.fastest } ?? true)
      && (0...OdometerState.farthest).contains(distance) && estimated >= 0 && estimated.isFinite
  }

  /// True if the speed is a mean since the last decision, derived from positions.
  var isSpeedDerived: Bool { motion != nil }

  /// The sample with the speed of `motion`, and without implausible signals of the CAN bus, such as those of
  /// a wrong DBC file.
  var screened: TripSample {
    var sample = self
    if case .moving(let speed) = motion { sample.speed = speed }
    if case .resting = motion { sample.speed = 0 }
    if let speed = wheelSpeed, !(0..<OdometerSample.fastest).contains(speed) { sample.wheelSpeed = nil }
    if let rate = fuelRate, !(0...Self.greatestFuelRate).contains(rate) { sample.fuelRate = nil }
    if let power, !(-Self.greatestPower...Self.greatestPower).contains(power) { sample.power = nil }
    return sample
  }

  /// The largest plausible values in l/h and W; no road vehicle reaches them. A truck engine of 500 kW burns
  /// 150 l/h.
  private static let (greatestFuelRate, greatestPower) = (1000.0, 1e7)

  /// The sample as start or end of a trip.
  var point: TripPoint {
    TripPoint(
      time: time, coordinate: coordinate, accuracy: coordinate == nil ? nil : accuracy, distance: distance,
      estimated: estimated)
  }
}
