/// Random numbers that can be had again: the seed is printed when it is drawn.
struct SeededGenerator {
  private var state: UInt64

  init(seed: UInt64 = .random(in: 0 ... .max)) {
    print("seed \(seed)")
    state = seed
  }

  /// SplitMix64.
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  mutating func uniform(_ range: ClosedRange<Double>) -> Double {
    range.lowerBound + Double(next() >> 11) / 9_007_199_254_740_992 * (range.upperBound - range.lowerBound)
  }

  /// Mean zero, standard deviation one (sum of twelve uniform numbers).
  mutating func normal() -> Double {
    (0..<12).reduce(-6) { sum, _ in sum + uniform(0...1) }
  }
}
