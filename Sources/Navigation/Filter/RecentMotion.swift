internal import Sensors
internal import Spatial

/// The motion of the last seconds, from which late measurements are predicted.
///
/// It consists of integrals of the specific force, so that corrections of the state also correct earlier positions and
/// velocities.
struct RecentMotion: Sendable {
  /// A short time with constant acceleration.
  private struct Segment: Sendable {
    /// Duration in s.
    var seconds = 0.0
    /// Integral of the specific force in the earth frame, m/s.
    var force = Vector3.zero
    /// Integral of `force`, m.
    var distance = Vector3.zero
  }

  /// A moment before the state.
  struct Moment {
    /// Displacement since then, m.
    var displacement: Vector3
    /// Velocity at that moment, m/s.
    var velocity: Vector3
    /// Mean acceleration in m/s² of the segment of that moment and its neighbours, because a shorter one vibrates.
    var acceleration: Vector3
    /// The part of the time since then that is recorded, s.
    var recorded: Double
  }

  /// Duration of a segment in s; a longer interval of samples is a segment, too.
  private static let length = 0.1
  private static let capacity = 24
  /// Time in s before the latency in which motion is corrected.
  private static let margin = 0.7
  /// The standard deviation of the acceleration in m/s² of motion that is not recorded.
  private static let unknownAcceleration = 1.5
  /// The Coriolis acceleration is negligible within seconds.
  private static let gravity = Vector3(0, 0, standardGravity)

  /// The newest segment, which is incomplete.
  private var current = Segment()
  /// Earlier segments, in a ring.
  private var segments = InlineArray<24, Segment>(repeating: Segment())
  private var newest = 0
  private var count = 0
  /// Corrections that are not applied to the segments yet: of the attitude in rad, and of the accelerometer's bias in the
  /// earth frame in m/s².
  private var (turn, bias) = (Vector3.zero, Vector3.zero)

  mutating func reset() {
    (newest, count, current) = (0, 0, Segment())
    (turn, bias) = (.zero, .zero)
  }

  /// Adds the specific force in the earth frame in m/s² of one sample.
  ///
  /// - Parameter latency: latency of measurements in s. Motion long before it is not corrected.
  @inline(__always)
  mutating func add(force: Vector3, seconds: Double, latency: Double) {
    if current.seconds > Self.length - 1e-3 {
      applyCorrections(seconds: latency + Self.margin)
      newest = (newest + 1) % Self.capacity
      count = min(count + 1, Self.capacity)
      segments[newest] = current
      current = Segment()
    }
    let change = force * seconds
    current.distance += (current.force + 0.5 * change) * seconds
    current.force += change
    current.seconds += seconds
  }

  /// Corrects the attitude by a small rotation in the earth frame (rad), and the accelerometer's bias, rotated to the earth
  /// frame (m/s²).
  @inline(__always)
  mutating func correct(turn: Vector3, bias: Vector3) {
    self.turn += turn
    self.bias += bias
  }

  private mutating func applyCorrections(seconds: Double) {
    guard turn != .zero || bias != .zero else { return }
    current = corrected(current)
    for age in 0..<min(count, Int(min(10, max(0, seconds)) / Self.length)) {
      let index = (newest + Self.capacity - age) % Self.capacity
      segments[index] = corrected(segments[index])
    }
    (turn, bias) = (.zero, .zero)
  }

  private func corrected(_ segment: Segment) -> Segment {
    var corrected = segment
    corrected.force += turn.cross(segment.force) - bias * segment.seconds
    corrected.distance += turn.cross(segment.distance) - bias * (0.5 * segment.seconds * segment.seconds)
    return corrected
  }

  /// Returns the motion since a moment, `delay` seconds before a state. The velocity is constant before the oldest segment,
  /// and the acceleration after the state.
  ///
  /// - Parameters:
  ///   - velocity: velocity of the state in m/s.
  ///   - acceleration: smoothed acceleration of the state in m/s².
  func moment(_ delay: Double, before velocity: Vector3, acceleration: Vector3) -> Moment {
    guard delay > 0 else {
      return Moment(
        displacement: (velocity - 0.5 * delay * acceleration) * delay,
        velocity: velocity - delay * acceleration, acceleration: acceleration, recorded: 0)
    }
    var moment = Moment(displacement: .zero, velocity: velocity, acceleration: .zero, recorded: 0)
    var left = delay
    for age in 0...count where left > 0 {
      let segment = segment(age)
      let seconds = segment.seconds
      if seconds >= left {
        // Part of a segment, with its mean acceleration.
        let acceleration = segment.force / seconds - Self.gravity
        moment.displacement += (moment.velocity - 0.5 * left * acceleration) * left
        moment.velocity -= left * acceleration
        moment.recorded = delay
        moment.acceleration = meanAcceleration(around: age)
        return moment
      }
      moment.velocity -= segment.force - Self.gravity * seconds
      moment.displacement +=
        moment.velocity * seconds + segment.distance - Self.gravity * (0.5 * seconds * seconds)
      left -= seconds
    }
    moment.recorded = delay - left
    moment.displacement += moment.velocity * left
    return moment
  }

  /// Returns the largest horizontal difference in m/s² between an acceleration and those at moments, `delay` ± `range`
  /// seconds before the state.
  func accelerationSpread(_ delay: Double, within range: Double, of acceleration: Vector3) -> Double {
    var (time, largest) = (0.0, 0.0)
    for age in 0...count {
      let seconds =
        age == 0 ? current.seconds : segments[(newest + Self.capacity + 1 - age) % Self.capacity].seconds
      defer { time += seconds }
      guard time <= delay + range else { break }
      guard seconds > 0, time + seconds >= delay - range else { continue }
      let difference = meanAcceleration(around: age) - acceleration
      largest = max(largest, difference.x * difference.x + difference.y * difference.y)
    }
    return max(largest.squareRoot(), time < delay + range ? Self.unknownAcceleration : 0)
  }

  /// Returns a corrected segment, of which that with age 0 is the newest.
  private func segment(_ age: Int) -> Segment {
    corrected(age == 0 ? current : segments[(newest + Self.capacity + 1 - age) % Self.capacity])
  }

  private func meanAcceleration(around age: Int) -> Vector3 {
    var (force, seconds) = (Vector3.zero, 0.0)
    for own in max(0, age - 1)...min(count, age + 1) {
      let segment = segment(own)
      force += segment.force
      seconds += segment.seconds
    }
    return force / seconds - Self.gravity
  }
}
