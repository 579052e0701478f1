internal import Sensors
internal import Spatial

/// Detects a receiver that repeats its position while the vehicle moves.
///
/// Some receivers continue to report their last position when they lose the satellites. The speed comes from
/// another measurement: navigation, wheels, or the receiver's own Doppler speed.
struct RepeatedPosition: Sendable {
  private var last: (timestamp: Timestamp, coordinate: Coordinate)?
  /// Distance in m driven since the first fix with the same position.
  private var driven = 0.0

  /// Distance in m above which a repeated position is wrong: receivers that repeat a position for less are
  /// within their accuracy.
  private static let limit = 5.0
  /// Speed in m/s below which a vehicle may be at rest.
  private static let slowest = 1.5

  /// Time in s at rest after which a repeated position is accepted: that of a receiver that holds its position.
  private static let longestRest = 60.0
  /// Time in s at rest since the last motion.
  private var rest = 0.0

  /// True if the newest fix repeats a position that the vehicle has left.
  var isFrozen: Bool { driven > Self.limit }

  /// - Parameter speeds: speeds in m/s by independent measurements.
  mutating func process(_ fix: PositionFix, speeds: [Double?]) {
    guard let coordinate = fix.coordinate else { return }
    defer { last = (fix.timestamp, coordinate) }
    guard let last, last.coordinate == coordinate else {
      (driven, rest) = (0, 0)
      return
    }
    let speed = speeds.compactMap { $0 }.filter(\.isFinite).max() ?? 0
    let interval = max(0, fix.timestamp.seconds(since: last.timestamp))
    if speed >= Self.slowest {
      driven += speed * interval
      rest = 0
    } else {
      rest += interval
      if rest >= Self.longestRest { driven = 0 }
    }
  }
}
