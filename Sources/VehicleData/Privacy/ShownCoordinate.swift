public import Spatial

/// A coordinate in the form in which it may leave the vehicle or be stored. Only `PrivacyPolicy` and `ShownLocation` create
/// it. Messages accept no other coordinates.
public struct ShownCoordinate: Hashable, Sendable {
  /// The coordinate with privacy applied.
  public let coordinate: Coordinate

  fileprivate init(_ coordinate: Coordinate) { self.coordinate = coordinate }
}

extension ShownLocation {
  /// The coordinate of the location.
  public var shownCoordinate: ShownCoordinate { ShownCoordinate(location.coordinate) }

  /// Returns a coordinate that was computed from this and other shown locations only: the interpolated crossing of a
  /// boundary.
  package func interpolated(_ coordinate: Coordinate) -> ShownCoordinate { ShownCoordinate(coordinate) }
}

extension PrivacyPolicy {
  /// Returns a coordinate unchanged: for decoded messages, and for vehicles without privacy.
  public static func unrestricted(_ coordinate: Coordinate) -> ShownCoordinate { ShownCoordinate(coordinate) }

  /// Returns a coordinate if it may be published exactly; nil otherwise.
  package func exact(_ coordinate: Coordinate) -> ShownCoordinate? {
    isExact(coordinate) ? ShownCoordinate(coordinate) : nil
  }

  /// Returns a stored coordinate, to which an earlier policy was applied. Nil if this policy removes or changes it.
  /// - Parameter isReduced: true for Core Location's reduced accuracy.
  package func stored(_ coordinate: Coordinate, isReduced: Bool) -> ShownCoordinate? {
    let place = Location(timestamp: Timestamp(nanoseconds: 0), coordinate: coordinate)
    var now = shown(place)
    if isReduced { now = now?.reduced() }
    // A position reduced to its cell's centre must not be reduced again. It equals the stored one except for
    // rounding.
    guard let now, abs(now.coordinate.latitude - coordinate.latitude) <= Self.storedRounding,
      abs(now.coordinate.longitude - coordinate.longitude) <= Self.storedRounding
    else { return nil }
    return ShownCoordinate(coordinate)
  }

  /// Rounding of stored positions in degrees; positions of tracks are stored with a tenth of this rounding.
  private static let storedRounding = 1e-6
}
