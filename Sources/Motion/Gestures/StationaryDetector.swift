internal import Glibc
public import Spatial
public import VehicleData

/// Detects whether a device in a vehicle is stationary or moving. An idling engine does not count as motion.
///
/// Both sensors pass a band-pass from 0.3 to 4 Hz. A moving body sways in that band at any speed, and roads
/// shake it there; engine vibration (above 10 Hz) and slopes (below 0.3 Hz) are outside. In a recorded drive,
/// the band contained 1 to 3 mg and 1 to 3 mrad/s while the car was stationary. While it moved, the band
/// contained at least 15 mg and 8 mrad/s. The thresholds lie between these values.
///
/// The accelerometer alone is sufficient, a gyroscope improves the result: either sensor can detect motion,
/// and rest requires both to be quiet. The noise floor of each sensor is learned at rest. A noisier sensor
/// therefore gets a higher threshold, up to the factor `ceiling`. The noise floor is never learned in motion,
/// so that a smooth motorway does not count as rest.
///
/// Constant braking is as quiet as rest. A rest therefore does not begin while a receiver reports motion
/// (`observe(speed:)`); without a receiver the inertial sensors decide alone. The wheels prevent a rest in the
/// same way, and also end one (`observe(wheelSpeed:)`), because an accelerometer may fail without a report.
public struct StationaryDetector: Sendable {
  public struct Settings: Hashable, Sendable {
    /// RMS acceleration in g within the band above which the device moves.
    public var accelerationThreshold = 0.01
    /// RMS rotation rate in rad/s within the band above which the device moves.
    public var rotationThreshold = 0.005
    /// Multiple of the learned noise floor to which a threshold rises.
    public var noiseFactor = 3.0
    /// Largest factor by which a threshold rises.
    public var ceiling = 2.5
    /// Share of the threshold below which a rest begins. The rest ends at the threshold itself.
    public var hysteresis = 0.7
    /// Quiet time in s until rest: shorter than a stop at a sign, longer than a smooth stretch of road.
    public var settlingTime = 1.5
    /// Time of motion in s until the device counts as moving: longer than a slammed door or a gust.
    public var startingTime = 0.8

    public init() {}
  }

  public typealias State = MotionState

  /// The current state; nil before the first decision.
  public private(set) var state: State?
  /// Estimated start of the state, which is slightly before the decision; nil before the first decision.
  public private(set) var since: Timestamp?

  private let settings: Settings
  private var acceleration: BandLevel
  private var rotation: BandLevel
  private var pending: (state: State, since: Timestamp)?
  private var lastAcceleration: Timestamp?
  private var lastRotation: Timestamp?
  private var receiver = SpeedWitness()
  private var wheels = SpeedWitness()

  /// Speed in m/s of the wheels above which a rest ends.
  public static let wheelSpeed = 1.5

  public init(settings: Settings = Settings()) {
    self.settings = settings
    acceleration = BandLevel(threshold: settings.accelerationThreshold, settings: settings)
    rotation = BandLevel(threshold: settings.rotationThreshold, settings: settings)
  }

  /// Processes an accelerometer sample in g, with gravity. Returns the state if it changes. Samples that are
  /// not finite or not later than the last are ignored.
  public mutating func process(acceleration sample: Vector3, at timestamp: Timestamp) -> State? {
    guard sample.isFinite, lastAcceleration.map({ timestamp > $0 }) ?? true else { return nil }
    lastAcceleration = timestamp
    acceleration.process(sample, at: timestamp, isAtRest: state == .stationary)
    return decide(at: timestamp)
  }

  /// Processes a gyroscope sample in rad/s; a constant bias has no effect. Returns the state if it changes.
  public mutating func process(rotationRate sample: Vector3, at timestamp: Timestamp) -> State? {
    guard sample.isFinite, lastRotation.map({ timestamp > $0 }) ?? true else { return nil }
    lastRotation = timestamp
    rotation.process(sample, at: timestamp, isAtRest: state == .stationary)
    return decide(at: timestamp)
  }

  /// Processes a receiver's speed. Rest does not begin while the receiver reports motion.
  /// - Parameters:
  ///   - speed: speed over ground in m/s.
  ///   - accuracy: standard deviation in m/s; nil if unknown.
  ///   - timestamp: time of the measurement.
  public mutating func observe(speed: Double, accuracy: Double?, at timestamp: Timestamp) {
    receiver.observe(speed: speed, accuracy: accuracy, at: timestamp, arrival: newestSample ?? timestamp)
  }

  /// Processes a speed of the wheels. Above `wheelSpeed` it ends a rest, and rest does not begin while the wheels
  /// turn. Returns the state if it changes.
  /// - Parameters:
  ///   - speed: speed over ground in m/s.
  ///   - timestamp: time of the measurement.
  public mutating func observe(wheelSpeed speed: Double, at timestamp: Timestamp) -> State? {
    guard speed.isFinite else { return nil }
    wheels.observe(speed: speed, accuracy: nil, at: timestamp, arrival: newestSample ?? timestamp)
    guard speed > Self.wheelSpeed, state == .stationary, since.map({ timestamp > $0 }) ?? true else {
      return nil
    }
    (state, since, pending) = (.moving, timestamp, nil)
    return .moving
  }

  private var newestSample: Timestamp? { [lastAcceleration, lastRotation].compactMap { $0 }.max() }

