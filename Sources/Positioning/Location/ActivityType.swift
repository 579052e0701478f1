/// The type of motion. It determines possible speeds and accelerations, and therefore which fixes are
/// impossible and after which time at rest locations may pause.
public enum ActivityType: String, Hashable, Sendable, CaseIterable {
  case automotive
  case pedestrian
  /// Any motion, from ship to aircraft.
  case other

  /// Limits of a type of motion.
  struct Limits {
    /// Maximum speed in m/s.
    let fastest: Double
    /// Maximum acceleration in m/s²: emergency braking, a sprinter's start.
    let strongestAcceleration: Double
    /// Time at rest in s after which locations pause, if only the receiver reports rest: longer than a stop
    /// at a traffic light or a shop window.
    let pausingTime: Double
    /// Time at rest in s after which locations pause, if the accelerometer reports rest. It is short, because
    /// the accelerometer also detects the end of the rest.
    let feltPausingTime: Double
    /// Speed in m/s below which the receiver's speed may be noise.
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

/// Requested accuracy in Core Location's tiers. It controls the hardware and is not a filter: locations are
/// published with any accuracy; only `reduced` makes published locations coarser.
public enum DesiredAccuracy: String, Hashable, Sendable, CaseIterable {
  /// Best accuracy that all sensors together provide, without sleep and regardless of energy.
  case bestForNavigation
  /// Best accuracy of the receiver.
  case best
  case nearestTenMeters
  case hundredMeters
  case kilometer
  case threeKilometers
  /// Deliberately approximate: positions are snapped to a grid of some kilometres, so that they do not reveal
  /// an address.
  case reduced

  /// Sufficient accuracy in m; nil for the best available.
  public var meters: Double? {
    switch self {
    case .bestForNavigation, .best: nil
    case .nearestTenMeters: 10
    case .hundredMeters: 100
    case .kilometer: 1000
    case .threeKilometers: 3000
    case .reduced: 3600
    }
  }
}
