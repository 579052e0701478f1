internal import Glibc
internal import Spatial

/// A first-order Gauss-Markov process with standard deviation 1: noise that is correlated over time, like
/// biases and position errors. It is always in its stationary distribution.
struct GaussMarkov<Value: NormalVariate>: Sendable {
  private(set) var value: Value
  private var memory: Memory

  /// Creates a process.
  ///
  /// - Parameter correlationTime: the time in s after which the correlation is 1/e.
  init(correlationTime: Double, generator: inout SeededGenerator) {
    memory = Memory(correlationTime: correlationTime)
    value = Value.draw(from: &generator)
  }

  mutating func advance(by seconds: Double, generator: inout SeededGenerator) {
    let (kept, fresh) = memory.weights(after: seconds)
    value = kept * value + fresh * Value.draw(from: &generator)
  }
}

/// A number, or three independent ones, with mean 0 and standard deviation 1.
protocol NormalVariate: Sendable {
  static func draw(from generator: inout SeededGenerator) -> Self
  static func * (factor: Double, value: Self) -> Self
  static func + (a: Self, b: Self) -> Self
}

extension Double: NormalVariate {
  static func draw(from generator: inout SeededGenerator) -> Double { generator.nextNormal() }
}

extension Vector3: NormalVariate {
  static func draw(from generator: inout SeededGenerator) -> Vector3 { generator.nextNormalVector() }
}

private struct Memory: Sendable {
  let correlationTime: Double
  // The factors are cached: steps are nearly always equal, and the exponential costs more than the rest of a
  // step.
  private var step = 0.0
  private var kept = 1.0
  private var fresh = 0.0

  init(correlationTime: Double) {
    self.correlationTime = correlationTime
  }

  mutating func weights(after seconds: Double) -> (kept: Double, fresh: Double) {
    if seconds != step {
      step = seconds
      kept = exp(-seconds / correlationTime)
      fresh = max(0, 1 - kept * kept).squareRoot()
    }
    return (kept, fresh)
  }
}

/// Band-pass noise (R. Bristow-Johnson's audio EQ cookbook, constant peak gain), scaled to standard deviation
/// 1. Low frequencies are blocked, so that its integrals do not drift.
struct VibrationNoise: Sendable {
  private let gain: Double
  private let (a1, a2): (Double, Double)
  private var (input1, input2) = (Vector3.zero, Vector3.zero)
  private var (output1, output2) = (Vector3.zero, Vector3.zero)

  /// Creates a filter.
  ///
  /// - Parameters:
  ///   - frequency: resonance in Hz; limited by the sample rate.
  ///   - rate: samples per second.
  init(frequency: Double, rate: Double) {
    let quality = 0.8
    let angle = 2 * Double.pi * min(frequency, 0.22 * rate) / rate
    let alpha = sin(angle) / (2 * quality)
    a1 = -2 * cos(angle) / (1 + alpha)
    a2 = (1 - alpha) / (1 + alpha)
    // The squared impulse response of (1 - z^-2) over this denominator sums up to 2 / (1 - a2).
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
