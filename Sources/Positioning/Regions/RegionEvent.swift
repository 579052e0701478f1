public import Spatial

/// Something that happened with a region.
public struct RegionEvent: Hashable, Sendable {
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    case enter
    case exit
    /// The vehicle has stayed inside for the region's `dwell`.
    case dwell
  }

  public var kind: Kind
  public var identifier: String
  /// The region's; nil when it has none.
  public var name: String?
  /// When the region was made or last changed; nil when that is not known.
  public var definedAt: UTCTime?
  /// When it happened: the crossing interpolated between two fixes, or the end of the dwell time. A late event has the
  /// time of the first fix that showed it.
  public var timestamp: Timestamp
  /// The same in civil time; nil when the fix had none.
  public var time: UTCTime?
  /// Where the boundary was crossed, or for a dwell the newest position.
  public var coordinate: Coordinate
  /// Metres at 68 % confidence, of the less accurate of the fixes; as the receiver said, nil when it did not.
  public var horizontalAccuracy: Double?
  /// The probability that it happened, 0 ... 1.
  public var confidence: Double
  /// It happened while nobody watched (before a restart); nobody knows exactly when.
  public var isLate: Bool

  public init(
    kind: Kind, identifier: String, timestamp: Timestamp, time: UTCTime? = nil, coordinate: Coordinate,
    horizontalAccuracy: Double? = nil, confidence: Double = 1, isLate: Bool = false
  ) {
    self.kind = kind
    self.identifier = identifier
    self.timestamp = timestamp
    self.time = time
    self.coordinate = coordinate
    self.horizontalAccuracy = horizontalAccuracy
    self.confidence = confidence
    self.isLate = isLate
  }
}

/// Whether the vehicle is in a region, as far as that was decided.
public enum RegionState: String, Hashable, Sendable, CaseIterable {
  case unknown
  case inside
  case outside
}
