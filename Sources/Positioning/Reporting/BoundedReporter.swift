internal import Glibc
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

/// Chooses the report that is likely to stay valid longest.
///
/// Of the motions within the bound of every fix of the window, it takes the one nearest to where the vehicle is
/// expected in the next twenty seconds: it goes on as it moves now, its acceleration and turn die away. When no
/// motion is within the bound of the whole window, the one that covers most of it is as good as any, because its
/// end is known.
struct ReportChoice: Sendable {
  /// Seconds: how far ahead the vehicle's way is guessed.
  private static let horizon = 20
  /// Seconds: how fast acceleration and turn die away. Half of either is noise of the receiver.
  private static let persistence = 5.0
  private static let accelerationShare = 0.5
  private static let turnShare = 0.4
  /// Metres, and metres per second: how the guess's deviation grows.
  private static let deviation = (start: 10.0, growth: 0.5)

  /// Metres.
  var bound: Double

  /// - Parameters:
  ///   - window: the fixes that may be looked at, from the one at which the report takes effect; not empty.
  ///   - previous: the fix before the last of the window.
  func report(for window: ArraySlice<MotionSample>, previous: MotionSample?, delay: Double)
    -> ReportPredictor?
  {
    guard let first = window.first, let last = window.last else { return nil }
    let frame = LocalFrame(origin: first.coordinate)
    // Time is counted back from the newest fix in units of the window, which keeps the equations well scaled.
    let unit = max(1, last.timestamp.seconds(since: first.timestamp))
    func time(_ sample: MotionSample) -> Double { sample.timestamp.seconds(since: last.timestamp) / unit }
    let points = window.map { TimedPoint(time: time($0), position: frame.offset(of: $0.coordinate)) }[...]
    // What the wire and the frame may add later is kept free now.
    let line = BoundedLine(bound: bound * 0.999 - 0.002 - 0.001 * fastest(window))
    var motion = UniformMotion(
      position: points[0].position - first.velocity * unit * points[0].time, velocity: first.velocity * unit)
    var covered = 1
    if line.bound > 0 {
      while covered < points.count, let wider = line.feasible(points[...covered], from: motion) {
        motion = wider
        covered += 1
      }
      if covered == points.count {
        motion = line.nearest(
          to: expected(after: last, previous: previous, frame: frame, unit: unit), within: points,
          from: motion)
      }
    }
    return ReportPredictor(
      moment: first.timestamp,
      coordinate: frame.coordinate(at: motion.position + motion.velocity * points[0].time),
      velocity: motion.velocity / unit, bound: bound, delay: delay
    ).rounded
  }

  private func fastest(_ window: ArraySlice<MotionSample>) -> Double {
    window.reduce(0) { max($0, $1.velocity.squaredLength) }.squareRoot()
  }

  /// The way ahead, second by second.
  private func expected(
    after last: MotionSample, previous: MotionSample?, frame: LocalFrame, unit: Double
  ) -> [ExpectedPoint] {
    let trend = last.trend(since: previous)
    var position = frame.offset(of: last.coordinate)
    var velocity = last.velocity
    return (1...Self.horizon).map { second in
      let share = exp(-Double(second) / Self.persistence)
      let turn = Self.turnShare * share * trend.turnRate
      velocity = SIMD2(
        velocity.x * cos(turn) - velocity.y * sin(turn), velocity.x * sin(turn) + velocity.y * cos(turn))
      let speed = velocity.squaredLength.squareRoot()
      if speed > 1e-6 {
        velocity *= max(0, speed + Self.accelerationShare * share * trend.acceleration) / speed
      }
      position += velocity
      let deviation = Self.deviation.start + Self.deviation.growth * Double(second)
      return ExpectedPoint(
        point: TimedPoint(time: Double(second) / unit, position: position),
        weight: bound * bound / (deviation * deviation))
    }
  }
}
