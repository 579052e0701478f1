internal import Glibc
internal import Spatial

/// Finds an attitude from scratch: at the start (possibly in motion), after a gap, and after the filter
/// diverged.
struct Alignment: Sendable {
  enum Phase: Sendable {
    /// Determining the vertical from the mean specific force.
    case leveling
    /// Determining the angle about the magnetic field; the other two angles are known.
    case searching
    case done
  }

  private(set) var phase = Phase.leveling
  /// Integrals of the specific force (m/s) and of its square in the almost inertial frame.
  private var force = Vector3.zero
  private var square = 0.0
  private var duration = 0.0
  /// Variance per axis of the acceleration before the attitude was lost, in (m/s²)².
  private var formerVariance = 0.0
  /// Low-passed specific force in the level frame, used to detect divergence.
  private var meanForce = Vector3(0, 0, AttitudeFilter.gravity)
  /// Low-passed force and field in the device frame, for devices without a gyroscope.
  private var steadyForce = SteadyVector()
  private var steadyField = SteadyVector()

  /// Longest time in s over which forces are averaged, at the start and after a loss. Longer averages contain more of
  /// the gyroscope's errors. Inclination 5 s after spins in twelve recordings, with 1.5, 2, 3 and 5 s: 7.8, 8.2, 9.2
  /// and 11.0°, before the time in range was subtracted from saturation (7.0° since, with 2 s). A start without known bias needs longer: with 2 s, a compass at 25 Hz calibrates in 30 s, not 24 s.
  private static let longestLeveling = (first: 3.0, again: 2.0)

  /// - Parameter accelerationVariance: variance per axis of the acceleration before, in (m/s²)². A slow
  ///   acceleration is constant in the first part of a second, so its samples do not show it.
  mutating func startLeveling(accelerationVariance: Double) {
    start(.leveling)
    formerVariance = accelerationVariance
    meanForce = Vector3(0, 0, AttitudeFilter.gravity)
  }

  mutating func startSearch() { start(.searching) }

  private mutating func start(_ phase: Phase) {
    (self.phase, force, square, duration) = (phase, .zero, 0, 0)
  }

  private mutating func add(_ mean: Vector3, square meanSquare: Double, interval: Double) {
    force += interval * mean
    square += interval * meanSquare
    duration += interval
  }

  /// Mean specific force in m/s².
  private var mean: Vector3 { duration > 0 ? force / duration : .zero }

  /// Variance per axis about the mean in (m/s²)².
  private var variance: Double {
    guard duration > 0 else { return 0 }
    let m = mean
    return max(0, square / duration - m.dot(m)) / 3
  }

  /// Averages the specific force in the almost inertial frame.
  /// - Returns: true once the mean reliably indicates gravity.
  mutating func level(
    _ estimate: inout AttitudeEstimate, _ block: FilterBlock, _ interval: Double,
    _ p: AttitudeFilter.Parameters
  ) -> Bool {
    if block.forceCount > 0 {
      add(block.forceSum / Double(block.forceCount), square: block.force.meanSquare, interval: interval)
      estimate.erect(along: mean)
      let variance = max(variance, formerVariance)
      let longest = formerVariance > 0 ? Self.longestLeveling.again : Self.longestLeveling.first
      // Accelerations have a correlation time of about 0.3 s.
      let tilt =
        (variance * 0.3 / duration).squareRoot() / AttitudeFilter.gravity + 0.3 * Double.pi / 180
      let isSteady = duration > 0.3 || variance < 0.05
      if (tilt < 4 * Double.pi / 180 && isSteady) || duration > longest {
        phase = .done
        estimate.begin(tilt: tilt, accelerationVariance: variance, p)
      }
    }
    if block.fieldCount > 0 { estimate.replaceField(by: block.fieldSum / Double(block.fieldCount)) }
    return phase == .done
  }

  /// Returns the angle about the field that brings the mean specific force closest to the vertical.
  mutating func search(
    _ estimate: inout AttitudeEstimate, _ strapdown: inout Strapdown, _ block: inout FilterBlock,
    _ interval: Double, _ p: AttitudeFilter.Parameters
  ) {
    guard block.forceCount > 0, let axis = estimate.field.expected.normalized else { return }
    let blockForce = block.forceSum / Double(block.forceCount)
    add(blockForce, square: blockForce.dot(blockForce), interval: interval)
    let mean = mean
    let up = estimate.level.conjugate.rotate(Vector3(0, 0, 1))
    let across = mean - mean.dot(axis) * axis
    let upAcross = up - up.dot(axis) * axis
    let half = 0.5 * atan2(axis.dot(across.cross(upAcross)), across.dot(upAcross))
    let s = sin(half)
    let turn = Quaternion(w: cos(half), x: s * axis.x, y: s * axis.y, z: s * axis.z)
    strapdown.turn(by: turn)
    force = turn.rotate(force)
    block.turnField(by: turn)
    let variance = max(variance, estimate.motion.accelerationVariance)
    let deviation =
      (variance / (duration / 0.1 + 0.2)).squareRoot() / (AttitudeFilter.gravity * upAcross.length + 0.1)
    guard deviation < 12 * Double.pi / 180 || duration > 2 else { return }
    phase = .done
    estimate.begin(about: estimate.level.rotate(axis), deviation: deviation, p)
  }

  /// Returns whether gravity has pointed far from the vertical for seconds, which means that the filter has
  /// diverged.
  /// - Parameters:
  ///   - force: mean of the block, level frame.
  ///   - isTrusted: true if the accelerometer was not saturated in the last 6 s.
  mutating func isLost(_ force: Vector3, isTrusted: Bool, _ interval: Double) -> Bool {
    meanForce += (1 - exp(-interval / 3)) * (force - meanForce)
    let length = meanForce.length
    return length > 4 && meanForce.z < 0.2 * length && isTrusted
  }

  // MARK: Without a gyroscope

  mutating func observe(force: Vector3, at time: Double) { steadyForce.process(force, at: time) }

  mutating func observe(field: Vector3, at time: Double) { steadyField.process(field, at: time) }

  /// Returns the attitude from accelerometer and magnetometer alone (TRIAD, H. D. Black, 1964); nil if they
  /// do not determine one.
  func withoutGyroscope(field needsField: Bool) -> Quaternion? {
    guard let force = steadyForce.value,
      let leveled = Quaternion.shortestTurn(from: force, to: Vector3(0, 0, 1))
    else { return nil }
    guard needsField else { return leveled }
    guard let steady = steadyField.value else { return nil }
    let field = leveled.rotate(steady)
    guard field.x != 0 || field.y != 0 else { return nil }
    let half = 0.5 * atan2(field.x, field.y)
    return (Quaternion(w: cos(half), x: 0, y: 0, z: sin(half)) * leveled).normalized
  }
}

/// A vector averaged over half a second.
private struct SteadyVector: Sendable {
  private(set) var value: Vector3?
  private var last = 0.0

  mutating func process(_ new: Vector3, at time: Double) {
    let gain = value == nil ? 1 : 1 - exp(-max(0, time - last) / 0.5)
    let before = value ?? new
    value = before + gain * (new - before)
    last = time
  }
}
