internal import Sensors
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
  /// The velocity from earlier positions; nil if the receiver reports one.
  var difference: PositionDifferences.Velocity?
  /// The velocity whose direction shows the latency: that of the receiver, or the mean since the previous position; nil if missing.
  var course: PositionDifferences.Course?
  /// True if the report repeats all values of the previous one.
  var isRepeated = false
}

/// The treatment of an innovation that is too large for the covariance.
enum GNSSGate: Hashable, Sendable {
  /// Accepts every innovation.
  case none
  /// Rejects it.
  case closed
  /// Accepts it, and increases the variance of the error that it shows.
  case opening
}

/// The gates of the parts of a fix.
struct GNSSGates: Hashable, Sendable {
  var position = GNSSGate.closed
  var velocity = GNSSGate.closed
  var height = GNSSGate.closed
  var climb = GNSSGate.closed

  static let none = GNSSGates(position: .none, velocity: .none, height: .none, climb: .none)
}

/// The outcome for each part of a fix: true if rejected, nil if the fix does not contain it.
struct GNSSRefusals: Hashable, Sendable {
  var position: Bool?
  var velocity: Bool?
  var height: Bool?
  var climb: Bool?

  /// True if the fix contradicts the motion in the horizontal plane.
  var isContradicted: Bool { position == true || velocity == true }
}

/// The numbers of consecutive rejections of the parts of a fix. Each accepted part decreases its number by one; a
/// missing part does not change it.
struct GNSSRefusalCounts: Hashable, Sendable {
  private(set) var position = 0
  private(set) var velocity = 0
  private(set) var height = 0
  private(set) var climb = 0

  /// True if no recent fix contradicted the motion in the horizontal plane.
  var isConfirmed: Bool { position == 0 && velocity == 0 }

  /// Returns the gates for the next fix: a part that was rejected more often than `longest` is accepted.
  func gates(longest: Int) -> GNSSGates {
    func gate(_ count: Int) -> GNSSGate { count > longest ? .opening : .closed }
    return GNSSGates(
      position: gate(position), velocity: gate(velocity), height: gate(height), climb: gate(climb))
  }

  /// Counts the rejections of a fix, and resets those parts whose gate was open.
  mutating func count(_ refusals: GNSSRefusals, gates: GNSSGates) {
    func count(_ value: Int, _ isRefused: Bool?, _ gate: GNSSGate) -> Int {
      guard let isRefused else { return value }
      return gate == .opening ? 0 : isRefused ? value + 1 : max(0, value - 1)
    }
    position = count(position, refusals.position, gates.position)
    velocity = count(velocity, refusals.velocity, gates.velocity)
    height = count(height, refusals.height, gates.height)
    climb = count(climb, refusals.climb, gates.climb)
  }
}

extension ErrorStateFilter {
  /// Updates the state with position and velocity of the antenna.
  ///
  /// The errors of consecutive fixes are strongly correlated. The weight of a fix is that of an independent
  /// fix, times the ratio of the fix interval to the correlation time.
  ///
  /// - Parameters:
  ///   - now: the time of the state in s.
  ///   - gates: the innovation gate of each part.
  /// - Returns: the rejected parts.
  mutating func update(
    _ fix: GNSSMeasurement, now: Double, gates: GNSSGates, _ parameters: Parameters
  ) -> GNSSRefusals {
    var refusals = GNSSRefusals()
    let age = now - fix.time
    let refused = Double(parameters.longestRefusal + 1) * fix.interval
    if let position = fix.position {
      let isCoarse = fix.deviation.x > 0.5 && fix.velocity != nil
      let correlation = isCoarse ? parameters.coarsePositionCorrelation : parameters.positionCorrelation
      let inflation = max(1, correlation / fix.interval)
      func variance(_ axis: Int) -> Double {
        let deviation = max(
          parameters.positionFloor * (axis == 2 ? 2 : 1), fix.deviation[axis] * parameters.positionFactor)
        return deviation * deviation * inflation
      }
      refusals.position = !updatePlane(
        position, variance: SIMD2(variance(0), variance(1)), gate: gates.position, opens: ErrorState.position,
        after: refused, parameters
      ) { filter, axis in filter.predictedPosition(axis, age: age) }
      if fix.hasHeight {
        refusals.height = !updateVertical(
          position.z, variance: variance(2), gate: gates.height, opens: ErrorState.position, parameters,
          predictedPosition(2, age: age))
      }
    }
    if let velocity = fix.velocity {
      let inflation = max(1, parameters.velocityCorrelation / fix.interval)
      // A late velocity is corrected with the acceleration. The standard deviation of the correction is one
      // twentieth of it.
      let change = 0.05 * (acceleration.x * acceleration.x + acceleration.y * acceleration.y).squareRoot()
      let unsure = lateness(age: age)
      func variance(_ axis: Int) -> Double {
        let deviation = max(parameters.velocityFloor * (axis == 2 ? 1.5 : 1), fix.velocityDeviation)
        return deviation * deviation * inflation + change * change + unsure * unsure
      }
      refusals.velocity = !updatePlane(
        velocity, variance: SIMD2(variance(0), variance(1)), gate: gates.velocity, opens: ErrorState.velocity,
        after: refused, parameters
      ) { filter, axis in filter.predictedVelocity(axis, age: age) }
      if fix.hasClimb {
        refusals.climb = !updateVertical(
          velocity.z, variance: variance(2), gate: gates.climb, opens: ErrorState.velocity, parameters,
          predictedVelocity(2, age: age))
      }
    }
    refresh()
    return refusals
  }

