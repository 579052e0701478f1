public import Spatial

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
        location.coordinate.distance(to: candidate.coordinate) >= Self.distance
      else { return nil }
    }
    location = candidate
    return candidate
  }

  /// Before this nothing is told, however far the device goes; nil before the first location.
  public var notBefore: Timestamp? { location?.timestamp.advanced(bySeconds: Self.interval) }

  /// Metres that the device must go on from a place; zero before the first location.
  public func remainder(from place: Coordinate?) -> Double {
    guard let location, let place else { return 0 }
    return max(0, Self.distance - location.coordinate.distance(to: place))
  }
}
