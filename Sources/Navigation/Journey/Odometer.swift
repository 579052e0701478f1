internal import Glibc
internal import Spatial

/// The distance travelled: the integral of speed, or without any speed the length of the path of positions.
///
/// - The speed is navigation's if it is aligned, otherwise the receiver's, otherwise the wheels' with the
///   scale calibrated by satellites (`WheelDistance`).
/// - A vehicle at rest adds nothing (`StandstillDetector`). With measured speeds, a jump of the position adds
///   nothing, because positions are not summed.
/// - A gap without measurements, or while the agent was not running, is filled with the most plausible
///   distance between the positions before and after it (`PlausibleDistance`). This distance is also counted
///   in `estimated`. A gap between two stops is filled only if the positions differ by more than their
///   errors.
/// - With a receiver that reports no speed, only positions are available (`positionMotion`). The distance is
///   the length of their path without noise (`PositionTravel`), and is also counted in `estimated`. Slow
///   motion is counted when the positions differ by more than their errors.
/// - If a receiver derives its speeds from positions, the sum is as accurate as those positions.
///
/// A value type without I/O; time arrives with the samples.
public struct Odometer: Hashable, Sendable {
  /// Metres since the odometer was created; never decreases.
  public private(set) var distance = 0.0
  /// Metres of `distance` that were estimated in gaps.
  public private(set) var estimated = 0.0
  /// The difference between the vehicle's own odometer and `distance` in m; 0 if it was not set.
  public private(set) var offset = 0.0

  private var anchor: Anchor?
  private var standing = StandstillDetector()
  private var wheels = WheelDistance()
  private var travel: PositionTravel?

  /// The state of the vehicle up to which the distance has been counted.
  fileprivate struct Anchor: Hashable, Sendable {
    /// The time of the state; nil if the state was stored before a restart.
    var timestamp: Timestamp?
    var time: UTCTime?
    /// The position; nil if only the wheels have measured the distance since the last position.
    var place: OdometerState.Place?
    var speed: Double?
    var velocity: SIMD2<Double>?
    /// The newest position. `place` is an earlier position as long as the two agree within their errors.
    var latest: Coordinate?
  }

  /// Motion derived from positions, for a receiver that reports no speed.
  public enum PositionMotion: Hashable, Sendable {
    /// The newest position agrees with the position of the last decision within the errors.
    case undecided
    /// The vehicle moves. `speed` is the mean since the last decision in m/s.
    case moving(speed: Double)
    /// The positions of the last `longestDecision` seconds agree within their errors.
    case resting
  }

  /// Motion up to the newest sample, derived from positions; nil if speeds are measured.
  public private(set) var positionMotion: PositionMotion?

  /// Maximum interval in s between two speeds that are averaged for the time between them. It is long enough
  /// for a receiver that leaves out an epoch or two.
  private static let longestStep = 5.0
  /// The speed in m/s below which both ends of a gap count as rest, unless the positions differ by more than
  /// their errors.
  private static let restingSpeed = 1.0
  /// The largest plausible error of a difference of positions, in 68 % radii; one in 30,000 exceeds it.
  private static let confidence = 3.0
  /// The assumed 68 % accuracy in m of a position without a stated accuracy.
  fileprivate static let unknownAccuracy = 15.0
  /// Time in s without a significant difference of positions, after which the vehicle counts as at rest. A
  /// longer interval is a gap.
  static let longestDecision = 120.0
  /// Maximum time in s for which a gap is filled by the speeds at its ends, if not both positions are known.
  private static let longestWithoutPlaces = 10.0

  public init() {}

  /// Restores stored state. The gap since the state was stored is closed at the first sample.
  public init(_ state: OdometerState) {
    (distance, estimated, offset) = (state.distance, state.estimated, state.offset)
    guard state.place != nil else { return }
    anchor = Anchor(
      time: state.time, place: state.place, speed: state.velocity?.magnitude, velocity: state.velocity)
  }

  /// The state of the odometer to store across restarts.
  public var state: OdometerState {
    OdometerState(
      distance: distance, estimated: estimated, offset: offset, place: anchor?.place,
      velocity: anchor?.velocity,
      time: anchor?.time)
  }

  /// The reading of the vehicle's instruments in m.
  public var reading: Double { distance + offset }

  /// Sets the reading of the vehicle's instruments in m.
  public mutating func set(reading: Double) { offset = reading - distance }

