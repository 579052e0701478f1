internal import Navigation
internal import Positioning
internal import Sensors
internal import Spatial
internal import Telemetry
internal import Traces

/// The last half minute of all sensors, in a ring buffer, and the traces recorded from it. A value without
/// I/O.
///
/// A trace starts at the end of an impact, or on request. It first contains the ring's content from before
/// that time; later samples are added every second. Several traces can be in progress at the same time.
struct TraceReports: OptionalPart {
  private struct Recording: Sendable {
    let run: Int
    var message: TraceMessage
    let moment, until: Timestamp
    /// Number of the last block of the ring that was added to the trace.
    var block: Int
    var nextCut: Timestamp
  }

  private let settings: PipelineConfiguration.Traces
  /// The positions that may be published exactly. The ring only contains such positions.
  private var places: ExactPositions
  private var ring: TraceRing
  private var observer: CrashObserver
  private var recordings: [Recording] = []
  /// The impact that the detector still evaluates, with its trace, which can already be complete; nil if
  /// there is none.
  private var followed: (run: Int, message: TraceMessage)?
  private var runs = 0
  private var newestScan: Timestamp?
  /// Time of the newest scan that `processEarly` has processed before its turn; nil if there is none.
  private var earlyUntil: Timestamp?
  private var motionDue: Timestamp?
  private var mounting: Quaternion?
  /// The last period in which rest was certain; nil if there was none.
  private var rest: ClosedRange<Timestamp>?
  private var steps: [TraceStep] = []
  private var isStopped = false
  private var latency: Double

  /// Minimum length of the ring in s. Half a minute requires 90 kB at 400 Hz.
  private static let shortest = 30.0
  /// Additional length of the ring in s: impacts last up to 0.3 s, and blocks start up to two seconds before
  /// their first required sample.
  private static let margin = 3.0
  /// Maximum size of the ring in bytes: half a minute at 1 kHz.
  private static let bytes = 256 * 1024
  /// Interval in s between additions to a trace, and between attitudes in it.
  private static let (pace, motionPace) = (1.0, 0.1)
  /// Time in s without scans, in addition to buffering in the kernel, after which a trace is completed.
  private static let scanTimeout = 2.0
  /// Maximum time in s for which a scan waits for older scans of other sensors, with a margin.
  private static let longestWait = 3.0
  /// Maximum number of traces in progress, and maximum number of requested traces among them. Impacts are at
  /// least half a minute apart, and their traces last a minute at most.
  private static let (most, mostAsked) = (6, 3)
  /// Maximum age in s of a position that counts as that of an impact. A car travels 300 m in this time.
  private static let placeAge = 10.0
  /// Time in s by which a requested time may be in the future, because the requester's clock may be ahead.
  private static let ahead = 2.0

  /// Returns nil if traces are disabled.
  init?(_ configuration: PipelineConfiguration) {
    guard let settings = configuration.traces else { return nil }
    self.settings = settings
    places = ExactPositions(configuration)
    var ring = TraceRing.Settings()
    ring.seconds = max(Self.shortest, settings.before + Self.margin)
    ring.bytes = Self.bytes
    self.ring = TraceRing(settings: ring)
    var detector = CrashDetector.Settings()
    detector.changeOfVelocity = settings.changeOfVelocity
    observer = CrashObserver(settings: detector)
    latency = configuration.inertial.latency
  }

  /// Adopts the settings of the context. If the trace settings change, traces in progress end, and the ring is
  /// cleared. If other positions may be published, the ring is also cleared, and positions that became private are
  /// removed from stored traces.
  mutating func isRetained(from old: PipelineConfiguration, _ context: inout PipelineContext) -> Bool {
    let new = context.configuration
    let oldPlaces = places
    latency = new.inertial.latency
    if new.traces != settings || isStopped {
      appendAll()
      endAll()
      if var next = TraceReports(new) {
        (next.runs, next.steps) = (runs, steps)
        self = next
      } else {
        // Traces are now disabled, but the last steps must still be drained.
        ring.removeAll()
        isStopped = true
      }
    }
    let newPlaces = ExactPositions(new)
    if newPlaces != oldPlaces {
      appendAll()
      places = newPlaces
      ring.removeAll()
      for index in recordings.indices {
        recordings[index].message = recordings[index].message.shown(newPlaces)
      }
      followed = followed.map { ($0.run, $0.message.shown(newPlaces)) }
      steps.append(.withhold(newPlaces))
    }
    return !(isStopped && steps.isEmpty)
  }

