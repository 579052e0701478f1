public import Spatial

extension AttitudeFilter {
  /// Takes a gyroscope sample, rad/s, device frame.
  public mutating func update(gyroscope rate: Vector3, at time: Timestamp) {
    switch gyroscope.judge(rate, at: time) {
    case .nonFinite:
      counters.nonFinite += 1
      return
    case .outOfOrder:
      counters.outOfOrder += 1
      return
    case .repeated:
      flags.isGyroscopeStuck = gyroscope.isStuck(
        at: time, for: parameters.stuckTime, others: accelerometer, magnetometer)
      if flags.isGyroscopeStuck { counters.stuck += 1 }
    case .good:
      flags.isGyroscopeStuck = false
    }
    integrate(rate, at: seconds(time))
  }

  @inline(__always)
  private mutating func integrate(_ measured: Vector3, at time: Double) {
    let rate = corrected(gyroscope: measured)
    let interval = time - history.newest.time
    let cut = gyroscopeRange.observe(measured, at: time)
    guard interval > 0, interval <= parameters.longestGap else {
      startOver(rate, at: time)
      return
    }
    // Second order in the change of the rate (coning), J. E. Bortz, 1971.
    var turn = (0.5 * interval) * (rate + lastRate) + (interval * interval / 12) * lastRate.cross(rate)
    if period == 0 { period = interval }
    if interval > 2.5 * period {
      turn = bridge(turn, rate, interval, at: time)
    } else {
      period += 0.01 * (interval - period)
      if let correction = gaps.correction(rate, at: time) {
        strapdown = strapdown * Quaternion(smallRotation: correction)
      }
      gaps.observe(rate, change: rate - lastRate, interval: interval)
    }
    if cut.isUncertain { mend(&turn, cut, interval, at: time) }
    flags.isGyroscopeSaturated = cut.isSaturated
    if flags.isGyroscopeStuck { block.gapVariance += interval * interval }

    strapdown = strapdown.times(Quaternion(smallRotation: turn)).renormalized
    lastRate = rate
    history.append(strapdown, rate: rate, at: time)
    let attitude = Matrix3(strapdown)
    block.attitude += attitude * interval
    block.rotation.column0 += attitude.column0 * turn.x
    block.rotation.column1 += attitude.column1 * turn.y
    block.rotation.column2 += attitude.column2 * turn.z
    block.duration += interval
    block.rateSquare += rate.dot(rate) * interval
    block.rate.add(measured)
    if block.duration >= parameters.blockTime - 1e-9 { closeBlock() }
    publish()
  }

  /// Rotation during an interval without samples.
  private mutating func bridge(_ turn: Vector3, _ rate: Vector3, _ interval: Double, at time: Double)
    -> Vector3
  {
    let bridge = gaps.bridge(interval, from: lastRate, to: rate, at: time)
    counters.gaps += 1
    block.gapVariance += bridge.variance
    block.gap += interval
    blindUntil = time
    let noticeable = 4 * Double.pi / 180
    if bridge.variance > noticeable * noticeable { snapVariance = bridge.variance }
    return bridge.factor * turn
  }

  /// Puts back what the end of the range has cut off, and notes how uncertain that is.
  private mutating func mend(
    _ turn: inout Vector3, _ cut: SaturationMonitor.Outcome, _ interval: Double, at time: Double
  ) {
    if cut.isSaturated { counters.saturated += 1 }
    blindUntil = time
    turn += cut.excess * interval
    guard cut.wholeArea != .zero else { return }
    strapdown = strapdown * Quaternion(rotationVector: cut.area)
    let attitude = Matrix3(strapdown)
    block.isSaturated = true
    for i in 0..<3 where cut.wholeArea[i] != 0 {
      let deviation = 0.3 * cut.wholeArea[i]
      let axis = i == 0 ? attitude.column0 : i == 1 ? attitude.column1 : attitude.column2
      block.saturation += Matrix3.outer(axis, scale: deviation * deviation + 1e-6)
    }
  }

  /// The first sample, or one after a gap too long to say anything about it.
  private mutating func startOver(_ rate: Vector3, at time: Double) {
    let isFirst = history.newest.time == -.infinity
    lastRate = rate
    history.append(strapdown, rate: rate, at: time)
    history.clear()
    block = Block()
    blindUntil = -.infinity
    guard !isFirst else { return }
    counters.gaps += 1
    realign()
    publish()
  }
}
