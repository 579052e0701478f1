internal import Spatial

/// What a receiver said about one moment, in the local frame.
struct GNSSMeasurement: Hashable, Sendable {
  /// s.
  var time: Double
  /// s since the one before, 0.02 ... 2.
  var interval: Double
  /// m east, north, up; nil where there is only a velocity.
  var position: Vector3?
  /// Whether the height of the position counts.
  var hasHeight: Bool
  /// m by axis, one deviation.
  var deviation: Vector3
  /// m/s east, north, up.
  var velocity: Vector3?
  /// Whether the vertical part of the velocity counts.
  var hasClimb: Bool
  /// m/s by axis, one deviation.
  var velocityDeviation: Double
}

extension ErrorStateFilter {
  /// Takes position and velocity of the antenna.
  ///
  /// Errors of neighbouring fixes are nearly the same. A fix counts as the share of an independent one that its interval
  /// is of the correlation time.
  ///
  /// - Parameters:
  ///   - now: s, the time of the state.
  ///   - gate: nil believes everything.
  /// - Returns: how many of the numbers were taken and how many refused.
  mutating func update(
    _ fix: GNSSMeasurement, now: Double, gate: Double?, _ parameters: Parameters
  ) -> (taken: Int, refused: Int) {
    var taken = 0
    var refused = 0
    let age = now - fix.time
    if let position = fix.position {
      let isCoarse = fix.deviation.x > 0.5 && fix.velocity != nil
      let correlation = isCoarse ? parameters.coarsePositionCorrelation : parameters.positionCorrelation
      let inflation = max(1, correlation / fix.interval)
      for axis in 0..<(fix.hasHeight ? 3 : 2) {
        let predicted = predictedPosition(axis, age: age)
        let deviation = max(
          parameters.positionFloor * (axis == 2 ? 2 : 1), fix.deviation[axis] * parameters.positionFactor)
        let innovation = update(
          predicted.row, residual: position[axis] - predicted.value,
          variance: deviation * deviation * inflation, gate: gate)
        observe(innovation)
        if innovation.isRefused { refused += 1 } else { taken += 1 }
      }
    }
    if let velocity = fix.velocity {
      let inflation = max(1, parameters.velocityCorrelation / fix.interval)
      // A late velocity is put right with the acceleration, and that is known to a twentieth.
      let change = 0.05 * (acceleration.x * acceleration.x + acceleration.y * acceleration.y).squareRoot()
      for axis in 0..<(fix.hasClimb ? 3 : 2) {
        let predicted = predictedVelocity(axis, age: age)
        let deviation = max(parameters.velocityFloor * (axis == 2 ? 1.5 : 1), fix.velocityDeviation)
        let innovation = update(
          predicted.row, residual: velocity[axis] - predicted.value,
          variance: deviation * deviation * inflation + change * change, gate: gate)
        observe(innovation)
        if innovation.isRefused { refused += 1 } else { taken += 1 }
      }
    }
    refresh()
    return (taken, refused)
  }

  /// One coordinate of the antenna's position `age` seconds ago and before the latency, and how it changes with the error
  /// state.
  func predictedPosition(_ axis: Int, age: Double) -> Prediction {
    let delay = age + state.positionLatency
    let toEarth = RotationMatrix(state.vehicleAttitude)
    let lever = toEarth * state.antennaLever
    let (east, north, up) = toEarth.rows
    var row = ErrorVector.zero
    row[ErrorState.position + axis] = 1
    row[ErrorState.velocity + axis] = -delay
    row[ErrorState.positionLatency] = -state.velocity[axis] + acceleration[axis] * delay
    row.set(ErrorState.attitude, lever.crossRow(axis))
    row.set(ErrorState.antennaLever, axis == 0 ? east : axis == 1 ? north : up)
    // The acceleration is 0.15 s old itself: that of the middle of a usual delay.
    let moved = state.velocity[axis] * delay - 0.5 * acceleration[axis] * delay * delay
    return Prediction(value: state.position[axis] + lever[axis] - moved, row: row)
  }

  /// The same of the antenna's velocity. That of a lever is small, and so are its changes with attitude and mounting.
  func predictedVelocity(_ axis: Int, age: Double) -> Prediction {
    let turning = rate - state.gyroscopeBias
    let (x, y, z) = RotationMatrix(state.mounting.conjugate).columns
    let (a, b, c) = (turned(turning.cross(x)), turned(turning.cross(y)), turned(turning.cross(z)))
    let lever = state.antennaLever
    let delay = age + state.positionLatency + state.velocityLatency
    var row = ErrorVector.zero
    row[ErrorState.velocity + axis] = 1
    row[ErrorState.positionLatency] = -acceleration[axis]
    row[ErrorState.velocityLatency] = -acceleration[axis]
    row.set(ErrorState.antennaLever, Vector3(a[axis], b[axis], c[axis]))
    let value =
      state.velocity[axis] + a[axis] * lever.x + b[axis] * lever.y + c[axis] * lever.z
      - acceleration[axis] * delay
    return Prediction(value: value, row: row)
  }

  private func turned(_ vector: Vector3) -> Vector3 { state.attitude.rotate(vector) }
}

/// What a measurement should say, and how that changes with the error state.
struct Prediction {
  var value: Double
  var row: ErrorVector
}

extension SIMD3 where Scalar == Double {
  /// A row of the matrix that makes `angle × self` of an angle.
  @inline(__always)
  func crossRow(_ axis: Int) -> Vector3 {
    switch axis {
    case 0: Vector3(0, z, -y)
    case 1: Vector3(-z, 0, x)
    default: Vector3(y, -x, 0)
    }
  }
}
