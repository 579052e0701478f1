internal import Sensors
public import Spatial

/// Privacy zones, and the accuracy of positions outside of them. Only its results (`ShownLocation`) may be
/// stored and published.
///
/// A blurred position is the centre of its cell in a grid over the earth: even many blurred positions, or
/// knowledge of the grid, reveal no more than the cell. Speed, course and altitude are removed with the exact
/// position, because they would allow computing the route. Of consecutive positions, the cell changes only if the
/// position has clearly left it (`BlurredCells`).
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
  public func shown(_ location: Location) -> ShownLocation? { shown(location, near: BlurredCells()) }

  /// Returns the location in the form in which it may be published; nil if it must be withheld.
  /// - Parameter cells: the cells of earlier positions.
  package func shown(_ location: Location, near cells: BlurredCells) -> ShownLocation? {
    switch treatment(of: location) {
    case .exact: return ShownLocation(location)
    case .withheld: return nil
    case .blurred(let size):
      return ShownLocation(location.blurred(to: cells.cell(holding: location.coordinate, size: size)))
    }
  }

  /// Maximum distance in m between a position outside of all zones and the centre of the published cell; 0 if
  /// positions are exact. At latitudes above 80° it can be larger.
  package var displacement: Double { (accuracy ?? 0) * Location.reducedAccuracy / Location.reducedCell }

  /// Returns the side in m of the cells to which a location is blurred; nil if it is exact or withheld.
  func blurredSize(of location: Location) -> Double? {
    if case .blurred(let size) = treatment(of: location) { size } else { nil }
  }

  /// Returns a location unchanged, for vehicles without privacy: those of other programs, and simulated ones.
  public static func unrestricted(_ location: Location) -> ShownLocation { ShownLocation(location) }

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
    /// Blurred to a cell with a side in m.
    case blurred(Double)
  }

  private func treatment(of location: Location) -> Shown {
    // A position that may be inside of a zone counts as inside.
    let radius = location.horizontalAccuracy ?? Self.address
    let margin = location.positionSource == .coarse && radius <= Self.address ? radius : 0
    return shown(location.coordinate, margin: margin)
  }

  private func shown(_ coordinate: Coordinate, margin: Double) -> Shown {
    var size = accuracy ?? 0
    let point = SurfacePoint(coordinate)
    for zone in zones where zone.area.contains(point) || isNear(zone, point, margin) {
      if zone.treatment == .withhold { return .withheld }
      size = max(size, zone.area.width)
    }
    return size > 0 ? .blurred(size) : .exact
  }
}

extension Location {
  /// Returns a location with the centre of the cell, the time and the suspicion, without height, speed and course,
  /// which would allow reconstructing the route.
  func blurred(to cell: GridCell) -> Location {
    var blurred = Location(timestamp: timestamp, coordinate: cell.middle)
    (blurred.time, blurred.source, blurred.horizontalAccuracy) = (time, source, cell.accuracy)
    blurred.suspicion = suspicion
    // A radio position is inaccurate, so the device may be outside of the cell.
    if positionSource == .coarse {
      (blurred.positionSource, blurred.horizontalAccuracy) = (
        .coarse, cell.accuracy + (horizontalAccuracy ?? 0)
      )
    }
    return blurred
  }
}

extension Location {
  /// Approximate side of a cell of Core Location's reduced accuracy in m.
  package static let reducedCell = 5000.0

  /// Maximum distance in m between a position and the centre of its cell at reduced accuracy.
  package static let reducedAccuracy = 4300.0

  /// The location at Core Location's reduced accuracy: only its cell is revealed. Many reports of a parked
  /// vehicle reveal no more than a single report.
  ///
  /// An accuracy that is not small beside the cell is added to that of the cell: the position may be the centre
  /// of a private area's cell.
  /// - Parameter cells: the cells of earlier positions.
  package func reduced(near cells: BlurredCells = BlurredCells()) -> Location {
    var cell = blurred(to: cells.cell(holding: coordinate, size: Self.reducedCell))
    if positionSource != .coarse, let own = horizontalAccuracy, own > Self.reducedAccuracy / 10 {
      cell.horizontalAccuracy = (cell.horizontalAccuracy ?? 0) + own
    }
    return cell
  }
}
