internal import Platform
public import Sensors
public import Spatial

/// Reads position fixes from a GPX 1.0 or 1.1 file: from its track points if there are any, otherwise from
/// its route points, otherwise from its way points. (Inputs repeat a single way point as a fixed position:
/// `FixedReceiver`.)
///
/// - `PositionFix.time` is as recorded; `timestamp` is the time since the first point, plus `startingAt`. It
///   is constant while the recorded time runs backwards (`RecordingClock`).
/// - A file without times is played at one point a second, with `time` nil. If some points have a time,
///   points without one are skipped and counted, and so are points with an invalid value.
/// - A file without any position is an error.
/// - `ele` is the height above mean sea level, as GPX defines. Speed and course are those of the file (GPX
///   1.0 elements, or extensions with any prefix); otherwise they are nil, never derived.
/// - Expat reads the file in blocks. Copies of a recording share the reading position.
public struct GPXRecording: SensorRecording {
  public let name: String
  public let kinds: Set<SensorKind> = [.positioning]

  /// True if the recording consists of way points, because the file has neither a track nor a route.
  package let isOfWayPoints: Bool

  private let reader: Locked<GPXReader>
  private var gate = DemandGate()
  private var clock: RecordingClock
  private let origin: Timestamp
  private var count: Int64 = 0
  private var isTimed: Bool?
  /// Points read before it is known whether the file has times.
  private var pending: [GPXPoint] = []
  private var progress = ReadingProgress()
  /// Number of points without a time after which the file counts as one without times.
  private static let mostPending = 10_000
  private var lastTimestamp: Timestamp?

  /// - Parameters:
  ///   - path: path of the file.
  ///   - startingAt: timestamp of the first point.
  /// - Throws: `RecordingError` if the file cannot be opened, is not valid GPX up to its first track point,
  ///   or contains no point.
  public init(path: String, startingAt: Timestamp = Timestamp(nanoseconds: 0)) throws(RecordingError) {
    name = path
    origin = startingAt
    clock = RecordingClock(origin: startingAt)
    let file = try RecordingFile(path: path)
    guard let element = try GPXReader(file: file, wanted: nil).preferredElement() else {
      throw RecordingError(
        file: path, problem: "contains no track, route or waypoint", remedy: "use a GPX file with a track")
    }
    isOfWayPoints = element == .way
    reader = Locked(try GPXReader(file: file, wanted: element))
  }

  /// Returns the position of a file with one way point and no track or route; nil for every other file.
  /// - Throws: `RecordingError` for the same reasons as `init(path:startingAt:)`.
  package static func onlyWayPoint(path: String) throws(RecordingError) -> Coordinate? {
    let file = try RecordingFile(path: path)
    guard try GPXReader(file: file, wanted: nil).preferredElement() == .way else { return nil }
    let reader = try GPXReader(file: file, wanted: .way)
    guard let point = try reader.next(), try reader.next() == nil else { return nil }
    return point.fix(at: Timestamp(nanoseconds: 0)).coordinate
  }

  public var skipped: SkippedInput? { progress.skipped }

  public mutating func setDemand(_ demand: SensorDemand, for kind: SensorKind) {
    if kind == .positioning { gate.setDemand(demand, at: lastTimestamp) }
  }

  /// Returns the next fix, in a block of its own; nil at the end.
  /// - Throws: `RecordingError` with the line.
  public mutating func next() throws(RecordingError) -> SensorEvent? {
    while let point = try nextPoint() {
      guard isTimed == (point.time != nil) else {
        progress.skip(
          RecordingError(
            file: name, line: point.line,
            problem: isTimed == true
              ? "the point has no time" : "the point has a time, those before it have none",
            remedy: "set a time in all points or in none"))
        continue
      }
      let timestamp = timestamp(of: point)
      lastTimestamp = timestamp
      if point.hasPosition { progress.hasPosition = true }
      count += 1
      guard gate.admits(timestamp) else { continue }
      var fix = point.fix(at: timestamp)
      fix.receiver = name
      return .position([fix])
    }
    try progress.finish(name, remedy: "use a GPX file with a track")
    return nil
  }

  /// Returns the next point, after determining whether the file has times.
  private mutating func nextPoint() throws(RecordingError) -> GPXPoint? {
    if isTimed == nil {
      while pending.count < Self.mostPending, let point = try read() {
        pending.append(point)
        if point.time != nil { break }
      }
      isTimed = pending.last?.time != nil
      pending.reverse()
    }
    if let point = pending.popLast() { return point }
    return try read()
  }

  /// Returns the next valid point.
  private mutating func read() throws(RecordingError) -> GPXPoint? {
    while let point = try reader.withLock({ (reader) throws(RecordingError) in try reader.next() }) {
      guard let fault = point.fault else { return point }
      progress.skip(fault)
    }
    return nil
  }

  private mutating func timestamp(of point: GPXPoint) -> Timestamp {
    guard isTimed == true else {
      return Timestamp(nanoseconds: origin.nanoseconds &+ count &* 1_000_000_000)
    }
    return clock.timestamp(for: point.time)
  }
}
