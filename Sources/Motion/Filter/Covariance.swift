internal import Spatial

/// Covariance of the error state, with the operations of the Kalman filter. Stored in full, by rows, so that
/// every operation runs over whole rows.
struct Covariance: Sendable {
  private var rows: InlineArray<22, StateVector>

  init() { rows = InlineArray(repeating: StateVector()) }

  subscript(i: Int, j: Int) -> Double {
    @inline(__always) get { rows[i][j] }
    @inline(__always) set { rows[i][j] = newValue }
  }

  /// Accesses rows and cells (24 per row) in place, because subscripts copy what they read.
  @inline(__always)
  private mutating func inPlace<R>(
    _ body: (UnsafeMutablePointer<StateVector>, UnsafeMutablePointer<Double>) -> R
  ) -> R {
    withUnsafeMutablePointer(to: &rows) {
      let raw = UnsafeMutableRawPointer($0)
      return body(raw.assumingMemoryBound(to: StateVector.self), raw.assumingMemoryBound(to: Double.self))
    }
  }

  @inline(__always)
  mutating func row(_ i: Int) -> StateVector {
    precondition(i >= 0 && i < ErrorState.count)
    return inPlace { rows, _ in rows[i] }
  }

  /// Sets the variances of `states` and clears their covariances with other states.
  mutating func reset(_ states: Range<Int>, variance: Double) {
    for i in states {
      rows[i] = StateVector()
      for j in 0..<ErrorState.count { rows[j][i] = 0 }
    }
    for i in states { rows[i][i] = variance }
  }

  @inline(__always)
  mutating func addVariance(_ variance: Double, to states: Range<Int>) {
    precondition(states.lowerBound >= 0 && states.upperBound <= ErrorState.count)
    inPlace { _, cells in
      for i in states { cells[25 &* i] += variance }
    }
  }

  /// Computes `P <- F P F^T`, where `F` is the unit matrix plus `u0` in row `target`, column `source`.
  @inline(__always)
  mutating func propagate(_ target: Int, from source: Int, _ u0: Double) {
    precondition(target >= 0 && target < ErrorState.count && source >= 0 && source < ErrorState.count)
    inPlace { rows, cells in
      let moved = rows[source]
      rows[target].add(moved, times: u0)
      Self.finish(target, corner: cells[24 &* target &+ target] + u0 * cells[24 &* target &+ source], cells)
    }
  }

  /// Computes `P <- F P F^T`, where `F` is the unit matrix plus `u0` and `u1` in row `target`, in the six
  /// columns of gyroscope bias and scale. `target` must not be a bias or scale state.
  @inline(__always)
  mutating func propagate(_ target: Int, fromBias u0: Vector3, scale u1: Vector3) {
    precondition(target >= 0 && target < ErrorState.count)
    inPlace { rows, cells in
      let first = ErrorState.bias
      rows[target].add(rows[first], times: u0.x)
      rows[target].add(rows[first &+ 1], times: u0.y)
      rows[target].add(rows[first &+ 2], times: u0.z)
      rows[target].add(rows[first &+ 3], times: u1.x)
      rows[target].add(rows[first &+ 4], times: u1.y)
      rows[target].add(rows[first &+ 5], times: u1.z)
      let row = cells + 24 &* target
      let corner =
        row[target] + u0.x * row[first] + u0.y * row[first &+ 1] + u0.z * row[first &+ 2]
        + u1.x * row[first &+ 3] + u1.y * row[first &+ 4] + u1.z * row[first &+ 5]
      Self.finish(target, corner: corner, cells)
    }
  }

  /// Copies a changed row to its column.
  @inline(__always)
  private static func finish(_ target: Int, corner: Double, _ cells: UnsafeMutablePointer<Double>) {
    let row = cells + 24 &* target
    for j in 0..<ErrorState.count { cells[24 &* j &+ target] = row[j] }
    row[target] = corner
  }

  /// Scales three states by `factor`: their covariances with other states and, squared, their variances.
  @inline(__always)
  mutating func scale(from first: Int, by factor: Double) {
    precondition(first >= 0 && first + 3 <= ErrorState.count)
    inPlace { rows, cells in
      for i in first..<first &+ 3 { rows[i].scale(by: factor) }
      for j in 0..<ErrorState.count {
        let row = cells + 24 &* j
        row[first] *= factor
        row[first &+ 1] *= factor
        row[first &+ 2] *= factor
      }
    }
  }

  /// Returns `P h`, where `h` is zero outside the first `count` of `states`.
  @inline(__always)
  mutating func project(_ h: StateVector, _ states: InlineArray<8, Int>, count: Int) -> StateVector {
    inPlace { rows, _ in
      var row = StateVector()
      for k in 0..<count { row.add(rows[states[k]], times: h[states[k]]) }
      return row
    }
  }

