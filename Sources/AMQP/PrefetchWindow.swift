/// How many messages the broker sends ahead of their acknowledgement: begins small, so that readers which start together share
/// what waits, and doubles while commits take all that the window lets them. Pure.
package struct PrefetchWindow: Hashable, Sendable {
  /// Never above this.
  package let most: Int
  package private(set) var size: Int

  /// A few packets' worth: a second's positions of 250 vehicles.
  package static let first = 250

  /// - Parameter most: 1...65,535, AMQP's own bound.
  package init(most: Int) {
    self.most = min(max(1, most), 65_535)
    size = min(Self.first, self.most)
  }

  /// An acknowledgement took so many messages at once.
  /// - Returns: whether the window is another now.
  package mutating func acknowledged(_ count: Int) -> Bool {
    // A commit that took half of what may be under way left the broker nothing to send meanwhile.
    guard 2 * count >= size, size < most else { return false }
    size = min(2 * size, most)
    return true
  }
}
