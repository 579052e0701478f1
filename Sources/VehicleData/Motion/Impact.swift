public import Spatial

/// An impact: side, strength and time.
public struct Impact: Hashable, Sendable {
  /// The side of the device (or vehicle) that was struck.
  public enum Side: String, Hashable, Sendable, CaseIterable {
    case front, rear, left, right, top, bottom
  }

  /// Start of the impact.
  public var timestamp: Timestamp
  public var side: Side
  /// Largest user acceleration of the impact in g, without its rebound.
  public var peak: Double
  /// Unit vector in the device frame towards the origin of the impact.
  public var direction: Vector3

  package init(timestamp: Timestamp, side: Side, peak: Double, direction: Vector3) {
    self.timestamp = timestamp
    self.side = side
    self.peak = peak
    self.direction = direction
  }
}
