package import Sensors
internal import Spatial

/// Detects a receiver that repeats its position while the vehicle moves.
///
/// Some receivers continue to report their last position when they lose the satellites. The speed comes from
/// another measurement: navigation, wheels, or the receiver's own Doppler speed.
package struct RepeatedPosition: Sendable {
  /// The newest fix, with the speed in m/s then; nil if unknown.
  private var last: (timestamp: Timestamp, coordinate: Coordinate, speed: Double?)?
  /// Distance in m driven since the first fix with the same position.
  private var driven = 0.0

  /// Distance in m above which a repeated position is wrong: receivers that repeat a position for less are
  /// within their accuracy.
  private static let limit = 5.0
  /// Speed in m/s below which a vehicle may be at rest.
  private static let slowest = 1.5

  /// Time in s at rest after which a repeated position is accepted: that of a receiver that holds its position.
  private static let longestRest = 60.0
  /// Distance in m that a receiver that holds its position at rest may miss while the vehicle brakes or starts. After
  /// a longer distance, the position is wrong even at rest.
  private static let longestHold = 50.0

  package init() {}
  /// Time in s at rest since the last motion or unknown speed.
  private var rest = 0.0

  /// True if the newest fix repeats a position that the vehicle has left.
  package var isFrozen: Bool { driven > Self.limit }
  /// Distance in m driven since the vehicle was at the repeated position; nil if the newest position is not wrong.
  package var distance: Double? { isFrozen ? driven : nil }

  /// - Parameters:
  ///   - speeds: lowest speeds in m/s by independent measurements; nil or not finite if unknown.
  ///   - fastest: highest speed in m/s by a measurement with a known error; nil if there is none.
  package mutating func process(_ fix: PositionFix, speeds: [Double?], fastest: Double? = nil) {
    guard let coordinate = fix.coordinate else { return }
    let speed = speeds.compactMap { $0 }.filter(\.isFinite).max()
    defer { last = (fix.timestamp, coordinate, speed) }
    guard let last, last.coordinate == coordinate else {
      (driven, rest) = (0, 0)
      return
    }
    let interval = max(0, fix.timestamp.seconds(since: last.timestamp))
    // The interval may include a sleep at rest, so the lower speed of both ends applies to it.
    if let speed, speed >= Self.slowest { driven += max(0, min(speed, last.speed ?? 0)) * interval }
    guard let speed, max(speed, fastest ?? speed) < Self.slowest else {
      rest = 0
      return
    }
    rest += interval
    if rest >= Self.longestRest, driven <= Self.longestHold { driven = 0 }
  }
}
