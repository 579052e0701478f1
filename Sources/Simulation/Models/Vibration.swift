internal import Glibc
internal import Spatial

/// Noise through a resonance: white noise into a band-pass (R. Bristow-Johnson's audio EQ cookbook, constant
/// peak gain), scaled to standard deviation 1. It passes nothing slow, so its integrals do not run away.
struct Vibration: Sendable {
  private let gain: Double
  private let (a1, a2): (Double, Double)
  private var (input1, input2) = (Vector3.zero, Vector3.zero)
  private var (output1, output2) = (Vector3.zero, Vector3.zero)

  /// - Parameters:
  ///   - frequency: Hz, the resonance; lowered to what the rate can carry.
  ///   - rate: samples per second.
  init(frequency: Double, rate: Double) {
    let quality = 0.8
    let angle = 2 * Double.pi * min(frequency, 0.22 * rate) / rate
    let alpha = sin(angle) / (2 * quality)
    a1 = -2 * cos(angle) / (1 + alpha)
    a2 = (1 - alpha) / (1 + alpha)
    // The squared impulse response of (1 - z^-2) over this denominator adds up to 2 / (1 - a2).
    gain = ((1 - a2) / 2).squareRoot()
  }

  mutating func next(generator: inout SeededGenerator) -> Vector3 {
    let input = gain * generator.nextNormalVector()
    let output = input - input2 - a1 * output1 - a2 * output2
    (input2, input1) = (input1, input)
    (output2, output1) = (output1, output)
    return output
  }
}
