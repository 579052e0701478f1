internal import Fleet

/// Which vehicles of a fleet a process drives: those whose place, divided by the number of parts, leaves this one's.
struct SimulatedPart: Hashable, Sendable {
  /// From 0.
  var index: Int
  var count: Int

  static let whole = SimulatedPart(index: 0, count: 1)

  /// - Parameter text: as in `2/4`, counted from 1; nil for the whole.
  /// - Throws: `FleetError` for what is no part.
  init(parsing text: String?) throws(FleetError) {
    guard let text else {
      self = .whole
      return
    }
    let numbers = text.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) }
    guard numbers.count == 2, let number = numbers[0], let count = numbers[1], (1...1000).contains(count),
      (1...count).contains(number)
    else {
      throw .usage(
        "use", "--part \(text.prefix(40))", "write 2/4 for the second of four; there are 1000 at most")
    }
    (index, self.count) = (number - 1, count)
  }

  private init(index: Int, count: Int) { (self.index, self.count) = (index, count) }

  /// How many of so many vehicles it has.
  func share(of vehicles: Int) -> Int { (max(0, vehicles - index) + count - 1) / count }
}

extension SimulateOptions {
  /// - Throws: `FleetError` for what is no part, and where there are fewer vehicles than parts.
  func simulatedPart() throws(FleetError) -> SimulatedPart {
    let own = try SimulatedPart(parsing: part)
    guard own.count <= vehicles else {
      throw .usage(
        "use", "--part \(part ?? "")", "there are more parts than --vehicles, which are \(vehicles)")
    }
    return own
  }
}
