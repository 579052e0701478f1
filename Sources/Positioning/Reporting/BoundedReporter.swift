public import Spatial

/// A reporting policy with two promises: what a subscriber shows is never more than `epsilon` metres wrong, for the
/// moment `delay` seconds ago. Zero delay is dead reckoning.
///
/// The promise is for every fix that was let in by the end of its delay; between two fixes, and while the receiver is
/// silent, nobody knows the truth. A fix that `FixScreen` holds back for longer is told when it is let in: reports then say
/// its moment within epsilon, too, to whoever keeps them.
///
/// A report is decided as late as the promise allows: when a fix is not within epsilon of the prediction, its moment
/// is shown `delay` seconds later, and until then the fixes that follow it can be looked at. Nothing is lost by
/// waiting, since a report that takes effect earlier has to agree with more fixes and is chosen knowing fewer.
/// Everything that the wire rounds is rounded before it is checked.
///
/// A value type without I/O: locations go in with their time, reports come out. Memory and time per fix are bounded.
public struct BoundedReporter: Sendable {
  /// More fixes than this are not looked at ahead, whatever the delay; the report is then decided early.
  public static let largestWindow = 600

  /// Metres.
  public let epsilon: Double
  /// Seconds.
  public let delay: Double
  /// The newest report decided; nil before the first.
  public private(set) var report: ReportPredictor?
  /// Locations passed over because their time was not after the last one's, since the start.
  public private(set) var unorderedCount = 0

  private let choice: ReportChoice
  /// The fixes that a report is needed for, from the one that broke the bound; empty while the report holds.
  private var window: [MotionSample] = []
  /// The newest fixes, whether needed or not: two give a trend.
  private var newest: MotionSample?
  private var beforeNewest: MotionSample?

  /// - Parameters:
  ///   - epsilon: metres, at least 0.1; smaller ones are taken as that.
  ///   - delay: seconds, 0 or more.
  public init(epsilon: Double, delay: Double = 0) {
    self.epsilon = epsilon > 0.1 ? epsilon : 0.1
    self.delay = delay > 0 ? delay : 0
    choice = ReportChoice(bound: self.epsilon)
  }

  /// When a report must be decided if no location comes before; nil while the last one holds.
  public var nextDeadline: Timestamp? { window.first?.timestamp.advanced(bySeconds: delay) }

  /// Takes a location; returns the reports that must be sent now, in the order in which they take effect.
  public mutating func process(_ location: Location) -> [ReportPredictor] {
    guard location.coordinate.isValid else { return [] }
    if let newest, location.timestamp <= newest.timestamp {
      unorderedCount += 1
      return []
    }
    // A deadline before this location would have been met without it.
    var reports = decide { $0 < location.timestamp }
    let sample = MotionSample(location, after: newest)
    (beforeNewest, newest) = (newest, sample)
    if !window.isEmpty || !holds(for: sample) { window.append(sample) }
    reports += decide { $0 <= location.timestamp }
    if window.count >= Self.largestWindow { reports += decideOnce() }
    return reports
  }

  /// Lets time pass without a location: call it at `nextDeadline`.
  public mutating func advance(to time: Timestamp) -> [ReportPredictor] {
    decide { $0 <= time }
  }

  /// Decides what is still open, before a stop.
  public mutating func finish() -> [ReportPredictor] {
    decide { _ in true }
  }

  /// The device stands where it was last seen, until the next location: decides what is still open, and makes sure that
  /// the prediction stands still too, so that it holds for as long as nobody looks.
  public mutating func stand() -> [ReportPredictor] {
    var reports = finish()
    guard let newest, let last = report, last.velocity != .zero else { return reports }
    let standing = ReportPredictor(
      moment: newest.timestamp, coordinate: newest.coordinate, velocity: .zero, bound: epsilon, delay: delay
    ).rounded
    report = standing
    reports.append(standing)
    return reports
  }

  private mutating func decide(while isDue: (Timestamp) -> Bool) -> [ReportPredictor] {
    var reports: [ReportPredictor] = []
    while let deadline = nextDeadline, isDue(deadline) { reports += decideOnce() }
    return reports
  }

  private mutating func decideOnce() -> [ReportPredictor] {
    guard let first = window.first,
      var chosen = choice.report(
        for: window[...], previous: beforeNewest, delay: delay)
    else { return [] }
    if !holds(chosen, for: first) {
      // An epsilon that the wire's rounding nearly fills leaves nothing to choose.
      chosen.coordinate = first.coordinate
      chosen = chosen.rounded
    }
    report = chosen
    // The first fix is always done with, so that the loop ends.
    let end = window.dropFirst().firstIndex { !holds(chosen, for: $0) } ?? window.endIndex
    window.removeFirst(end)
    return [chosen]
  }

  private func holds(for sample: MotionSample) -> Bool {
    report.map { holds($0, for: sample) } ?? false
  }

  private func holds(_ report: ReportPredictor, for sample: MotionSample) -> Bool {
    report.error(of: sample.coordinate, at: sample.timestamp) + report.wireError <= epsilon
  }
}
