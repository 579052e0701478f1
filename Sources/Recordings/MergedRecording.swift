public import Sensors
package import Spatial

/// Combines several recordings, with their events in order of time: the fixes of one file with the samples of
/// another.
///
/// Each recording has its own time line; start them so that they agree (`startingAt`). At equal times the
/// recording named first has precedence. Demands are applied here rather than in the parts, because a part
/// without demand would run to its end while the others wait.
public struct MergedRecording: SensorRecording {
  public let name: String
  public let kinds: Set<SensorKind>

  private var parts: [any SensorRecording]
  /// True if the last part does not prolong the recording.
  private let hasBackground: Bool
  private var heads: [SensorEvent?]
  private var hasBegun = false
  private var filter = DemandFilter()

  /// - Parameters:
  ///   - parts: the recordings; the times within each must not go back.
  ///   - background: a recording that may be endless; it ends with the last of the others.
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
    var best: (index: Int, time: Int64)?
    for (index, head) in heads.enumerated() {
      guard let head else { continue }
      // Blocks are ordered by their newest sample; an empty one is completed immediately.
      let time = head.timestamp?.nanoseconds ?? .min
      if let least = best, least.time <= time { continue }
      best = (index, time)
    }
    return best?.index
  }
}

/// The time line of a recording: the receiver's time since its first time, starting at `origin`.
///
/// It never goes back. If the receiver's own clock does, it is constant until that has caught up, while fixes
/// retain the recorded time. Reports without a time have that of the previous one.
package struct RecordingClock: Sendable, Hashable {
  private var firstTime: UTCTime?
  private var now: Timestamp

  package init(origin: Timestamp) { now = origin }

  /// Returns the position of a report on the time line.
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

  /// Shifts the receiver's time from now on, because its date became known only now.
  package mutating func shift(byNanoseconds nanoseconds: Int64) {
    if let time = firstTime { firstTime = UTCTime(nanoseconds: time.nanoseconds &+ nanoseconds) }
  }
}
