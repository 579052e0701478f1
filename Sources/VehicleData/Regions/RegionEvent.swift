public import Spatial

/// An event of a region.
public struct RegionEvent: Hashable, Sendable {
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    case enter
    case exit
    /// The vehicle has stayed inside for the region's `dwell`.
    case dwell
  }

  public var kind: Kind
  public var identifier: String
  /// Name of the region; nil if it has none.
  public var name: String?
  /// Time of the region's creation or last change; nil if unknown.
  public var definedAt: UTCTime?
  /// Time of the crossing, interpolated between two fixes, or the end of the dwell time. A late event has the
  /// time of the first fix that showed it.
  public var timestamp: Timestamp
  /// Civil time of the event; nil if the fix had none.
  public var time: UTCTime?
  /// Position of the crossing, or for a dwell the position at its time.
  public var coordinate: Coordinate
  /// Accuracy in m (68 %) of the less accurate of the fixes that show the event, as reported by the receiver, or
  /// of the straight line between them if that is less accurate; nil if the receiver reported none.
  public var horizontalAccuracy: Double?
  /// Probability of the event, 0 ... 1.
  public var confidence: Double
  /// True if the event happened while the agent was not running, so that its exact time is unknown.
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