  /// Applies scalar measurements with independent noise. The result is that of sequential Kalman updates,
  /// with one pass over the covariance.
  /// - Parameters:
  ///   - projections: the vector `P h` of each measurement.
  ///   - hasConsidered: true if considered states retain their estimate and variance and contribute only
  ///     uncertainty: the Schmidt-Kalman update (S. F. Schmidt, 1966).
  @inline(__always)
  mutating func update<let n: Int>(
    _ x: inout StateVector, _ measurements: InlineArray<n, Measurement>,
    _ projections: InlineArray<n, StateVector>, considered hasConsidered: Bool = false
  ) {
    var p = projections
    /// The considered part of each vector of `p`; `free` is the remaining part.
    var kept = InlineArray<n, StateVector>(repeating: StateVector())
    var free = projections
    var gain = InlineArray<n, Double>(repeating: 0)
    for m in 0..<n {
      let h = measurements[m].h
      for l in 0..<m {
        // An earlier measurement `l` did not reduce the covariance between considered states. The considered
        // part of its projection is therefore added back.
        p[m].add(p[l], times: -p[l].dot(h) * gain[l])
        if hasConsidered { p[m].add(kept[l], times: kept[l].dot(h) * gain[l]) }
      }
      free[m] = p[m]
      if hasConsidered {
        kept[m] = p[m] * ErrorState.considered
        free[m].add(kept[m], times: -1)
      }
      let variance = p[m].dot(h) + measurements[m].variance
      gain[m] = variance > 0 ? 1 / variance : 0
      x.add(free[m], times: (measurements[m].z - x.dot(h)) * gain[m])
    }
    subtract(&p, free, gain, considered: hasConsidered)
  }

  /// Computes `P <- P - sum gain p p^T`. In the rows of considered states, the second factor is only the free
  /// part of `p`.
  @inline(__always)
  private mutating func subtract<let n: Int>(
    _ p: inout InlineArray<n, StateVector>, _ free: InlineArray<n, StateVector>,
    _ gain: InlineArray<n, Double>, considered hasConsidered: Bool
  ) {
    let whole = p
    withUnsafeMutablePointer(to: &p) { vectors in
      let values = UnsafeMutableRawPointer(vectors).assumingMemoryBound(to: Double.self)
      inPlace { rows, _ in
        for i in 0..<ErrorState.count {
          var row = rows[i]
          if hasConsidered, ErrorState.isConsidered(i) {
            for m in 0..<n { row.add(free[m], times: -gain[m] * values[24 &* m &+ i]) }
          } else {
            for m in 0..<n { row.add(whole[m], times: -gain[m] * values[24 &* m &+ i]) }
          }
          rows[i] = row
        }
      }
    }
  }

  /// Adds `variance` to each of three states from `first`, as if it had been present from the start. Other
  /// `states` that were estimated with them become more uncertain accordingly: P <- P + variance G G^T. G =
  /// P_x,first P_first^-1 is the dependence of the other states on the three states.
  mutating func inflate(_ first: Int, by variance: Double, among states: Range<Int>) {
    var matrix = Matrix3.zero
    for i in 0..<3 {
      matrix.column0[i] = self[first + i, first]
      matrix.column1[i] = self[first + i, first + 1]
      matrix.column2[i] = self[first + i, first + 2]
    }
    guard let inverse = matrix.inverse else { return }
    var gains = InlineArray<22, Vector3>(repeating: .zero)
    for i in states {
      // Multiplying by the inverse from the left gives a row of G, because the inverse is symmetric.
      gains[i] = inverse * Vector3(self[i, first], self[i, first + 1], self[i, first + 2])
    }
    for i in states {
      for j in states { self[i, j] += variance * gains[i].dot(gains[j]) }
    }
  }

  /// Adds the noise of a random rotation: its horizontal part tilts the level frame, and its vertical part
  /// turns the field.
  mutating func addRotation(_ noise: Matrix3, field: Vector3) {
    let states =
      [ErrorState.tilt, ErrorState.tilt + 1, ErrorState.field, ErrorState.field + 1] as InlineArray<4, Int>
    let (xz, yz, zz) = (noise.column2.x, noise.column2.y, noise.column2.z)
    let entries: InlineArray<10, Double> = [
      noise.column0.x, noise.column1.x, -field.y * xz, field.x * xz,
      noise.column1.y, -field.y * yz, field.x * yz,
      field.y * field.y * zz, -field.x * field.y * zz, field.x * field.x * zz,
    ]
    var k = 0
    for i in 0..<4 {
      for j in i..<4 {
        self[states[i], states[j]] += entries[k]
        if i != j { self[states[j], states[i]] += entries[k] }
        k += 1
      }
    }
  }

  /// Returns the covariance of three states from `i`.
  func matrix(_ i: Int) -> Matrix3 {
    func column(_ j: Int) -> Vector3 { Vector3(self[i, i + j], self[i + 1, i + j], self[i + 2, i + j]) }
    return Matrix3(column(0), column(1), column(2))
  }

  /// Returns the standard deviation of a state.
  func deviation(_ i: Int) -> Double { max(0, self[i, i]).squareRoot() }

  /// Returns the standard deviations of three states from `i`.
  func deviations(_ i: Int) -> Vector3 { Vector3(deviation(i), deviation(i + 1), deviation(i + 2)) }

  /// Restores symmetry and positive variances. Returns false if a number is no longer finite.
  mutating func repair() -> Bool {
    inPlace { rows, cells in
      var isFinite = true
      for i in 0..<ErrorState.count {
        for j in 0..<i {
          let mean = 0.5 * (cells[24 &* i &+ j] + cells[24 &* j &+ i])
          cells[24 &* i &+ j] = mean
          cells[24 &* j &+ i] = mean
        }
        cells[25 &* i] = max(cells[25 &* i], 1e-16)
        isFinite = isFinite && rows[i].isFinite
      }
      return isFinite
    }
  }
}
