package import LocalProtocols
internal import Navigation
internal import Positioning
internal import Sensors
package import Spatial

/// The position at one moment, as each access permits it.
package struct LocalEpoch: Sendable {
  /// Time of the position by the device's monotonic clock.
  package var timestamp: Timestamp
  package var reports: [LocalAccess: LocalReport]

  package init(timestamp: Timestamp, reports: [LocalAccess: LocalReport]) {
    (self.timestamp, self.reports) = (timestamp, reports)
  }
}

/// The part of the pipeline that serves programs on this machine: reports every position to them, and powers the
/// sensors for them. It publishes nothing.
struct LocalReports: PipelinePart {
  private var demand = LocalDemand()
  private var epochs: [LocalEpoch] = []
  /// Time of the newest reported position; nil before the first.
  private var newest: Timestamp?
  /// Time at which the programs are notified that there is no position; nil without demand.
  private var silenceDue: Timestamp?
  /// The receiver's newest report.
  private var fix: PositionFix?
  /// The newest attitude, and its time.
  private var attitude: (timestamp: Timestamp, value: LocalAttitude)?
  private var isReceiverOn = true
  /// True if a barometer is available.
  private(set) var hasBarometer = false
  /// Start of the demand for exact positions; nil without it. And the duration of earlier demands in s.
  private var exactSince: Timestamp?
  private var exactSeconds = 0.0

  /// Time in s without a position after which the programs are notified that there is none. Positions arrive
  /// each second, and those of navigation later by the latency of the inertial sensors.
  private static let silence = 3.0
  /// Interval in s between reports without a position.
  private static let repetition = 1.0
  /// Maximum age in s of the receiver's report at the time of a position.
  private static let freshness = 2.5
  /// Maximum number of reports that wait to be drained.
  private static let capacity = 64

  /// Sets the demand. A program that connects while the vehicle is at rest receives its position immediately.
  mutating func set(_ new: LocalDemand, _ context: inout PipelineContext) {
    let isFirst = demand.accesses.isEmpty
    let hasArrivals =
      isFirst || !new.accesses.isSubset(of: demand.accesses) || new.arrivals != demand.arrivals
    demand = new
    context.isPlanOutdated = true
    if let since = exactSince, !new.isExact { exactSeconds += context.now.seconds(since: since) }
    exactSince = new.isExact ? exactSince ?? context.now : nil
    guard !new.accesses.isEmpty else {
      (newest, silenceDue, fix, attitude, context.fusedDue) = (nil, nil, nil, nil, nil)
      return
    }
    context.fusedDue = nextFused
    if isFirst { silenceDue = context.now.advanced(bySeconds: Self.silence) }
    guard context.isPositionConfirmed, var place = context.lastPlace else {
      if isFirst || hasArrivals && !context.configuration.location.isEnabled {
        append(nil, at: context.now, context)
      }
      return
    }
    guard hasArrivals else { return }
    (place.timestamp, place.time) = (context.now, context.timeBase.utc(at: context.now))
    report(place, &context)
  }

  /// Notifies the programs that there is no position when locations are disabled.
  mutating func reconfigure(from old: PipelineConfiguration, _ context: inout PipelineContext) {
    guard old.location.isEnabled, !context.configuration.location.isEnabled else { return }
    (newest, silenceDue, fix, attitude, context.fusedDue) = (nil, nil, nil, nil, nil)
    epochs = []
    if !demand.accesses.isEmpty { append(nil, at: context.now, context) }
  }

  /// Returns the time in s for which programs have required the receiver to be on.
  func receiverSeconds(at now: Timestamp) -> Double {
    exactSeconds + (exactSince.map { max(0, now.seconds(since: $0)) } ?? 0)
  }

  /// Removes and returns the reports since the last call.
  mutating func drain() -> [LocalEpoch] {
    guard !epochs.isEmpty else { return [] }
    defer { epochs.removeAll(keepingCapacity: true) }
    return epochs
  }

  /// Updates whether a barometer is available.
  mutating func observe(_ change: SourceStatus) {
    guard change.kinds.contains(.barometer) else { return }
    if case .unavailable = change.state { hasBarometer = false } else { hasBarometer = true }
  }

  /// Updates whether the receiver is on. While it is off, its silence is not reported.
  mutating func observe(isReceiverOn: Bool) { self.isReceiverOn = isReceiverOn }

  /// True if a program receives the attitude.
  var isAttitudeUsed: Bool { demand.isExact && demand.attitude }

  /// Updates the attitude, before the position of its time.
  /// - Parameters:
  ///   - estimate: the navigation estimate; nil if navigation is not aligned.
  ///   - motion: the attitude of the motion sensors alone; nil without an accelerometer.
  ///   - declination: degrees, positive if magnetic north is east of true north; nil if unknown.
  mutating func observe(
    _ estimate: NavigationEstimate?, motion: (timestamp: Timestamp, attitude: LocalAttitude)?,
    declination: Double?
  ) {
    guard let estimate else {
      attitude = motion.map { ($0.timestamp, $0.attitude) }
      return
    }
    var navigated = LocalAttitude(estimate)
    navigated.yawRate = motion?.attitude.yawRate
    navigated.magneticHeading = declination.map { normalizedDegrees(estimate.heading - $0) }
    attitude = (estimate.timestamp, navigated)
  }

