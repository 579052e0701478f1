public import Spatial

/// A monitored area with an identifier.
public struct Region: Hashable, Sendable {
  public enum Shape: Hashable, Sendable {
    /// The area within `radius` metres of the centre.
    case circle(center: Coordinate, radius: Double)
    /// Parts that do not overlap, each an outer ring and its holes. Edges are the shortest lines on the
    /// earth.
    case polygon([[[Coordinate]]])
  }

  /// Identifier, not empty. A region that is added with the identifier of another one replaces that region.
  public var identifier: String
  public var shape: Shape
  public var notifyOnEntry: Bool
  public var notifyOnExit: Bool
  /// Time in s, above 0, after which a dwell event is published; nil for never.
  public var dwell: Double?
  /// Required accuracy in m (68 %), above 0, of fixes near the boundary; nil for the configured accuracy.
  public var desiredAccuracy: Double?
  /// Speed limit in m/s, above 0, for vehicles inside; nil for none.
  public var speedLimit: Double?
  /// Display name; nil if it has none.
  public var name: String?
  /// Time of creation or last change; nil if unknown.
  public var definedAt: UTCTime?

  public init(
    identifier: String, shape: Shape, notifyOnEntry: Bool = true, notifyOnExit: Bool = true,
    dwell: Double? = nil
  ) {
    self.identifier = identifier
    self.shape = shape
    self.notifyOnEntry = notifyOnEntry
    self.notifyOnExit = notifyOnExit
    self.dwell = dwell
  }

  /// Creates a polygon of one part.
  /// - Parameter rings: the outer boundary, then its holes.
  public init(identifier: String, rings: [[Coordinate]], dwell: Double? = nil) {
    self.init(identifier: identifier, shape: .polygon([rings]), dwell: dwell)
  }

  public init(identifier: String, center: Coordinate, radius: Double, dwell: Double? = nil) {
    self.init(identifier: identifier, shape: .circle(center: center, radius: radius), dwell: dwell)
  }

  /// Validates the shape and returns it in a form for fast queries.
  /// - Throws: `RegionError` for an invalid shape.
  public func area() throws(RegionError) -> Area {
    switch shape {
    case .circle(let center, let radius):
      guard center.isValid else { throw .invalidCenter }
      guard let circle = Circle(center: center, radius: radius) else { throw .invalidRadius(radius) }
      return .circle(circle)
    case .polygon(let parts):
      do {
        return .polygon(try Polygon(parts: parts))
      } catch {
        throw .polygon(error)
      }
    }
  }
}

/// The reason why a region is rejected.
public enum RegionError: Error, Hashable, Sendable, CustomStringConvertible {
  case emptyIdentifier
  /// A later region of the same set has the same identifier and replaces this region.
  case duplicateIdentifier
  case invalidCenter
  case invalidRadius(Double)
  case invalidDwell(Double)
  case invalidAccuracy(Double)
  case invalidSpeedLimit(Double)
  case polygon(PolygonError)

  public var description: String {
    switch self {
    case .emptyIdentifier: "has no identifier; give it a name of its own"
    case .duplicateIdentifier:
      "a later region has the same identifier and replaces it; rename one of them"
    case .invalidCenter:
      "the centre has invalid coordinates; give longitude -180 to 180 and latitude -90 to 90"
    case .invalidRadius(let radius):
      "invalid radius \(radius): must be above 0 and at most \(Circle.largestRadius) m (half the earth)"
    case .invalidDwell(let seconds): "invalid dwell \(seconds): must be above 0 seconds"
    case .invalidAccuracy(let metres): "invalid desired accuracy \(metres): must be above 0 metres"
    case .invalidSpeedLimit(let speed): "invalid speed limit \(speed): must be above 0 m/s"
    case .polygon(let problem): problem.description
    }
  }
}
