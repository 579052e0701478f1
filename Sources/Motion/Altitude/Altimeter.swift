public import Sensors
public import Spatial
public import VehicleData

/// An altimeter in the manner of Core Motion's `CMAltimeter`: relative height, height above mean sea level,
/// and the level in a garage.
///
/// Pass pressures at the barometer's own rate, at least once a second, and the receiver's altitudes and
/// speeds as they arrive.
public struct Altimeter: Sendable {
  private var filter = AltitudeFilter()
  private var floors = FloorEstimator()
  /// Height in m in the standard atmosphere of the first pressure level; nil before the first level.
  private var start: Double?
  /// Time of the newest pressure.
  private var newest: Timestamp?

  /// Largest standard deviation in m of a receiver's altitude that counts as open sky. Larger deviations are
  /// caused by reflections.
  private static let skyDeviation = 15.0
  /// Maximum age difference in s between a pressure and an altitude that are compared.
  private static let simultaneous = 3.0

  public init() {}

  /// True once a pressure has arrived.
  public var isRelativeAltitudeAvailable: Bool { start != nil }

  /// True once a pressure and a receiver altitude of the same time have arrived.
  public var isAbsoluteAltitudeAvailable: Bool { absoluteAltitudeData != nil }

  /// Processes a pressure. Pressures that are out of order, not finite or outside the range of air pressure
  /// are ignored.
  /// - Returns: true if there is a new level, which happens once a second.
  @discardableResult
  public mutating func process(_ pressure: PressureData) -> Bool {
    let isHeld = filter.isHeld
    guard filter.process(pressure), let level = filter.level else { return false }
    if let newest, pressure.timestamp < newest { floors.reset() }
    newest = pressure.timestamp
    floors.process(level, isHeld: isHeld)
    start = start ?? level.height
    return true
  }

  /// Updates the estimate with an altitude of the receiver.
  /// - Parameters:
  ///   - altitude: metres above mean sea level. If only ellipsoidal altitudes are available, use those
  ///     throughout.
  ///   - deviation: standard deviation in m.
  ///   - speed: speed over ground in m/s; nil if unknown.
  public mutating func update(altitude: Double, deviation: Double, speed: Double?, at timestamp: Timestamp) {
    if let speed { filter.observe(speed: speed, at: timestamp) }
    filter.update(altitude: altitude, deviation: deviation, at: timestamp)
    guard deviation <= Self.skyDeviation, let level = filter.level, let newest,
      case let age = timestamp.seconds(since: newest), abs(age) <= Self.simultaneous
    else { return }
    floors.observeSky(level, at: level.time + age, speed: speed)
  }

  /// Sets the speed in m/s from a source other than the receiver.
  public mutating func observe(speed: Double, at timestamp: Timestamp) {
    filter.observe(speed: speed, at: timestamp)
    floors.observe(speed: speed)
  }

  /// Sets whether the vehicle is at rest; nil if unknown. At rest the height is constant, and pressure
  /// changes count as weather.
  public mutating func observe(isAtRest: Bool?) { filter.observe(isAtRest: isAtRest) }

  /// Sets whether the receiver is switched on. Missing fixes of a sleeping receiver do not count as a covered
  /// sky.
  public mutating func observe(isReceiverOn: Bool) {
    if !isReceiverOn { floors.observeReceiverOff(isHeld: filter.isHeld) }
  }

  /// True if the vehicle is at rest. The height is then constant, and the barometer may be off.
  public var isAtRest: Bool { filter.isAtRest }

  /// The newest relative altitude; nil before the first pressure.
  public var altitudeData: AltitudeData? {
    guard let level = filter.level, let start, let newest else { return nil }
    return AltitudeData(
      timestamp: newest, relativeAltitude: level.height - start,
      pressure: StandardAtmosphere.seaLevelPressure * 1e-3
        * StandardAtmosphere.pressureRatio(altitude: level.height))
  }

  /// The newest absolute altitude; nil until an altitude and a pressure of the same time have arrived.
  public var absoluteAltitudeData: AbsoluteAltitudeData? { filter.altitude }

  /// Seconds from the receiver's last accepted altitude to the newest pressure; nil before the first accepted
  /// altitude.
  public var secondsSinceFix: Double? { filter.secondsSinceFix }

  /// The current level in a building. Nil under open sky, while the level is ambiguous, and if the sky was
  /// lost at more than 10 m/s or while the receiver was off.
  public var floor: Floor? { floors.floor }
}