  // MARK: Inputs

  /// Processes scans that still wait for older scans of other sensors, before a stop or a loss of power. When
  /// their turn comes later, they are ignored.
  mutating func processEarly(_ scans: [InertialScan], _ context: PipelineContext) {
    for scan in scans { process(scan, restSince: context.restSince, context) }
    if let newest = scans.last?.timestamp { earlyUntil = newest }
  }

  mutating func process(_ step: inout ScanStep, _ context: inout PipelineContext) {
    observe(at: step.scan.timestamp, step.estimate)
    process(step.scan, restSince: step.restSince, context)
  }

  private mutating func process(_ scan: InertialScan, restSince: Timestamp?, _ context: PipelineContext) {
    let now = scan.timestamp
    if let early = earlyUntil {
      // The scan was processed early. If its time is much earlier, the clock was set back, and the scan is
      // new.
      if (0...Self.longestWait).contains(early.seconds(since: now)) { return }
      earlyUntil = nil
    }
    guard !isStopped else { return }
    mounting = context.mounting
    if let since = restSince { rest = min(since, now)...now }
    ring.append(.inertial(scan))
    newestScan = now
    let wasFollowing = observer.isFollowing
    if let summary = observer.process(scan, mounting: mounting) {
      tell(summary, isNew: !wasFollowing, at: now, context)
      if !observer.isFollowing { followed = nil }
    }
    cut(at: now)
  }

  mutating func process(_ pressures: [PressureData], _ context: inout PipelineContext) {
    guard !isStopped else { return }
    for pressure in pressures { ring.append(.pressure(pressure)) }
  }

  mutating func process(_ step: inout VehicleStep, _ context: inout PipelineContext) {
    guard !isStopped else { return }
    for reading in step.readings { ring.append(.vehicle(reading)) }
    for speed in step.speeds { observer.observe(speed: speed.speed, coordinate: nil, at: speed.timestamp) }
  }

  /// Processes a report of the receiver; a private position is removed from it.
  mutating func process(_ step: inout FixStep, _ context: inout PipelineContext) {
    guard !isStopped else { return }
    var fix = step.fix
    if places.shown(fix.coordinate) == nil { fix.withholdPlace() }
    ring.append(.fix(fix))
  }

  /// Processes a position. Impacts use it for the speed before and for the final position of the vehicle.
  mutating func process(_ location: inout Location, _ context: inout PipelineContext) {
    observer.observe(speed: location.speed, coordinate: location.coordinate, at: location.timestamp)
  }

  /// Records attitude and velocity of the vehicle according to navigation, ten times a second.
  private mutating func observe(at now: Timestamp, _ estimate: NavigationEstimate?) {
    guard !isStopped, motionDue.map({ now >= $0 }) ?? true, let estimate else { return }
    motionDue = now.advanced(bySeconds: Self.motionPace)
    let isShown = places.shown(estimate.coordinate) != nil
    ring.append(
      .motion(
        TraceMotion(
          timestamp: estimate.timestamp, attitude: estimate.vehicleAttitude,
          velocity: isShown ? estimate.velocity : nil)))
    observer.observe(speed: estimate.speed, coordinate: nil, at: estimate.timestamp)
  }

  /// Updates the measurement range of the accelerometer.
  mutating func observe(_ change: SourceStatus, _ context: inout PipelineContext) {
    if let range = change.ranges[.accelerometer] { observer.observe(range: range) }
  }

  /// Advances the time, and completes traces whose sensors became silent.
  mutating func advance(to timestamp: Timestamp, _ context: inout PipelineContext) {
    for recording in recordings where timestamp >= due(recording) {
      // Without inertial sensors, no scan completes the trace, so it is complete when its time is over.
      end(recording.run, isWhole: newestScan == nil)
    }
  }

  func nextDeadline(_ context: PipelineContext) -> Timestamp? { recordings.map(due).min() }

  private func due(_ recording: Recording) -> Timestamp {
    recording.until.advanced(bySeconds: latency + Self.scanTimeout)
  }

  /// Requests storage of all traces, because power may fail. If an impact in progress already counts as a
  /// crash, its trace is started first.
  mutating func save(_ context: PipelineContext) {
    if let now = newestScan {
      let wasFollowing = observer.isFollowing
      if let summary = observer.finish(mounting: mounting) {
        tell(summary, isNew: !wasFollowing, at: now, context)
      }
    }
    appendAll()
  }