  /// Updates the state with the east and north components of a vector, which are accepted or rejected together.
  ///
  /// - Parameters:
  ///   - opens: the index of the errors whose variance is too small if the gate opens.
  ///   - refused: the duration in s of the rejections before the gate opened.
  /// - Returns: true if accepted.
  @inline(__always)
  private mutating func updatePlane(
    _ measured: Vector3, variance: SIMD2<Double>, gate: GNSSGate, opens: Int, after refused: Double,
    _ parameters: Parameters, _ predict: (ErrorStateFilter, Int) -> Prediction
  ) -> Bool {
    let (east, north) = (predict(self, 0), predict(self, 1))
    let residual = SIMD2(measured.x - east.value, measured.y - north.value)
    var projection = covariance.projected(east.row, north.row)
    if gate != .none {
      let total = projection.variances + variance
      let determinant = total.x * total.y - projection.shared * projection.shared
      let ratio =
        (total.y * residual.x * residual.x - 2 * projection.shared * residual.x * residual.y
          + total.x * residual.y * residual.y) / determinant
      // NaN is also rejected.
      if !(determinant > 0 && ratio <= parameters.planeGate) {
        guard gate == .opening, residual.x.isFinite, residual.y.isFinite else {
          observe(Innovation(ratio: ratio, variance: determinant, isRefused: true))
          return false
        }
        let square = residual.x * residual.x + residual.y * residual.y
        for axis in 0..<2 { covariance.add(square, to: opens + axis) }
        if opens == ErrorState.velocity {
          // The velocity error has moved the position since the first rejection.
          for axis in 0..<2 { covariance.add(square * refused * refused, to: ErrorState.position + axis) }
        }
        projection = covariance.projected(east.row, north.row)
      }
    }
    let first = apply(
      east.row, gain: projection.gains.0, residual: residual.x, total: projection.variances.x + variance.x)
    observe(first)
    guard !first.isRefused else { return false }
    // The second component after the update with the first.
    let share = projection.shared / first.variance
    for index in 0..<ErrorState.count { projection.gains.1[index] -= share * projection.gains.0[index] }
    let second = apply(
      north.row, gain: projection.gains.1, residual: residual.y - share * residual.x,
      total: projection.variances.y + variance.y - share * projection.shared)
    observe(second)
    return !second.isRefused
  }

  /// Updates the state with the vertical component of a vector.
  @inline(__always)
  private mutating func updateVertical(
    _ measured: Double, variance: Double, gate: GNSSGate, opens: Int, _ parameters: Parameters,
    _ predicted: Prediction
  ) -> Bool {
    let residual = measured - predicted.value
    var innovation = update(
      predicted.row, residual: residual, variance: variance, gate: gate == .none ? nil : parameters.gate)
    if innovation.isRefused, gate == .opening, residual.isFinite {
      covariance.add(residual * residual, to: opens + 2)
      innovation = update(predicted.row, residual: residual, variance: variance, gate: nil)
    }
    observe(innovation)
    return !innovation.isRefused
  }

