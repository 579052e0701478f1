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
    speed = location.speed
  }

  /// Standard deviation along one axis in m. A circle with a radius of 1.51 standard deviations contains 68 %
  /// of a circular normal distribution.
  var deviation: Double { accuracy / 1.5096 }
}

/// The motion from one fix to the next.
struct RegionStep {
  let start: RegionFix?
  let end: RegionFix
  /// Length of the straight line between the fixes in m.
  let length: Double
  /// True if the vehicle is certainly moving, by its speed or by the step itself.
  let isMoving: Bool
  private let bend: Double

  /// Distance from a boundary, in standard deviations of a fix, beyond which the fix is certainly on its side
  /// of the boundary.
  private static let reach = 7.5
  /// Length of a step, in standard deviations of its error, from which it is certainly a motion.
  private static let significantStep = 7.0

  init(from start: RegionFix?, to end: RegionFix, _ settings: RegionMonitor.Settings) {
    self.start = start
    self.end = end
    length = start.map { ($0.position - end.position).length } ?? 0
    let noise = start.map { ($0.deviation * $0.deviation + end.deviation * end.deviation).squareRoot() } ?? 0
    isMoving =
      (end.speed ?? 0) >= settings.movingSpeed
      || (start != nil && length > Self.significantStep * noise)
    bend = settings.bend
  }

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
    let seconds = end.timestamp.seconds(since: start.timestamp)
    // The sag is limited, because a road much longer than the line between the fixes cannot be treated as a
    // line.
    let sag = min(bend * seconds * seconds / 8, 0.05 * length)
    return (a * a + b * b + sag * sag).squareRoot()
  }

  func point(at fraction: Double) -> SurfacePoint {
    start.map { $0.point.interpolated(to: end.point, fraction: fraction) } ?? end.point
  }

  func crossing(at fraction: Double) -> RegionCrossing {
    let seconds = start.map { end.timestamp.seconds(since: $0.timestamp) } ?? 0
    let before = (1 - fraction) * seconds
    return RegionCrossing(
      timestamp: end.timestamp.advanced(bySeconds: -before), time: end.time?.advanced(bySeconds: -before),
      coordinate: point(at: fraction).coordinate, statedAccuracy: statedAccuracy)
  }

  /// The end of the step as a crossing, used if the crossing of the boundary is unknown.
  var arrival: RegionCrossing {
    RegionCrossing(
      timestamp: end.timestamp, time: end.time, coordinate: end.coordinate, statedAccuracy: end.statedAccuracy
    )
  }

  private var statedAccuracy: Double? {
    guard let start else { return end.statedAccuracy }
    guard let a = start.statedAccuracy, let b = end.statedAccuracy else { return nil }
    return max(a, b)
  }
}

/// Time and position of a boundary crossing.
struct RegionCrossing: Hashable, Sendable {
  var timestamp: Timestamp
  var time: UTCTime?
  var coordinate: Coordinate
  var statedAccuracy: Double?
}
