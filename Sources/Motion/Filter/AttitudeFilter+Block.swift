internal import Glibc
internal import Spatial

/// One step of the Kalman filter: prediction over a block and the measurements in it.
extension AttitudeFilter {
  mutating func startEstimates() {
    let p = parameters
    covariance.reset(0..<2, variance: Self.square(20 * Double.pi / 180))
    covariance.reset(ErrorState.bias..<ErrorState.bias + 3, variance: Self.square(p.biasPrior))
    startScale()
    covariance.reset(ErrorState.hardIron..<ErrorState.hardIron + 3, variance: Self.square(p.hardIronPrior))
    covariance.reset(ErrorState.lag..<ErrorState.lag + 1, variance: Self.square(p.lagPrior))
    forgetField()
    forgetMotion()
  }

  /// Scale errors as before the first sample: part of each is common to the axes.
  private mutating func startScale() {
    let (common, axis) = (Self.square(parameters.commonScalePrior), Self.square(parameters.axisScalePrior))
    scale = .zero
    covariance.reset(ErrorState.scale..<ErrorState.scale + 3, variance: common + axis)
    for i in 0..<3 {
      for j in 0..<3 where i != j { covariance[ErrorState.scale + i, ErrorState.scale + j] = common }
    }
  }

  /// Nothing is known of the field any more.
  mutating func forgetField() {
    covariance.reset(ErrorState.field..<ErrorState.field + 3, variance: Self.square(100))
    covariance.reset(
      ErrorState.disturbance..<ErrorState.disturbance + 3,
      variance: Self.square(parameters.disturbanceDeviation))
    disturbance = .zero
    evidence.forgetField()
    noteEvidence()
  }

  /// Velocity and position are as usual for accelerations as strong as now: the stationary variances of the
  /// second-order motion model.
  mutating func forgetMotion() {
    let w = 1 / parameters.motionTime
    let density = accelerationVariance * parameters.accelerationCorrelation * 0.05
    velocity = .zero
    position = .zero
    covariance.reset(ErrorState.velocity..<ErrorState.velocity + 2, variance: density / (4 * w))
    covariance.reset(ErrorState.position..<ErrorState.position + 2, variance: density / (4 * w * w * w))
  }

  @inline(__always)
  static func square(_ x: Double) -> Double { x * x }

  mutating func closeBlock() {
    let interval = block.duration
    blocks &+= 1
    sinceAlignment += interval
    sinceSaturation += interval
    let frame = Matrix3(level)
    predict(frame, interval)

    rest.close(rate: block.rate, force: block.force, interval: interval, parameters)
    flags.isAtRest = rest.isAtRest
    gaps.isStill = rest.isStill
    relaxDisturbance(interval)

    var x = StateVector()
    if rest.isAtRest { measureRest(&x, interval) }
    var frameNow = frame
    switch alignment.phase {
    case .leveling:
      x = StateVector()
      continueLeveling(interval)
      frameNow = Matrix3(level)
    case .searching:
      continueSearch(interval)
    case .done:
      if block.forceCount > 0 { measureForce(&x, frameNow, interval) }
    }
    if block.fieldCount > 0, alignment.phase != .leveling { measureField(&x, frameNow, interval) }
    correct(x)
    watch(frameNow, interval)
    if blocks & 63 == 0, !covariance.repair() { startEstimates() }
    expectedField = level.conjugate.rotate(field + disturbance)
    pointNorth()
    if hasField { noteEvidence() }
    block = Block()
  }

  // MARK: Prediction

