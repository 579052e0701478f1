/// What carries the device. It says how fast and how suddenly the device can move, and so which fixes are impossible, and
/// how long it must stand before locations may pause.
public enum ActivityType: String, Hashable, Sendable, CaseIterable {
  case automotive
  case pedestrian
  /// Anything, from a ship to an aircraft.
  case other

  /// Metres per second that are never passed.
  var fastest: Double {
    switch self {
    case .automotive: 90
    case .pedestrian: 15
    case .other: 350
    }
  }

  /// Metres per second squared: emergency braking, a sprinter's start, a catapult is no vehicle.
  var strongestAcceleration: Double {
    switch self {
    case .automotive: 10
    case .pedestrian: 5
    case .other: 20
    }
  }

  /// Seconds of rest after which locations pause, when the receiver alone says that the device stands: longer than a
  /// traffic light, or than a look into a shop window.
  var pausingTime: Double {
    switch self {
    case .automotive: 180
    case .pedestrian: 300
    case .other: 600
    }
  }

  /// Seconds of rest after which locations pause, when the accelerometer feels none: it will feel the first movement too.
  var feltPausingTime: Double {
    switch self {
    case .automotive: 30
    case .pedestrian: 60
    case .other: 120
    }
  }

  /// Metres per second below which a receiver's speed may be noise.
  var slowest: Double {
    switch self {
    case .automotive: 0.7
    case .pedestrian: 0.4
    case .other: 0.3
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
