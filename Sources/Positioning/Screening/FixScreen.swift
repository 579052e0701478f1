public import Sensors
public import Spatial
public import VehicleData

/// Filters implausible receiver reports.
///
/// A report that repeats the previous one is dropped. A fix that the device cannot have reached, or that
/// contradicts its velocity or rest by more than its accuracy allows, is held back. It is accepted, with the
/// fixes after it, if these agree with it for `confirmation` or `jumpConfirmation`. A fix back at the old
/// position refutes it. After a change of the receiver, the fixes of the former one limit only the distance, because two
/// antennas have different positions. After a jump above `farJump` the fixes are passed on as suspect from
/// `jumpConfirmation` until `acceptance`. Times are checked by `ReceiverClock`, accuracies by `AccuracyModel`,
/// drifts by `VelocityWitness`.
///
/// A value type without I/O: reports go in with their time, locations come out.
public struct FixScreen: Sendable {
  /// Numbers of events since the start.
  public struct Counts: Hashable, Sendable {
    /// Number of reports without a position.
    public var withoutPosition = 0
    /// Number of reports that repeated the previous one.
    public var duplicates = 0
    /// Number of fixes held back because the device cannot have moved that far.
    public var jumps = 0
    /// Number of fixes held back because the positions contradict the velocities by more than the stated
    /// accuracy allows.
    public var overconfident = 0
    /// Number of held fixes that were confirmed.
    public var confirmed = 0
    /// Number of held fixes that were dropped.
    public var refuted = 0
    /// Number of suspect fixes passed on.
    public var suspect = 0
    /// Fixes whose time was earlier than expected by the device's monotonic clock.
    public var timesBack = 0
    /// Fixes whose time was later than expected by the device's monotonic clock, or was never set.
    public var timesAhead = 0
    /// Number of fixes whose time was wrong by a multiple of 1024 weeks and was corrected.
    public var weekRollovers = 0
  }

  public private(set) var counts = Counts()
  /// Type of motion, which limits the speed.
  public var activity: ActivityType

  private var clock: ReceiverClock
  private var accuracy = AccuracyModel()
  private var witness = VelocityWitness()
  private var lastFix: PositionFix?
  /// The newest accepted location; nil before the first.
  private var last: Location?
  /// Velocity in m/s, east and north, from the newest accepted positions; nil if unknown.
  private var motion: SIMD2<Double>?
  private var rest = RestPosition()
  private var candidate: Candidate?

  /// Fixes that agree with each other and contradict `last`.
  private struct Candidate {
    var doubt: OutlierKind
    /// Distance in m by which the candidate exceeds the possible distance; 0 for a contradiction of
    /// velocities.
    var excess: Double
    var first: Location
    var newest: Location
    /// The velocity in m/s from the newest two positions; nil if unknown.
    var motion: SIMD2<Double>?
    /// Fixes that were not passed on yet, oldest first.
    var held: [Location]
  }

  /// Seconds for which fixes must agree after a contradiction of velocities.
  public static let confirmation = 2.0
  /// Seconds for which fixes must agree after an impossible distance. Errors of reflected or jammed signals
  /// last three or four seconds.
  public static let jumpConfirmation = 5.0
  /// Excess over the possible distance in m, from which a jump counts as far. Receivers that extrapolate
  /// through a tunnel are wrong by less.
  public static let farJump = 1000.0
  /// Seconds for which fixes must agree after a far jump.
  public static let acceptance = 30.0
  /// Tolerance in s by which an interval may be shorter than its nominal length.
  private static let jitter = 0.1
  /// Maximum plausible error in 68 % radii: 3 radii are 4.5 standard deviations.
  private static let confidence = 3.0
  /// Assumed accuracy in m (68 %) of a receiver that reports no accuracy.
  static let unknownAccuracy = 15.0
  /// Maximum interval in s for which the path is calculated from the velocities at both ends.
  static let longestStep = 5.0

  private enum OutlierKind { case jump, overconfidence }

  public init(activity: ActivityType = .automotive, clock: ReceiverClock = ReceiverClock()) {
    self.activity = activity
    self.clock = clock
  }

