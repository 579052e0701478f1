internal import Glibc
internal import Spatial

/// A first-order Gauss-Markov process with standard deviation 1: noise that remembers itself for a while, as
/// biases and satellite positions do. It starts, and stays, in its long-term distribution.
struct GaussMarkov: Sendable {
  private(set) var value: Double
  private var memory: Memory

  /// - Parameter correlationTime: s; after it, 1/e of a deviation is left.
  init(correlationTime: Double, generator: inout SeededGenerator) {
    memory = Memory(correlationTime: correlationTime)
    value = generator.nextNormal()
  }

  mutating func advance(by seconds: Double, generator: inout SeededGenerator) {
    let (kept, fresh) = memory.weights(after: seconds)
    value = kept * value + fresh * generator.nextNormal()
  }
}

/// Three independent Gauss-Markov processes.
struct GaussMarkovVector: Sendable {
  private(set) var value: Vector3
  private var memory: Memory

  init(correlationTime: Double, generator: inout SeededGenerator) {
    memory = Memory(correlationTime: correlationTime)
    value = generator.nextNormalVector()
  }

  mutating func advance(by seconds: Double, generator: inout SeededGenerator) {
    let (kept, fresh) = memory.weights(after: seconds)
    value = kept * value + fresh * generator.nextNormalVector()
  }
}

private struct Memory: Sendable {
  let correlationTime: Double
  // Steps are nearly always alike, and the exponential costs more than the rest of one.
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
