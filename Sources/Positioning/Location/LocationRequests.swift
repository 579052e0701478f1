public import Spatial

/// A request for one location that is exact enough, or the best there is when its time is over.
struct OneShotRequest: Sendable {
  /// Metres at 68 %.
  var accuracy: Double
  var start: Timestamp
  /// Seconds.
  var timeLimit: Double
  private(set) var best: Location?
  private(set) var bestRadius = Double.infinity

  var deadline: Timestamp { start.advanced(bySeconds: timeLimit) }

  /// The tier that the hardware must run in for it.
  var desiredAccuracy: DesiredAccuracy {
    DesiredAccuracy.allCases.last { tier in
      guard tier != .reduced, let meters = tier.meters else { return false }
      return meters <= accuracy
    } ?? .best
  }

  /// Takes a location; returns it when it answers the request.
  /// - Parameter radius: metres at 68 % of the location as the receiver had it; nil when it did not say.
  mutating func process(_ location: Location, radius: Double?) -> Location? {
    let radius = radius ?? .infinity
    // Of two that are equally good the newer is better.
    if radius <= bestRadius { (best, bestRadius) = (location, radius) }
    return radius <= accuracy ? location : nil
  }
}

/// Tells a location when the device has moved far since the last one told, and not too often: for the lowest power there
/// is. The first location is told at once.
public struct SignificantChangeMonitor: Sendable {
  /// Metres.
  public static let distance = 500.0
  /// Seconds.
  public static let interval = 300.0

  /// The last location told; nil before the first.
  public private(set) var location: Location?

  public init() {}

  /// Takes a location; returns it when it is a significant change.
  public mutating func process(_ candidate: Location) -> Location? {
    if let location {
      guard candidate.timestamp.seconds(since: location.timestamp) >= Self.interval,
        location.coordinate.distance(to: candidate.coordinate) >= candidate.leastWay(Self.distance)
      else { return nil }
    }
    location = candidate
    return candidate
  }

  /// Before this nothing is told, however far the device goes; nil before the first location.
  public var notBefore: Timestamp? { location?.timestamp.advanced(bySeconds: Self.interval) }
}
