internal import Glibc
internal import Spatial

/// Filters the positions of consecutive scans. At rest they are averaged. In motion each is used alone,
/// because without a course earlier ones only lag behind (on recorded drives, averaging increased half of the
/// errors).
///
/// At rest the gain is a Kalman filter's. Half of a position's variance counts as common to all scans of a
/// place (errors of the map), so that a long rest does not make it exact. A position that the device cannot
/// have reached is not accepted before the next one confirms it.
public struct CoarseTracker: Sendable {
  private let mobility: Mobility
  private var last: CoarsePosition?
  /// A position that contradicts the last one and waits for confirmation; nil if there is none.
  private var doubted: CoarsePosition?

  /// Assumed typical speed in any direction, as a share of the maximum speed.
  private static let usual = 0.5
  /// Share of a position's variance that is common to all scans at the same position.
  private static let common = 0.5
  /// Time in s after which the last position is discarded.
  private static let memory = 1800.0

  public init(mobility: Mobility = .vehicle) {
    self.mobility = mobility
  }

  /// Processes the position of a scan.
  /// - Parameter isAtRest: true if other evidence shows that the device has not moved since the last
  ///   position.
  /// - Returns: the position at the same time, estimated from all positions so far. Its accuracy is never
  ///   better than the error common to scans of one place.
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
      // The previous position, with radii that include the possible movement, is more plausible than the new
      // one.
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
