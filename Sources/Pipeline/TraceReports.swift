internal import Navigation
internal import Positioning
internal import Sensors
internal import Spatial
package import Telemetry
package import Traces

/// What is to be done about a trace, in order. Its messages have neither number nor revision, size, pieces and checksum yet: those are whoever's
/// who keeps the trace.
package enum TraceStep: Hashable, Sendable {
  /// What there is up to now is to be safe before anything else.
  case begin(TraceMessage, TraceFile.Head, blocks: [[UInt8]])
  case append([[UInt8]])
  /// More is known of the blow of the last trace that began.
  case tell(TraceMessage)
  /// - Parameter isWhole: no where the time after the moment was cut short.
  case end(TraceMessage, isWhole: Bool)
}

/// The last half minute of every sensor, and what of it is kept for whom. A value without I/O.
///
/// A trace begins at the end of a blow, with all that the ring has of the time before; from then on what comes is handed out second by second.
struct TraceReports: Sendable {
  /// What the rest of the pipeline knows.
  struct Context: Sendable {
    var timeBase: TimeBase
    /// The newest position that may be told exactly; nil where there is none.
    var place: Location?
    /// Nil where positions are nobody's business.
    var privacy: PrivacyPolicy?

    /// A position as it may be told: as it is, or not.
    func shown(_ coordinate: Coordinate?) -> Coordinate? {
      guard let coordinate, let privacy else { return nil }
      let location = Location(timestamp: Timestamp(nanoseconds: 0), coordinate: coordinate)
      return privacy.shown(location)?.coordinate == coordinate ? coordinate : nil
    }
  }

  private struct Recording: Sendable {
    var message: TraceMessage
    let moment, until: Timestamp
    /// The last block of the ring that was handed out.
    var block: Int
    var nextCut: Timestamp
  }

  private let settings: PipelineConfiguration.Traces
  private var ring: TraceRing
  private var observer: CrashObserver
  private var recording: Recording?
  /// Of the blow that is followed, also when its trace is whole.
  private var followed: TraceMessage?
  private var newestScan: Timestamp?
  private var motionDue: Timestamp?
  private var steps: [TraceStep] = []

  /// s that the ring has at least: half a minute costs 90 kB at 400 Hz.
  private static let shortest = 30.0
  /// s that a blow takes beyond `before`: pulses end within 0.3 s, and blocks begin up to two seconds earlier.
  private static let margin = 3.0
  /// Bytes: of half a minute at 1 kHz.
  private static let bytes = 256 * 1024
  /// s between two writings, and between two attitudes.
  private static let (pace, motionPace) = (1.0, 0.1)
  /// s without scans, beyond those that may wait in the kernel, after which a trace is as whole as it gets.
  private static let patience = 2.0

  /// Nil where no traces are kept.
  init?(_ configuration: PipelineConfiguration) {
    guard let settings = configuration.traces else { return nil }
    self.settings = settings
    var ring = TraceRing.Settings()
    ring.seconds = max(Self.shortest, settings.before + Self.margin)
    ring.bytes = Self.bytes
    self.ring = TraceRing(settings: ring)
    var detector = CrashDetector.Settings()
    detector.changeOfVelocity = settings.changeOfVelocity
    observer = CrashObserver(settings: detector)
    latency = configuration.inertial.latency
  }

  private let latency: Double

  /// Goes on under another configuration; with other settings a trace that is under way ends, and the ring begins anew.
  func reconfigured(_ new: PipelineConfiguration) -> TraceReports? {
    guard new.traces != settings else { return self }
    var ended = self
    ended.finish()
    guard var next = TraceReports(new) else { return ended.steps.isEmpty ? nil : ended.stopped }
    next.steps = ended.steps
    return next
  }

  /// Without sensors and ring, until its last steps are drained.
  private var stopped: TraceReports {
    var stopped = self
    stopped.ring.removeAll()
    stopped.isStopped = true
    return stopped
  }

  private var isStopped = false

  // MARK: What goes in

  /// Takes scans, judged and with times of their own.
  /// - Parameter mounting: from the device frame to right, forward, up of the vehicle; nil where it is not known.
  mutating func process(_ block: [InertialScan], mounting: Quaternion?, _ context: Context) {
    guard !isStopped else { return }
    for scan in block {
      ring.append(.inertial(scan))
      newestScan = scan.timestamp
      let wasFollowing = observer.isFollowing
      if let summary = observer.process(scan, mounting: mounting) {
        if wasFollowing {
          follow(summary, context)
        } else {
          begin(summary, at: scan.timestamp, context)
        }
        if !observer.isFollowing { followed = nil }
      }
      cut(at: scan.timestamp)
    }
  }

  mutating func process(_ pressure: PressureData) {
    if !isStopped { ring.append(.pressure(pressure)) }
  }

  mutating func process(_ readings: [VehicleReading], _ speeds: [WheelSpeed]) {
    guard !isStopped else { return }
    for reading in readings { ring.append(.vehicle(reading)) }
    for speed in speeds { observer.observe(speed: speed.speed, coordinate: nil, at: speed.timestamp) }
  }

  /// Takes a report of the receiver, without what nobody may know.
  mutating func process(_ fix: PositionFix, _ context: Context) {
    guard !isStopped else { return }
    var fix = fix
    if context.shown(fix.coordinate) == nil {
      (fix.coordinate, fix.altitudeEllipsoidal, fix.altitudeMeanSeaLevel) = (nil, nil, nil)
      (fix.speed, fix.course, fix.climb) = (nil, nil, nil)
    }
    ring.append(.fix(fix))
  }

