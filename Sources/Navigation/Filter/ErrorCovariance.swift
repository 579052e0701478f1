internal import Spatial

/// The covariance of the error state. It is bit-exact symmetric, and its buffer is allocated only once.
struct ErrorCovariance: Sendable {
  private static let n = ErrorState.count
  private var elements: [Double]

  init() { elements = [Double](repeating: 0, count: Self.n * Self.n) }

  subscript(row: Int, column: Int) -> Double { elements[row * Self.n + column] }

  /// Returns the variance of the error with an index.
  func variance(_ index: Int) -> Double { elements[index * (Self.n + 1)] }

  /// Returns the sum of the variances of a vector's three errors.
  func variance(ofVector start: Int) -> Double {
    variance(start) + variance(start + 1) + variance(start + 2)
  }

  /// True if every variance is finite and not negative.
  var isValid: Bool {
    for index in 0..<Self.n where !(variance(index) >= 0 && variance(index) < 1e16) { return false }
    return true
  }

  /// Resets the covariance to independent errors with the given standard deviations.
  mutating func reset(deviations: ErrorVector) {
    for index in elements.indices { elements[index] = 0 }
    for index in 0..<Self.n { elements[index * (Self.n + 1)] = deviations[index] * deviations[index] }
  }

  /// Copies another covariance without sharing its buffer.
  mutating func copy(_ other: ErrorCovariance) {
    for index in elements.indices { elements[index] = other.elements[index] }
  }

  /// Makes one error independent of all others, with the given standard deviation.
  mutating func reset(_ index: Int, deviation: Double) {
    for other in 0..<Self.n {
      elements[index * Self.n + other] = 0
      elements[other * Self.n + index] = 0
    }
    elements[index * (Self.n + 1)] = deviation * deviation
  }

  /// Adds process noise to the variance of one error.
  @inline(__always)
  mutating func add(_ variance: Double, to index: Int) { elements[index * (Self.n + 1)] += variance }

  @inline(__always)
  mutating func add(_ variance: Double, toVector start: Int) {
    for index in start..<start + 3 { add(variance, to: index) }
  }

  /// Adds a cause that several errors have in common. Each element is the standard deviation that the cause
  /// contributes to one error.
  mutating func add(common cause: ErrorVector) {
    for row in 0..<Self.n where cause[row] != 0 {
      for column in 0..<Self.n { elements[row * Self.n + column] += cause[row] * cause[column] }
    }
  }

  /// Adds the correlation between the attitude error and a correction of position and velocity: `angle ×
  /// moved`.
  mutating func turn(position: Vector3, velocity: Vector3) {
    let (n, angle) = (Self.n, ErrorState.attitude)
    for index in 0..<6 {
      let (row, factors) = (
        ErrorState.position + index, (index < 3 ? position : velocity).crossRow(index % 3)
      )
      for column in 0..<n {
        elements[row * n + column] +=
          factors.x * elements[angle * n + column] + factors.y * elements[(angle + 1) * n + column]
          + factors.z * elements[(angle + 2) * n + column]
      }
    }
    for index in 0..<6 {
      let (column, factors) = (
        ErrorState.position + index, (index < 3 ? position : velocity).crossRow(index % 3)
      )
      for row in 0..<n {
        elements[row * n + column] +=
          factors.x * elements[row * n + angle] + factors.y * elements[row * n + angle + 1]
          + factors.z * elements[row * n + angle + 2]
      }
    }
    for row in 0..<n { for column in 0..<row { elements[row * n + column] = elements[column * n + row] } }
  }

  /// Computes F P Fᵀ for a transition, of which only nine rows differ from the identity.
  mutating func propagate(_ step: Transition) {
    let n = Self.n
    let transition = step.rows
    let rows = transition.span
    elements.withUnsafeMutableBufferPointer { buffer in
      guard let p = buffer.baseAddress else { return }
      for row in 0..<9 { rows[row].apply(to: p + row * n, of: p, stride: n) }
      for row in 0..<9 {
        for column in 0..<9 { p[row * n + column] = rows[column].applied(to: p + row * n, at: column) }
      }
      for row in 1..<n {
        for column in 0..<min(9, row) {
          // Both triangles of these nine rows were computed separately and can differ by rounding.
          let value = p[column * n + row]
          let mean = row < 9 ? 0.5 * (value + p[row * n + column]) : value
          p[row * n + column] = mean
          p[column * n + row] = mean
        }
      }
    }
  }

  /// Returns P hᵀ and h P hᵀ, for a row h of the measurement matrix.
  @inline(__always)
  func projected(_ row: ErrorVector) -> (gain: ErrorVector, variance: Double) {
    let n = Self.n
    var product = ErrorVector.zero
    // Each access to an element of the vector itself would copy all elements.
    let (p, factors) = (elements.span, row.span)
    var products = product.mutableSpan
    for j in 0..<n where factors[j] != 0 {
      let factor = factors[j]
      for i in 0..<n { products[i] += factor * p[unchecked: j * n + i] }
    }
    var variance = 0.0
    for i in 0..<n { variance += factors[i] * products[i] }
    return (product, variance)
  }

  /// Returns P hᵀ and h P hᵀ of two rows, and h₁ P h₂ᵀ.
  @inline(__always)
  func projected(
    _ first: ErrorVector, _ second: ErrorVector
  ) -> (gains: (ErrorVector, ErrorVector), variances: SIMD2<Double>, shared: Double) {
    let (a, b) = (projected(first), projected(second))
    var shared = 0.0
    let (factors, gains) = (second.span, a.gain.span)
    for i in 0..<Self.n { shared += factors[i] * gains[i] }
    return ((a.gain, b.gain), SIMD2(a.variance, b.variance), shared)
  }

  /// Computes P - g gᵀ / S. Both factors use the same rounded vector, which keeps the matrix bit-exact
  /// symmetric.
  @inline(__always)
  mutating func reduce(_ gain: ErrorVector, innovationVariance: Double) {
    let n = Self.n
    let scale = 1 / innovationVariance.squareRoot()
    let scaled = gain.scaled(by: scale)
    let factors = scaled.span
    var p = elements.mutableSpan
    for i in 0..<n where factors[i] != 0 {
      let factor = factors[i]
      for j in 0..<n { p[unchecked: i * n + j] -= factor * factors[j] }
      // Rounding alone can make a small variance negative.
      if p[i * (n + 1)] < 0 { p[i * (n + 1)] = 0 }
    }
  }
}