  /// Ends traces in progress before a stop. If an impact in progress already counts as a crash, its trace is
  /// started first.
  mutating func finish(_ context: PipelineContext) {
    save(context)
    endAll()
  }

  private mutating func endAll() {
    for recording in recordings { end(recording.run, isWhole: false) }
  }

  /// Starts a requested trace.
  /// - Returns: the run of the trace, or the reason why it was refused.
  mutating func begin(_ request: TraceRequest, _ context: PipelineContext) -> TraceRequest.Answer {
    let now = context.now
    var moment: Timestamp?
    if let time = request.time {
      guard let offset = context.timeBase.knownOffset(at: now) else {
        return .refused("this vehicle has no civil time yet; ask for now, without a time")
      }
      let (sum, overflow) = time.nanoseconds.subtractingReportingOverflow(offset)
      moment = Timestamp(nanoseconds: overflow ? .max / 2 : sum)
    }
    return begin(request, at: moment, now: now, context)
  }

  /// - Parameter moment: requested time; nil for now.
  private mutating func begin(
    _ request: TraceRequest, at moment: Timestamp?, now: Timestamp, _ context: PipelineContext
  ) -> TraceRequest.Answer {
    func time(_ timestamp: Timestamp) -> String { context.timeBase.utc(at: timestamp).rfc3339 }
    guard let there = ring.times else {
      return .refused("nothing has been measured in the last half minute; sensors sleep, or there are none")
    }
    if let moment, moment > now.advanced(bySeconds: Self.ahead) {
      return .refused("\(time(moment)) is in the future; the vehicle's time is \(time(now))")
    }
    let moment = min(moment ?? now, now)
    guard moment >= there.lowerBound,
      moment <= there.upperBound.advanced(bySeconds: latency + Self.scanTimeout)
    else {
      return .refused(
        "\(time(moment)) is not in memory, which has \(time(there.lowerBound)) to \(time(there.upperBound))")
    }
    let asked = recordings.filter { $0.message.cause == .command }.map(\.until)
    if asked.count >= Self.mostAsked, let first = asked.min() {
      return .refused(
        "\(asked.count) requested traces are being recorded, the first until \(time(first)); retry then"
      )
    }
    let message = message(
      .command, at: moment, before: request.before ?? settings.before, after: request.after ?? settings.after,
      context)
    begin(message, at: moment, now: now, context)
    return .begun(run: runs, message)
  }

  // MARK: Outputs

  /// Removes and returns the actions on traces since the last call, in the order of their execution.
  mutating func drain() -> [TraceStep] {
    guard !steps.isEmpty else { return [] }
    defer { steps = [] }
    return steps
  }

  private mutating func tell(
    _ summary: CrashSummary, isNew: Bool, at now: Timestamp, _ context: PipelineContext
  ) {
    let moment = summary.pulse.start
    var message =
      isNew
      ? message(.impact, at: moment, before: settings.before, after: settings.after, context)
      : followed?.message
    let impact = TraceMessage.Impact(
      summary, before: message?.impact, isPlaceShown: shownPlace(context) != nil, places, context.timeBase)
    message?.impact = impact
    guard let message else { return }
    if isNew {
      begin(message, at: moment, now: now, context)
      followed = (runs, message)
    } else if let run = followed?.run {
      followed?.message = message
      for index in recordings.indices where recordings[index].run == run {
        recordings[index].message = message
      }
      steps.append(.tell(run: run, message))
    }
  }

  private func message(
    _ cause: TraceMessage.Cause, at moment: Timestamp, before: Double, after: Double,
    _ context: PipelineContext
  ) -> TraceMessage {
    let there = ring.times.map { moment.seconds(since: $0.lowerBound) } ?? 0
    let place = place(at: moment, context)
    return TraceMessage(
      time: context.timeBase.utc(at: moment), trace: JournalNumber(series: "", number: 0), cause: cause,
      state: .recording, before: min(before, max(0, there)), after: after, coordinate: place?.shownCoordinate,
      horizontalAccuracy: place?.horizontalAccuracy)
  }

