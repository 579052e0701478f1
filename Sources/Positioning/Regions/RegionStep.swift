internal import Spatial
internal import VehicleData

/// A fix with the values that regions need: position, effective accuracy and motion.
struct RegionFix: Hashable, Sendable {
  let timestamp: Timestamp
  let time: UTCTime?
  let coordinate: Coordinate
  let point: SurfacePoint
  let position: Vector3
  /// Accuracy in m (68 %) reported by the receiver; nil if it reported none.
  let statedAccuracy: Double?
  /// Accuracy in m (68 %) used for evaluation, with a default and a lower limit.
  let accuracy: Double
  let speed: Double?

  init(_ location: Location, _ settings: RegionMonitor.Settings) {
    timestamp = location.timestamp
    time = location.time
    coordinate = location.coordinate
    point = SurfacePoint(location.coordinate)
    position = point.position
    statedAccuracy = location.horizontalAccuracy
    let stated = location.horizontalAccuracy.flatMap { $0.isFinite && $0 >= 0 ? $0 : nil }
    // The lower limit keeps divisions finite for all settings.
    accuracy = max(stated ?? settings.unknownAccuracy, settings.leastAccuracy, 1e-6)
    speed = location.speed.flatMap { $0.isFinite ? $0 : nil }
  }

  /// Standard deviation along one axis in m.
  var deviation: Double { accuracy / Self.radius }

  /// Radius in standard deviations of a circle that contains 68 % of a circular normal distribution.
  static let radius = 1.5096
}

/// The motion from one fix to the next.
struct RegionStep {
  let start: RegionFix?
  let end: RegionFix
  /// Length of the straight line between the fixes in m.
  let length: Double
  /// True if the vehicle is certainly moving, by its speed or by the step itself.
  let isMoving: Bool
  /// Duration in s; 0 without a start.
  private let seconds: Double
  /// Standard deviation in m of the largest distance between the path and the straight line.
  private let sag: Double

  /// Distance from a boundary, in standard deviations of a fix, beyond which the fix is certainly on its side
  /// of the boundary.
  private static let reach = 7.5
  /// Length of a step, in standard deviations of its error, from which it is certainly a motion.
  private static let significantStep = 7.0
  /// Longest step in s whose path has a bend, but hardly a turn. The sag of a longer one grows with the third power of
  /// its duration.
  private static let longestBend = 10.0
  /// Maximum sag as a share of the distance that the vehicle travels at the fastest known speed. In 99 % of the gaps of
  /// 20 to 60 s of the two drives of `RegionReplayTests`, the path is at most 0.19 to 0.36 of it beside the line, and a
  /// passage requires 2.33 deviations.
  private static let detour = 0.14
  /// Longest step in s with a passage. In gaps of 120 s of these drives the share is up to 0.42, because vehicles turn
  /// back or round a block.
  private static let longestPassage = 60.0

  init(from start: RegionFix?, to end: RegionFix, _ settings: RegionMonitor.Settings) {
    self.start = start
    self.end = end
    length = start.map { ($0.position - end.position).length } ?? 0
    let noise = start.map { ($0.deviation * $0.deviation + end.deviation * end.deviation).squareRoot() } ?? 0
    isMoving =
      (end.speed ?? 0) >= settings.movingSpeed
      || (start != nil && length > Self.significantStep * noise)
    let seconds = start.map { end.timestamp.seconds(since: $0.timestamp) } ?? 0
    let way = max(length, seconds * max(start?.speed ?? 0, end.speed ?? 0))
    sag = min(
      settings.bend * seconds * seconds / 8 * max(1, seconds / Self.longestBend), Self.detour * way)
    self.seconds = seconds
  }

  /// True if the line between the fixes may prove a passage through a region outside of which both are.
  var provesPassage: Bool { isMoving && seconds <= Self.longestPassage }

  /// Distance in m from a fix within which a boundary is uncertain.
  var reach: Double { Self.reach * end.deviation }

  /// Bounding box of all points within `reach` of the path.
  var box: SpaceBox {
    var box = SpaceBox(from: start?.point ?? end.point, to: end.point)
    box.grow(by: reach)
    return box
  }

  /// Returns the standard deviation in m of the position at a fraction of the step. It includes the errors of
  /// both fixes, and possible bends of the path.
  func deviation(at fraction: Double) -> Double {
    guard let start else { return end.deviation }
    let (a, b) = ((1 - fraction) * start.deviation, fraction * end.deviation)
    let bend = 4 * fraction * (1 - fraction) * sag
    return (a * a + b * b + bend * bend).squareRoot()
  }

  func point(at fraction: Double) -> SurfacePoint {
    start.map { $0.point.interpolated(to: end.point, fraction: fraction) } ?? end.point
  }

  func crossing(at fraction: Double) -> RegionCrossing {
    let before = (1 - fraction) * seconds
    return RegionCrossing(
      timestamp: end.timestamp.advanced(bySeconds: -before), time: end.time?.advanced(bySeconds: -before),
      coordinate: point(at: fraction).coordinate, statedAccuracy: statedAccuracy(at: fraction))
  }

  /// Returns the position at a time. Before the start and after the end of the step, it is that of the fix.
  func position(at timestamp: Timestamp) -> RegionCrossing {
    guard let start, timestamp < end.timestamp else { return arrival.dated(timestamp) }
    let fraction = timestamp.seconds(since: start.timestamp) / seconds
    if fraction > 0 { return crossing(at: fraction) }
    return RegionStep.arrival(start).dated(timestamp)
  }

  /// The end of the step as a crossing, used if the crossing of the boundary is unknown.
  var arrival: RegionCrossing { Self.arrival(end) }

  private static func arrival(_ fix: RegionFix) -> RegionCrossing {
    RegionCrossing(
      timestamp: fix.timestamp, time: fix.time, coordinate: fix.coordinate, statedAccuracy: fix.statedAccuracy
    )
  }

  /// Returns the accuracy in m (68 %) at a fraction of the step: at least that of the fixes, and more in a gap in which
  /// the path may have left the line. Nil if a fix has none.
  private func statedAccuracy(at fraction: Double) -> Double? {
    guard let start else { return end.statedAccuracy }
    guard let a = start.statedAccuracy, let b = end.statedAccuracy else { return nil }
    return max(a, b, RegionFix.radius * deviation(at: fraction))
  }
}

/// Time and position of a boundary crossing.
struct RegionCrossing: Hashable, Sendable {
  var timestamp: Timestamp
  var time: UTCTime?
  var coordinate: Coordinate
  var statedAccuracy: Double?

  /// Returns the position with another time.
  func dated(_ other: Timestamp) -> RegionCrossing {
    var dated = self
    dated.timestamp = other
    dated.time = time?.advanced(bySeconds: other.seconds(since: timestamp))
    return dated
  }
}
