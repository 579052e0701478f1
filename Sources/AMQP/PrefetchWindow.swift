/// The adaptive number of messages that the broker may send before they are acknowledged. It starts small, so
/// that consumers that start together share the backlog, and doubles while commits use the whole window. It
/// shrinks for large messages, so that a window fits in memory. A pure value type.
///
/// A larger window requires a new consumer. Unacknowledged messages of the previous consumer count in
/// addition, so the window grows only if both fit.
package struct PrefetchWindow: Hashable, Sendable {
  /// The maximum size.
  package let most: Int
  /// The maximum number of unacknowledged messages in total.
  package let bound: Int
  package private(set) var size: Int

  /// The initial size, a few packets: the positions of 250 vehicles in a second.
  package static let first = 250
  /// The maximum size in bytes of a window of messages of mean size; the same limit as with MQTT.
  package static let mostBytes = 16 << 20

  /// Creates a window.
  ///
  /// - Parameters:
  ///   - most: 1...65,535, the limit of AMQP.
  ///   - bound: the maximum number of unacknowledged messages, at least `most`.
  package init(most: Int, bound: Int) {
    self.most = min(max(1, most), 65_535)
    self.bound = max(bound, self.most)
    size = min(Self.first, self.most)
  }

  /// Adapts the window after an acknowledgement.
  /// - Parameters:
  ///   - bytes: the size of all acknowledged messages.
  ///   - rest: the number of read messages that are still unacknowledged, of this consumer and of previous
  ///     ones.
  /// - Returns: true if the window has changed.
  package mutating func acknowledged(_ count: Int, bytes: Int, rest: Int) -> Bool {
    let fitting = max(1, Self.mostBytes / max(1, bytes / max(1, count)))
    if size > 2 * fitting {
      size = fitting
      return true
    }
    // If a commit contains half of the window or more, the broker had to wait for it: enlarge the window.
    guard 2 * count >= size, size < most else { return false }
    let next = min(2 * size, most)
    guard next <= fitting else { return false }
    // In addition to the `rest` messages, the broker may have sent a whole window that was not read yet.
    guard next + size + rest <= bound else { return false }
    size = next
    return true
  }
}
