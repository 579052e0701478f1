internal import Glibc
internal import Sensors
public import Spatial

/// Where a position is nobody's business, and how exact it may be elsewhere. What goes through it may be stored and told.
///
/// A blurred position is the middle of its cell in a grid that covers the earth: whoever collects many of them, or knows
/// the rule, learns no more than the cell. Speed, course and altitude go with the exact position, because with them its
/// way could be computed.
public struct PrivacyPolicy: Hashable, Sendable {
  public enum Treatment: String, Hashable, Sendable, CaseIterable {
    /// No position is told at all.
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
  /// Metres across a cell outside of all zones; nil tells the position as it is.
  public var accuracy: Double?

  public init(zones: [Zone] = [], accuracy: Double? = nil) {
    self.zones = zones
    self.accuracy = accuracy
  }

  /// The location as it may be known; nil where it is withheld.
  public func shown(_ location: Location) -> Location? {
    // What may be inside of a zone is.
    let radius = location.horizontalAccuracy ?? Self.address
    let margin = location.positionSource == .coarse && radius <= Self.address ? radius : 0
    switch shown(location.coordinate, margin: margin) {
    case .exact: return location
    case .withheld: return nil
    case .blurred(let cell): return location.blurred(to: cell)
    }
  }

  /// Whether a place may be known as it is.
  package func isExact(_ coordinate: Coordinate) -> Bool { shown(coordinate, margin: 0) == .exact }

  /// Metres: a coarser position tells no address.
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

/// A cell of a grid over the earth, bounded by parallels and meridians, nearly square but at the poles.
struct GridCell: Hashable {
  let middle: Coordinate
  /// Metres from the middle to a corner at most.
  let accuracy: Double

  /// Metres a degree of a great circle, on a sphere with the earth's mean radius; a grid needs no more.
  private static let degree = 111_195.0

  /// - Parameter size: metres along a side.
  init(holding coordinate: Coordinate, size: Double) {
    let rows = max(1, (180 * Self.degree / size).rounded(.down))
    let height = 180 / rows
    let row = min(rows - 1, ((coordinate.latitude + 90) / height).rounded(.down))
    let latitude = -90 + (row + 0.5) * height
    // A whole number of cells goes round, so that none is cut at the date line.
    let circle = 360 * Self.degree * Self.cosine(latitude)
    let columns = max(1, (circle / size).rounded(.down))
    let width = 360 / columns
    let column = min(columns - 1, ((coordinate.longitude + 180) / width).rounded(.down))
    middle = Coordinate(latitude: latitude, longitude: -180 + (column + 0.5) * width)
    // The side towards the equator is the longer one.
    let edge = max(0, abs(latitude) - height / 2)
    let (half, side) = (height / 2 * Self.degree, width / 2 * Self.degree * Self.cosine(edge))
    // One in a hundred for the earth not being a sphere.
    accuracy = 1.01 * (half * half + side * side).squareRoot()
  }

  private static func cosine(_ degrees: Double) -> Double { cos(degrees.radians) }
}

extension Location {
  /// The middle of the cell and the time; neither height, speed nor course, from whose sum the way could be found again.
  func blurred(to cell: GridCell) -> Location {
    var blurred = Location(timestamp: timestamp, coordinate: cell.middle)
    (blurred.time, blurred.source, blurred.horizontalAccuracy) = (time, source, cell.accuracy)
    // It may not be in that cell at all.
    if positionSource == .coarse {
      (blurred.positionSource, blurred.horizontalAccuracy) = (
        .coarse, cell.accuracy + (horizontalAccuracy ?? 0)
      )
    }
    return blurred
  }
}