  /// Returns the report. Removes the position if it is exactly 0, 0, which receivers without a fix send.
  public func withoutNullIsland(_ fix: PositionFix) -> PositionFix {
    guard let coordinate = fix.coordinate, coordinate.latitude == 0, coordinate.longitude == 0,
      last.map({ $0.coordinate.distance(to: coordinate) > Self.farJump }) ?? true
    else { return fix }
    var empty = fix
    (empty.coordinate, empty.mode) = (nil, .noFix)
    return empty
  }

  /// Processes one report. Returns the plausible and the suspect locations up to now, in order of time.
  ///
  /// - Parameter reference: civil time from another clock that was set; nil if there is none.
  public mutating func process(_ fix: PositionFix, reference: UTCTime? = nil) -> [Location] {
    let fix = withoutNullIsland(fix)
    if let lastFix, lastFix.receiver != fix.receiver, fix.coordinate != nil { changeReceiver() }
    guard var location = accuracy.location(from: fix) else {
      counts.withoutPosition += 1
      return []
    }
    defer { lastFix = fix }
    if let lastFix, Self.isRepetition(fix, of: lastFix) {
      counts.duplicates += 1
      return []
    }
    if let speed = location.speed, speed > activity.limits.fastest {
      // A receiver without a Doppler measurement derived speed and course from the jump.
      (location.speed, location.speedAccuracy, location.course, location.courseAccuracy) = (
        nil, nil, nil, nil
      )
    }
    if let time = fix.time { location.time = judged(time, at: fix.timestamp, reference: reference) }
    return judge(location)
  }

  /// Discards what was learned from the fixes of the former receiver. The rest of the device remains valid, and
  /// so does the clock, which checks times against the device's own.
  private mutating func changeReceiver() {
    counts.refuted += candidate?.held.count ?? 0
    (candidate, motion) = (nil, nil)
    (accuracy, witness) = (AccuracyModel(), VelocityWitness())
  }

  private mutating func judged(_ time: UTCTime, at timestamp: Timestamp, reference: UTCTime?) -> UTCTime? {
    let (time, finding) = clock.process(time, at: timestamp, reference: reference)
    switch finding {
    case .sound, .stepped: break
    case .wentBack: counts.timesBack += 1
    case .jumpedAhead, .unset: counts.timesAhead += 1
    case .weekRollover: counts.weekRollovers += 1
    }
    return time
  }

  private mutating func judge(_ location: Location) -> [Location] {
    guard let last else { return accept([location]) }
    let doubt =
      doubt(about: location, after: last, motion)
      ?? (rest.contradicts(location, after: last) ? .overconfidence : nil)
    if let candidate, self.doubt(about: location, after: candidate.newest, candidate.motion) == nil,
      doubt != nil || isNearer(location, to: candidate.newest, than: last)
    {
      // A position that is also reachable from the last accepted one confirms a candidate that only contradicts
      // velocities. It does not confirm a candidate after a jump.
      return doubt == nil && candidate.doubt == .overconfidence
        ? confirm(location) : follow(candidate, location)
    }
    counts.refuted += candidate?.held.count ?? 0
    candidate = nil
    guard let doubt else { return accept([location]) }
    let excess = doubt == .jump ? excess(of: location, after: last) : 0
    switch doubt {
    case .jump: counts.jumps += 1
    case .overconfidence: counts.overconfident += 1
    }
    candidate = Candidate(
      doubt: doubt, excess: excess, first: location, newest: location,
      motion: doubt == .jump ? nil : Self.motion(from: last, to: location), held: [location])
    return []
  }

  private func isNearer(_ location: Location, to candidate: Location, than last: Location) -> Bool {
    candidate.coordinate.distance(to: location.coordinate) < last.coordinate.distance(to: location.coordinate)
  }

  /// Processes a fix that agrees with the candidate.
  private mutating func follow(_ before: Candidate, _ location: Location) -> [Location] {
    var next = before
    next.motion = Self.motion(from: before.newest, to: location)
    next.newest = location
    next.held.append(location)
    candidate = next
    let age = location.seconds(since: next.first) + Self.jitter
    let isFar = next.excess > Self.farJump
    let needed =
      next.doubt == .overconfidence
      ? Self.confirmation : isFar ? Self.acceptance : Self.jumpConfirmation
    if age >= needed { return confirm(nil) }
    guard isFar, age >= Self.jumpConfirmation else { return [] }
    candidate?.held = []
    counts.suspect += next.held.count
    return next.held.map {
      var suspect = $0
      suspect.suspicion = Suspicion(.jump, distance: next.excess)
      return suspect
    }
  }

