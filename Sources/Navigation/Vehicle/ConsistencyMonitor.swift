/// Tells when vehicle and mounting no longer fit: the device was turned in its holder or taken out, or this is no
/// vehicle that goes where it points.
struct ConsistencyMonitor: Hashable, Sendable {
  /// Share of refused constraints among the last 50 or so from which they are not believed (0.5). A skid lasts 2 s.
  private static let limit = 0.5
  private static let memory = 50.0

  private var refusedShare = 0.0

  mutating func reset() { self = ConsistencyMonitor() }

  /// What came of the two constraints: squared residuals in units of their variances, nil where refused.
  mutating func observe(side: Double?, up: Double?) {
    let refused = (side == nil ? 1.0 : 0) + (up == nil ? 1.0 : 0)
    refusedShare += (min(1, refused) - refusedShare) / Self.memory
  }

  var isContradicted: Bool { refusedShare > Self.limit }
}
