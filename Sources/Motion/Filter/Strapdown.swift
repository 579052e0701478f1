internal import Spatial

/// Integrates the gyroscope in the almost inertial frame. It bridges gaps, restores clipped rates and stores
/// recent attitudes.
struct Strapdown: Sendable {
  /// The effect of one sample.
  enum Outcome {
    /// The first sample.
    case began
    /// A suspected outlier, which waits for confirmation by the next sample.
    case doubted
    /// A sample after a gap too long to bridge.
    case lost
    /// - Parameter gapVariance: variance in rad² per axis of a bridged gap; nil without one.
    case turned(isSaturated: Bool, gapVariance: Double?)
  }

  /// Rotation from the device to the almost inertial frame.
  private(set) var attitude = Quaternion.identity
  /// Typical sampling interval in s.
  private(set) var period = 0.0
  /// Time of the newest sample in s; nil before the first.
  var newestTime: Double? { history.newest.time.isFinite ? history.newest.time : nil }
  /// End of the period in which the attitude is unreliable because the gyroscope was saturated or silent, in
  /// s on the filter's clock.
  private(set) var blindUntil = -Double.infinity
  private var lastRate = Vector3.zero
  /// A suspected outlier that waits for the next sample: the rate without bias, the measured rate, and the
  /// time in s.
  private var doubted: (rate: Vector3, measured: Vector3, time: Double)?
  /// Number of suspected outliers that the next sample did not confirm.
  private(set) var outliers = 0
  private var history = AttitudeHistory()
  private var gaps = GapModel()
  private var range: SaturationMonitor

  /// - Parameter range: full scale in rad/s; nil detects it.
  init(range: Double?) {
    self.range = SaturationMonitor(range: range, smallestLimit: 1.7, greatestExcess: 1)
  }

  /// - Parameters:
  ///   - rate: rotation rate without bias and scale error.
  ///   - isStuck: true if the gyroscope repeats one value and therefore has little weight.
  @inline(__always)
  mutating func integrate(
    _ rate: Vector3, measured: Vector3, at time: Double, longestGap: Double, isStuck: Bool,
    into block: inout FilterBlock
  ) -> Outcome {
    let (change, interval) = (rate - lastRate, time - history.newest.time)
    if doubted != nil || (gaps.isFar(change, interval: interval) && interval < 2.5 * period) {
      if !resolve(rate, change, measured: measured, at: time, longestGap: longestGap, &block) {
        return .doubted
      }
    }
    return advance(
      rate, measured: measured, at: time, longestGap: longestGap, isStuck: isStuck, into: &block)
  }

  /// Decides whether a suspected outlier is valid. A false rate of 30 rad/s for one sample at 286 Hz would
  /// turn the attitude by 6°. The suspect is valid if the next sample is closer to it than to the sample
  /// before it.
  ///
  /// - Returns: true if the next sample can be processed.
  private mutating func resolve(
    _ rate: Vector3, _ change: Vector3, measured: Vector3, at time: Double, longestGap: Double,
    _ block: inout FilterBlock
  ) -> Bool {
    guard let doubt = doubted else {
      doubted = (rate, measured, time)
      return false
    }
    doubted = nil
    let further = rate - doubt.rate
    if further.dot(further) < change.dot(change) {
      _ = advance(
        doubt.rate, measured: doubt.measured, at: doubt.time, longestGap: longestGap, isStuck: false,
        into: &block)
    } else {
      outliers += 1
      gaps.observeOutlier(doubt.rate - lastRate, interval: max(1e-4, doubt.time - history.newest.time))
    }
    return true
  }

