package import Fleet

/// The part of a fleet that a process simulates: the vehicles whose index modulo `count` is `index`.
package struct SimulatedPart: Hashable, Sendable, CustomStringConvertible {
  /// The index of this part, from 0.
  var index: Int
  var count: Int

  package static let whole = SimulatedPart(index: 0, count: 1)

  /// Parses a part.
  ///
  /// - Parameter text: a text such as `2/4`, counted from 1; nil for the whole fleet.
  /// - Throws: `FleetError` for an invalid text.
  package init(parsing text: String?) throws(FleetError) {
    guard let text else {
      self = .whole
      return
    }
    let numbers = text.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) }
    guard numbers.count == 2, let number = numbers[0], let count = numbers[1], (1...1000).contains(count),
      (1...count).contains(number)
    else {
      throw .invalid(
        "part", "\(text.prefix(40))", "write 2/4 for the second of four; there are 1000 at most")
    }
    (index, self.count) = (number - 1, count)
  }

  /// A text such as `2/4`, counted from 1.
  package var description: String { "\(index + 1)/\(count)" }

  private init(index: Int, count: Int) { (self.index, self.count) = (index, count) }

  /// Returns how many of `vehicles` vehicles belong to this part.
  func share(of vehicles: Int) -> Int { (max(0, vehicles - index) + count - 1) / count }
}
