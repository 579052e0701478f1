internal import Navigation
internal import Positioning
internal import Sensors
internal import Spatial
internal import Telemetry
internal import Traces

/// The last half minute of every sensor, and the traces that are recorded from it. A value without I/O.
///
/// A trace starts at the end of an impact, or on request, with the ring's samples of the time before. New samples follow every second.
/// Several traces can be recorded simultaneously.
struct TraceReports: Sendable {
  /// State of the rest of the pipeline.
  struct Context: Sendable {
    var timeBase: TimeBase
    /// The newest position that may be published exactly; nil if there is none.
    var place: Location?
    var places: ExactPlaces
    /// Start of the current rest; nil while the vehicle moves or its activity is unknown.
    var restSince: Timestamp?
  }

  private struct Recording: Sendable {
    let run: Int
    var message: TraceMessage
    let moment, until: Timestamp
    /// The last block of the ring that was handed out.
    var block: Int
    var nextCut: Timestamp
  }

  private let settings: PipelineConfiguration.Traces
  /// Which places were told when the ring took them in.
  private var places: ExactPlaces
  private var ring: TraceRing
  private var observer: CrashObserver
  private var recordings: [Recording] = []
  /// Of the blow that is followed, also when its trace is whole.
  private var followed: (run: Int, message: TraceMessage)?
  private var runs = 0
  private var newestScan: Timestamp?
  /// Time of the newest scan that was processed before its turn; nil if none was.
  private var earlyUntil: Timestamp?
  private var motionDue: Timestamp?
  private var mounting: Quaternion?
  /// The last time of rest that is known of, as long as it was one for certain.
  private var rest: ClosedRange<Timestamp>?
  private var steps: [TraceStep] = []
  private var isStopped = false
  private let latency: Double

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
  /// s that a scan waits at most for those of other sensors, with a margin.
  private static let longestWait = 3.0
  /// Traces that are under way at once, and of them those that somebody asks for: blows are half a minute apart at least, and their traces
  /// last a minute at most.
  private static let (most, mostAsked) = (6, 3)
  /// s: how old a position may be to be where the blow was. A car goes 300 m in that time.
  private static let placeAge = 10.0
  /// s by which the clock of who asks may be ahead.
  private static let ahead = 2.0

  /// Nil where no traces are kept.
  init?(_ configuration: PipelineConfiguration) {
    guard let settings = configuration.traces else { return nil }
    self.settings = settings
    places = ExactPlaces(configuration)
    var ring = TraceRing.Settings()
    ring.seconds = max(Self.shortest, settings.before + Self.margin)
    ring.bytes = Self.bytes
    self.ring = TraceRing(settings: ring)
    var detector = CrashDetector.Settings()
    detector.changeOfVelocity = settings.changeOfVelocity
    observer = CrashObserver(settings: detector)
    latency = configuration.inertial.latency
  }

  /// Goes on under another configuration; with other settings traces that are under way end, and the ring begins anew. Where other places
  /// may be told, the ring forgets what it has, and of what is kept those are taken out that may not be told any more.
  func reconfigured(_ new: PipelineConfiguration) -> TraceReports? {
    var next = self
    if new.traces != settings {
      next.finish(nil)
      let steps = next.steps
      if var begun = TraceReports(new) {
        begun.runs = runs
        next = begun
      } else {
        // Without sensors and ring, until its last steps are drained.
        next.ring.removeAll()
        next.isStopped = true
      }
      next.steps = steps
    }
    let newPlaces = ExactPlaces(new)
    if newPlaces != places {
      next.appendAll()
      next.places = newPlaces
      next.ring.removeAll()
      for index in next.recordings.indices {
        next.recordings[index].message = next.recordings[index].message.shown(newPlaces)
      }
      next.followed = next.followed.map { ($0.run, $0.message.shown(newPlaces)) }
      next.steps.append(.withhold(newPlaces))
    }
    return next.isStopped && next.steps.isEmpty ? nil : next
  }

  // MARK: What goes in

