public import Spatial

extension AttitudeFilter {
  /// Takes an accelerometer sample: specific force, m/s², device frame; (0, 0, +9.81) for a flat device at rest.
  public mutating func update(accelerometer force: Vector3, at time: Timestamp) {
    switch accelerometer.judge(force, at: time) {
    case .nonFinite:
      counters.nonFinite += 1
      return
    case .outOfOrder:
      counters.outOfOrder += 1
      return
    case .repeated:
      flags.isAccelerometerStuck = accelerometer.isStuck(
        at: time, for: parameters.stuckTime, others: gyroscope, magnetometer)
      if flags.isAccelerometerStuck {
        counters.stuck += 1
        return
      }
    case .good:
      flags.isAccelerometerStuck = false
    }
    let now = seconds(time)
    guard !gyroscope.isSilent else {
      alignment.observe(force: force, at: now)
      publishWithoutGyroscope()
      return
    }
    use(force: force, at: now)
  }

  @inline(__always)
  private mutating func use(force: Vector3, at time: Double) {
    let cut = accelerometerRange.observe(force, at: time)
    flags.isAccelerometerSaturated = cut.isSaturated
    if cut.isSaturated {
      counters.saturated += 1
      sinceSaturation = 0
    }
    let attitude = history.state(at: time).attitude
    let turned = attitude.rotate(force)
    if !isLeveled {
      guard let up = Quaternion.shortest(from: level.rotate(turned), to: Vector3(0, 0, 1)) else { return }
      level = (up * level).normalized
      isLeveled = true
    }
    if time <= blindUntil {
      block.lostForce += period
      return
    }
    if cut.wholeArea != .zero {
      // The area is worth as many samples as fit into one unit of time.
      let area = attitude.rotate(cut.wholeArea)
      block.forceSum += area / max(1e-4, period)
      block.velocityVariance += 0.3 * area.dot(area)
    }
    block.forceSum += turned
    block.forceCount += 1
    block.force.add(force)
  }
}
