/// How a receiver found its position.
public enum FixQuality: String, Hashable, Sendable, CaseIterable {
  /// From the satellites alone.
  case autonomous
  /// With corrections of code ranges, as from a satellite-based augmentation system.
  case differential
  /// With carrier phases whose ambiguities are not resolved.
  case realTimeKinematicFloat
  /// With carrier phases whose ambiguities are resolved.
  case realTimeKinematicFixed
  /// Carried on by the vehicle's own motion, with few satellites or none.
  case deadReckoning
  /// Typed in, surveyed or simulated.
  case notMeasured
}
