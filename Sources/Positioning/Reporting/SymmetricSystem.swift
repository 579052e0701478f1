/// A small system of linear equations with a symmetric positive definite matrix, as used by Newton's method.
struct SymmetricSystem {
  let size: Int
  /// The matrix, of which only the lower triangle is used, row by row.
  private var matrix: [Double]
  /// The gradient of the function to minimize. The solution is the step at which the gradient becomes zero.
  var gradient: [Double]

  init(size: Int) {
    self.size = size
    matrix = Array(repeating: 0, count: size * size)
    gradient = Array(repeating: 0, count: size)
  }

  /// An element of the matrix with `row >= column`.
  subscript(row: Int, column: Int) -> Double {
    get { matrix[row * size + column] }
    set { matrix[row * size + column] = newValue }
  }

  /// Adds a term that depends on the position `p + v s` of a uniform motion. Unknowns 0 and 1 are `p`, 2 and
  /// 3 are `v`.
  mutating func add(
    at s: Double, gradient g: SIMD2<Double>, curvature: (xx: Double, yy: Double, xy: Double)
  ) {
    gradient[0] += g.x
    gradient[1] += g.y
    gradient[2] += s * g.x
    gradient[3] += s * g.y
    self[0, 0] += curvature.xx
    self[1, 0] += curvature.xy
    self[1, 1] += curvature.yy
    self[2, 0] += s * curvature.xx
    self[2, 1] += s * curvature.xy
    self[3, 0] += s * curvature.xy
    self[3, 1] += s * curvature.yy
    self[2, 2] += s * s * curvature.xx
    self[3, 2] += s * s * curvature.xy
    self[3, 3] += s * s * curvature.yy
  }

  /// Returns Newton's step by Cholesky factorization; nil if the matrix is not positive definite.
  func step() -> [Double]? {
    var l = matrix
    var x = gradient.map { -$0 }
    for i in 0..<size {
      for j in 0...i {
        var sum = l[i * size + j]
        for k in 0..<j { sum -= l[i * size + k] * l[j * size + k] }
        if i == j {
          // A line through a single time has an undetermined velocity; a minimum curvature keeps the step
          // finite.
          sum += 1e-12
          guard sum > 0, sum.isFinite else { return nil }
          l[i * size + i] = sum.squareRoot()
        } else {
          l[i * size + j] = sum / l[j * size + j]
        }
      }
    }
    for i in 0..<size {
      for k in 0..<i { x[i] -= l[i * size + k] * x[k] }
      x[i] /= l[i * size + i]
    }
    for i in stride(from: size - 1, through: 0, by: -1) {
      for k in (i + 1)..<size { x[i] -= l[k * size + i] * x[k] }
      x[i] /= l[i * size + i]
    }
    return x
  }
}
