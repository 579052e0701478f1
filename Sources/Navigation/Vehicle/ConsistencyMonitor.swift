/// A monitor for the non-holonomic constraint. The constraint fails if the device was turned or removed, or
/// if its carrier is not a vehicle that moves in its forward direction.
struct ConsistencyMonitor: Hashable, Sendable {
  /// The share of rejected constraints, among about the last 50, above which the mounting is revoked (0.5). A
  /// skid of 2 s does not reach it.
  private static let limit = 0.5
  private static let memory = 50.0

  private var refusedShare = 0.0

  mutating func reset() { self = ConsistencyMonitor() }

  /// Adds the normalized squared innovations of the sideways and the upward constraint; nil if the update was
  /// rejected.
  mutating func observe(side: Double?, up: Double?) {
    let refused = (side == nil ? 1.0 : 0) + (up == nil ? 1.0 : 0)
    refusedShare += (min(1, refused) - refusedShare) / Self.memory
  }

  var isContradicted: Bool { refusedShare > Self.limit }
}
