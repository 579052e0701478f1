public import Sensors
internal import Spatial

/// A track with a fix every second, at constant speed between the fixes of another track, its base. Xcode
/// simulates locations in the same way from a GPX file of way points with times. Next to a fix without a
/// position nothing is interpolated, and the earlier fix is repeated. The last fix of the base is also the
/// last fix here.
public struct InterpolatedTrack: SensorRecording {
  public let name: String
  public let kinds: Set<SensorKind>

  private var base: any SensorRecording
  private var gate = DemandGate()
  private var waiting: ArraySlice<PositionFix> = []
  private var earlier: PositionFix?
  private var later: PositionFix?
  /// Time of the next fix; nil before the first one.
  private var due: Timestamp?
  private var lastTimestamp: Timestamp?
  private var isFinished = false

  /// - Parameter base: fixes in order of time.
  public init(_ base: any SensorRecording) {
    self.base = base
    (name, kinds) = (base.name, base.kinds)
  }

  public var skipped: SkippedInput? { base.skipped }

  public mutating func setDemand(_ demand: SensorDemand, for kind: SensorKind) {
    if kind == .positioning { gate.setDemand(demand, at: lastTimestamp) }
  }

  /// Returns the fix of the next second, or the last fix of the base; nil at the end. Without demand the
  /// block is empty, but time advances.
  public mutating func next() throws -> SensorEvent? {
    guard !isFinished else { return nil }
    if earlier == nil {
      earlier = try nextFix()
      later = try nextFix()
    }
    guard let first = earlier else {
      isFinished = true
      return nil
    }
    let time = due ?? first.timestamp
    while let next = later, next.timestamp <= time {
      earlier = next
      later = try nextFix()
    }
    guard let before = earlier else { return nil }
    var fix = before
    if let after = later {
      fix = Self.interpolated(before, after, at: time)
      due = time.advanced(bySeconds: 1)
    } else {
      isFinished = true
    }
    lastTimestamp = fix.timestamp
    return .position(gate.admits(fix.timestamp) ? [fix] : [])
  }

  private mutating func nextFix() throws -> PositionFix? {
    while waiting.isEmpty {
      guard let event = try base.next() else { return nil }
      if case .position(let fixes) = event { waiting = fixes[...] }
    }
    return waiting.removeFirst()
  }

  private static func interpolated(_ a: PositionFix, _ b: PositionFix, at time: Timestamp) -> PositionFix {
    var fix = a
    let elapsed = time.seconds(since: a.timestamp)
    fix.timestamp = time
    fix.time = a.time?.advanced(bySeconds: elapsed)
    let share = elapsed / b.timestamp.seconds(since: a.timestamp)
    guard let start = a.coordinate, let end = b.coordinate, share > 0, share.isFinite else { return fix }
    // Interpolates in the shorter direction around the earth.
    let eastward = (end.longitude - start.longitude).remainder(dividingBy: 360)
    fix.coordinate = Coordinate(
      latitude: start.latitude + share * (end.latitude - start.latitude),
      longitude: (start.longitude + share * eastward).remainder(dividingBy: 360))
    if let low = a.altitudeMeanSeaLevel, let high = b.altitudeMeanSeaLevel {
      fix.altitudeMeanSeaLevel = low + share * (high - low)
    }
    return fix
  }
}
