public import Spatial
public import VehicleData

/// A request for one location: the first one with sufficient accuracy, or the most accurate one at the time
/// limit.
struct OneShotRequest: Sendable {
  /// Sufficient accuracy in m (68 %).
  var accuracy: Double
  var start: Timestamp
  /// Time limit in s, from `start`.
  var timeLimit: Double
  private(set) var best: ShownLocation?
  private(set) var bestRadius = Double.infinity

  var deadline: Timestamp { start.advanced(bySeconds: timeLimit) }

  /// The tier of desired accuracy for which the hardware is powered.
  var desiredAccuracy: DesiredAccuracy {
    DesiredAccuracy.allCases.last { tier in
      guard tier != .reduced, let meters = tier.meters else { return false }
      return meters <= accuracy
    } ?? .best
  }

  /// Processes a location. Returns the location if it answers the request; otherwise nil.
  /// - Parameter radius: accuracy in m (68 %) of the measurement; nil if unknown.
  mutating func process(_ location: ShownLocation, radius: Double?) -> ShownLocation? {
    let radius = radius ?? .infinity
    // Of two equally accurate locations, the newer is used.
    if radius <= bestRadius { (best, bestRadius) = (location, radius) }
    return radius <= accuracy ? location : nil
  }
}

/// Selects locations after a large distance and a minimum time since the last selected location, at the
/// lowest power. The first location is selected immediately.
public struct SignificantChangeMonitor: Sendable {
  /// Minimum distance in m from the last selected location.
  public static let distance = 500.0
  /// Minimum time in s since the last selected location.
  public static let interval = 300.0

  /// The last selected location; nil before the first.
  public private(set) var location: ShownLocation?
  /// Time of the last change; nil before the first.
  private var changed: Timestamp?

  public init() {}

  /// Processes a location. Returns the location if it is a significant change; otherwise nil.
  public mutating func process(_ candidate: ShownLocation) -> ShownLocation? {
    if let location, let changed {
      guard candidate.timestamp.seconds(since: changed) >= Self.interval,
        location.coordinate.distance(to: candidate.coordinate) >= candidate.location.leastWay(Self.distance)
      else { return nil }
    }
    (location, changed) = (candidate, candidate.timestamp)
    return candidate
  }

  /// Replaces the position of the last change by a more accurate one. The minimum time still counts from the change.
  mutating func refine(_ candidate: ShownLocation) { location = candidate }

  /// Earliest time of the next selection, regardless of distance; nil before the first location.
  public var notBefore: Timestamp? { changed?.advanced(bySeconds: Self.interval) }
}
