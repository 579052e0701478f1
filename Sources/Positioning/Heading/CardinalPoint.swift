internal import Spatial

/// The eight points of the compass.
public enum CardinalPoint: String, Hashable, Sendable, CaseIterable {
  case north = "N"
  case northEast = "NE"
  case east = "E"
  case southEast = "SE"
  case south = "S"
  case southWest = "SW"
  case west = "W"
  case northWest = "NW"

  /// The point nearest to a direction in degrees clockwise from north; a direction half way belongs to the next one
  /// clockwise.
  public init(direction: Double) {
    let points = Self.allCases
    self = points[Int((normalizedDegrees(direction) / 45 + 0.5).rounded(.down)) % points.count]
  }
}
