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
    switch shown(location.coordinate) {
    case .exact: return location
    case .withheld: return nil
    case .blurred(let cell): return location.blurred(to: cell)
    }
  }

  private enum Shown: Equatable {
    case exact
    case withheld
    case blurred(GridCell)
  }

  private func shown(_ coordinate: Coordinate) -> Shown {
    var size = accuracy ?? 0
    let point = SurfacePoint(coordinate)
    for zone in zones where zone.area.contains(point) {
      if zone.treatment == .withhold { return .withheld }
      size = max(size, zone.area.width)
    }
    return size > 0 ? .blurred(GridCell(holding: coordinate, size: size)) : .exact
  }
}
