internal import Glibc
public import Sensors
internal import Spatial

/// Says how well a position is known, at 68 % confidence, from what a receiver tells of it.
///
/// - A receiver's own estimate is taken where there is one. gpsd's are at 95 %; a horizontal error is two-dimensional, so
///   its 68 % radius is smaller by the ratio of the Rayleigh distribution's quantiles, 2.448 to 1.510.
/// - Otherwise the horizontal dilution of precision times the error of a range that is usual for the kind of fix (user
///   equivalent range error, UERE; E. Kaplan, C. Hegarty, "Understanding GPS/GNSS", 2017, chapter 10).
/// - To either comes the half metre that lies between an antenna and what people call a vehicle's position. A receiver
///   with centimetres does not know it.
/// - A receiver that contradicts itself (the way between two fixes is not that of its velocities) is believed less: the
///   radius grows to what the contradiction needs, over the last minute. It never falls below the receiver's own word.
public struct AccuracyModel: Sendable {
  /// Metres between the antenna and the vehicle's reference point.
  public static let antennaOffset = 0.5
  /// By how much the receiver's word is too small, at least 1.
  public private(set) var inflation = 1.0

  /// The square of the ratio of contradictions to what the accuracies explain, averaged.
  private var ratio = 0.0

  private static let normal95 = 1.96
  private static let radial95 = 2.448
  private static let radial68 = 1.510
  /// No constellation in view gives a better one to a receiver near the ground; SiRF's tell 0.3 all the same.
  private static let leastDilution = 0.7
  /// Seconds over which contradictions are averaged.
  private static let averagingTime = 60.0
  /// One contradiction counts at most this much, so that a single jump, which is the screen's matter, does not spoil a
  /// minute.
  private static let largestRatio = 25.0

  public init() {}

  /// A location from a receiver's report; nil when the report has no position.
  public func location(from fix: PositionFix) -> Location? {
    guard var location = Location(fix: fix) else { return nil }
    location.horizontalAccuracy = location.horizontalAccuracy.map { radius in
      inflation * (radius * radius + Self.antennaOffset * Self.antennaOffset).squareRoot()
    }
    return location
  }

  /// Compares the way between two accepted locations that follow each other with their velocities.
  mutating func learn(from last: Location, to next: Location) {
    let step = next.seconds(since: last)
    // After a longer silence the velocities say little about the way.
    guard step > 0, step <= 2, let a = last.horizontalAccuracy, let b = next.horizontalAccuracy,
      let contradiction = Self.contradiction(from: last, to: next)
    else { return }
    // Two independent radii of 68 %; the mean square of a two-dimensional error is twice the variance of each axis.
    let expected =
      (a * a + b * b) * 2 / (Self.radial68 * Self.radial68 * inflation * inflation) + 0.25 * step * step
    ratio +=
      (1 - exp(-step / Self.averagingTime))
      * (min(Self.largestRatio, contradiction * contradiction / expected) - ratio)
    inflation = max(1, ratio.squareRoot())
  }

  /// Metres between the way from one location to another and the way that their velocities make; nil when either has no
  /// velocity.
  static func contradiction(from a: Location, to b: Location) -> Double? {
    guard let first = a.velocity, let second = b.velocity else { return nil }
    let way = LocalFrame(origin: a.coordinate).offset(of: b.coordinate)
    let expected = (first + second) / 2 * b.seconds(since: a)
    return (way - expected).squaredLength.squareRoot()
  }

  /// Metres at 68 %, without the antenna; nil when the receiver gives no hint.
  static func radius(of fix: PositionFix) -> Double? {
    if let error = fix.horizontalError, !fix.isHorizontalErrorFromDilution {
      return error * radial68 / radial95
    }
    return fix.horizontalDilution.map { max(leastDilution, $0) * rangeError(of: fix.quality) }
  }

  /// One standard deviation of an error given at 95 % in one dimension.
  package static func deviation(_ error: Double?) -> Double? { error.map { $0 / normal95 } }

  /// Metres at 68 %, for a dilution of one. Without a word about the kind of fix, it is the plainest.
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
