internal import Glibc
internal import Sensors
internal import Spatial

/// Turns where a vehicle is into what its satellite receiver reports.
struct GNSSModel: Sendable {
  /// What a report is made of besides the receiver's own state.
  struct Situation {
    var state: VehicleState
    /// Seconds on the simulation's time line.
    var time: Double
    /// Whether something hides the sky.
    var isBlocked: Bool
    /// Whether the receiver was without power just before.
    var wakes: Bool
    var utc: UTCTime?
  }

  private let receiver: SimulatedDrive.Receiver
  private let frame: LocalFrame
  private var generator: SeededGenerator
  private var outages: OutageModel
  private var drift: GaussMarkov<Vector3>
  private var geometry: GaussMarkov<Double>
  private var lastReport: Double?
  private var lastFix: Double?
  /// When the receiver will have found its satellites.
  private var readyAt = 0.0

  init(
    _ receiver: SimulatedDrive.Receiver, frame: LocalFrame, generator: SeededGenerator,
    outageGenerator: SeededGenerator
  ) {
    self.receiver = receiver
    self.frame = frame
    self.generator = generator
    outages = OutageModel(receiver, generator: outageGenerator)
    drift = GaussMarkov(correlationTime: receiver.errorCorrelationTime, generator: &self.generator)
    geometry = GaussMarkov(correlationTime: 240, generator: &self.generator)
  }

  mutating func report(_ situation: Situation) -> PositionFix {
    let (time, timestamp) = (situation.time, situation.state.timestamp)
    let elapsed = time - (lastReport ?? time)
    drift.advance(by: elapsed, generator: &generator)
    geometry.advance(by: elapsed, generator: &generator)
    lastReport = time

    if situation.wakes || elapsed > receiver.hotStartLimit {
      let isHot = lastFix.map { time - $0 < receiver.hotStartLimit } ?? false
      readyAt = time + (isHot ? receiver.hotStart : receiver.coldStart)
    }
    let isOut = outages.isOut(at: time)
    if situation.isBlocked || isOut { readyAt = max(readyAt, time + receiver.reacquisition) }
    // A receiver keeps time through an outage, but cannot know it before its first fix.
    let hasTime = lastFix != nil
    guard !situation.isBlocked, !isOut, time >= readyAt else {
      var fix = PositionFix(timestamp: timestamp, time: hasTime ? situation.utc : nil, mode: .noFix)
      fix.satellitesUsed = 0
      fix.satellitesVisible = situation.isBlocked || isOut ? 0 : 4
      fix.receiver = receiver.name
      return fix
    }
    lastFix = time
    return fix(of: situation.state, utc: situation.utc)
  }

  private mutating func fix(of state: VehicleState, utc: UTCTime?) -> PositionFix {
    // The dilution spreads log-normally around 0.9, and the errors grow with it.
    let spread = exp(0.15 * geometry.value)
    let noise = generator.nextNormalVector()
    let axis = spread * Vector3(receiver.horizontalError, receiver.horizontalError, receiver.verticalError)
    let error = axis * drift.value + spread * receiver.positionNoise * noise
    let velocity = state.motion.velocity + receiver.velocityNoise * generator.nextNormalVector()
    let speed = (velocity.x * velocity.x + velocity.y * velocity.y).squareRoot()
    let used = max(5, min(16, Int((12 - 20 * (spread - 1)).rounded())))

    var fix = PositionFix(
      timestamp: state.timestamp, time: utc, mode: .threeDimensional,
      coordinate: frame.coordinate(at: SIMD2(state.position.x + error.x, state.position.y + error.y)))
    fix.altitudeMeanSeaLevel = state.altitudeMeanSeaLevel + error.z
    fix.altitudeEllipsoidal = state.altitudeMeanSeaLevel + error.z + receiver.geoidHeight
    fix.speed = speed
    fix.climb = velocity.z
    if speed >= receiver.courseThreshold {
      fix.course = normalizedDegrees(atan2(velocity.x, velocity.y).degrees)
      fix.courseError = min(180, (1.96 * atan2(receiver.velocityNoise, speed)).degrees)
    }
    // 95 % bounds, as gpsd gives them: 2.45 deviations of a plane error, 1.96 of one along a line.
    fix.horizontalError = 2.45 * spread * hypot(receiver.horizontalError, receiver.positionNoise)
    fix.verticalError = 1.96 * spread * hypot(receiver.verticalError, receiver.positionNoise)
    fix.speedError = 1.96 * receiver.velocityNoise
    fix.horizontalDilution = 0.9 * spread
    fix.satellitesUsed = used
    fix.satellitesVisible = used + 4
    fix.receiver = receiver.name
    return fix
  }
}