  /// True if the vehicle is at rest according to its speeds.
  public var isStanding: Bool { standing.isStanding }

  /// Processes a motion sample. Samples arrive in order of time; late or implausible ones are ignored.
  public mutating func process(_ sample: OdometerSample) {
    guard sample.isSound else { return }
    positionMotion = nil
    if sample.speed != nil { travel = nil }
    guard let before = anchor else { return begin(sample) }
    guard let timestamp = before.timestamp else {
      return close(before, sample, seconds: seconds(before, sample))
    }
    let step = sample.timestamp.seconds(since: timestamp)
    guard step > 0 else { return }
    if sample.speed == nil, before.place != nil, before.speed == nil || step > Self.longestStep {
      return process(position: sample, after: before, step: step)
    }
    guard step <= Self.longestStep else { return close(before, sample, seconds: step) }
    // A single report without a speed, for example after a jump, is skipped.
    guard let speed = sample.speed else {
      positionMotion = .undecided
      return
    }
    let isStopped = sample.isStopped || wheels.areStanding(at: sample.timestamp, receiver: speed)
    let next = Anchor(sample, isStopped: isStopped)
    let motion = StandstillDetector.Motion(speed: next.speed ?? 0, velocity: next.velocity)
    let earlier =
      before.speed.map { StandstillDetector.Motion(speed: $0, velocity: before.velocity) } ?? motion
    let way = standing.process(earlier, motion, seconds: step, isStopped: isStopped)
    if sample.isReceiverInUse, !standing.isStanding, before.place != nil {
      wheels.learn(way: way, seconds: step)
    }
    distance += way
    advance(to: next)
  }

  /// Processes a wheel speed. Wheel speeds count only while neither navigation nor a receiver provides a
  /// speed.
  public mutating func process(_ speed: WheelSpeed) {
    let previous = wheels.last
    wheels.process(speed)
    guard let last = wheels.last, let since = anchor?.timestamp else { return }
    let step = last.timestamp.seconds(since: since)
    // The CAN bus slept while the vehicle was at rest. Its silence adds no distance and does not affect later
    // samples.
    if let previous, previous.speed == 0, step > Self.longestStep,
      last.timestamp.seconds(since: previous.timestamp) > Self.longestStep, var next = anchor
    {
      next.timestamp = last.timestamp
      return advance(to: next)
    }
    guard step > Self.longestStep, let way = wheels.distance(seconds: step) else { return }
    distance += way
    let scaled = wheels.scale * last.speed
    standing.interrupt(isMoving: scaled > 0)
    // At rest, the position does not change.
    let place = way == 0 ? anchor?.place : nil
    advance(
      to: Anchor(
        timestamp: last.timestamp, time: nil, place: place, speed: scaled,
        velocity: scaled == 0 ? .zero : nil))
  }

  private mutating func begin(_ sample: OdometerSample) {
    advance(to: Anchor(sample, isStopped: sample.isStopped))
    standing.interrupt(isMoving: (sample.speed ?? 0) > Self.restingSpeed)
  }

  private mutating func advance(to next: Anchor) {
    anchor = next
    wheels.restart()
  }

  private func seconds(_ before: Anchor, _ sample: OdometerSample) -> Double? {
    guard let time = before.time, let now = sample.time, case let step = now.seconds(since: time), step > 0
    else { return nil }
    return step
  }

  // MARK: Positions alone

  private mutating func process(position sample: OdometerSample, after before: Anchor, step: Double) {
    guard let first = before.place, let latest = before.latest else {
      return close(before, sample, seconds: step)
    }
    let next = Anchor(sample, isStopped: sample.isStopped)
    var travel = self.travel ?? PositionTravel()
    defer { self.travel = travel }
    // Over minutes, the errors of a receiver at rest reach opposite sides of the circle.
    let diameter = 2 * Self.confidence * (sample.accuracy ?? Self.unknownAccuracy)
    travel.add(sample.coordinate, at: sample.timestamp, error: diameter)
    if travel.isMoving, travel.stayed(until: sample.timestamp) >= Self.longestDecision {
      positionMotion = .resting
      travel.stop()
      // The distance up to the earlier position has been counted.
      var next = next
      next.place = first
      return advance(to: next)
    }
    let error =
      sample.accuracy.map { Self.confidence * hypot(first.radius, $0) } ?? diameter
    let way = LocalFrame(origin: first.coordinate).offset(of: sample.coordinate).magnitude
    let limit = travel.isMoving ? travel.step(radius: sample.accuracy) ?? error : error
    guard way > limit, !sample.isStopped else {
      return process(near: sample, after: before, step: step, way: way, &travel)
    }
    let moved = LocalFrame(origin: latest).offset(of: sample.coordinate).magnitude
    positionMotion = .moving(speed: moved / step)
    guard moved < OdometerSample.fastest * step else {
      // One of the two positions is wrong. The odometer continues from the new one.
      positionMotion = .undecided
      travel.stop()
      return advance(to: next)
    }
    if before.speed == nil {
      add(estimated: travel.shortened(way))
    } else {
      close(before, sample, seconds: step)
    }
    travel.move()
    advance(to: next)
    standing.interrupt(isMoving: moved > Self.restingSpeed * step)
  }