  mutating func process(_ step: inout FixStep, _ context: inout PipelineContext) {
    if demand.isExact { fix = step.timely }
  }

  /// Reports a position, unless a newer one was reported.
  mutating func process(_ location: inout Location, _ context: inout PipelineContext) {
    report(location, &context)
  }

  mutating func advance(to timestamp: Timestamp, _ context: inout PipelineContext) {
    guard let due = nextDeadline(context), due <= timestamp else { return }
    silenceDue = timestamp.advanced(bySeconds: Self.repetition)
    append(nil, at: timestamp, context)
  }

  func nextDeadline(_ context: PipelineContext) -> Timestamp? {
    demand.isExact && isReceiverOn ? silenceDue : nil
  }

  /// Adds the requirements of the programs: every fix for exact positions, otherwise only those that the
  /// reduced accuracy requires.
  func add(to needs: inout PowerNeeds, _ context: PipelineContext) {
    for (kind, demand) in demand.samples { needs.require(kind, demand) }
    guard !demand.accesses.isEmpty, context.configuration.location.isEnabled else { return }
    let isWanted = needs.location.isWanted
    needs.location.isWanted = true
    guard demand.isExact else {
      if !isWanted { needs.location.standingAccuracy = .reduced }
      return
    }
    if needs.location.standingAccuracy != .bestForNavigation { needs.location.standingAccuracy = .best }
    (needs.location.distance, needs.location.notBefore) = (nil, nil)
    (needs.location.maxFixDelay, needs.location.isPaused) = (0, false)
    guard demand.attitude else { return }
    let rate = SensorDemand.rate(
      hertz: context.configuration.inertial.rate, latency: .seconds(context.configuration.inertialLatency))
    for kind in [SensorKind.accelerometer, .gyroscope, .magnetometer] { needs.require(kind, rate) }
  }

  // MARK: Reports

  private mutating func report(_ location: Location, _ context: inout PipelineContext) {
    guard !demand.accesses.isEmpty, newest.map({ $0 < location.timestamp }) ?? true else { return }
    newest = location.timestamp
    silenceDue = max(context.now, location.timestamp).advanced(bySeconds: Self.silence)
    context.fusedDue = nextFused
    append(location, at: location.timestamp, context)
  }

  /// Time of the next position that navigation must compute in addition to its own; nil for none.
  private var nextFused: Timestamp? {
    guard demand.isExact, demand.interval < 1, let newest else { return nil }
    return newest.advanced(bySeconds: demand.interval)
  }

  private mutating func append(_ location: Location?, at timestamp: Timestamp, _ context: PipelineContext) {
    if epochs.count == Self.capacity { epochs.removeFirst() }
    let time = location.map { context.timeBase.utc(of: $0) } ?? context.timeBase.utc(at: timestamp)
    epochs.append(
      LocalEpoch(
        timestamp: timestamp,
        reports: Dictionary(
          uniqueKeysWithValues: demand.accesses.map { ($0, report(location, time, for: $0, context)) })))
  }

  private func report(
    _ location: Location?, _ time: UTCTime, for access: LocalAccess, _ context: PipelineContext
  ) -> LocalReport {
    let policy = access.privacy == .ignore ? PrivacyPolicy() : context.privacy
    let shown = location.flatMap { policy.shown($0, near: context.cells) }
    // The radius of a suspect position contains the position that contradicts it.
    let widened = shown?.widened(to: location?.suspicion?.distance ?? 0)
    guard let location, access.accuracy == .exact, shown?.location == location else {
      return LocalReport(
        time: time, location: access.accuracy == .reduced ? widened?.reduced(near: context.cells) : widened)
    }
    // Satellites and attitude are reported with exact positions only.
    var report = LocalReport(time: time, location: widened)
    report.isEstimated = location.positionSource == .inertial || location.positionSource == .coarse
    if let fix, isFresh(fix.timestamp, at: location.timestamp) { report.receiver = LocalReceiver(fix) }
    if demand.attitude, let attitude, isFresh(attitude.timestamp, at: location.timestamp) {
      report.attitude = attitude.value
    }
    return report
  }

  private func isFresh(_ timestamp: Timestamp, at time: Timestamp) -> Bool {
    abs(time.seconds(since: timestamp)) <= Self.freshness
  }
}

extension LocalAttitude {
  /// The attitude of the vehicle according to navigation.
  fileprivate init(_ estimate: NavigationEstimate) {
    let attitude = Attitude(quaternion: estimate.vehicleAttitude)
    self.init(
      trueHeading: estimate.heading, headingAccuracy: estimate.headingDeviation,
      roll: attitude.roll.degrees, rollAccuracy: estimate.tiltDeviation,
      pitch: attitude.pitch.degrees, pitchAccuracy: estimate.tiltDeviation)
  }
}