  /// Processes scans that wait for those of other sensors, before a stop or a loss of power. Their turn has no effect then.
  mutating func processEarly(_ scans: [InertialScan], mounting: Quaternion?, _ context: Context) {
    for scan in scans { process(scan, mounting: mounting, context) }
    if let newest = scans.last?.timestamp { earlyUntil = newest }
  }

  /// Processes a valid scan, in order of time.
  /// - Parameter mounting: from the device frame to right, forward, up of the vehicle; nil if unknown.
  mutating func process(_ scan: InertialScan, mounting: Quaternion?, _ context: Context) {
    let now = scan.timestamp
    if let early = earlyUntil {
      // A clock that went back further is another time line.
      if (0...Self.longestWait).contains(early.seconds(since: now)) { return }
      earlyUntil = nil
    }
    guard !isStopped else { return }
    self.mounting = mounting
    if let since = context.restSince { rest = min(since, now)...now }
    ring.append(.inertial(scan))
    newestScan = now
    let wasFollowing = observer.isFollowing
    if let summary = observer.process(scan, mounting: mounting) {
      tell(summary, isNew: !wasFollowing, at: now, context)
      if !observer.isFollowing { followed = nil }
    }
    cut(at: now)
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
    if context.places.shown(fix.coordinate) == nil { fix.withholdPlace() }
    ring.append(.fix(fix))
  }

  /// Takes a place, for the speed before a blow and where the vehicle came to rest.
  mutating func observe(_ location: Location) {
    observer.observe(speed: location.speed, coordinate: location.coordinate, at: location.timestamp)
  }

  /// Records attitude and velocity of the vehicle, ten times a second.
  mutating func observe(at now: Timestamp, _ estimate: NavigationEstimate?, _ context: Context) {
    guard !isStopped, motionDue.map({ now >= $0 }) ?? true, let estimate else { return }
    motionDue = now.advanced(bySeconds: Self.motionPace)
    let isShown = context.places.shown(estimate.coordinate) != nil
    ring.append(
      .motion(
        TraceMotion(
          timestamp: estimate.timestamp, attitude: estimate.vehicleAttitude,
          velocity: isShown ? estimate.velocity : nil)))
    observer.observe(speed: estimate.speed, coordinate: nil, at: estimate.timestamp)
  }

  /// Learns where the accelerometer ends.
  mutating func observe(_ status: SourceStatus) {
    if let range = status.ranges[.accelerometer] { observer.observe(range: range) }
  }

  /// Lets time pass: a trace whose sensors have gone silent is as whole as it gets.
  mutating func advance(to now: Timestamp) {
    for recording in recordings where now >= due(recording) {
      // Without inertial sensors nothing else says that the time is over.
      end(recording.run, isWhole: newestScan == nil)
    }
  }

  /// When `advance` has something to do, if nothing comes before.
  var nextDeadline: Timestamp? { recordings.map(due).min() }

  private func due(_ recording: Recording) -> Timestamp {
    recording.until.advanced(bySeconds: latency + Self.patience)
  }

  /// Begins the trace of a blow that is under way and is a crash already, and has what there is of all traces kept: nobody knows whether more
  /// comes.
  mutating func save(_ context: Context?) {
    if let context, let now = newestScan {
      let wasFollowing = observer.isFollowing
      if let summary = observer.finish(mounting: mounting) {
        tell(summary, isNew: !wasFollowing, at: now, context)
      }
    }
    appendAll()
  }

  /// Ends the traces that are under way, before a stop; that of a blow that is, begins first.
  mutating func finish(_ context: Context?) {
    save(context)
    for recording in recordings { end(recording.run, isWhole: false) }
  }

