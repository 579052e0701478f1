/// What carries the device. It says how fast and how suddenly the device can move, and so which fixes are impossible, and
/// how long it must stand before locations may pause.
public enum ActivityType: String, Hashable, Sendable, CaseIterable {
  case automotive
  case pedestrian
  /// Anything, from a ship to an aircraft.
  case other

  /// What is assumed of whatever moves so.
  struct Limits {
    /// Metres per second that are never passed.
    let fastest: Double
    /// Metres per second squared: emergency braking, a sprinter's start, a catapult is no vehicle.
    let strongestAcceleration: Double
    /// Seconds of rest after which locations pause, when the receiver alone says that the device stands: longer than a
    /// traffic light, or than a look into a shop window.
    let pausingTime: Double
    /// The same when the accelerometer feels no motion: it will feel the first movement too.
    let feltPausingTime: Double
    /// Metres per second below which a receiver's speed may be noise.
    let slowest: Double
  }

  var limits: Limits {
    switch self {
    case .automotive:
      Limits(
        fastest: 90, strongestAcceleration: 10, pausingTime: 180, feltPausingTime: 30, slowest: 0.7)
    case .pedestrian:
      Limits(fastest: 15, strongestAcceleration: 5, pausingTime: 300, feltPausingTime: 60, slowest: 0.4)
    case .other:
      Limits(
        fastest: 350, strongestAcceleration: 20, pausingTime: 600, feltPausingTime: 120, slowest: 0.3)
    }
  }
}

/// How exact locations are wanted, in Core Location's tiers. It drives the hardware and is not a filter: what a receiver
/// says is told however exact it is, only `reduced` coarsens it.
public enum DesiredAccuracy: String, Hashable, Sendable, CaseIterable {
  /// The best there is, with every sensor that helps and no sleep, whatever that costs.
  case bestForNavigation
  /// The best of the receiver.
  case best
  case nearestTenMeters
  case hundredMeters
  case kilometer
  case threeKilometers
  /// Approximate on purpose: the position is snapped to a grid of some kilometres, so that it does not tell an address.
  case reduced

  /// Metres of error that are good enough; nil for the best there is.
  public var meters: Double? {
    switch self {
    case .bestForNavigation, .best: nil
    case .nearestTenMeters: 10
    case .hundredMeters: 100
    case .kilometer: 1000
    case .threeKilometers: 3000
    case .reduced: Location.reducedAccuracy
    }
  }
}
