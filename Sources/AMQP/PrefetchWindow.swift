/// How many messages the broker sends ahead of their acknowledgement: begins small, so that readers which start together share
/// what waits, and doubles while commits take all that the window lets them. Large messages make it smaller: so many of their mean size
/// are to find room in memory. Pure.
///
/// A larger window is a new consumer's: what the broker has sent to the one before, and that is not acknowledged, comes on top, so
/// that a window grows only where both find room.
package struct PrefetchWindow: Hashable, Sendable {
  /// Never above this.
  package let most: Int
  /// Messages that may be unacknowledged in all.
  package let bound: Int
  package private(set) var size: Int

  /// A few packets' worth: a second's positions of 250 vehicles.
  package static let first = 250
  /// Bytes that a window of messages of the mean size takes; as many wait at most with MQTT.
  package static let mostBytes = 16 << 20

  /// - Parameters:
  ///   - most: 1...65,535, AMQP's own bound.
  ///   - bound: of unacknowledged messages in all, `most` at least.
  package init(most: Int, bound: Int) {
    self.most = min(max(1, most), 65_535)
    self.bound = max(bound, self.most)
    size = min(Self.first, self.most)
  }

  /// An acknowledgement took so many messages at once.
  /// - Parameters:
  ///   - bytes: of all of them.
  ///   - rest: how many that were read are still unacknowledged, of this consumer and of those before.
  /// - Returns: whether the window is another now.
  package mutating func acknowledged(_ count: Int, bytes: Int, rest: Int) -> Bool {
    let fitting = max(1, Self.mostBytes / max(1, bytes / max(1, count)))
    if size > 2 * fitting {
      size = fitting
      return true
    }
    // A commit that took half of what may be under way left the broker nothing to send meanwhile.
    guard 2 * count >= size, size < most else { return false }
    let next = min(2 * size, most)
    guard next <= fitting else { return false }
    // The broker may have sent this consumer a whole window again, and not all of it was read.
    guard next + size + rest <= bound else { return false }
    size = next
    return true
  }
}
