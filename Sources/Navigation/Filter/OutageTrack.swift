internal import Spatial

/// The track during an outage, corrected by all later measurements.
///
/// A fixed-point smoother: it stores the covariance of each recorded position with the current error state,
/// so that every later update also corrects the position (B. D. O. Anderson, J. B. Moore, "Optimal
/// Filtering", 1979, section 7.2). The result equals that of a fixed-interval smoother, but needs no history,
/// has bounded memory and is available at any time.
struct OutageTrack: Sendable {
  /// The maximum number of positions. When it is reached, every other position is removed.
  static let capacity = 256
  private static let stride = 3 * ErrorState.count

  /// A recorded position.
  struct Point: Hashable, Sendable {
    /// The time of the position in s since the first scan.
    var time = 0.0
    /// The position east, north, up of the local frame, m.
    var position = Vector3.zero
    /// The position as estimated at `time`, without later corrections.
    var live = Vector3.zero
    /// The vector from the device to the antenna, with the attitude at `time`, m.
    var antenna = Vector3.zero
    /// The variance of the east coordinate, m².
    var eastVariance = 0.0
    /// The variance of the north coordinate, m².
    var northVariance = 0.0
    /// The covariance of the east and the north coordinate, m².
    var covariance = 0.0
    /// The variance of the height, m².
    var upVariance = 0.0
  }

  private var storage: [Point]
  /// The covariances of the three coordinates of each position with the error state, row by row.
  private var cross: [Double]
  private(set) var count = 0
  /// True if the track is no longer corrected.
  private var isFrozen = false
  /// The interval between two positions in s.
  private(set) var spacing = 1.0

  init() {
    storage = []
    cross = []
  }

  /// Allocates the buffers. Without a call of this function, no position is recorded.
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

  /// Stops all corrections, so that the track is final.
  mutating func freeze() { isFrozen = true }

  /// Records the current position if `spacing` seconds have passed since the last recorded one.
  mutating func append(_ state: NominalState, _ covariance: ErrorCovariance, at time: Double) {
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

  /// Propagates the covariances through a step.
  mutating func propagate(_ step: Transition) {
    guard count > 0, !isFrozen else { return }
    let (transition, length) = (step.rows, count * 3)
    let rows = transition.span
    cross.withUnsafeMutableBufferPointer { buffer in
      guard let base = buffer.baseAddress else { return }
      for index in 0..<length {
        let row = base + index * ErrorState.count
        for column in 0..<9 { row[column] = rows[column].applied(to: row, at: column) }
      }
    }
  }

  /// Corrects all positions by a measurement.
  ///
  /// - Parameters:
  ///   - gain: P hᵀ of the error state, before the update.
  ///   - variance: the variance of the residual.
  mutating func update(_ row: ErrorVector, gain: ErrorVector, residual: Double, variance: Double) {
    guard count > 0, !isFrozen else { return }
    let (n, count) = (ErrorState.count, count)
    let (factors, gains) = (row.span, gain.span)
    storage.withUnsafeMutableBufferPointer { points in
      cross.withUnsafeMutableBufferPointer { buffer in
        guard let base = buffer.baseAddress else { return }
        for index in 0..<count {
          var shift = Vector3.zero
          for axis in 0..<3 {
            let own = base + index * Self.stride + axis * n
            var sum = 0.0
            for j in 0..<n { sum += own[j] * factors[j] }
            let factor = sum / variance
            for j in 0..<n { own[j] -= factor * gains[j] }
            shift[axis] = sum
          }
          points[index].correct(by: shift, residual: residual, variance: variance)
        }
      }
    }
  }

  /// Applies the correlation of `ErrorCovariance.turn` to the recorded positions.
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

  /// Converts all positions to another local frame.
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
