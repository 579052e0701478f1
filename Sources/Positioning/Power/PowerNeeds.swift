public import Sensors
public import Spatial

/// All that somebody waits for: what `PowerPlanner` weighs.
public struct PowerNeeds: Hashable, Sendable {
  /// Of locations.
  public var location: LocationNeeds
  /// Metres by which what a subscriber shows may be wrong, where a reporting policy promises that; nil without one.
  public var errorBound: Double?
  /// Seconds after the device was last seen for which that promise holds without another fix; nil when it does not hang on
  /// the receiver.
  public var secondsUnwatched: Double?
  /// Metres from where the device was last seen to the nearest edge of a region; nil when there is no region.
  public var distanceToBoundary: Double?
  /// Metres at 68 % that a region with an edge nearby asks for; nil when none does.
  public var boundaryAccuracy: Double?
  /// How the position is carried on while the receiver sleeps; nil where nothing does that.
  public var carried: CarriedPosition?
  /// What radios can tell of the position; nil where there are none.
  public var coarse: CoarseSupply?
  /// Whether the figures of `location` are of a position by radios.
  var isSeenByRadios = false
  /// What the consumers of the inertial sensors need while the device moves. Kinds that are not named are off.
  public var inertial: [SensorKind: SensorDemand]
  /// What is needed at rest, too.
  public var restless: [SensorKind: SensorDemand] = [:]
  /// Whether the end of a rest matters to somebody beside the planner.
  public var watchesMotion = false

  public init(
    location: LocationNeeds = LocationNeeds(), errorBound: Double? = nil, distanceToBoundary: Double? = nil,
    inertial: [SensorKind: SensorDemand] = [:]
  ) {
    self.location = location
    self.errorBound = errorBound
    self.distanceToBoundary = distanceToBoundary
    self.inertial = inertial
  }

  /// Metres of error that are good enough; zero for the best there is.
  var tolerance: Double {
    let accuracy = location.isWanted ? location.desiredAccuracy.meters ?? 0 : PowerPlanner.restfulAccuracy
    return min(accuracy, errorBound ?? accuracy, boundaryAccuracy ?? accuracy)
  }

  /// Whether rest is a reason for the receiver to sleep.
  var mayRest: Bool { location.isWanted && location.isPaused || isCoarse }

  /// Whether the configured accuracy allows sleep. A one-shot request powers the receiver and no inertial sensor.
  var isCoarse: Bool {
    location.isWanted && location.standingAccuracy.meters.map { $0 >= PowerPlanner.restfulAccuracy } ?? false
  }

  /// Seconds that a fix may wait. Regions, a promised bound and headings want to know at once.
  var latency: Double {
    let isWaitedFor = distanceToBoundary != nil || errorBound != nil || location.isHeadingWanted
    return isWaitedFor ? 1 : max(1, location.patience)
  }

  var isPositionWanted: Bool { location.isWanted || distanceToBoundary != nil }
}

/// A position that sensors other than the receiver carry on: whoever waits for locations gets them from there.
public struct CarriedPosition: Hashable, Sendable {
  /// Seconds for which it is carried on at most, whatever it says of itself: navigation's radii were held against the truth in
  /// outages of up to two minutes.
  static let longest = 120.0

  /// Of which the figures are.
  public var timestamp: Timestamp
  /// Metres at 68 %.
  public var radius: Double
  /// Metres per second by which the radius grows at most.
  public var growth: Double

  public init(timestamp: Timestamp, radius: Double, growth: Double) {
    self.timestamp = timestamp
    self.radius = radius
    self.growth = growth
  }

  /// Seconds from a moment before until the radius is `limit` metres.
  func seconds(since seen: Timestamp, until limit: Double) -> Double {
    let elapsed = timestamp.seconds(since: seen)
    return min(Self.longest, elapsed + max(0, limit - radius) / max(growth, 0.01))
  }
}

/// Requirements for the next fix, as input to `PowerPlanner`.
///
/// It states when a location may have to be published, not how to power the hardware. The planner adds the mobility of the
/// device and the requirements of other consumers.
public struct LocationNeeds: Hashable, Sendable {
  /// A one-shot request that waits for a fix.
  public struct Request: Hashable, Sendable {
    /// Required accuracy.
    public var accuracy: DesiredAccuracy
    /// End of its time limit.
    public var deadline: Timestamp

    public init(accuracy: DesiredAccuracy, deadline: Timestamp) {
      (self.accuracy, self.deadline) = (accuracy, deadline)
    }
  }

  /// Whether any consumer requires locations. If false, all other members are ignored.
  public var isWanted: Bool
  /// Desired accuracy without one-shot requests.
  public var standingAccuracy: DesiredAccuracy
  /// Union of the one-shot requests that wait for a fix: the finest accuracy and the latest deadline. Nil without a request.
  /// The receiver is powered until the deadline, also at rest and while locations are paused.
  public var request: Request?
  /// Required accuracy of the next location: `standingAccuracy`, or that of the request if it is finer.
  public var desiredAccuracy: DesiredAccuracy {
    get { request.map { standingAccuracy.stricter($0.accuracy) } ?? standingAccuracy }
    set { standingAccuracy = newValue }
  }
  /// Metres that the device must move from where it was last seen before a location has to be told; nil: every fix is
  /// wanted, as without a distance filter, during a one-shot request and for `bestForNavigation`. Infinite while paused:
  /// no way is told before motion is seen.
  public var distance: Double?
  /// Before this no movement, however far, is told: the interval of significant changes. Nil when there is no such time.
  public var notBefore: Timestamp?
  /// When something is due without a fix: the end of a deferral or of a one-shot request's time limit. The power is planned
  /// again then. Nil if nothing is due.
  public var deadline: Timestamp?
  /// Seconds that a fix may wait before anybody looks at it, because it is only collected; 0 when each is waited for.
  public var patience = 0.0
  /// Whether headings are to be told.
  public var isHeadingWanted = false
  /// Whether locations were paused because the device stands still: nothing is due until motion is seen by the
  /// accelerometer.
  public var isPaused = false

  /// When the device was last seen; nil before the first location. The figures below are of that moment.
  public var timestamp: Timestamp?
  /// Metres per second over ground; nil when unknown.
  public var speed: Double?
  /// Metres per second, one standard deviation; nil when unknown.
  public var speedAccuracy: Double?
  /// Metres at 68 % confidence; nil when unknown.
  public var horizontalAccuracy: Double?

  /// Creates requirements without a request, a filter or a position.
  public init(isWanted: Bool = false, desiredAccuracy: DesiredAccuracy = .best) {
    self.isWanted = isWanted
    standingAccuracy = desiredAccuracy
  }
}
