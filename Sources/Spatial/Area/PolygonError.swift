/// Why rings of coordinates are no polygon. Rings and vertices are counted from 0, in the order given.
public enum PolygonError: Error, Hashable, Sendable, CustomStringConvertible {
  case noRing
  case invalidCoordinate(ring: Int, vertex: Int)
  /// Fewer than three places that differ by more than a millimetre.
  case tooFewVertices(ring: Int)
  case zeroArea(ring: Int)
  /// Two edges, each named by its first vertex, cross at a place.
  case selfCrossing(ring: Int, edge: Int, otherRing: Int, otherEdge: Int, at: Coordinate)
  /// It reaches more than 60° (6670 km) from the middle of its vertices.
  case tooLarge
  case holeOutside(ring: Int)

  public var description: String {
    switch self {
    case .noRing: "has no ring; give at least three vertices"
    case .invalidCoordinate(let ring, let vertex):
      "vertex \(vertex) of ring \(ring) is not on the earth; give longitude -180 to 180 and latitude -90 to 90"
    case .tooFewVertices(let ring): "ring \(ring) has fewer than three different vertices"
    case .zeroArea(let ring): "ring \(ring) encloses no area; its vertices lie on a line"
    case .selfCrossing(let ring, let edge, let otherRing, let otherEdge, let place):
      "edge \(edge) of ring \(ring) crosses edge \(otherEdge) of ring \(otherRing) near latitude \(place.latitude), "
        + "longitude \(place.longitude); put the vertices in order along the boundary"
    case .tooLarge: "reaches more than 6670 km from its middle; split it"
    case .holeOutside(let ring): "ring \(ring) is a hole outside of what it should be a hole of"
    }
  }
}
