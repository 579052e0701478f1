public import Spatial

/// An area whose entry and exit are watched, known by its identifier.
public struct Region: Hashable, Sendable {
  public enum Shape: Hashable, Sendable {
    /// All places within `radius` metres of the centre.
    case circle(center: Coordinate, radius: Double)
    /// Parts that do not overlap, each an outer ring and its holes. Edges are the shortest ways over the earth.
    case polygon([[[Coordinate]]])
  }

  /// Not empty; a second region with the same identifier takes the place of the first.
  public var identifier: String
  public var shape: Shape
  public var notifyOnEntry: Bool
  public var notifyOnExit: Bool
  /// Seconds, more than 0, after which a stay is told; nil for never.
  public var dwell: Double?
  /// Metres at 68 %, more than 0, that fixes are to be good for near the boundary; nil where what is configured is good enough.
  public var desiredAccuracy: Double?
  /// m/s, more than 0, that vehicles are to keep to inside; nil where the region sets no limit.
  public var speedLimit: Double?
  /// For people; nil when it has none.
  public var name: String?
  /// When it was made or last changed; nil when that is not known.
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

  /// A polygon of one part.
  /// - Parameter rings: the outer boundary, then its holes.
  public init(identifier: String, rings: [[Coordinate]], dwell: Double? = nil) {
    self.init(identifier: identifier, shape: .polygon([rings]), dwell: dwell)
  }

  public init(identifier: String, center: Coordinate, radius: Double, dwell: Double? = nil) {
    self.init(identifier: identifier, shape: .circle(center: center, radius: radius), dwell: dwell)
  }

  /// The shape, checked and in the form that is quick to look at.
  /// - Throws: `RegionError` for a shape that is none.
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

/// Why a region is not watched.
public enum RegionError: Error, Hashable, Sendable, CustomStringConvertible {
  case emptyIdentifier
  /// Another region of the same set, after it, has the identifier, and takes its place.
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
      "another region after it has the same identifier and takes its place; rename one of them"
    case .invalidCenter:
      "the centre is not on the earth; give longitude -180 to 180 and latitude -90 to 90"
    case .invalidRadius(let radius):
      "radius \(radius) is not more than 0 and at most \(Circle.largestRadius) m (half the earth)"
    case .invalidDwell(let seconds): "dwell \(seconds) is not a number of seconds of more than 0"
    case .invalidAccuracy(let metres): "desired accuracy \(metres) is not a number of metres of more than 0"
    case .invalidSpeedLimit(let speed): "speed limit \(speed) is not a number of m/s of more than 0"
    case .polygon(let problem): problem.description
    }
  }
}

/// What became of a set of regions.
public struct RegionAcceptance: Hashable, Sendable {
  public struct Refusal: Hashable, Sendable {
    /// The region's place in the set, counted from 0.
    public var index: Int
    public var identifier: String
    public var reason: RegionError
  }

  /// In the order of the set.
  public var accepted: [String] = []
  public var refused: [Refusal] = []
}
