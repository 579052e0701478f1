internal import Glibc
public import Sensors
internal import Spatial
public import VehicleData

/// Estimates the accuracy of a position at 68 % confidence from a receiver's report.
///
/// - A receiver's own estimate is used if available. gpsd's values are at 95 %. A horizontal error is
///   two-dimensional, so its 68 % radius is smaller by the ratio of the Rayleigh distribution's quantiles,
///   2.448 to 1.510.
/// - Otherwise the accuracy is the horizontal dilution of precision times the usual range error of the kind
///   of fix (user equivalent range error, UERE; E. Kaplan, C. Hegarty, "Understanding GPS/GNSS", 2017,
///   chapter 10).
/// - Half a metre is added for the distance between the antenna and the vehicle's reference point, even for
///   receivers accurate to centimetres.
/// - If a receiver contradicts itself (the distance between two fixes does not match its velocities), the
///   radius is increased to explain the contradictions of the last minute. It is never below the receiver's
///   own estimate.
public struct AccuracyModel: Sendable {
  /// Distance in m between the antenna and the vehicle's reference point.
  public static let antennaOffset = 0.5
  /// Factor by which the receiver underestimates its error, at least 1.
  public private(set) var inflation = 1.0

  /// Moving average of the squared ratio of a contradiction to its expected error.
  private var ratio = 0.0

  private static let normal95 = 1.96
  private static let radial95 = 2.448
  private static let radial68 = 1.510
  /// Minimum horizontal dilution of precision that is possible near the ground with all constellations in
  /// view. Some SiRF receivers report 0.3.
  private static let leastDilution = 0.7
  /// Time constant in s of the average of contradictions.
  private static let averagingTime = 60.0
  /// Maximum weight of one contradiction, so that a single jump, which `FixScreen` handles, does not increase
  /// the radius for a minute.
  private static let largestRatio = 25.0

  public init() {}

  /// Creates a location from a receiver's report; nil if the report has no position.
  public func location(from fix: PositionFix) -> Location? {
    guard var location = Location(fix: fix) else { return nil }
    location.horizontalAccuracy = location.horizontalAccuracy.map { radius in
      inflation * (radius * radius + Self.antennaOffset * Self.antennaOffset).squareRoot()
    }
    return location
  }

  /// Compares the distance between two consecutive accepted locations with the distance by their velocities.
  mutating func learn(from last: Location, to next: Location) {
    let step = next.seconds(since: last)
    // After more than two seconds, the velocities do not determine the distance.
    guard step > 0, step <= 2, let a = last.horizontalAccuracy, let b = next.horizontalAccuracy,
      let contradiction = Self.contradiction(from: last, to: next)
    else { return }
    // The two radii of 68 % are independent. The mean square of a two-dimensional error is twice the variance
    // of each axis.
    let expected =
      (a * a + b * b) * 2 / (Self.radial68 * Self.radial68 * inflation * inflation) + 0.25 * step * step
    ratio +=
      (1 - exp(-step / Self.averagingTime))
      * (min(Self.largestRatio, contradiction * contradiction / expected) - ratio)
    inflation = max(1, ratio.squareRoot())
  }

  /// Returns the difference in m between the displacement of two positions and the displacement by their
  /// velocities; nil if a velocity is missing.
  static func contradiction(from a: Location, to b: Location) -> Double? {
    guard let first = a.velocity, let second = b.velocity else { return nil }
    let way = LocalFrame(origin: a.coordinate).offset(of: b.coordinate)
    let expected = (first + second) / 2 * b.seconds(since: a)
    return (way - expected).squaredLength.squareRoot()
  }

  /// Returns the radius in m (68 %) without the antenna offset; nil if the receiver reports nothing usable.
  static func radius(of fix: PositionFix) -> Double? {
    if let error = fix.horizontalError, !fix.isHorizontalErrorFromDilution {
      return error * radial68 / radial95
    }
    return fix.horizontalDilution.map { max(leastDilution, $0) * rangeError(of: fix.quality) }
  }

  /// Returns the standard deviation of a one-dimensional error, from its value at 95 % confidence.
  package static func deviation(_ error: Double?) -> Double? { error.map { $0 / normal95 } }

  /// Returns the range error in m (68 %) for a dilution of one. An unknown kind of fix counts as a fix
  /// without corrections.
  private static func rangeError(of quality: FixQuality?) -> Double {
    switch quality {
    case .autonomous, .notMeasured, nil: 3
    case .differential: 1.3
    case .realTimeKinematicFloat: 0.3
    case .realTimeKinematicFixed: 0.02
    case .deadReckoning: 8
    }
  }
}