extension SimulatedDrive {
  /// A simulated satellite receiver: its errors, how long it takes to find a fix, and when it loses it.
  public struct Receiver: Hashable, Sendable {
    /// Standard deviation of the slowly changing horizontal error, m per axis.
    public var horizontalError = 1.5
    /// Standard deviation of the slowly changing vertical error, m.
    public var verticalError = 3.0
    /// In what time these errors change, s.
    public var errorCorrelationTime = 60.0
    /// White noise on top, m per axis.
    public var positionNoise = 0.2
    /// White noise of the velocity, m/s per axis.
    public var velocityNoise = 0.08
    /// Below this speed no course is given, m/s.
    public var courseThreshold = 0.5
    /// From power to the first fix, s, without knowledge of the satellites' orbits.
    public var coldStart = 12.0
    /// From power to the first fix, s, when the last fix is younger than `hotStartLimit`.
    public var hotStart = 1.5
    /// For how long the known orbits hold, s.
    public var hotStartLimit = 7200.0
    /// From the sky's return after a tunnel to the next fix, s.
    public var reacquisition = 1.0
    /// Mean time between random losses of all signals, s; nil for none.
    public var meanTimeBetweenOutages: Double? = 900
    /// Shortest and longest random loss, s.
    public var outageDuration: ClosedRange<Double> = 4...25
    /// Height of the geoid over the ellipsoid, m.
    public var geoidHeight = 46.3
    /// What fixes give as their receiver.
    public var name = "simulated"

    public init() {}

    /// A receiver that tells the truth at once and always, save in tunnels.
    public static var ideal: Receiver {
      var receiver = Receiver()
      receiver.horizontalError = 0
      receiver.verticalError = 0
      receiver.positionNoise = 0
      receiver.velocityNoise = 0
      receiver.courseThreshold = 0.01
      receiver.coldStart = 0
      receiver.hotStart = 0
      receiver.reacquisition = 0
      receiver.meanTimeBetweenOutages = nil
      return receiver
    }
  }
}

/// When all satellites are lost for no reason of the route: at random, as beside a truck or under a bridge.
struct OutageModel: Sendable {
  private let meanTimeBetween: Double?
  private let duration: ClosedRange<Double>
  private var generator: SeededGenerator
  private var start: Double
  private var end: Double

  init(_ receiver: SimulatedDrive.Receiver, generator: SeededGenerator) {
    meanTimeBetween = receiver.meanTimeBetweenOutages
    duration = receiver.outageDuration
    self.generator = generator
    (start, end) = (0, 0)
    drawNext()
  }

  /// Whether nothing is heard at a time (s), which must not be before that of the last call.
  mutating func isOut(at time: Double) -> Bool {
    guard meanTimeBetween != nil else { return false }
    while time >= end { drawNext() }
    return time >= start
  }

  private mutating func drawNext() {
    guard let meanTimeBetween else { return }
    start = end + generator.nextExponential(mean: meanTimeBetween)
    end = start + duration.lowerBound + (duration.upperBound - duration.lowerBound) * generator.nextUniform()
  }
}