  /// Begins a trace that somebody asks for.
  /// - Parameters:
  ///   - moment: nil is now.
  ///   - now: where the time line stands.
  mutating func begin(
    _ request: TraceRequest, at moment: Timestamp?, now: Timestamp, _ context: Context
  ) -> TraceRequest.Answer {
    func time(_ timestamp: Timestamp) -> String { context.timeBase.utc(at: timestamp).rfc3339 }
    guard let there = ring.times else {
      return .refused("nothing has been measured in the last half minute; sensors sleep, or there are none")
    }
    if let moment, moment > now.advanced(bySeconds: Self.ahead) {
      return .refused("\(time(moment)) is in the future here, where it is \(time(now))")
    }
    let moment = min(moment ?? now, now)
    guard moment >= there.lowerBound,
      moment <= there.upperBound.advanced(bySeconds: latency + Self.patience)
    else {
      return .refused(
        "\(time(moment)) is not in memory, which has \(time(there.lowerBound)) to \(time(there.upperBound))")
    }
    let asked = recordings.filter { $0.message.cause == .command }.map(\.until)
    if asked.count >= Self.mostAsked, let first = asked.min() {
      return .refused(
        "\(asked.count) that were asked for are being recorded, the first until \(time(first)); ask again then"
      )
    }
    let message = message(
      .command, at: moment, before: request.before ?? settings.before, after: request.after ?? settings.after,
      context)
    begin(message, at: moment, now: now, context)
    return .begun(run: runs, message)
  }

  // MARK: What comes out

  /// What has become due since the last call, in order.
  mutating func drain() -> [TraceStep] {
    guard !steps.isEmpty else { return [] }
    defer { steps = [] }
    return steps
  }

  private mutating func tell(_ summary: CrashSummary, isNew: Bool, at now: Timestamp, _ context: Context) {
    let moment = summary.pulse.start
    var message =
      isNew
      ? message(.impact, at: moment, before: settings.before, after: settings.after, context)
      : followed?.message
    let impact = TraceMessage.Impact(summary, before: message?.impact, context)
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
    _ cause: TraceMessage.Cause, at moment: Timestamp, before: Double, after: Double, _ context: Context
  ) -> TraceMessage {
    let there = ring.times.map { moment.seconds(since: $0.lowerBound) } ?? 0
    let place = place(at: moment, context)
    return TraceMessage(
      time: context.timeBase.utc(at: moment), trace: JournalNumber(series: "", number: 0), cause: cause,
      state: .recording, before: min(before, max(0, there)), after: after, coordinate: place?.coordinate,
      horizontalAccuracy: place?.horizontalAccuracy)
  }

  /// Where the vehicle was: a position that is older is one only where it has rested since.
  private func place(at moment: Timestamp, _ context: Context) -> Location? {
    guard let place = context.place else { return nil }
    let age = moment.seconds(since: place.timestamp)
    // Of a moment that is over the newest position may be of later.
    if abs(age) <= Self.placeAge { return place }
    guard let rest, place.timestamp.advanced(bySeconds: Self.placeAge) >= rest.lowerBound,
      rest.upperBound.advanced(bySeconds: Self.pace) >= moment
    else { return nil }
    return age > 0 ? place : nil
  }

  private mutating func begin(
    _ message: TraceMessage, at moment: Timestamp, now: Timestamp, _ context: Context
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
  /// - Parameter told: what was told of it before; nil where nothing was.
  fileprivate init(_ summary: CrashSummary, before told: Self?, _ context: TraceReports.Context) {
    let pulse = summary.pulse
    // Where the place is nobody's business, the speed says too much.
    let speed = context.place == nil ? nil : summary.speedBefore
    self.init(
      severity: .init(rawValue: pulse.severity.rawValue) ?? .light,
      speedBefore: told.map { $0.speedBefore } ?? speed,
      changeOfVelocity: pulse.changeOfVelocity, isInVehicleFrame: pulse.isInVehicleFrame,
      direction: pulse.direction, peak: pulse.peak, isClipped: pulse.isClipped,
      duration: pulse.end.seconds(since: pulse.start), largestTilt: summary.largestTilt,
      hasRolledOver: summary.hasRolledOver, rest: context.places.shown(summary.restPosition),
      restTime: summary.restTime.map { context.timeBase.utc(at: $0) })
  }
}
