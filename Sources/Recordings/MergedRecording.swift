public import Sensors
package import Spatial

/// Combines several recordings, with their events in order of time: the fixes of one file with the samples of
/// another.
///
/// Each recording has timestamps from its own origin. Choose the origins (`startingAt`) so that simultaneous
/// events get the same timestamp. At equal times the recording named first has precedence. Demands are
/// applied here rather than in the combined recordings, because a recording without demand would run to its
/// end while the others wait.
public struct MergedRecording: SensorRecording {
  public let name: String
  public let kinds: Set<SensorKind>

  private var parts: [any SensorRecording]
  /// True if the last part is a background recording: the merged recording ends when all other parts have
  /// ended.
  private let hasBackground: Bool
  private var heads: [SensorEvent?]
  private var hasBegun = false
  private var filter = DemandFilter()

  /// - Parameters:
  ///   - parts: the recordings; the times within each must not go back.
  ///   - background: a recording that may be endless. The whole ends when every one of `parts` has ended.
  public init(_ parts: [any SensorRecording], background: (any SensorRecording)? = nil) {
    hasBackground = background != nil
    let parts = parts + (background.map { [$0] } ?? [])
    self.parts = parts
    name = parts.map(\.name).joined(separator: " + ")
    kinds = parts.reduce(into: []) { $0.formUnion($1.kinds) }
    heads = Array(repeating: nil, count: parts.count)
  }

  public var skipped: SkippedInput? {
    let all = parts.compactMap(\.skipped)
    return all.first.map { SkippedInput(count: all.reduce(0) { $0 + $1.count }, first: $0.first) }
  }

  public mutating func setDemand(_ demand: SensorDemand, for kind: SensorKind) {
    filter.setDemand(demand, for: kind)
  }

  public mutating func next() throws -> SensorEvent? {
    if !hasBegun {
      hasBegun = true
      for index in parts.indices { heads[index] = try parts[index].next() }
    }
    while !isOver, let index = earliest, let event = heads[index] {
      heads[index] = nil
      heads[index] = try parts[index].next()
      if let rest = filter.admit(event) { return rest }
    }
    return nil
  }

  private var isOver: Bool { hasBackground && heads.dropLast().allSatisfy { $0 == nil } }

  private var earliest: Int? {
    var best: (index: Int, time: Timestamp)?
    for (index, head) in heads.enumerated() {
      guard let head else { continue }
      // Blocks are ordered by their newest sample. A block without a time is returned immediately.
      let time = head.timestamp ?? Timestamp(nanoseconds: .min)
      if let least = best, least.time <= time { continue }
      best = (index, time)
    }
    return best?.index
  }
}

/// The clock that creates a recording's timestamps: the receiver's time since its first time, starting at
/// `origin`.
///
/// It never goes back. If the receiver's own clock goes back, the timestamp is constant until the receiver's
/// time exceeds its previous maximum, while fixes retain the recorded time. A report without a time gets the
/// timestamp of the previous report.
package struct RecordingClock: Sendable, Hashable {
  private var firstTime: UTCTime?
  private var now: Timestamp

  package init(origin: Timestamp) { now = origin }

  /// Returns the timestamp of a report with the given receiver time; nil means that the report has no time.
  package mutating func timestamp(for time: UTCTime?) -> Timestamp {
    guard let time else { return now }
    guard let firstTime else {
      firstTime = UTCTime(nanoseconds: time.nanoseconds &- now.nanoseconds)
      return now
    }
    let (elapsed, overflow) = time.nanoseconds.subtractingReportingOverflow(firstTime.nanoseconds)
    if !overflow { now = max(now, Timestamp(nanoseconds: elapsed)) }
    return now
  }

  /// Declares that later receiver times are larger by `nanoseconds`, because the date became known only now.
  /// Timestamps continue without a gap.
  package mutating func shift(byNanoseconds nanoseconds: Int64) {
    if let time = firstTime { firstTime = UTCTime(nanoseconds: time.nanoseconds &+ nanoseconds) }
  }
}
