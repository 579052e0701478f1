package import Spatial

/// A location in the form in which it may leave the vehicle or be stored. Only `PrivacyPolicy` creates it.
///
/// `LocationMessage` accepts no other type, so that a position without privacy cannot be published by mistake. Messages
/// with a coordinate only accept a `ShownCoordinate`.
@dynamicMemberLookup
public struct ShownLocation: Hashable, Sendable {
  /// The location with privacy applied.
  public private(set) var location: Location

  init(_ location: Location) { self.location = location }

  @inlinable public subscript<Value>(dynamicMember member: KeyPath<Location, Value>) -> Value {
    location[keyPath: member]
  }

  /// Returns the location at Core Location's reduced accuracy.
  /// - Parameter cells: the cells of earlier positions.
  package func reduced(near cells: BlurredCells = BlurredCells()) -> ShownLocation {
    ShownLocation(location.reduced(near: cells))
  }

  /// Returns the location with an accuracy of at least `radius` metres. A radius of 0 leaves an unknown accuracy unknown.
  package func widened(to radius: Double) -> ShownLocation {
    guard radius > 0 else { return self }
    var copy = self
    copy.location.horizontalAccuracy = max(location.horizontalAccuracy ?? 0, radius)
    return copy
  }

  /// Returns the location with another time.
  package func dated(_ timestamp: Timestamp, time: UTCTime?) -> ShownLocation {
    var copy = self
    (copy.location.timestamp, copy.location.time) = (timestamp, time)
    return copy
  }
}