  /// Processes a position whose distance from that of the last decision does not prove motion.
  private mutating func process(
    near sample: OdometerSample, after before: Anchor, step: Double, way: Double,
    _ travel: inout PositionTravel
  ) {
    let (isStopped, radius) = (sample.isStopped, sample.accuracy)
    var next = Anchor(sample, isStopped: isStopped)
    positionMotion = isStopped ? .resting : .undecided
    if travel.isMoving, travel.step(radius: radius) != nil || isStopped {
      guard isStopped || travel.isStop(way: way, seconds: step, radius: radius) else { return }
      add(estimated: travel.shortened(way))
      travel.stop()
      // The vehicle has been at rest since it reached the last corner of its path.
      if !isStopped { (next.timestamp, next.time) = (before.timestamp, before.time) }
      return advance(to: next)
    }
    if !isStopped, let start = travel.start(radius: radius ?? Self.unknownAccuracy) {
      travel.move()
      positionMotion = .moving(speed: start.way / start.seconds)
      // The positions of a moving vehicle whose speed is reported seldom continue from its last speed.
      if before.speed ?? 0 > Self.restingSpeed { return close(before, sample, seconds: step) }
      add(estimated: start.way)
      advance(to: next)
      return standing.interrupt(isMoving: true)
    }
    guard step >= Self.longestDecision || isStopped else { return }
    positionMotion = .resting
    travel.stop()
    // The earlier position is retained, so that slow motion is eventually detected.
    (next.place, next.speed, next.velocity) = (before.place, nil, nil)
    advance(to: next)
  }

  // MARK: Gaps

  private mutating func close(_ before: Anchor, _ sample: OdometerSample, seconds: Double?) {
    var next = Anchor(sample, isStopped: sample.isStopped)
    let isMoving = max(before.speed ?? 0, next.speed ?? 0) > Self.restingSpeed
    if let first = before.place, let second = next.place {
      let chord = LocalFrame(origin: first.coordinate).offset(of: second.coordinate)
      let error = Self.confidence * hypot(first.radius, second.radius)
      // If the distance is impossible in this time, one of the positions is wrong.
      let isPossible = seconds.map { chord.magnitude <= OdometerSample.fastest * $0 + error } ?? true
      if !isPossible {
        // No distance is added; the odometer continues from the new position.
      } else if isMoving || chord.magnitude > error {
        add(
          estimated: PlausibleDistance(
            chord: chord, before: before.velocity, after: next.velocity, seconds: seconds
          ).length)
      } else {
        // The earlier position is retained, so that a slow movement within the errors is eventually detected.
        next.place = first
      }
    } else if let seconds, let speed = before.speed, let now = next.speed, isMoving {
      add(estimated: (speed + now) / 2 * min(seconds, Self.longestWithoutPlaces))
    }
    advance(to: next)
    standing.interrupt(isMoving: isMoving && (next.speed ?? 0) > Self.restingSpeed)
  }

  private mutating func add(estimated way: Double) {
    distance += way
    estimated += way
  }
}

extension Odometer.Anchor {
  fileprivate init(_ sample: OdometerSample, isStopped: Bool) {
    timestamp = sample.timestamp
    time = sample.time
    latest = sample.coordinate
    place = OdometerState.Place(
      coordinate: sample.coordinate, radius: sample.accuracy ?? Odometer.unknownAccuracy)
    speed = isStopped ? 0 : sample.speed
    velocity =
      if isStopped || sample.speed == 0 {
        .zero
      } else if let speed = sample.speed, let course = sample.course {
        speed * SIMD2(sin(course * .pi / 180), cos(course * .pi / 180))
      } else { nil }
  }
}
