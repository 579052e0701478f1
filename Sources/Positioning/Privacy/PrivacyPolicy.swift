internal import Glibc
internal import Sensors
public import Spatial

/// Privacy zones, and the accuracy of positions outside of them. Only its results may be stored and
/// published.
///
/// A blurred position is the centre of its cell in a grid over the earth: even many blurred positions, or
/// knowledge of the grid, reveal no more than the cell. Speed, course and altitude are removed with the exact
/// position, because they would allow computing the route.
public struct PrivacyPolicy: Hashable, Sendable {
  public enum Treatment: String, Hashable, Sendable, CaseIterable {
    /// No position is published.
    case withhold
    /// The position is blurred to about the size of the zone.
    case blur
  }

  public struct Zone: Hashable, Sendable {
    public var area: Area
    public var treatment: Treatment

    public init(area: Area, treatment: Treatment = .withhold) {
      self.area = area
      self.treatment = treatment
    }
  }

  public var zones: [Zone]
  /// Size in m of the cells to which positions outside of all zones are blurred; nil publishes exact
  /// positions.
  public var accuracy: Double?

  public init(zones: [Zone] = [], accuracy: Double? = nil) {
    self.zones = zones
    self.accuracy = accuracy
  }

  /// Returns the location in the form in which it may be published; nil if it must be withheld.
  public func shown(_ location: Location) -> Location? {
    // A position that may be inside of a zone counts as inside.
    let radius = location.horizontalAccuracy ?? Self.address
    let margin = location.positionSource == .coarse && radius <= Self.address ? radius : 0
    switch shown(location.coordinate, margin: margin) {
    case .exact: return location
    case .withheld: return nil
    case .blurred(let cell): return location.blurred(to: cell)
    }
  }

  /// Returns whether a position may be published exactly.
  package func isExact(_ coordinate: Coordinate) -> Bool { shown(coordinate, margin: 0) == .exact }

  /// Accuracy in m above which a position does not reveal an address.
  private static let address = 500.0

  private func isNear(_ zone: Zone, _ point: SurfacePoint, _ margin: Double) -> Bool {
    margin > 0 && zone.area.signedDistance(from: point) > -margin
  }

  private enum Shown: Equatable {
    case exact
    case withheld
    case blurred(GridCell)
  }

  private func shown(_ coordinate: Coordinate, margin: Double) -> Shown {
    var size = accuracy ?? 0
    let point = SurfacePoint(coordinate)
    for zone in zones where zone.area.contains(point) || isNear(zone, point, margin) {
      if zone.treatment == .withhold { return .withheld }
      size = max(size, zone.area.width)
    }
    return size > 0 ? .blurred(GridCell(holding: coordinate, size: size)) : .exact
  }
}

/// A cell of a grid over the earth, bounded by parallels and meridians, nearly square except at the poles.
struct GridCell: Hashable {
  let middle: Coordinate
  /// Maximum distance in m from the centre of the cell to a corner.
  let accuracy: Double

  /// Metres per degree of a great circle on a sphere with the earth's mean radius; a grid needs no higher
  /// accuracy.
  private static let degree = 111_195.0

  /// - Parameter size: length of a side in m.
  init(holding coordinate: Coordinate, size: Double) {
    let rows = max(1, (180 * Self.degree / size).rounded(.down))
    let height = 180 / rows
    let row = min(rows - 1, ((coordinate.latitude + 90) / height).rounded(.down))
    let latitude = -90 + (row + 0.5) * height
    // The number of cells per circle is an integer, so that no cell is cut at the date line.
    let circle = 360 * Self.degree * Self.cosine(latitude)
    let columns = max(1, (circle / size).rounded(.down))
    let width = 360 / columns
    let column = min(columns - 1, ((coordinate.longitude + 180) / width).rounded(.down))
    middle = Coordinate(latitude: latitude, longitude: -180 + (column + 0.5) * width)
    // The side towards the equator is the longer one.
    let edge = max(0, abs(latitude) - height / 2)
    let (half, side) = (height / 2 * Self.degree, width / 2 * Self.degree * Self.cosine(edge))
    // One per cent is added because the earth is not a sphere.
    accuracy = 1.01 * (half * half + side * side).squareRoot()
  }

  private static func cosine(_ degrees: Double) -> Double { cos(degrees.radians) }
}

extension Location {
  /// Returns a location with the centre of the cell and the time, without height, speed and course, which
  /// would allow reconstructing the route.
  func blurred(to cell: GridCell) -> Location {
    var blurred = Location(timestamp: timestamp, coordinate: cell.middle)
    (blurred.time, blurred.source, blurred.horizontalAccuracy) = (time, source, cell.accuracy)
    // A radio position is inaccurate, so the device may be outside of the cell.
    if positionSource == .coarse {
      (blurred.positionSource, blurred.horizontalAccuracy) = (
        .coarse, cell.accuracy + (horizontalAccuracy ?? 0)
      )
    }
    return blurred
  }
}
