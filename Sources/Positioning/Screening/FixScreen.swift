public import Sensors
public import Spatial

/// Filters implausible receiver reports.
///
/// A report that repeats the previous one is dropped. A fix that the device cannot have reached, or that
/// differs from its own velocity by more than its accuracy allows, is delayed: two more fixes there confirm
/// it, and all are accepted, in order and with their own times; one fix back at the old position refutes it.
/// Times are checked by `ReceiverClock`, accuracies by `AccuracyModel`.
///
/// A value type without I/O: reports go in with their time, locations come out.
public struct FixScreen: Sendable {
  /// Numbers of events since the start.
  public struct Counts: Hashable, Sendable {
    /// Reports without a position.
    public var withoutPosition = 0
    /// Reports that repeated the previous one.
    public var duplicates = 0
    /// Fixes delayed because the device cannot move so fast.
    public var jumps = 0
    /// Fixes delayed because they contradict their velocity by more than their accuracy allows.
    public var overconfident = 0
    /// Delayed fixes that were confirmed.
    public var confirmed = 0
    /// Delayed fixes that were dropped.
    public var refuted = 0
    /// Fixes whose time went back relative to the device's time line.
    public var timesBack = 0
    /// Fixes whose time was ahead of it, or was never set.
    public var timesAhead = 0
    /// Fixes whose time was wrong by a multiple of 1024 weeks and was corrected.
    public var weekRollovers = 0
  }

  public private(set) var counts = Counts()
  /// Type of motion, which limits the speed.
  public var activity: ActivityType

  private var clock: ReceiverClock
  private var accuracy = AccuracyModel()
  private var lastFix: PositionFix?
  private var last: Location?
  /// Fixes that agree with each other and not with the last one, oldest first.
  private var held: [Location] = []

  /// Number of agreeing fixes required to accept a position.
  private static let confirmations = 3
  /// Maximum error in radii of 68 %: 4.5 standard deviations.
  private static let confidence = 3.0
  /// Assumed accuracy in m (68 %) of a receiver that reports none.
  private static let unknownAccuracy = 15.0
  /// Time in s between two fixes up to which velocities determine the distance.
  private static let longestStep = 5.0

  private enum Doubt { case jump, overconfidence }

  public init(activity: ActivityType = .automotive, clock: ReceiverClock = ReceiverClock()) {
    self.activity = activity
    self.clock = clock
  }

  /// Processes a report. Returns the locations that are accepted now, in order of time.
  ///
  /// - Parameter reference: civil time by another clock that was set; nil if there is none.
  public mutating func process(_ fix: PositionFix, reference: UTCTime? = nil) -> [Location] {
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
      // A receiver without a Doppler measurement derived these from a jump.
      (location.speed, location.speedAccuracy, location.course, location.courseAccuracy) = (
        nil, nil, nil, nil
      )
    }
    if let time = fix.time { location.time = judged(time, at: fix.timestamp, reference: reference) }
    return judge(location)
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
    guard let last, let doubt = doubt(about: location, after: last) else {
      return release(location)
    }
    if let candidate = held.last, self.doubt(about: location, after: candidate) == nil {
      held.append(location)
      guard held.count >= Self.confirmations else { return [] }
      let confirmed = held
      held = []
      counts.confirmed += confirmed.count
      self.last = location
      return confirmed
    }
    switch doubt {
    case .jump: counts.jumps += 1
    case .overconfidence: counts.overconfident += 1
    }
    counts.refuted += held.count
    held = [location]
    return []
  }

  /// Accepts a fix that agrees with the last accepted one; delayed fixes in between are refuted, unless they
  /// led here.
  private mutating func release(_ location: Location) -> [Location] {
    var released: [Location] = []
    if let candidate = held.last, let last {
      if doubt(about: location, after: candidate) == nil,
        candidate.coordinate.distance(to: location.coordinate)
          < last.coordinate.distance(to: location.coordinate)
      {
        released = held
        counts.confirmed += held.count
      } else {
        counts.refuted += held.count
      }
    } else if let last {
      accuracy.learn(from: last, to: location)
    }
    held = []
    last = location
    released.append(location)
    return released
  }

  private func doubt(about location: Location, after last: Location) -> Doubt? {
    var step = location.seconds(since: last)
    // A recording with constant time.
    if step <= 0 { step = 1 }
    let (a, b) = (
      last.horizontalAccuracy ?? Self.unknownAccuracy, location.horizontalAccuracy ?? Self.unknownAccuracy
    )
    let slack = Self.confidence * (a * a + b * b).squareRoot()
    if last.coordinate.distance(to: location.coordinate) > activity.limits.fastest * step + slack {
      return .jump
    }
    guard step <= Self.longestStep,
      let contradiction = AccuracyModel.contradiction(from: last, to: location)
    else { return nil }
    // A receiver's speed lags behind a sudden stop or start, and some repeat a position and then catch up.
    let lag = activity.limits.strongestAcceleration * step * max(1, step) / 2
    let repeated = (((last.speed ?? 0) + (location.speed ?? 0)) / 2) * step / 2
    return contradiction > slack + lag + repeated ? .overconfidence : nil
  }

  /// Returns whether a fix repeats the previous one. gpsd reports a receiver's first epoch in parts until it
  /// has learned which sentence ends one: the same position with the same time, or with a time where there
  /// was none.
  private static func isRepetition(_ fix: PositionFix, of last: PositionFix) -> Bool {
    guard fix.coordinate == last.coordinate, fix.receiver == last.receiver else { return false }
    guard let time = last.time else { return fix.timestamp.seconds(since: last.timestamp) < 0.5 }
    return fix.time == time
  }
}
