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

/// The events of one step, brought into order.
struct RegionEventList {
  private var events: [(event: RegionEvent, isPassage: Bool)] = []

  /// - Parameter isPassage: whether the region is left again in the same step, so that its events stay together.
  mutating func append(_ event: RegionEvent, isPassage: Bool) { events.append((event, isPassage)) }

  /// By time; but whoever shows one region at a time must hear of the exit before the next entry, even where the
  /// regions overlap, so entries that last come after all exits.
  var ordered: [RegionEvent] {
    guard events.count > 1 else { return events.map(\.event) }
    let lastExit = events.lazy.filter { $0.event.kind == .exit && !$0.isPassage }.map(\.event.timestamp).max()
    func place(_ entry: (event: RegionEvent, isPassage: Bool)) -> (time: Timestamp, rank: Int) {
      let time = entry.event.timestamp
      guard !entry.isPassage, entry.event.kind != .exit else {
        return (time, entry.event.kind == .exit ? 1 : 0)
      }
      return (max(time, lastExit ?? time), entry.event.kind == .enter ? 2 : 3)
    }
    return events.enumerated().map { (key: place($0.element), index: $0.offset, event: $0.element.event) }
      .sorted {
        ($0.key.time, $0.key.rank, $0.index) < ($1.key.time, $1.key.rank, $1.index)
      }
      .map(\.event)
  }
}
