public import Spatial

/// What is promised while no fix comes.
extension BoundedReporter {
  /// m/s: a vehicle that was seen faster does not rest, whatever the accelerometer feels.
  private static let restSpeed = 1.5
  /// Seconds until the end of a rest is known: the accelerometer's samples wait for two seconds, and the detector wants to be
  /// sure. On the drives of `BoundedPromiseTests` 2 and 5 tell the same.
  private static let restNoticing = 3.5
  /// Seconds before which a promise is renewed that only the accelerometer watches over.
  private static let renewal = 10.0

  /// Learns whether the receiver is on. While it sleeps nobody waits for a fix that is late.
  public mutating func observe(isReceiverOn: Bool) { self.isReceiverOn = isReceiverOn }

  /// Learns whether the accelerometer feels rest; nil when it cannot say.
  /// - Parameter since: when that began, as far as can be told.
  public mutating func observe(isAtRest: Bool?, since: Timestamp) -> [ReportPredictor] {
    restSince = isAtRest == true ? since : nil
    guard watch == .accelerometer, isAtRest != true, var ended = report else { return [] }
    // The first metres of what began then are within the bound.
    let standing = physics.seconds(within: roomAtRest, apart: 0)
    let until = since.advanced(bySeconds: isAtRest == nil ? 0 : standing)
    ended.validity = min(ended.validity ?? .infinity, max(0, until.seconds(since: ended.moment)))
    report = ended.rounded
    watch = .nobody
    return [ended.rounded]
  }

  /// The device stands where it was last seen and nobody looks until the next location: decides what is still open, and makes
  /// sure that the prediction stands still too.
  ///
  /// - Parameter isSeen: whether the fixes until now were taken; otherwise the device may be somewhere else already.
  public mutating func stand(isSeen: Bool = true) -> [ReportPredictor] {
    settle(isStanding: true, mayRest: isSeen)
  }

  /// When the promise lapses, or must be renewed, if no location comes: as late as the delay allows.
  var lapse: Timestamp? {
    guard let report, let newest else { return nil }
    switch watch {
    case .nobody: return nil
    case .accelerometer:
      return report.validity.map { report.moment.advanced(bySeconds: max(1, $0 - Self.renewal) + delay) }
    case .receiver:
      let doubt = physics.seconds(within: report, from: newest) + delay
      // What may only be late is waited for.
      return newest.timestamp.advanced(bySeconds: isReceiverOn ? max(doubt, cadence.silence) : doubt)
    }
  }

  /// Seconds after the newest fix for which the promise holds without another; nil when nothing is promised, and while a
  /// sensor other than the receiver watches over it.
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
      // It still rests there. Of several that nobody asked for in time, the last one tells all.
      again.moment = lapse.advanced(bySeconds: -delay)
      again.validity = Self.restLease
      report = again
      renewed = [again]
    }
    return renewed
  }

  /// A gap in which the vehicle can have left the bound and come back ends what was promised before it.
  mutating func closeGap(before sample: MotionSample) -> [ReportPredictor] {
    guard watch == .receiver, let newest, let report,
      case let gap = sample.timestamp.seconds(since: newest.timestamp), !isReceiverOn || gap > cadence.silence
    else { return [] }
    if window.isEmpty,
      physics.seconds(within: report, from: newest) + physics.seconds(within: report, from: sample) >= gap
    {
      return []
    }
    return settle(isStanding: false, mayRest: true)
  }

  /// Decides what is open and brings the last report before nobody looks.
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
    // Of two reports for one moment the later one counts.
    if reports.last?.moment == last.moment { reports.removeLast() }
    report = last
    watch = rests ? .accelerometer : .nobody
    return reports + [last]
  }

  /// Whether the accelerometer notices the end of a rest before the bound breaks.
  private func isRestWatched(since seen: MotionSample) -> Bool {
    guard let restSince, restSince <= seen.timestamp, seen.speed < Self.restSpeed else { return false }
    return physics.seconds(within: roomAtRest, apart: 0) + delay >= Self.restNoticing
  }

  /// Metres by which a resting vehicle may move. Over hours a position wanders by twice its accuracy.
  private var roomAtRest: Double { epsilon - 2 * (newest?.accuracy ?? 0) }
}
