public import Spatial
public import VehicleData

/// Validity of reports while no fixes arrive.
extension BoundedReporter {
  /// Speed in m/s above which a vehicle is not at rest, regardless of the accelerometer.
  private static let restSpeed = 1.5
  /// Time in s until the end of a rest is detected: the accelerometer's samples are buffered for two seconds,
  /// and the detector needs some time. On the drives of `BoundedPromiseTests`, values of 2 s and 5 s give
  /// equal results.
  private static let restNoticing = 3.5
  /// Time in s before the end of its validity, at which a report that only the accelerometer monitors is
  /// renewed.
  private static let renewal = 10.0

  /// Updates whether the receiver is on. While it sleeps, missing fixes do not indicate a failure.
  public mutating func observe(isReceiverOn: Bool) { self.isReceiverOn = isReceiverOn }

  /// Updates whether the accelerometer reports rest; nil if unknown.
  /// - Parameter since: estimated start of rest or motion.
  public mutating func observe(isAtRest: Bool?, since: Timestamp) -> [ReportPredictor] {
    restSince = isAtRest == true ? since : nil
    guard watch == .accelerometer, isAtRest != true, var ended = report else { return [] }
    // The start of the motion remains within the bound for this time.
    let standing = physics.seconds(within: roomAtRest, apart: 0)
    let until = since.advanced(bySeconds: isAtRest == nil ? 0 : standing)
    ended.validity = min(ended.validity ?? .infinity, max(0, until.seconds(since: ended.moment)))
    report = ended.rounded
    watch = .nobody
    return [ended.rounded]
  }

  /// Assumes that the device stays at its last position and is not observed until the next location: decides
  /// open reports, and publishes a prediction without motion.
  ///
  /// - Parameter isSeen: true if all fixes until now were processed. If false, the device may have moved
  ///   already.
  public mutating func stand(isSeen: Bool = true) -> [ReportPredictor] {
    settle(isStanding: true, mayRest: isSeen)
  }

  /// Latest time at which a report must be sent if no location arrives, because the bound ends or must be
  /// renewed. It includes the display delay.
  var lapse: Timestamp? {
    guard let report, let newest else { return nil }
    switch watch {
    case .nobody: return nil
    case .accelerometer:
      return report.validity.map { report.moment.advanced(bySeconds: max(1, $0 - Self.renewal) + delay) }
    case .receiver:
      let doubt = physics.seconds(within: report, from: newest) + delay
      // While the receiver is on, the next fix may only be late, so the reporter waits for it.
      return newest.timestamp.advanced(bySeconds: isReceiverOn ? max(doubt, cadence.silence) : doubt)
    }
  }

  /// Time in s after the newest fix for which the bound applies without another fix. Nil without a report,
  /// and while the receiver does not monitor it.
  public var secondsUnwatched: Double? {
    guard watch == .receiver, let newest else { return nil }
    guard let report, window.isEmpty else { return 0 }
    return physics.seconds(within: report, from: newest)
  }

  mutating func renew(while isDue: (Timestamp) -> Bool) -> [ReportPredictor] {
    var renewed: [ReportPredictor] = []
    while window.isEmpty, let lapse, isDue(lapse) {
      guard watch == .accelerometer, var again = report else {
        return renewed + settle(isStanding: false, mayRest: true)
      }
      // The vehicle is still at rest. Of several missed renewals, only the last is published.
      again.moment = lapse.advanced(bySeconds: -delay)
      again.validity = Self.restLease
      report = again
      renewed = [again]
    }
    return renewed
  }

  /// Ends the validity of earlier reports after a gap in which the vehicle may have left the bound and
  /// returned.
  mutating func closeGap(before sample: MotionSample) -> [ReportPredictor] {
    guard watch == .receiver, let newest, let report,
      case let gap = sample.timestamp.seconds(since: newest.timestamp),
      !isReceiverOn || cadence.isMissing(after: gap)
    else { return [] }
    if window.isEmpty,
      physics.seconds(within: report, from: newest) + physics.seconds(within: report, from: sample) >= gap
    {
      return []
    }
    // A report cannot correct moments that are already displayed.
    let displayed = sample.timestamp.advanced(bySeconds: -delay)
    if isReceiverOn, delay < cadence.interval { return [] }
    guard let path = GapPath(from: newest, to: sample, physics: physics),
      path.margin <= Self.largestMargin * epsilon
    else { return settle(isStanding: false, mayRest: true) }
    for between in path.samples(every: cadence.interval)
    where between.timestamp > displayed && !(window.isEmpty && holds(for: between)) {
      window.append(between)
    }
    return []
  }

  /// - Parameter speed: reported speed in m/s; nil if the receiver reports none. It is preferred to that of `sample`,
  ///   which may come from noisy positions.
  mutating func observeRest(_ sample: MotionSample, speed: Double?) {
    let known = speed ?? (sample.velocityDeviation.isFinite ? sample.speed : .infinity)
    guard known < Self.restSpeed else {
      slowStart = nil
      return
    }
    if let slowStart, slowStart.coordinate.distance(to: sample.coordinate) <= epsilon { return }
    slowStart = (sample.timestamp, sample.coordinate)
  }

  /// Returns the validity in s of a report at a time. At rest it is as long as the rest until then: the longer
  /// a vehicle has rested, the longer it will.
  func lease(at time: Timestamp) -> Double {
    max(Self.lease, min(Self.restLease, slowStart.map { time.seconds(since: $0.timestamp) } ?? 0))
  }

  /// Decides open reports. Returns these and the last report before observation stops.
  mutating func settle(isStanding: Bool, mayRest: Bool) -> [ReportPredictor] {
    var reports = decide { _ in true }
    if watch == .accelerometer, !mayRest, var ended = report {
      ended.validity = 0
      report = ended
      watch = .nobody
      return reports + [ended]
    }
    guard let newest, watch == .receiver || isStanding && report?.velocity != .zero else { return reports }
    let rests = mayRest && isRestWatched(since: newest)
    var last = ReportPredictor(
      moment: newest.timestamp, coordinate: newest.coordinate,
      velocity: isStanding || rests ? .zero : newest.velocity, bound: epsilon, delay: delay)
    last.growth = growth(of: last)
    last.validity = rests ? Self.restLease : physics.seconds(within: last, from: newest)
    last = last.rounded
    // Of two reports for the same time, the later one is valid.
    if reports.last?.moment == last.moment { reports.removeLast() }
    report = last
    watch = rests ? .accelerometer : .nobody
    return reports + [last]
  }

  /// Returns whether the accelerometer detects the end of the rest before the bound is exceeded.
  private func isRestWatched(since seen: MotionSample) -> Bool {
    guard let restSince, restSince <= seen.timestamp, seen.speed < Self.restSpeed else { return false }
    return physics.seconds(within: roomAtRest, apart: 0) + delay >= Self.restNoticing
  }

  /// Permitted motion of a resting vehicle in m. Over hours, a measured position varies by twice its
  /// accuracy.
  private var roomAtRest: Double { epsilon - 2 * (newest?.accuracy ?? 0) }
}
