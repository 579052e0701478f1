internal import Glibc
internal import Sensors
internal import Spatial

/// A model of the satellite receiver that converts the vehicle's position to reports.
struct GNSSModel: Sendable {
  /// The external conditions of a report.
  struct Situation {
    var state: SimulatedState
    /// Time in s since the start of the simulation.
    var time: Double
    /// True if the sky is blocked.
    var isBlocked: Bool
    /// True if the receiver was just switched on.
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
  /// The time in s since the start before which the receiver has no fix.
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
    // A receiver maintains time through an outage, but has none before its first fix.
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

  private mutating func fix(of state: SimulatedState, utc: UTCTime?) -> PositionFix {
    // The dilution is log-normal around 0.9, and the errors scale with it.
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
    // 95 % bounds, as gpsd reports them: 2.45 standard deviations of a horizontal error, 1.96 of a vertical
    // one.
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
  /// A simulated satellite receiver: its errors, its time to first fix, and its outages.
  public struct Receiver: Hashable, Sendable {
    /// Standard deviation of the slowly changing horizontal error, m per axis.
    public var horizontalError = 1.5
    /// Standard deviation of the slowly changing vertical error, m.
    public var verticalError = 3.0
    /// Correlation time in s of the slowly changing horizontal and vertical errors.
    public var errorCorrelationTime = 60.0
    /// Additional white noise of the position, m per axis.
    public var positionNoise = 0.2
    /// White noise of the velocity, m/s per axis.
    public var velocityNoise = 0.08
    /// Speed in m/s below which no course is reported.
    public var courseThreshold = 0.5
    /// Time to first fix in s without ephemerides.
    public var coldStart = 12.0
    /// Time to first fix in s if the last fix is younger than `hotStartLimit`.
    public var hotStart = 1.5
    /// Validity of the ephemerides in s.
    public var hotStartLimit = 7200.0
    /// Time from the end of a tunnel to the next fix, s.
    public var reacquisition = 1.0
    /// Mean time between random losses of all signals, s; nil for none.
    public var meanTimeBetweenOutages: Double? = 900
    /// Range of the duration of a random loss, s.
    public var outageDuration: ClosedRange<Double> = 4...25
    /// Height of the geoid above the ellipsoid, m.
    public var geoidHeight = 46.3
    /// Receiver name in the fixes.
    public var name = "simulated"

    public init() {}

    /// A receiver without errors or delays; it only loses fixes in tunnels.
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

/// A model of random outages independent of the route, such as beside a truck or under a bridge.
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

  /// Returns whether there is an outage at a time (s), which must not precede that of the last call.
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