  @inline(__always)
  private mutating func advance(
    _ rate: Vector3, measured: Vector3, at time: Double, longestGap: Double, isStuck: Bool,
    into block: inout FilterBlock
  ) -> Outcome {
    let interval = time - history.newest.time
    let cut = range.observe(measured, at: time)
    guard interval > 0, interval <= longestGap else { return startOver(rate, at: time, &block) }
    // Includes the coning term, of second order in the change of the rate (J. E. Bortz, 1971).
    var turn = (0.5 * interval) * (rate + lastRate) + (interval * interval / 12) * lastRate.cross(rate)
    var gapVariance: Double?
    if period == 0 { period = interval }
    if interval > 2.5 * period {
      let bridge = gaps.bridge(interval, from: lastRate, to: rate, at: time)
      block.gapVariance += bridge.variance
      block.gap += interval
      blindUntil = time
      // After a change to a quarter of the sample rate, 25 samples count as gaps.
      period *= 1.02
      turn = bridge.factor * turn
      gapVariance = bridge.variance
    } else {
      period += 0.01 * (interval - period)
      if let correction = gaps.correction(rate, at: time) {
        attitude = attitude * Quaternion(smallRotation: correction)
      }
      gaps.observe(rate, change: rate - lastRate, interval: interval)
    }
    if cut.isUncertain { mend(&turn, cut, interval, at: time, &block) }
    if isStuck { block.gapVariance += interval * interval }

    attitude = attitude.times(Quaternion(smallRotation: turn)).renormalized
    lastRate = rate
    history.append(attitude, rate: rate, at: time)
    block.add(turn, rate: rate, measured: measured, attitude: Matrix3(attitude), interval: interval)
    return .turned(isSaturated: cut.isSaturated, gapVariance: gapVariance)
  }

  /// Adds the clipped part of the rate, and its uncertainty.
  private mutating func mend(
    _ turn: inout Vector3, _ cut: SaturationMonitor.Outcome, _ interval: Double, at time: Double,
    _ block: inout FilterBlock
  ) {
    blindUntil = time
    turn += cut.excess * interval
    guard cut.wholeArea != .zero else { return }
    attitude = attitude * Quaternion(rotationVector: cut.area)
    let matrix = Matrix3(attitude)
    block.isSaturated = true
    for i in 0..<3 where cut.wholeArea[i] != 0 {
      let deviation = 0.3 * cut.wholeArea[i]
      let axis = i == 0 ? matrix.column0 : i == 1 ? matrix.column1 : matrix.column2
      block.saturation += Matrix3.outer(axis, scale: deviation * deviation + 1e-6)
    }
  }

  private mutating func startOver(_ rate: Vector3, at time: Double, _ block: inout FilterBlock) -> Outcome {
    let isFirst = history.newest.time == -.infinity
    doubted = nil
    lastRate = rate
    history.append(attitude, rate: rate, at: time)
    history.clear()
    block = FilterBlock()
    blindUntil = -.infinity
    return isFirst ? .began : .lost
  }

  /// Sets whether the device is still. At rest, the statistics of rate changes are not updated.
  mutating func observe(isStill: Bool) { gaps.isStill = isStill }

  /// Returns attitude and rate at a recent time. (Mutating only because reading through a read access copies
  /// the history.)
  @inline(__always)
  mutating func state(at time: Double) -> AttitudeHistory.Entry { history.state(at: time) }

  /// Returns the attitude extrapolated by a time in s.
  @inline(__always)
  func attitude(ahead seconds: Double) -> Quaternion {
    attitude.times(Quaternion(smallRotation: seconds * lastRate))
  }

  /// Sets the range in rad/s per axis reported by the driver.
  mutating func expect(range: Double) { self.range.expect(range) }

  /// Rotates the almost inertial frame.
  mutating func turn(by rotation: Quaternion) {
    attitude = (rotation * attitude).normalized
    history.turn(by: rotation)
  }

  /// Resets the attitude and the statistics of rate changes; properties of the sensor are retained.
  mutating func restart() {
    (attitude, lastRate, history, gaps) = (.identity, .zero, AttitudeHistory(), GapModel())
    doubted = nil
  }
}
