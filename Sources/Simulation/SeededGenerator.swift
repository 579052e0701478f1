internal import Glibc
public import Spatial

/// A small random number generator whose sequence depends only on its seed: xoshiro256++ (D. Blackman, S.
/// Vigna, 2019), initialized by SplitMix64 as its authors recommend.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
  /// The seed, for test output.
  public let seed: UInt64
  private var state: (UInt64, UInt64, UInt64, UInt64)
  private var spareNormal: Double?

  /// Creates a generator.
  ///
  /// - Parameters:
  ///   - seed: any number; equal seeds give equal sequences.
  ///   - stream: the number of an independent sequence of the same seed, so that the sensors' random numbers
  ///     are independent of each other.
  public init(seed: UInt64, stream: UInt64 = 0) {
    self.seed = seed
    var fill = SplitMix64(state: seed)
    var ownFill = SplitMix64(state: fill.next() ^ (stream &* 0xD1B5_4A32_D192_ED03))
    state = (ownFill.next(), ownFill.next(), ownFill.next(), ownFill.next())
  }

  public mutating func next() -> UInt64 {
    let result = (state.0 &+ state.3).rotatedLeft(23) &+ state.0
    let shifted = state.1 << 17
    state.2 ^= state.0
    state.3 ^= state.1
    state.1 ^= state.2
    state.0 ^= state.3
    state.2 ^= shifted
    state.3 = state.3.rotatedLeft(45)
    return result
  }

  /// Returns a uniform number in 0 ..< 1 with 53 random bits.
  public mutating func nextUniform() -> Double {
    Double(next() >> 11) * 0x1p-53
  }

  /// Returns a normally distributed number with mean 0 and standard deviation 1 (G. Marsaglia's polar
  /// method).
  public mutating func nextNormal() -> Double {
    if let spare = spareNormal {
      spareNormal = nil
      return spare
    }
    while true {
      let (a, b) = (2 * nextUniform() - 1, 2 * nextUniform() - 1)
      let square = a * a + b * b
      guard square < 1, square > 0 else { continue }
      let scale = (-2 * log(square) / square).squareRoot()
      spareNormal = b * scale
      return a * scale
    }
  }

  /// Returns three independent normal numbers.
  public mutating func nextNormalVector() -> Vector3 {
    Vector3(nextNormal(), nextNormal(), nextNormal())
  }

  /// Returns an exponentially distributed number with the given mean: the time between random events.
  public mutating func nextExponential(mean: Double) -> Double {
    -mean * log(1 - nextUniform())
  }
}

/// The generator of G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators" (2014).
private struct SplitMix64 {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}

extension UInt64 {
  fileprivate func rotatedLeft(_ count: UInt64) -> UInt64 {
    (self << count) | (self >> (64 - count))
  }
}