  /// Accepts the fixes of the candidate, and a later location if there is one.
  private mutating func confirm(_ location: Location?) -> [Location] {
    var confirmed = candidate?.held ?? []
    counts.confirmed += confirmed.count
    // The velocities do not explain the distance to the candidate.
    witness.interrupt()
    rest = RestPosition()
    (candidate, last) = (nil, nil)
    if let location { confirmed.append(location) }
    return accept(confirmed)
  }

  /// Accepts consecutive locations, and updates the models that learn from them.
  private mutating func accept(_ locations: [Location]) -> [Location] {
    locations.map {
      var location = $0
      if let last, last.source == location.source {
        accuracy.learn(from: last, to: location)
        motion = Self.motion(from: last, to: location)
      } else {
        motion = nil
      }
      rest.process(location, slowest: activity.limits.slowest)
      last = location
      location.suspicion = witness.process(location, slowest: activity.limits.slowest)
      if location.suspicion != nil { counts.suspect += 1 }
      return location
    }
  }

  /// Returns the mean velocity between two positions, east and north in m/s; nil if they are more than
  /// `longestStep` apart in time.
  private static func motion(from last: Location, to location: Location) -> SIMD2<Double>? {
    let step = location.seconds(since: last)
    guard step > 0, step <= longestStep else { return nil }
    return LocalFrame(origin: last.coordinate).offset(of: location.coordinate) / step
  }

  /// Returns the distance in m between two locations in excess of the maximum possible.
  private func excess(of location: Location, after last: Location) -> Double {
    var step = location.seconds(since: last)
    // Some recordings have a constant time.
    if step <= 0 { step = 1 }
    return last.coordinate.distance(to: location.coordinate) - activity.limits.fastest * step
      - Self.slack(last, location)
  }

  static func slack(_ a: Location, _ b: Location) -> Double {
    let (a, b) = (a.horizontalAccuracy ?? unknownAccuracy, b.horizontalAccuracy ?? unknownAccuracy)
    return confidence * (a * a + b * b).squareRoot()
  }

  /// - Parameter motion: the velocity (m/s) from the positions before `last`; nil if unknown.
  private func doubt(about location: Location, after last: Location, _ motion: SIMD2<Double>?) -> OutlierKind?
  {
    if excess(of: location, after: last) > 0 { return .jump }
    let step = max(location.seconds(since: last), 0)
    guard step <= Self.longestStep, location.source == last.source,
      let contradiction = AccuracyModel.contradiction(from: last, to: location)
    else { return nil }
    let seconds = step > 0 ? step : 1
    // A receiver's speed lags behind a sudden stop or start. Some receivers repeat a position and then
    // correct it.
    let lag = activity.limits.strongestAcceleration * seconds * max(1, seconds) / 2
    let repeated = (((last.speed ?? 0) + (location.speed ?? 0)) / 2) * seconds / 2
    let allowed = Self.slack(last, location) + lag + repeated
    guard contradiction > allowed else { return nil }
    // If the positions continue with the previous velocity, only the receiver's speed is faulty.
    if let motion {
      let way = LocalFrame(origin: last.coordinate).offset(of: location.coordinate)
      if (way - motion * seconds).squaredLength.squareRoot() <= allowed { return nil }
    }
    return .overconfidence
  }

  /// Returns whether a fix repeats the previous one. gpsd reports a receiver's first epoch in parts until it
  /// has learned which sentence ends an epoch. A repeated report has the same position, and the same time or
  /// a time that was missing before.
  private static func isRepetition(_ fix: PositionFix, of last: PositionFix) -> Bool {
    guard fix.coordinate == last.coordinate, fix.receiver == last.receiver else { return false }
    guard let time = last.time else { return fix.timestamp.seconds(since: last.timestamp) < 0.5 }
    return fix.time == time
  }
}