  @inline(__always)
  private mutating func predict(_ frame: Matrix3, _ interval: Double) {
    let p = parameters
    let attitude = frame * block.attitude
    let rotation = frame * block.rotation
    // d(tilt) = attitude * d(bias) + rotation * d(scale), and its vertical part turns the field.
    covariance.propagate(ErrorState.tilt, fromBias: attitude.row(0), scale: rotation.row(0))
    covariance.propagate(ErrorState.tilt + 1, fromBias: attitude.row(1), scale: rotation.row(1))
    let (a, r) = (attitude.row(2), rotation.row(2))
    covariance.propagate(ErrorState.field, fromBias: -field.y * a, scale: -field.y * r)
    covariance.propagate(ErrorState.field + 1, fromBias: field.x * a, scale: field.x * r)

    // Noise of the attitude, as a covariance in the level frame.
    let white =
      Self.square(p.gyroscopeNoise) * interval
      + Self.square(p.gyroscopeProportionalNoise) * block.rateSquare + block.gapVariance
    var noise = Matrix3.diagonal(white)
    if block.isSaturated { noise += frame * block.saturation * frame.transposed }
    addAttitudeNoise(noise)

    covariance.addVariance(Self.square(p.biasWalk) * interval, to: ErrorState.bias..<ErrorState.bias + 3)
    covariance.addVariance(
      Self.square(p.hardIronWalk) * interval, to: ErrorState.hardIron..<ErrorState.hardIron + 3)
    covariance.addVariance(Self.square(p.fieldWalk) * interval, to: ErrorState.field..<ErrorState.field + 3)
    // Scale and delay are constants; so little only keeps them from being taken for exact.
    covariance.addVariance(Self.square(1e-5) * interval, to: ErrorState.scale..<ErrorState.scale + 3)
    covariance.addVariance(Self.square(2e-6) * interval, to: ErrorState.lag..<ErrorState.lag + 1)
    if block.gap > 0 {
      let variance = accelerationVariance * Self.square(block.gap) * min(1, Self.square(block.gap / 0.05))
      covariance.addVariance(variance, to: ErrorState.velocity..<ErrorState.velocity + 2)
      covariance.addVariance(
        0.25 * variance * Self.square(block.gap), to: ErrorState.position..<ErrorState.position + 2)
    }
  }

