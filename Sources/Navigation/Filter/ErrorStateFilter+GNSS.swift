internal import Spatial

/// A receiver report in the local frame.
struct GNSSMeasurement: Hashable, Sendable {
  /// The time of the report in s since the first scan.
  var time: Double
  /// The time since the previous report in s, 0.02 ... 2.
  var interval: Double
  /// The position east, north, up in m; nil if the report has only a velocity.
  var position: Vector3?
  /// True if the height of the position is used.
  var hasHeight: Bool
  /// The standard deviation of the position by axis, m.
  var deviation: Vector3
  /// The velocity east, north, up in m/s; nil if missing.
  var velocity: Vector3?
  /// True if the vertical velocity is used.
  var hasClimb: Bool
  /// The standard deviation of the velocity by axis, m/s.
  var velocityDeviation: Double
}

extension ErrorStateFilter {
  /// Updates the state with position and velocity of the antenna.
  ///
  /// The errors of consecutive fixes are strongly correlated. The weight of a fix is that of an independent
  /// fix, times the ratio of the fix interval to the correlation time.
  ///
  /// - Parameters:
  ///   - now: the time of the state in s.
  ///   - gate: the innovation gate; nil accepts every measurement.
  /// - Returns: the number of accepted and of rejected components.
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
      // A late velocity is corrected with the acceleration. The standard deviation of the correction is one
      // twentieth of it.
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

  /// Returns one coordinate of the antenna's position at `age` seconds plus the latency before the state,
  /// with its derivative by the error state.
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
    // The low-passed acceleration is delayed by 0.15 s, which is in the middle of a usual latency.
    let moved = state.velocity[axis] * delay - 0.5 * acceleration[axis] * delay * delay
    return Prediction(value: state.position[axis] + lever[axis] - moved, row: row)
  }

  /// Returns one coordinate of the antenna's velocity at `age` seconds plus the latency before the state. The
  /// contribution of a lever arm is small, so its derivatives by attitude and mounting are neglected.
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

/// A predicted measurement with its derivative by the error state.
struct Prediction {
  var value: Double
  var row: ErrorVector
}

extension SIMD3 where Scalar == Double {
  /// Returns a row of the matrix that maps an angle to `angle × self`.
  @inline(__always)
  func crossRow(_ axis: Int) -> Vector3 {
    switch axis {
    case 0: Vector3(0, z, -y)
    case 1: Vector3(-z, 0, x)
    default: Vector3(y, -x, 0)
    }
  }
}
