internal import Spatial

/// Measurement updates without a receiver: the non-holonomic constraint, stops, wheel speed and air pressure.
extension ErrorStateFilter {
  /// Applies the non-holonomic constraint: the rear axle moves neither sideways nor out of the vehicle's
  /// plane (S. Sukkarieh, "Low cost, high integrity, aided inertial navigation systems", 2000, chapter 4).
  ///
  /// - Parameter turning: the rotation rate in the device frame, bias included, rad/s.
  /// - Returns: the normalized squared innovations of the sideways and of the upward constraint; nil if the
  ///   constraint was rejected.
  mutating func constrain(turning: Vector3, _ parameters: Parameters) -> (side: Double?, up: Double?) {
    let turn = state.mounting.rotate(turning - state.gyroscopeBias)
    func squared(_ value: Double) -> Double { value * value }

    let forward = state.vehicleVelocity.y
    let sideways = predictedSideSlip(turn: turn)
    let side = update(
      sideways.row, residual: -sideways.value,
      variance: squared(parameters.sideSlip)
        + squared(parameters.sideSlipInTurn * turn.z * forward)
        + squared(parameters.slipByTurn * turn.z),
      gate: 2 * parameters.gate)
    let upward = predictedHeave(turn: turn)
    let up = update(
      upward.row, residual: -upward.value,
      variance: squared(parameters.heave) + squared(parameters.slipByTurn * turn.x),
      gate: 2 * parameters.gate
    )
    refresh()
    return (side.isRefused ? nil : side.ratio, up.isRefused ? nil : up.ratio)
  }

  /// Increases the variance of a velocity that a stop contradicts, and that of the position. Otherwise the stop would
  /// correct attitude and biases by the error of an innovation that the covariance cannot explain.
  ///
  /// - Parameter seconds: the time since the last fix, in which the error has grown from zero, s.
  mutating func openVelocity(since seconds: Double, _ parameters: Parameters) {
    let square = state.velocity.x * state.velocity.x + state.velocity.y * state.velocity.y
    let variance =
      covariance.variance(ErrorState.velocity) + covariance.variance(ErrorState.velocity + 1)
      + 2 * parameters.stopVelocity * parameters.stopVelocity
    guard square > parameters.planeGate * variance else { return }
    for axis in 0..<2 {
      covariance.add(square, to: ErrorState.velocity + axis)
      covariance.add(0.25 * square * seconds * seconds, to: ErrorState.position + axis)
    }
  }

  /// Applies a stop: zero velocity, and a gyroscope reading of bias plus earth rotation.
  ///
  /// - Parameters:
  ///   - rate: the mean rotation rate of the last second in the device frame, rad/s.
  ///   - shift: the sum of the corrections of the position since the start of the stop, m.
  mutating func stop(rate: Vector3, shift: inout Vector3, earth: Earth, _ parameters: Parameters) {
    let position = state.position
    for axis in 0..<3 {
      var row = ErrorVector.zero
      row[ErrorState.velocity + axis] = 1
      update(
        row, residual: -state.velocity[axis], variance: parameters.stopVelocity * parameters.stopVelocity,
        gate: nil)
    }
    let rotation = earth.rate(in: RotationMatrix(state.attitude))
    for axis in 0..<3 {
      var row = ErrorVector.zero
      row[ErrorState.gyroscopeBias + axis] = 1
      update(
        row, residual: rate[axis] - rotation[axis] - state.gyroscopeBias[axis],
        variance: parameters.stopRate * parameters.stopRate, gate: nil)
    }
    let before = shift
    shift += state.position - position
    for axis in 0..<2 {
      let growth = shift[axis] * shift[axis] - before[axis] * before[axis]
      covariance.add(
        max(0, growth) * parameters.stopShift * parameters.stopShift, to: ErrorState.position + axis)
    }
    refresh()
  }

  /// Updates the state with a wheel speed (m/s, at least 0) that is `age` seconds old.
  ///
  /// - Parameter deviation: the standard deviation in m/s; nil uses the deviation of wheels on CAN, which is
  ///   smaller at low speeds.
  /// - Returns: the innovation.
  mutating func update(
    wheelSpeed: Double, age: Double, deviation: Double? = nil, _ parameters: Parameters
  ) -> Innovation {
    let predicted = predictedWheelSpeed()
    let velocity = state.vehicleVelocity
    // Wheel sensors do not report the direction of rotation.
    let speed = velocity.y < -0.5 ? -wheelSpeed : wheelSpeed
    let along = state.mounting.rotate(state.attitude.conjugate.rotate(acceleration)).y
    let own = deviation ?? parameters.wheelSpeedDeviation * (0.3 + 0.7 * min(1, abs(velocity.y) / 3))
    let deviation = own + 0.2 * abs(along)
    let innovation = update(
      predicted.row, residual: speed - predicted.value + along * age, variance: deviation * deviation,
      gate: parameters.gate)
    refresh()
    return innovation
  }

  /// Updates the state with a barometric height in m and its variance.
  ///
  /// The error of the height is constant over time, so repeated measurements add no information. The weight
  /// is limited so that the height is never more accurate than a single measurement.
  mutating func update(pressureHeight: Double, variance: Double, gate: Double) {
    let own = covariance.variance(ErrorState.position + 2)
    // If the two variances are similar, the height gains no accuracy and rounding errors dominate.
    guard variance > 0, own > 1.02 * variance else { return }
    var row = ErrorVector.zero
    row[ErrorState.position + 2] = 1
    update(
      row, residual: pressureHeight - state.position.z, variance: variance * own / (own - variance),
      gate: gate)
    refresh()
  }

  /// Returns the velocity of the rear axle to the right in m/s, for a rotation rate `turn` (rad/s, vehicle
  /// frame).
  func predictedSideSlip(turn: Vector3) -> Prediction {
    let velocity = state.vehicleVelocity
    var row = vehicleRow(0)
    row.set(ErrorState.mounting, Vector3(0, velocity.z, -velocity.y))
    row[ErrorState.axleLever] = turn.z
    return Prediction(value: velocity.x + turn.z * state.axleLever, row: row)
  }

  /// Returns the velocity of the rear axle out of the vehicle's plane in m/s.
  func predictedHeave(turn: Vector3) -> Prediction {
    let velocity = state.vehicleVelocity
    var row = vehicleRow(2)
    row.set(ErrorState.mounting, Vector3(velocity.y, -velocity.x, 0))
    row[ErrorState.axleLever] = -turn.x
    return Prediction(value: velocity.z - turn.x * state.axleLever, row: row)
  }

  /// Returns the forward speed in m/s as measured by the wheels.
  func predictedWheelSpeed() -> Prediction {
    let velocity = state.vehicleVelocity
    let scale = 1 + state.speedScale
    var row = vehicleRow(1).scaled(by: scale)
    row.set(ErrorState.mounting, scale * Vector3(-velocity.z, 0, velocity.x))
    row[ErrorState.speedScale] = velocity.y
    return Prediction(value: velocity.y * scale, row: row)
  }

  /// Returns the derivative of a velocity component in the vehicle frame by velocity and attitude.
  private func vehicleRow(_ axis: Int) -> ErrorVector {
    let (right, forward, up) = RotationMatrix(state.vehicleAttitude.conjugate).rows
    let direction = axis == 0 ? right : axis == 1 ? forward : up
    var row = ErrorVector.zero
    row.set(ErrorState.velocity, direction)
    // The attitude error θ rotates the velocity in the device frame by -θ: direction · (velocity × θ).
    row.set(ErrorState.attitude, direction.cross(state.velocity))
    return row
  }
}
