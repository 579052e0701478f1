internal import Spatial

/// The way through an outage, corrected by everything that is measured afterwards.
///
/// A fixed-point smoother: for each remembered position the covariance with the current error state is kept, so that
/// every later update corrects it too (B. D. O. Anderson, J. B. Moore, "Optimal Filtering", 1979, section 7.2). That is the
/// result of the fixed-interval smoother without its history, in bounded memory, and at hand at any moment.
struct OutageTrack: Sendable {
  /// At most so many positions; beyond it every other one is forgotten.
  static let capacity = 256
  private static let stride = 3 * ErrorState.count

  /// One remembered position.
  struct Point: Hashable, Sendable {
    /// s.
    var time = 0.0
    /// m, east, north, up of the local frame.
    var position = Vector3.zero
    /// As it was known at the time.
    var live = Vector3.zero
    /// m: from there to the antenna, by the attitude of that time.
    var antenna = Vector3.zero
    /// m²: variances of east and north and their covariance, and of up.
    var eastVariance = 0.0
    var northVariance = 0.0
    var covariance = 0.0
    var upVariance = 0.0
  }

  private var storage: [Point]
  /// Covariances of the three coordinates of each with the error state, one row after another.
  private var cross: [Double]
  private(set) var count = 0
  /// Whether nothing corrects it any more.
  private var isFrozen = false
  /// s between two positions.
  private(set) var spacing = 1.0

  init() {
    storage = []
    cross = []
  }

  /// Makes room; without it nothing is remembered.
  mutating func reserve() {
    storage = [Point](repeating: Point(), count: Self.capacity)
    cross = [Double](repeating: 0, count: Self.capacity * Self.stride)
  }

  subscript(index: Int) -> Point { storage[index] }

  mutating func reset() {
    count = 0
    spacing = 1
    isFrozen = false
  }

  /// Leaves everything as it is.
  mutating func freeze() { isFrozen = true }

  /// Remembers the current position when it is time for it.
  mutating func append(_ state: NominalState, _ covariance: Covariance, at time: Double) {
    guard !storage.isEmpty, count == 0 || time >= storage[count - 1].time + spacing - 1e-6 else { return }
    if count == Self.capacity { thin() }
    storage[count] = Point(
      time: time, position: state.position, live: state.position,
      antenna: state.vehicleAttitude.rotate(state.antennaLever), eastVariance: covariance[0, 0],
      northVariance: covariance[1, 1], covariance: covariance[0, 1], upVariance: covariance[2, 2])
    for axis in 0..<3 {
      for column in 0..<ErrorState.count {
        cross[count * Self.stride + axis * ErrorState.count + column] = covariance[axis, column]
      }
    }
    count += 1
  }

  /// Follows the error state through a step.
  mutating func propagate(_ step: Transition) {
    guard count > 0, !isFrozen else { return }
    let (rows, length) = (step.rows, count * 3)
    cross.withUnsafeMutableBufferPointer { buffer in
      guard let base = buffer.baseAddress else { return }
      for index in 0..<length {
        let row = base + index * ErrorState.count
        for column in 0..<9 { row[column] = rows[column].applied(to: row, at: column) }
      }
    }
  }

  /// Corrects all by a measurement.
  ///
  /// - Parameters:
  ///   - gain: P hᵀ of the error state, before the update.
  ///   - variance: of the residual.
  mutating func update(_ row: ErrorVector, gain: ErrorVector, residual: Double, variance: Double) {
    guard count > 0, !isFrozen else { return }
    let (n, count) = (ErrorState.count, count)
    storage.withUnsafeMutableBufferPointer { points in
      cross.withUnsafeMutableBufferPointer { buffer in
        guard let base = buffer.baseAddress else { return }
        for index in 0..<count {
          var shift = Vector3.zero
          for axis in 0..<3 {
            let own = base + index * Self.stride + axis * n
            var sum = 0.0
            for j in 0..<n { sum += own[j] * row[j] }
            let factor = sum / variance
            for j in 0..<n { own[j] -= factor * gain[j] }
            shift[axis] = sum
          }
          points[index].correct(by: shift, residual: residual, variance: variance)
        }
      }
    }
  }

  /// As `Covariance.turn`.
  mutating func turn(position: Vector3, velocity: Vector3) {
    guard count > 0, !isFrozen else { return }
    for row in 0..<count * 3 {
      let base = row * ErrorState.count
      for index in 0..<6 {
        let factors = (index < 3 ? position : velocity).crossRow(index % 3)
        cross[base + ErrorState.position + index] +=
          factors.x * cross[base + ErrorState.attitude] + factors.y * cross[base + ErrorState.attitude + 1]
          + factors.z * cross[base + ErrorState.attitude + 2]
      }
    }
  }

  /// Moves all to another local frame.
  mutating func convert(_ body: (Vector3) -> Vector3) {
    for index in 0..<count {
      storage[index].position = body(storage[index].position)
      storage[index].live = body(storage[index].live)
    }
  }

  private mutating func thin() {
    for index in 0..<count / 2 {
      storage[index] = storage[2 * index + 1]
      for j in 0..<Self.stride { cross[index * Self.stride + j] = cross[(2 * index + 1) * Self.stride + j] }
    }
    count /= 2
    spacing *= 2
  }
}

extension OutageTrack.Point {
  fileprivate mutating func correct(by shift: Vector3, residual: Double, variance: Double) {
    position += shift * (residual / variance)
    eastVariance = max(0, eastVariance - shift.x * shift.x / variance)
    northVariance = max(0, northVariance - shift.y * shift.y / variance)
    covariance -= shift.x * shift.y / variance
    upVariance = max(0, upVariance - shift.z * shift.z / variance)
  }
}