  /// Returns whether a receiver or the wheels have recently reported motion.
  public func isContradicted(at timestamp: Timestamp) -> Bool {
    receiver.contradictsRest(at: timestamp) || wheels.contradictsRest(at: timestamp)
  }

  private mutating func decide(at timestamp: Timestamp) -> State? {
    guard let lastAcceleration else { return nil }
    // The last level of a gyroscope that delivers no samples is outdated and does not count.
    let hasRotation = lastRotation.map { abs(timestamp.seconds(since: $0)) < 1 } ?? false
    let hasAcceleration = abs(timestamp.seconds(since: lastAcceleration)) < 1
    guard hasAcceleration || hasRotation else { return nil }
    let isLoud = (hasAcceleration && acceleration.isLoud) || (hasRotation && rotation.isLoud)
    let isQuiet = (!hasAcceleration || acceleration.isQuiet) && (!hasRotation || rotation.isQuiet)
    let candidate: State? =
      switch state {
      case .stationary: isLoud ? .moving : nil
      case .moving: isQuiet ? .stationary : nil
      case nil: isLoud ? .moving : isQuiet ? .stationary : nil
      }
    guard let candidate else {
      pending = nil
      return nil
    }
    if pending?.state != candidate { pending = (candidate, timestamp) }
    guard let start = pending?.since else { return nil }
    let needed = candidate == .moving ? settings.startingTime : settings.settlingTime
    guard timestamp.seconds(since: start) >= needed else { return nil }
    var since = start
    if candidate == .stationary {
      guard !isContradicted(at: timestamp) else { return nil }
      // The rest started after the last report of motion.
      let lastMotion = [receiver.lastMotion, wheels.lastMotion].compactMap { $0 }.max()
      since = max(start, min(timestamp, lastMotion ?? start))
    }
    state = candidate
    self.since = since
    pending = nil
    return candidate
  }
}

/// Evidence of motion by the speeds of a receiver or of the wheels, while they are recent.
private struct SpeedWitness {
  /// Limits in m/s of the accuracy that is assumed for a speed. Receivers measure speed by Doppler shift with
  /// an error of at most 0.5. A larger reported error is ignored, because gpsd derives it from positions,
  /// which makes it several times too large. The speed of a parked receiver varies by less than 0.25.
  private static let (worstAccuracy, bestAccuracy) = (0.5, 0.25)
  /// A fix is valid until the next fix is overdue by half an interval plus this time in s.
  private static let latency = 1.0
  /// Longest interval in s between fixes that count as continuous observation.
  private static let longestInterval = 20.0

  /// Time of the last fix that reported motion.
  private(set) var lastMotion: Timestamp?
  /// Arrival of the last fix on the samples' clock.
  private var arrival: Timestamp?
  private var interval = 0.0
  private var isMoving = false

  mutating func observe(speed: Double, accuracy: Double?, at timestamp: Timestamp, arrival now: Timestamp) {
    guard speed.isFinite else { return }
    let accuracy = accuracy.flatMap { $0.isFinite ? $0 : nil } ?? Self.worstAccuracy
    isMoving = speed > max(Self.bestAccuracy, min(accuracy, Self.worstAccuracy))
    if isMoving { lastMotion = timestamp }
    // If delayed fixes arrive together, only the first of them determines the interval between fixes.
    let gap = arrival.map { now.seconds(since: $0) } ?? 0
    if gap > 0 { interval = min(gap, Self.longestInterval) }
    arrival = now
  }

  func contradictsRest(at now: Timestamp) -> Bool {
    guard isMoving, let arrival else { return false }
    return abs(now.seconds(since: arrival)) <= 1.5 * interval + Self.latency
  }
}

/// RMS of a signal within the band, and the threshold with which it is compared.
private struct BandLevel {
  private let base: Double
  private let settings: StationaryDetector.Settings
  // Corner frequencies of the band in Hz. The upper filter is applied twice, because idling engines come
  // close to it.
  private var upper = LowPassFilter(cutoff: 4)
  private var upperAgain = LowPassFilter(cutoff: 4)
  private var slow = LowPassFilter(cutoff: 0.3)
  private var power = 0.0
  private var floor: Double?
  private var last: Timestamp?

  /// Time constants in s: of the averaged power, and of the learned noise floor.
  private static let averagingTime = 0.4
  private static let learningTime = 20.0

  init(threshold: Double, settings: StationaryDetector.Settings) {
    base = threshold
    self.settings = settings
  }

  private var level: Double { power.squareRoot() }

  private var threshold: Double {
    min(base * settings.ceiling, max(base, (floor ?? 0) * settings.noiseFactor))
  }

  var isLoud: Bool { level > threshold }
  var isQuiet: Bool { level < threshold * settings.hysteresis }

  mutating func process(_ sample: Vector3, at timestamp: Timestamp, isAtRest: Bool) {
    let step = last.map { timestamp.seconds(since: $0) } ?? 0
    last = timestamp
    if step > 2 {
      // After a gap of more than 2 s, the filters would interpret the changed value as motion.
      upper.reset()
      upperAgain.reset()
      slow.reset()
      power = 0
    }
    let smooth = upperAgain.process(upper.process(sample, at: timestamp), at: timestamp)
    let band = smooth - slow.process(smooth, at: timestamp)
    power += (1 - exp(-step / Self.averagingTime)) * (band.dot(band) - power)
    guard isAtRest, isQuiet else { return }
    let known = floor ?? level
    floor = known + (1 - exp(-step / Self.learningTime)) * (level - known)
  }
}