  /// Returns one coordinate of the antenna's position at `age` seconds plus the latency before the state,
  /// with its derivative by the error state.
  func predictedPosition(_ axis: Int, age: Double) -> Prediction {
    let delay = age + state.positionLatency
    let moment = recent.moment(delay, before: state.velocity, acceleration: acceleration)
    let toEarth = RotationMatrix(state.vehicleAttitude)
    let lever = toEarth * state.antennaLever
    let (east, north, up) = toEarth.rows
    var row = ErrorVector.zero
    row[ErrorState.position + axis] = 1
    row[ErrorState.velocity + axis] = -delay
    row[ErrorState.positionLatency] = -moment.velocity[axis]
    let force = specificForce(since: moment)
    row.set(
      ErrorState.attitude, lever.crossRow(axis) + force.crossRow(axis) * (delay - 0.5 * moment.recorded))
    row.set(
      ErrorState.accelerometerBias,
      attitudeRow(axis) * (-moment.recorded * (delay - 0.5 * moment.recorded)))
    row.set(ErrorState.antennaLever, axis == 0 ? east : axis == 1 ? north : up)
    return Prediction(value: state.position[axis] + lever[axis] - moment.displacement[axis], row: row)
  }

  /// Returns one coordinate of the antenna's velocity at `age` seconds plus the latency before the state. The
  /// contribution of a lever arm is small, so its derivatives by attitude and mounting are neglected.
  func predictedVelocity(_ axis: Int, age: Double) -> Prediction {
    let turning = rate - state.gyroscopeBias
    let (x, y, z) = RotationMatrix(state.mounting.conjugate).columns
    let (a, b, c) = (turned(turning.cross(x)), turned(turning.cross(y)), turned(turning.cross(z)))
    let lever = state.antennaLever
    let delay = age + state.positionLatency + state.velocityLatency
    let moment = recent.moment(delay, before: state.velocity, acceleration: acceleration)
    var row = ErrorVector.zero
    row[ErrorState.velocity + axis] = 1
    row.set(ErrorState.attitude, -specificForce(since: moment).crossRow(axis))
    row.set(ErrorState.accelerometerBias, attitudeRow(axis) * moment.recorded)
    row[ErrorState.positionLatency] = -moment.acceleration[axis]
    row[ErrorState.velocityLatency] = -moment.acceleration[axis]
    row.set(ErrorState.antennaLever, Vector3(a[axis], b[axis], c[axis]))
    let value = moment.velocity[axis] + a[axis] * lever.x + b[axis] * lever.y + c[axis] * lever.z
    return Prediction(value: value, row: row)
  }

  /// Returns the integral of the specific force in the earth frame since a moment in m/s, as far as it is recorded.
  private func specificForce(since moment: RecentMotion.Moment) -> Vector3 {
    state.velocity - moment.velocity + Vector3(0, 0, standardGravity * moment.recorded)
  }

  /// Returns the standard deviation in m/s of a velocity by an uncertain latency, as far as the derivative of the
  /// prediction does not contain it: that of an acceleration that changes.
  private func lateness(age: Double) -> Double {
    let latency = latency(ofVelocity: true)
    guard latency.deviation > Self.knownLatency else { return 0 }
    let delay = age + latency.latency
    let moment = recent.moment(delay, before: state.velocity, acceleration: acceleration)
    return latency.deviation
      * recent.accelerationSpread(delay, within: 2 * latency.deviation, of: moment.acceleration)
  }

  /// The standard deviation in s below which the acceleration does not change within the latency.
  private static let knownLatency = 0.05

  /// Returns the latency of the receiver's velocities, or of its positions.
  func latency(ofVelocity isVelocity: Bool) -> LatencyEstimator.Estimate {
    let (position, velocity) = (ErrorState.positionLatency, ErrorState.velocityLatency)
    guard isVelocity else {
      return LatencyEstimator.Estimate(
        latency: state.positionLatency, deviation: covariance.variance(position).squareRoot())
    }
    let variance =
      covariance.variance(position) + covariance.variance(velocity) + 2 * covariance[position, velocity]
    return LatencyEstimator.Estimate(
      latency: state.positionLatency + state.velocityLatency, deviation: max(0, variance).squareRoot())
  }

  private func attitudeRow(_ axis: Int) -> Vector3 {
    let (east, north, up) = RotationMatrix(state.attitude).rows
    return axis == 0 ? east : axis == 1 ? north : up
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
