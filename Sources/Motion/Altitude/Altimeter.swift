public import Sensors
public import Spatial

/// Core Motion's `CMAltimeter` as a value: height since the start, height above mean sea level, and the level of a garage.
///
/// Pressures go in as a barometer delivers them, at once a second or faster; altitudes and speeds as the receiver has them.
public struct Altimeter: Sendable {
  private var filter = AltitudeFilter()
  private var floors = FloorEstimator()
  /// m in the standard atmosphere of the first level.
  private var start: Double?
  /// Of the newest pressure.
  private var newest: Timestamp?

  /// m: an altitude with a larger deviation comes from reflections, and is no sight of the sky.
  private static let skyDeviation = 15.0
  /// s between a pressure and an altitude of the same place.
  private static let simultaneous = 3.0

  public init() {}

  /// Whether there is a barometer: whether a pressure has come.
  public var isRelativeAltitudeAvailable: Bool { start != nil }

  /// Whether there is a receiver, too.
  public var isAbsoluteAltitudeAvailable: Bool { absoluteAltitudeData != nil }

  /// Takes a pressure. What is out of order, not finite, or no pressure of the air is passed over.
  /// - Returns: whether there is something new: once a second.
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

  /// Takes an altitude of the receiver.
  /// - Parameters:
  ///   - altitude: m above mean sea level, or always above the ellipsoid.
  ///   - deviation: m, one standard deviation.
  ///   - speed: m/s over ground; nil when unknown.
  public mutating func update(altitude: Double, deviation: Double, speed: Double?, at timestamp: Timestamp) {
    if let speed { filter.observe(speed: speed, at: timestamp) }
    filter.update(altitude: altitude, deviation: deviation, at: timestamp)
    guard deviation <= Self.skyDeviation, let level = filter.level, let newest,
      case let age = timestamp.seconds(since: newest), abs(age) <= Self.simultaneous
    else { return }
    floors.observeSky(level, at: level.time + age, speed: speed)
  }

  /// Learns the speed (m/s) where no receiver says it.
  public mutating func observe(speed: Double, at timestamp: Timestamp) {
    filter.observe(speed: speed, at: timestamp)
    floors.observe(speed: speed)
  }

  /// Learns whether the vehicle rests: then its height stays, and what the pressure does is weather. Nil when nothing tells.
  public mutating func observe(isAtRest: Bool?) { filter.observe(isAtRest: isAtRest) }

  /// Learns whether the receiver is wanted on. While it sleeps, its silence is no roof.
  public mutating func observe(isReceiverOn: Bool) {
    if !isReceiverOn { floors.observeReceiverOff(isHeld: filter.isHeld) }
  }

  /// Whether the vehicle rests, so that the height stays that of the newest pressure and the barometer may be off.
  public var isAtRest: Bool { filter.isAtRest }

  /// Nil before the first pressure.
  public var altitudeData: AltitudeData? {
    guard let level = filter.level, let start, let newest else { return nil }
    return AltitudeData(
      timestamp: newest, relativeAltitude: level.height - start,
      pressure: StandardAtmosphere.seaLevelPressure * 1e-3
        * StandardAtmosphere.pressureRatio(altitude: level.height))
  }

  /// Nil before a receiver has said an altitude while there was a pressure.
  public var absoluteAltitudeData: AbsoluteAltitudeData? { filter.altitude }

  /// Seconds from the receiver's last altitude that was believed to the newest pressure; nil before there was one.
  public var secondsSinceFix: Double? { filter.secondsSinceFix }

  /// Nil under the sky, where the sky was lost at more than 10 m/s or unseen, and where the level is not known.
  public var floor: Floor? { floors.floor }
}
