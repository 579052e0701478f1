/// Reproducible random numbers for tests: SplitMix64 (G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", 2014).
public struct SplitMix: RandomNumberGenerator, Sendable {
  private var state: UInt64

  /// - Parameter seed: any number; equal seeds produce equal sequences.
  public init(seed: UInt64) { state = seed }

  /// A generator with a random seed. The seed is printed for the reproduction of failures.
  public static func announced() -> SplitMix {
    let seed = UInt64.random(in: 0 ... .max)
    print("seed \(seed)")
    return SplitMix(seed: seed)
  }

  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  public mutating func uniform(_ range: ClosedRange<Double>) -> Double {
    range.lowerBound + Double(next() >> 11) * 0x1p-53 * (range.upperBound - range.lowerBound)
  }

  /// Approximately normal numbers with mean 0 and standard deviation 1 (sum of twelve uniform numbers).
  public mutating func normal() -> Double {
    var (sum, count) = (-6.0, 0)
    while count < 12 {
      sum += Double(next() >> 11) * 0x1p-53
      count += 1
    }
    return sum
  }
}
