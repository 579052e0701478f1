internal import Spatial

/// A fix as regions look at it.
struct RegionFix: Hashable, Sendable {
  let timestamp: Timestamp
  let time: UTCTime?
  let coordinate: Coordinate
  let point: SurfacePoint
  let position: Vector3
  /// As the receiver said.
  let statedAccuracy: Double?
  /// Metres at 68 %, as it is taken.
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
    // A floor keeps divisions finite whatever the settings say.
    accuracy = max(stated ?? settings.unknownAccuracy, settings.leastAccuracy, 1e-6)
    speed = location.speed
  }

  /// Metres: one standard deviation along one axis. 68 % of a circular normal distribution lie within 1.51 of them.
  var deviation: Double { accuracy / 1.5096 }
}

/// From one fix to the next.
struct RegionStep {
  let start: RegionFix?
  let end: RegionFix
  /// Metres in a straight line.
  let length: Double
  /// Whether the vehicle surely moves, by its speed or by the step itself.
  let isMoving: Bool
  private let bend: Double

  /// Standard deviations beyond which a fix is certain.
  private static let reach = 7.5
  /// Standard deviations of its own error by which a step between two fixes is surely a movement.
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

  /// Metres from a fix within which a boundary leaves doubt.
  var reach: Double { Self.reach * end.deviation }

  /// What is nearer than the reach to any place on the way.
  var box: SpaceBox {
    var box = SpaceBox(from: start?.point ?? end.point, to: end.point)
    box.grow(by: reach)
    return box
  }

  /// Metres: one standard deviation of the place at a fraction of the way, by both fixes' errors and the way's bends.
  func deviation(at fraction: Double) -> Double {
    guard let start else { return end.deviation }
    let (a, b) = ((1 - fraction) * start.deviation, fraction * end.deviation)
    let seconds = end.timestamp.seconds(since: start.timestamp)
    // A road that is much longer than the line is not seen as a line.
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

  /// The end itself, where no crossing is known.
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

/// When and where a boundary was crossed.
struct RegionCrossing: Hashable, Sendable {
  var timestamp: Timestamp
  var time: UTCTime?
  var coordinate: Coordinate
  var statedAccuracy: Double?
}
