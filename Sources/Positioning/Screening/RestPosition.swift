internal import Spatial
internal import VehicleData

/// The position at which a device rests, from its fixes.
///
/// A fix outside the usual variation of a receiver contradicts rest, regardless of the time since the last
/// fix. After some minutes every distance is possible, so a single wrong fix would otherwise move a parked
/// vehicle.
struct RestPosition {
  private var first: Location?
  private var isEstablished = false

  /// Distance in m by which fixes at rest may vary.
  private static let wander = 25.0
  /// Time in s for which fixes must be at one position to count as rest.
  private static let onset = 5.0

  /// Processes an accepted fix.
  /// - Parameter slowest: speed in m/s below which a measured speed may be noise.
  mutating func process(_ location: Location, slowest: Double) {
    let isSlow = (location.speed ?? 0) <= slowest + 2 * min(1, location.speedAccuracy ?? 0)
    guard let first, isSlow, isNear(location, first) else {
      (first, isEstablished) = (isSlow ? location : nil, false)
      return
    }
    isEstablished = isEstablished || location.seconds(since: first) >= Self.onset
  }

  /// Returns true if the device was at rest and the fix is away from both its position and the last fix. With
  /// fixes every few seconds, a drive does not meet this condition, because the speed of its first fixes ends
  /// the rest.
  func contradicts(_ location: Location, after last: Location) -> Bool {
    guard isEstablished, let first else { return false }
    return !isNear(location, first) && !isNear(location, last)
  }

  private func isNear(_ location: Location, _ place: Location) -> Bool {
    place.coordinate.distance(to: location.coordinate) <= max(Self.wander, FixScreen.slack(place, location))
  }
}
