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
      let delay = age + state.positionLatency
      let lever = state.attitude.rotate(state.mounting.conjugate.rotate(state.antennaLever))
      let toEarth = RotationMatrix(state.vehicleAttitude)
      let (east, north, up) = toEarth.rows
      let isCoarse = fix.deviation.x > 0.5 && fix.velocity != nil
      let correlation = isCoarse ? parameters.coarsePositionCorrelation : parameters.positionCorrelation
      let inflation = max(1, correlation / fix.interval)
      for axis in 0..<(fix.hasHeight ? 3 : 2) {
        let residual = position[axis] - (state.position[axis] + lever[axis] - state.velocity[axis] * delay)
        var row = ErrorVector.zero
        row[ErrorState.position + axis] = 1
        row[ErrorState.velocity + axis] = -delay
        row[ErrorState.positionLatency] = -state.velocity[axis]
        row.set(ErrorState.attitude, lever.crossRow(axis))
        row.set(ErrorState.antennaLever, axis == 0 ? east : axis == 1 ? north : up)
        let deviation = max(
          parameters.positionFloor * (axis == 2 ? 2 : 1), fix.deviation[axis] * parameters.positionFactor)
        let innovation = update(
          row, residual: residual, variance: deviation * deviation * inflation, gate: gate)
        observe(innovation)
        if innovation.isRefused { refused += 1 } else { taken += 1 }
      }
    }
    if let velocity = fix.velocity {
      let toDevice = state.mounting.conjugate
      let turning = rate - state.gyroscopeBias
      let lever = state.attitude.rotate(turning.cross(toDevice.rotate(state.antennaLever)))
      let delay = age + state.positionLatency + state.velocityLatency
      let inflation = max(1, parameters.velocityCorrelation / fix.interval)
      let levers = leverRows(turning: turning)
      // A late velocity is put right with the acceleration, and that is known to a twentieth.
      let change = 0.05 * (acceleration.x * acceleration.x + acceleration.y * acceleration.y).squareRoot()
      for axis in 0..<(fix.hasClimb ? 3 : 2) {
        let residual =
          velocity[axis] - (state.velocity[axis] + lever[axis] - acceleration[axis] * delay)
        var row = ErrorVector.zero
        row[ErrorState.velocity + axis] = 1
        row[ErrorState.positionLatency] = -acceleration[axis]
        row[ErrorState.velocityLatency] = -acceleration[axis]
        row.set(ErrorState.antennaLever, axis == 0 ? levers.0 : axis == 1 ? levers.1 : levers.2)
        let deviation = max(
          parameters.velocityFloor * (axis == 2 ? 1.5 : 1), fix.velocityDeviation)
        let innovation = update(
          row, residual: residual, variance: deviation * deviation * inflation + change * change, gate: gate)
        observe(innovation)
        if innovation.isRefused { refused += 1 } else { taken += 1 }
      }
    }
    refresh()
    return (taken, refused)
  }

  /// How the velocity of the antenna changes with its lever, by rows: C [rate]× Mᵀ.
  private func leverRows(turning: Vector3) -> (Vector3, Vector3, Vector3) {
    let (x, y, z) = RotationMatrix(state.mounting.conjugate).columns
    let attitude = state.attitude
    let a = attitude.rotate(turning.cross(x))
    let b = attitude.rotate(turning.cross(y))
    let c = attitude.rotate(turning.cross(z))
    return (Vector3(a.x, b.x, c.x), Vector3(a.y, b.y, c.y), Vector3(a.z, b.z, c.z))
  }
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
