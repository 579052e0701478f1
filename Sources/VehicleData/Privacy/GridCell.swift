internal import Glibc
internal import Spatial

/// A cell of a grid over the earth, bounded by parallels and meridians, nearly square except at the poles.
struct GridCell: Hashable, Sendable {
  let middle: Coordinate
  /// Maximum distance in m from the centre of the cell to a position that `reaches` accepts.
  let accuracy: Double
  /// Sides in degrees of latitude and longitude.
  private let height, width: Double

  /// Distance from the centre, relative to the side, up to which `reaches` accepts positions.
  private static let reach = 0.6

  /// Metres per degree of a great circle on a sphere with the earth's mean radius; a grid needs no higher
  /// accuracy.
  private static let degree = 111_195.0

  /// - Parameter size: length of a side in m.
  init(holding coordinate: Coordinate, size: Double) {
    let rows = max(1, (180 * Self.degree / size).rounded(.down))
    height = 180 / rows
    let row = min(rows - 1, ((coordinate.latitude + 90) / height).rounded(.down))
    let latitude = -90 + (row + 0.5) * height
    // The number of cells per circle is an integer, so that no cell is cut at the date line.
    let circle = 360 * Self.degree * Self.cosine(latitude)
    let columns = max(1, (circle / size).rounded(.down))
    width = 360 / columns
    let column = min(columns - 1, ((coordinate.longitude + 180) / width).rounded(.down))
    middle = Coordinate(latitude: latitude, longitude: -180 + (column + 0.5) * width)
    // The side towards the equator is the longer one.
    let edge = max(0, abs(latitude) - Self.reach * height)
    let (half, side) = (
      Self.reach * height * Self.degree, Self.reach * width * Self.degree * Self.cosine(edge)
    )
    // One per cent is added because the earth is not a sphere.
    accuracy = 1.01 * (half * half + side * side).squareRoot()
  }

  /// Returns whether a position is inside of the cell, or outside by at most a tenth of its side.
  func reaches(_ coordinate: Coordinate) -> Bool {
    let east = (coordinate.longitude - middle.longitude).remainder(dividingBy: 360)
    return abs(coordinate.latitude - middle.latitude) <= Self.reach * height
      && abs(east) <= Self.reach * width
  }

  private static func cosine(_ degrees: Double) -> Double { cos(degrees.radians) }
}