  /// Takes a place, for the speed before a blow and where the vehicle came to rest.
  mutating func observe(_ location: Location) {
    observer.observe(speed: location.speed, coordinate: location.coordinate, at: location.timestamp)
  }

  /// Takes how the vehicle lies and moves, ten times a second.
  mutating func observe(at now: Timestamp, _ estimate: () -> NavigationEstimate?, _ context: Context) {
    guard !isStopped, motionDue.map({ now >= $0 }) ?? true, let estimate = estimate() else { return }
    motionDue = now.advanced(bySeconds: Self.motionPace)
    let isShown = context.shown(estimate.coordinate) != nil
    ring.append(
      .motion(
        TraceMotion(
          timestamp: estimate.timestamp, attitude: estimate.vehicleAttitude,
          velocity: isShown ? estimate.velocity : nil)))
    observer.observe(speed: estimate.speed, coordinate: nil, at: estimate.timestamp)
  }

  /// Lets time pass: a trace whose sensors have gone silent is as whole as it gets.
  mutating func advance(to now: Timestamp) {
    guard let nextDeadline, now >= nextDeadline else { return }
    end(isWhole: false)
  }

  /// When `advance` has something to do, if nothing comes before.
  var nextDeadline: Timestamp? { recording?.until.advanced(bySeconds: latency + Self.patience) }

  /// Ends a trace that is under way, before a stop.
  mutating func finish() { end(isWhole: false) }

  // MARK: What comes out

  /// What has become due since the last call, in order.
  mutating func drain() -> [TraceStep] {
    guard !steps.isEmpty else { return [] }
    defer { steps = [] }
    return steps
  }

  private mutating func begin(_ summary: CrashSummary, at now: Timestamp, _ context: Context) {
    end(isWhole: true)
    let moment = summary.pulse.start
    let (blocks, number) = ring.cut(after: 0, from: moment.advanced(bySeconds: -settings.before))
    let before = ring.times.map { moment.seconds(since: $0.lowerBound) } ?? 0
    var message = TraceMessage(
      time: context.timeBase.utc(at: moment), trace: JournalNumber(series: "", number: 0), cause: .impact,
      state: .recording, before: min(settings.before, max(0, before)), after: settings.after,
      coordinate: context.place?.coordinate, horizontalAccuracy: context.place?.horizontalAccuracy)
    message.impact = Self.impact(summary, message, context)
    let head = TraceFile.Head(
      moment: moment, utcOffset: context.timeBase.knownOffset(at: moment) ?? 0)
    steps.append(.begin(message, head, blocks: blocks))
    followed = message
    recording = Recording(
      message: message, moment: moment, until: moment.advanced(bySeconds: settings.after), block: number,
      nextCut: now.advanced(bySeconds: Self.pace))
  }

  private mutating func follow(_ summary: CrashSummary, _ context: Context) {
    guard var message = followed else { return }
    message.impact = Self.impact(summary, message, context)
    followed = message
    if recording?.message.time == message.time { recording?.message = message }
    steps.append(.tell(message))
  }

  private mutating func cut(at now: Timestamp) {
    guard let recording, now >= min(recording.nextCut, recording.until) else { return }
    if now >= recording.until { return end(isWhole: true) }
    append()
    self.recording?.nextCut = now.advanced(bySeconds: Self.pace)
  }

  private mutating func append() {
    guard let block = recording?.block else { return }
    let (blocks, number) = ring.cut(after: block)
    recording?.block = number
    if !blocks.isEmpty { steps.append(.append(blocks)) }
  }

  private mutating func end(isWhole: Bool) {
    append()
    guard var ended = recording else { return }
    recording = nil
    let after = newestScan.map { $0.seconds(since: ended.moment) } ?? 0
    ended.message.after = min(settings.after, max(0, after))
    if followed?.time == ended.message.time { followed?.after = ended.message.after }
    steps.append(.end(ended.message, isWhole: isWhole))
  }

  private static func impact(
    _ summary: CrashSummary, _ message: TraceMessage, _ context: Context
  ) -> TraceMessage.Impact {
    let pulse = summary.pulse
    return TraceMessage.Impact(
      severity: .init(rawValue: pulse.severity.rawValue) ?? .light,
      // Where the place is nobody's business, the speed says too much.
      speedBefore: message.coordinate == nil ? nil : summary.speedBefore,
      changeOfVelocity: pulse.changeOfVelocity, isInVehicleFrame: pulse.isInVehicleFrame,
      direction: pulse.direction, peak: pulse.peak, isClipped: pulse.isClipped,
      duration: pulse.end.seconds(since: pulse.start), largestTilt: summary.largestTilt,
      hasRolledOver: summary.hasRolledOver, rest: context.shown(summary.restPosition),
      restTime: summary.restTime.map { context.timeBase.utc(at: $0) })
  }
}

extension PipelineConfiguration {
  /// Which traces are kept.
  package struct Traces: Sendable, Hashable {
    /// The least impact that has one.
    package var severity: CrashPulse.Severity
    /// Seconds before and after the blow.
    package var before, after: Double

    package init(severity: CrashPulse.Severity = .light, before: Double = 15, after: Double = 15) {
      (self.severity, self.before, self.after) = (severity, before, after)
    }

    /// m/s within 150 ms.
    var changeOfVelocity: Double {
      switch severity {
      case .light: 8 / 3.6
      case .moderate: 16 / 3.6
      case .severe: 40 / 3.6
      }
    }
  }
}
