public import Sensors
public import Spatial

/// Lets pass what can be true of a receiver's reports.
///
/// A report that repeats the one before is dropped. A fix that nothing could have reached in the time, or that lies off
/// the way of its own velocity by more than its accuracy allows, is held back: two more fixes there confirm it and all are
/// let pass, in order and with their own times; one fix back at the old place refutes it. Times are judged by
/// `ReceiverClock`, accuracies by `AccuracyModel`.
///
/// A value type without I/O: reports go in with their time, locations come out.
public struct FixScreen: Sendable {
  /// How often what was seen, since the start.
  public struct Counts: Hashable, Sendable {
    /// Reports that held no position.
    public var withoutPosition = 0
    /// Reports that repeated the one before.
    public var duplicates = 0
    /// Fixes held back because nothing of this kind moves so fast.
    public var jumps = 0
    /// Fixes held back because they contradict their velocity by more than their accuracy allows.
    public var overconfident = 0
    /// Held fixes that were true.
    public var confirmed = 0
    /// Held fixes that were dropped.
    public var refuted = 0
    /// Fixes whose time ran back against the device's time line.
    public var timesBack = 0
    /// Fixes whose time ran ahead of it, or was never set.
    public var timesAhead = 0
    /// Fixes whose time was off by a multiple of 1024 weeks and was repaired.
    public var weekRollovers = 0
  }

  public private(set) var counts = Counts()
  /// What carries the device: how fast it can be.
  public var activity: ActivityType

  private var clock: ReceiverClock
  private var accuracy = AccuracyModel()
  private var lastFix: PositionFix?
  private var last: Location?
  /// Fixes that agree with each other and not with the last one, oldest first.
  private var held: [Location] = []

  /// Fixes that must agree on a place to be believed.
  private static let confirmations = 3
  /// Radii of 68 % that an error may have: 4.5 standard deviations.
  private static let confidence = 3.0
  /// Metres at 68 % for a receiver that does not say.
  private static let unknownAccuracy = 15.0
  /// Seconds over which velocities still tell the way.
  private static let longestStep = 5.0

  private enum Doubt { case jump, overconfidence }

  public init(activity: ActivityType = .automotive, clock: ReceiverClock = ReceiverClock()) {
    self.activity = activity
    self.clock = clock
  }

  /// Takes one report; returns the locations that may be believed now, in order of time.
  ///
  /// - Parameter reference: civil time by a clock that was set, if there is one beside the receiver's.
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
      // Made of a jump by a receiver without a Doppler measurement.
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

  /// A fix that agrees with the last one believed; what was held in between is refuted, unless it led here.
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
    // A recording whose time stands still.
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

  /// gpsd tells a receiver's first epoch in parts until it has learnt which sentence ends one: the same position again
  /// with the same time, or with a time where there was none.
  private static func isRepetition(_ fix: PositionFix, of last: PositionFix) -> Bool {
    guard fix.coordinate == last.coordinate, fix.receiver == last.receiver else { return false }
    guard let time = last.time else { return fix.timestamp.seconds(since: last.timestamp) < 0.5 }
    return fix.time == time
  }
}