  /// A rotation by a random vector tilts the level frame by its horizontal part and turns the field by its vertical part.
  mutating func addAttitudeNoise(_ noise: Matrix3) {
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
        covariance[states[i], states[j]] += entries[k]
        if i != j { covariance[states[j], states[i]] += entries[k] }
        k += 1
      }
    }
  }

  /// The disturbance forgets itself as the device moves on.
  @inline(__always)
  private mutating func relaxDisturbance(_ interval: Double) {
    let time = rest.isStill ? parameters.disturbanceTimeAtRest : parameters.disturbanceTime
    let keep = exp(-interval / time)
    let states = ErrorState.disturbance..<ErrorState.disturbance + 3
    disturbance *= keep
    covariance.scale(from: ErrorState.disturbance, by: keep)
    covariance.addVariance(Self.square(parameters.disturbanceDeviation) * (1 - keep * keep), to: states)
  }

  // MARK: Measurements

  /// At rest the gyroscope shows its bias. The variance allows for slow turns.
  private mutating func measureRest(_ x: inout StateVector, _ interval: Double) {
    let mean = block.rate.mean
    guard isCredible(mean - gyroscopeBias, interval) else { return }
    restDuration += interval
    var m = InlineArray<3, Measurement>(repeating: Measurement())
    for i in 0..<3 {
      m[i].h[ErrorState.bias + i] = 1
      m[i].z = mean[i] - gyroscopeBias[i]
      m[i].variance = Self.square(0.1 * Double.pi / 180) * 0.2 / interval
    }
    covariance.update(
      &x, m,
      [
        covariance.row(ErrorState.bias), covariance.row(ErrorState.bias + 1),
        covariance.row(ErrorState.bias + 2),
      ])
  }

  /// A steady rate that is far from the bias: before the bias was seen at rest, it is the bias, whatever was assumed or
  /// kept. Later it is a steady turn, unless it lasts for a minute.
  private mutating func isCredible(_ difference: Vector3, _ interval: Double) -> Bool {
    let variance = covariance[2, 2] + covariance[3, 3] + covariance[4, 4]
    let limit = max(1 * Double.pi / 180, 6 * variance.squareRoot())
    guard difference.length > limit else {
      steadyTurn = 0
      return true
    }
    steadyTurn += interval
    guard restDuration < 1 || steadyTurn > 60 else { return false }
    steadyTurn = 0
    covariance.inflate(ErrorState.bias, by: difference.dot(difference), among: 0..<ErrorState.hardIron)
    if expectsBias {
      flags.hasDiscardedCalibration = true
      hasContradictedBias = true
      expectsBias = false
    }
    return true
  }

  /// The horizontal specific force is gravity seen from a tilted frame, plus the acceleration of a motion that stays in
  /// place: p'' = -w² p - 2 w p' + noise. The force drives velocity and position; what the model
  /// makes of them is the measurement.
  @inline(__always)
  private mutating func measureForce(_ x: inout StateVector, _ frame: Matrix3, _ interval: Double) {
    let p = parameters
    let force = frame * (block.forceSum / Double(block.forceCount))
    let w = 1 / p.motionTime
    let (pull, spring) = (-2 * w, -w * w)
    let zx = force.x - pull * velocity.x - spring * position.x
    let zy = force.y - pull * velocity.y - spring * position.y
    let expected =
      0.5 * Self.square(Self.gravity) * (covariance[0, 0] + covariance[1, 1])
    let square = 0.5 * (zx * zx + zy * zy)
    let gain = 1 - exp(-interval / p.accelerationMemory)
    accelerationVariance += gain * (max(0, square - expected) - accelerationVariance)
    var variance = max(accelerationVariance, Self.square(p.accelerationFloor), 0.25 * square)
    variance *= p.accelerationCorrelation * 0.05 / interval
    // A vertical mean that is not gravity says that the horizontal mean is not either.
    verticalExcess += (1 - exp(-interval / 3)) * (force.z - Self.gravity - verticalExcess)
    variance += Self.square(max(0, abs(verticalExcess) - 0.2)) * 6 / interval
    covariance.addVariance(
      accelerationVariance * Self.square(block.lostForce) + 2 * block.velocityVariance,
      to: ErrorState.velocity..<ErrorState.velocity + 2)
    covariance.addVariance(
      0.02 * block.velocityVariance, to: ErrorState.position..<ErrorState.position + 2)

    var m = InlineArray<2, Measurement>(repeating: Measurement())
    for i in 0..<2 {
      m[i].h[ErrorState.tilt + 1 - i] = i == 0 ? Self.gravity : -Self.gravity
      m[i].h[ErrorState.velocity + i] = pull
      m[i].h[ErrorState.position + i] = spring
      m[i].z = i == 0 ? zx : zy
      m[i].variance = variance
    }
    let projections: InlineArray<2, StateVector> = [
      covariance.project(m[0].h, [1, 8, 10, 0, 0, 0, 0, 0], count: 3),
      covariance.project(m[1].h, [0, 9, 11, 0, 0, 0, 0, 0], count: 3),
    ]
    covariance.update(&x, m, projections)
    move(&x, force, interval)
  }

  /// Integrates the horizontal force.
  @inline(__always)
  private mutating func move(_ x: inout StateVector, _ force: Vector3, _ interval: Double) {
    let horizontal = SIMD2(force.x, force.y)
    let half = 0.5 * interval * interval
    position += interval * velocity + half * horizontal
    velocity += interval * horizontal
    for i in 0..<2 {
      let sign = i == 0 ? -Self.gravity : Self.gravity
      let (v, q, tilt) = (ErrorState.velocity + i, ErrorState.position + i, ErrorState.tilt + 1 - i)
      covariance.propagate(q, from: v, interval)
      covariance.propagate(q, from: tilt, sign * half)
      covariance.propagate(v, from: tilt, sign * interval)
      x[q] += interval * x[v] + sign * half * x[tilt]
      x[v] += sign * interval * x[tilt]
    }
    covariance.addVariance(
      Self.square(0.02 * interval), to: ErrorState.velocity..<ErrorState.velocity + 2)
  }

  // MARK: Corrections

  /// Moves the estimates by the error that was found.
  @inline(__always)
  private mutating func correct(_ x: StateVector) {
    let tilt = Vector3(x[ErrorState.tilt], x[ErrorState.tilt + 1], 0)
    level = (Quaternion(smallRotation: -tilt) * level).normalized
    gyroscopeBias += x.vector(at: ErrorState.bias)
    scale += x.vector(at: ErrorState.scale)
    field += x.vector(at: ErrorState.field)
    disturbance += x.vector(at: ErrorState.disturbance)
    hardIron += x.vector(at: ErrorState.hardIron)
    velocity += SIMD2(x[ErrorState.velocity], x[ErrorState.velocity + 1])
    position += SIMD2(x[ErrorState.position], x[ErrorState.position + 1])
    lag = max(-0.02, min(0.08, lag + x[ErrorState.lag]))
    keepInBounds()
  }

  /// Estimates that no sensor could cause come from input that no sensor could give.
  private mutating func keepInBounds() {
    let one = Vector3(repeating: 1)
    if max(scale.max(), -scale.min()) > 6 * parameters.commonScalePrior { startScale() }
    gyroscopeBias = gyroscopeBias.clamped(lowerBound: -0.5 * one, upperBound: 0.5 * one)
    let finite =
      level.isFinite && strapdown.isFinite && gyroscopeBias.isFinite && scale.isFinite && field.isFinite
      && disturbance.isFinite && hardIron.isFinite && velocity.x.isFinite && velocity.y.isFinite
      && position.x.isFinite && position.y.isFinite && lag.isFinite && accelerationVariance.isFinite
    if !finite { restart() }
  }
}
