internal import Spatial

/// The position at which a device rests by its fixes.
///
/// A fix beyond the wandering of a receiver contradicts rest, however much time has passed: after minutes between two fixes, every
/// distance is possible, and a single fix would move a parked vehicle.
struct RestingPlace {
  private var first: Location?
  private var isEstablished = false

  /// Metres that fixes at rest may wander.
  private static let wander = 25.0
  /// Seconds after which fixes at one position are rest.
  private static let onset = 5.0

  /// Processes an accepted fix.
  /// - Parameter slowest: m/s below which a speed may be noise.
  mutating func process(_ location: Location, slowest: Double) {
    let isSlow = (location.speed ?? 0) <= slowest + 2 * min(1, location.speedAccuracy ?? 0)
    guard let first, isSlow, isNear(location, first) else {
      (first, isEstablished) = (isSlow ? location : nil, false)
      return
    }
    isEstablished = isEstablished || location.seconds(since: first) >= Self.onset
  }

  /// Returns true if the device has rested and the location is elsewhere. At intervals of some seconds, the start of a drive is seen
  /// before that, so a stated speed counts.
  func contradicts(_ location: Location, after last: Location) -> Bool {
    guard isEstablished, let first else { return false }
    return !isNear(location, first) && !isNear(location, last)
  }

  private func isNear(_ location: Location, _ place: Location) -> Bool {
    place.coordinate.distance(to: location.coordinate) <= max(Self.wander, FixScreen.slack(place, location))
  }
}
