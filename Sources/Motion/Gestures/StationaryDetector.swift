internal import Glibc
public import Spatial

/// Whether the device stands still or moves, as a vehicle does: an idling engine is not motion.
///
/// Both sensors go through a band-pass from 0.3 to 4 Hz. A moving body sways in that band at any speed, and roads shake it
/// there; an engine (above 10 Hz) and a slope (below 0.3 Hz) are outside. In a recorded drive the band held 1 to 3 mg and
/// 1 to 3 mrad/s while the car stood, and never less than 15 mg and 8 mrad/s while it drove; the thresholds lie between.
/// Works with the accelerometer alone, better with a gyroscope: either can call motion, both must be quiet for rest.
///
/// The noise floor of a sensor is learned while the device stands, so a noisier one raises its threshold up to the
/// `ceiling` factor. It is never learned in motion: a smooth motorway must not become the new rest.
///
/// Even braking is as quiet as rest. Where a receiver says that the vehicle moves, no rest begins (`observe(speed:)`); where
/// none speaks, the inertial sensors decide alone.
public struct StationaryDetector: Sendable {
  public struct Settings: Hashable, Sendable {
    /// g, effective, in the band: above is motion.
    public var accelerationThreshold = 0.01
    /// rad/s, effective, in the band: above is motion.
    public var rotationThreshold = 0.005
    /// A threshold rises to this many times the noise floor that was learned ...
    public var noiseFactor = 3.0
    /// ... but at most to this many times its own value.
    public var ceiling = 2.5
    /// Rest is left at the threshold and entered at this share of it.
    public var hysteresis = 0.7
    /// Seconds of quiet that make rest: shorter than a stop at a sign, longer than a smooth patch of road.
    public var settlingTime = 1.5
    /// Seconds of motion that make moving: a slammed door or a gust is over before.
    public var startingTime = 0.8

    public init() {}
  }

  public enum State: String, Hashable, Sendable, CaseIterable {
    case stationary
    case moving
  }

  /// Nil until it has been decided for the first time.
  public private(set) var state: State?
  /// When the state began, as far as can be told: the detector decides a little later. Nil before the first decision.
  public private(set) var since: Timestamp?

  private let settings: Settings
  private var acceleration: BandLevel
  private var rotation: BandLevel
  private var pending: (state: State, since: Timestamp)?
  private var lastAcceleration: Timestamp?
  private var lastRotation: Timestamp?
  private var receiver = SpeedWitness()

  public init(settings: Settings = Settings()) {
    self.settings = settings
    acceleration = BandLevel(threshold: settings.accelerationThreshold, settings: settings)
    rotation = BandLevel(threshold: settings.rotationThreshold, settings: settings)
  }

  /// Takes an accelerometer sample in g, gravity included. Returns the state when it changes. Samples that are not finite
  /// or not later than the last are ignored.
  public mutating func process(acceleration sample: Vector3, at timestamp: Timestamp) -> State? {
    guard sample.isFinite, lastAcceleration.map({ timestamp > $0 }) ?? true else { return nil }
    lastAcceleration = timestamp
    acceleration.process(sample, at: timestamp, isAtRest: state == .stationary)
    return decide(at: timestamp)
  }

  /// Takes a gyroscope sample in rad/s; a constant bias does not matter.
  public mutating func process(rotationRate sample: Vector3, at timestamp: Timestamp) -> State? {
    guard sample.isFinite, lastRotation.map({ timestamp > $0 }) ?? true else { return nil }
    lastRotation = timestamp
    rotation.process(sample, at: timestamp, isAtRest: state == .stationary)
    return decide(at: timestamp)
  }

  /// Takes the speed that a receiver has measured: no rest begins while it says that the vehicle moves.
  /// - Parameters:
  ///   - speed: m/s over ground.
  ///   - accuracy: m/s, one standard deviation; nil when unknown.
  ///   - timestamp: when it was measured.
  public mutating func observe(speed: Double, accuracy: Double?, at timestamp: Timestamp) {
    let newest = [lastAcceleration, lastRotation].compactMap { $0 }.max()
    receiver.observe(speed: speed, accuracy: accuracy, at: timestamp, arrival: newest ?? timestamp)
  }

  /// Whether a receiver has just said that the vehicle moves.
  public func isContradicted(at timestamp: Timestamp) -> Bool { receiver.contradictsRest(at: timestamp) }

  private mutating func decide(at timestamp: Timestamp) -> State? {
    guard let lastAcceleration else { return nil }
    // A sensor that fell silent has no say: its level is that of a while ago.
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
      // The rest began after the receiver last said otherwise.
      since = max(start, min(timestamp, receiver.lastMotion ?? start))
    }
    state = candidate
    self.since = since
    pending = nil
    return candidate
  }
}

/// What a receiver says of the vehicle's motion, for as long as that is fresh.
private struct SpeedWitness {
  /// m/s. Receivers measure their speed by the Doppler shift, to 0.5 at worst, whatever they say themselves (gpsd derives the
  /// error from that of positions and says several times as much); parked ones wander by less than 0.25.
  private static let (worstAccuracy, bestAccuracy) = (0.5, 0.25)
  /// A fix is fresh until the next was due: half an interval and so many seconds later.
  private static let latency = 1.0
  /// Seconds; who speaks more rarely than that watches nobody.
  private static let longestInterval = 20.0

  /// When the last fix said that the vehicle moved.
  private(set) var lastMotion: Timestamp?
  /// On the clock of the samples.
  private var arrival: Timestamp?
  private var interval = 0.0
  private var isMoving = false

  mutating func observe(speed: Double, accuracy: Double?, at timestamp: Timestamp, arrival now: Timestamp) {
    guard speed.isFinite else { return }
    let accuracy = accuracy.flatMap { $0.isFinite ? $0 : nil } ?? Self.worstAccuracy
    isMoving = speed > max(Self.bestAccuracy, min(accuracy, Self.worstAccuracy))
    if isMoving { lastMotion = timestamp }
    // Of fixes that have waited and come together, only the first says how long nothing came.
    let gap = arrival.map { now.seconds(since: $0) } ?? 0
    if gap > 0 { interval = min(gap, Self.longestInterval) }
    arrival = now
  }

  func contradictsRest(at now: Timestamp) -> Bool {
    guard isMoving, let arrival else { return false }
    return abs(now.seconds(since: arrival)) <= 1.5 * interval + Self.latency
  }
}

/// The effective value of a signal within the band, and the threshold it is held against.
private struct BandLevel {
  private let base: Double
  private let settings: StationaryDetector.Settings
  // The corner frequencies of the band, Hz; the upper one twice, as engines come close to it at idle.
  private var upper = LowPassFilter(cutoff: 4)
  private var upperAgain = LowPassFilter(cutoff: 4)
  private var slow = LowPassFilter(cutoff: 0.3)
  private var power = 0.0
  private var floor: Double?
  private var last: Timestamp?

  /// Seconds over which the power is averaged, and over which the noise floor is learned.
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
      // After a silence the filters would take the jump for motion.
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
