internal import Glibc
internal import Spatial

/// Carries positions of scans on to the next: at rest they are averaged, on the way each stands for itself, because without a course
/// the ones before only drag behind (on recorded drives that made half of the errors greater).
///
/// At rest by a Kalman filter's gain. Half of a position's variance is taken to be the same at each scan of a place (the map's own
/// errors), so that no rest makes it exact. A position where the device cannot have come, by how fast it can be, is not
/// believed before the next one bears it out.
public struct CoarseTracker: Sendable {
  private let mobility: Mobility
  private var last: CoarsePosition?
  /// A position that contradicts the last.
  private var doubted: CoarsePosition?

  /// Of the largest speed: one deviation of what is driven where nothing is known of the speed, and the course may be any.
  private static let usual = 0.5
  /// Of a variance: what scans of one place have in common.
  private static let common = 0.5
  /// Seconds after which the last position tells nothing any more.
  private static let memory = 1800.0

  public init(mobility: Mobility = .vehicle) {
    self.mobility = mobility
  }

  /// Takes the position of a scan.
  /// - Parameter isAtRest: whether something else tells that the device has not moved since the last one.
  /// - Returns: the position at its time, by all so far. Its accuracy is never better than what scans of one place have in common.
  public mutating func process(_ position: CoarsePosition, isAtRest: Bool) -> CoarsePosition {
    guard let last, case let step = position.timestamp.seconds(since: last.timestamp), step >= 0,
      isAtRest || step <= Self.memory
    else { return start(with: position) }
    let way = isAtRest ? 0 : mobility.topSpeed * step
    let distance = last.coordinate.distance(to: position.coordinate)
    if distance > way + last.radius95 + position.radius95 {
      if let doubted,
        doubted.coordinate.distance(to: position.coordinate)
          <= mobility.topSpeed * position.timestamp.seconds(since: doubted.timestamp)
          + doubted.radius95 + position.radius95
      {
        return start(with: position)
      }
      doubted = position
      var kept = last
      kept.timestamp = position.timestamp
      // Where nothing moves, what was known holds.
      kept.horizontalAccuracy += Self.usual * way
      kept.radius95 += way
      self.last = kept
      return kept
    }
    doubted = nil
    guard isAtRest else { return start(with: position) }
    let prior = square(last.horizontalAccuracy / CoarseLocator.radial68)
    let own = square(position.horizontalAccuracy / CoarseLocator.radial68)
    let gain = prior / (prior + own)
    let frame = LocalFrame(origin: last.coordinate)
    var next = position
    next.coordinate = frame.coordinate(at: gain * frame.offset(of: position.coordinate))
    guard next.coordinate.isValid else { return start(with: position) }
    let deviation = (max(Self.common, gain) * own).squareRoot()
    let ratio = position.radius95 / position.horizontalAccuracy
    next.horizontalAccuracy = deviation * CoarseLocator.radial68
    next.radius95 = next.horizontalAccuracy * max(ratio, CoarseLocator.radial95 / CoarseLocator.radial68)
    next.beacons = max(last.beacons, position.beacons)
    self.last = next
    return next
  }

  private mutating func start(with position: CoarsePosition) -> CoarsePosition {
    (last, doubted) = (position, nil)
    return position
  }

  private func square(_ value: Double) -> Double { value * value }
}