  /// Returns the position of the vehicle at a time; nil if unknown. A position older than `placeAge` is valid
  /// only if the vehicle has been at rest since.
  private func place(at moment: Timestamp, _ context: PipelineContext) -> ShownLocation? {
    guard let place = shownPlace(context) else { return nil }
    let age = moment.seconds(since: place.timestamp)
    // For a time in the past, the newest position can also be later than that time.
    if abs(age) <= Self.placeAge { return place }
    guard let rest, place.timestamp.advanced(bySeconds: Self.placeAge) >= rest.lowerBound,
      rest.upperBound.advanced(bySeconds: Self.pace) >= moment
    else { return nil }
    return age > 0 ? place : nil
  }

  /// Returns the newest position, if it may be published exactly; nil otherwise.
  private func shownPlace(_ context: PipelineContext) -> ShownLocation? {
    guard let place = context.lastPlace, places.contains(place.coordinate),
      let shown = context.shown(place), shown.coordinate == place.coordinate
    else { return nil }
    return shown
  }

  private mutating func begin(
    _ message: TraceMessage, at moment: Timestamp, now: Timestamp, _ context: PipelineContext
  ) {
    if recordings.count == Self.most { end(recordings[0].run, isWhole: false) }
    runs += 1
    let start = moment.advanced(bySeconds: -message.before)
    let until = moment.advanced(bySeconds: message.after)
    let head = TraceFile.Head(
      moment: moment, utcOffset: context.timeBase.knownOffset(at: moment) ?? 0)
    let isOver = newestScan.map { $0 > until } ?? false
    let (blocks, number) = isOver ? (ring.blocks(start...until), 0) : ring.cut(after: 0, from: start)
    steps.append(.begin(run: runs, message, head, blocks: blocks))
    guard !isOver else {
      steps.append(.end(run: runs, message, isWhole: true))
      return
    }
    recordings.append(
      Recording(
        run: runs, message: message, moment: moment, until: until, block: number,
        nextCut: now.advanced(bySeconds: Self.pace)))
  }

  private mutating func cut(at now: Timestamp) {
    guard !recordings.isEmpty else { return }
    for (index, recording) in recordings.enumerated().reversed()
    where now >= min(recording.nextCut, recording.until) {
      if now >= recording.until {
        end(recording.run, isWhole: true)
      } else {
        append(index)
        recordings[index].nextCut = now.advanced(bySeconds: Self.pace)
      }
    }
  }

  private mutating func append(_ index: Int) {
    let (blocks, number) = ring.cut(after: recordings[index].block)
    recordings[index].block = number
    if !blocks.isEmpty { steps.append(.append(run: recordings[index].run, blocks)) }
  }

  private mutating func appendAll() { for index in recordings.indices { append(index) } }

  private mutating func end(_ run: Int, isWhole: Bool) {
    guard let index = recordings.firstIndex(where: { $0.run == run }) else { return }
    append(index)
    var ended = recordings.remove(at: index)
    let newest = newestScan ?? ring.times?.upperBound
    let after = newest.map { $0.seconds(since: ended.moment) } ?? 0
    ended.message.after = min(ended.message.after, max(0, after))
    if followed?.run == run { followed?.message.after = ended.message.after }
    steps.append(.end(run: run, ended.message, isWhole: isWhole))
  }
}

extension TraceMessage.Impact {
  /// Creates the description of an impact.
  ///
  /// - Parameters:
  ///   - summary: the evaluation of the impact.
  ///   - told: the description in the last message about this impact; nil if there is none.
  ///   - isPlaceShown: true if the exact position of the vehicle may be published.
  ///   - places: the positions that may be published exactly.
  ///   - timeBase: civil time.
  fileprivate init(
    _ summary: CrashSummary, before told: Self?, isPlaceShown: Bool, _ places: ExactPositions,
    _ timeBase: TimeBase
  ) {
    let pulse = summary.pulse
    // If the exact position must not be published, the speed must not be either, because it narrows down the
    // position.
    let speed = isPlaceShown ? summary.speedBefore : nil
    self.init(
      severity: .init(rawValue: pulse.severity.rawValue) ?? .light,
      speedBefore: told.map { $0.speedBefore } ?? speed,
      changeOfVelocity: pulse.changeOfVelocity, isInVehicleFrame: pulse.isInVehicleFrame,
      direction: pulse.direction, peak: pulse.peak, isClipped: pulse.isClipped,
      duration: pulse.end.seconds(since: pulse.start), largestTilt: summary.largestTilt,
      hasRolledOver: summary.hasRolledOver, rest: places.shown(summary.restPosition),
      restTime: summary.restTime.map { timeBase.utc(at: $0) })
  }
}
