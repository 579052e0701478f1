internal import Glibc

/// Delays counted in steps of a twentieth, from a millisecond to a day: as many messages as there are cost the same,
/// and a quantile is right to 2.5 %.
struct DelayHistogram: Hashable, Sendable {
  private static let shortest = 0.001
  private static let ratio = 1.05
  private static let logarithm = log(ratio)
  private static let steps = 376

  private var counts = [Int](repeating: 0, count: steps)
  private(set) var count = 0
  private(set) var longest = 0.0

  /// - Parameter seconds: a delay; a negative one, of a clock that runs ahead, counts as none.
  mutating func add(_ seconds: Double) {
    guard seconds.isFinite else { return }
    let place = seconds <= Self.shortest ? 0 : Int(log(seconds / Self.shortest) / Self.logarithm) + 1
    counts[min(max(place, 0), Self.steps - 1)] += 1
    count += 1
    longest = max(longest, seconds)
  }

  /// The delay in seconds that a share of the messages (0...1) stayed below; nil when there were none.
  func quantile(_ share: Double) -> Double? {
    guard count > 0 else { return nil }
    let wanted = Int((Double(count - 1) * max(0, min(1, share))).rounded())
    var sum = 0
    for (place, number) in counts.enumerated() {
      sum += number
      guard sum > wanted else { continue }
      // The middle of the step; the longest of all is known exactly.
      let middle = place == 0 ? Self.shortest / 2 : Self.shortest * pow(Self.ratio, Double(place) - 0.5)
      return min(middle, longest)
    }
    return longest
  }
}
