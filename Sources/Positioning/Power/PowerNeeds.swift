public import Sensors
public import Spatial

/// Needs of all consumers, as considered by `PowerPlanner`.
public struct PowerNeeds: Hashable, Sendable {
  /// Requirements of the consumers of locations.
  public var location: LocationNeeds
  /// Error bound in m of the displayed position, if a reporting policy guarantees one; nil otherwise.
  public var errorBound: Double?
  /// Time in s after the last observation for which `errorBound` applies without another fix; nil if the
  /// bound does not depend on the receiver.
  public var secondsUnwatched: Double?
  /// Distance in m from the last position to the nearest boundary of a region; nil without regions.
  public var distanceToBoundary: Double?
  /// Accuracy in m (68 %) required by a region with a boundary nearby; nil for none.
  public var boundaryAccuracy: Double?
  /// Position that other sensors continue while the receiver sleeps; nil if there is none.
  public var carried: CarriedPosition?
  /// Possible contribution of radios; nil without radios.
  public var coarse: CoarseSupply?
  /// True if the values of `location` belong to a radio position.
  var isSeenByRadios = false
  /// Demands on inertial sensors while the device moves. Kinds that are missing here are off.
  public var inertial: [SensorKind: SensorDemand]
  /// Demands on inertial sensors that also apply at rest.
  public var restless: [SensorKind: SensorDemand] = [:]
  /// True if a consumer other than the planner requires the detection of the end of a rest.
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

  /// Sufficient accuracy in m; zero for the best available.
  var tolerance: Double {
    let accuracy = location.isWanted ? location.desiredAccuracy.meters ?? 0 : PowerPlanner.restfulAccuracy
    return min(accuracy, errorBound ?? accuracy, boundaryAccuracy ?? accuracy)
  }

  /// True if the receiver may sleep at rest.
  var mayRest: Bool { location.isWanted && location.isPaused || isCoarse }

  /// True if the configured accuracy allows the receiver to sleep at rest. One-shot requests have no
  /// influence: they power the receiver but no inertial sensor.
  var isCoarse: Bool {
    location.isWanted && location.standingAccuracy.meters.map { $0 >= PowerPlanner.restfulAccuracy } ?? false
  }

  /// Maximum delay of a fix in s. Regions, error bounds and headings require immediate delivery.
  var latency: Double {
    let isWaitedFor = distanceToBoundary != nil || errorBound != nil || location.isHeadingWanted
    return isWaitedFor ? 1 : max(1, location.maxFixDelay)
  }

  var isPositionWanted: Bool { location.isWanted || distanceToBoundary != nil }
}

/// A position that sensors other than the receiver continue, for all consumers of locations.
public struct CarriedPosition: Hashable, Sendable {
  /// Maximum duration in s for which a position is continued, whatever its stated accuracy. The radii of
  /// inertial navigation were validated in outages of up to two minutes.
  static let longest = 120.0

  /// Time at which `radius` applies.
  public var timestamp: Timestamp
  /// Accuracy in m (68 %) of the continued position.
  public var radius: Double
  /// Maximum growth of the radius in m/s.
  public var growth: Double

  public init(timestamp: Timestamp, radius: Double, growth: Double) {
    self.timestamp = timestamp
    self.radius = radius
    self.growth = growth
  }

  /// Returns the time in s from `seen` until the radius is `limit` metres.
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
    /// Accuracy that the request requires.
    public var accuracy: DesiredAccuracy
    /// End of the request's time limit.
    public var deadline: Timestamp

    public init(accuracy: DesiredAccuracy, deadline: Timestamp) {
      (self.accuracy, self.deadline) = (accuracy, deadline)
    }
  }

  /// True if any consumer requires locations. If false, all other members are ignored.
  public var isWanted: Bool
  /// Desired accuracy without one-shot requests.
  public var standingAccuracy: DesiredAccuracy
  /// Union of the one-shot requests that wait for a fix: the finest accuracy and the latest deadline. Nil without a request.
  /// The receiver is powered until the deadline, also at rest and while locations are paused.
  public var request: Request?
  /// Required accuracy of the next location: `standingAccuracy`, or the accuracy of the request if that is
  /// finer.
  public var desiredAccuracy: DesiredAccuracy {
    get { request.map { standingAccuracy.stricter($0.accuracy) } ?? standingAccuracy }
    set { standingAccuracy = newValue }
  }
  /// Distance in m from the last observed position after which a location must be published. Nil if every fix
  /// is required: without a distance filter, during a one-shot request and for `bestForNavigation`. Infinite
  /// while paused, because nothing is published before motion is detected.
  public var distance: Double?
  /// Earliest time of the next location, regardless of distance: the interval of significant changes. Nil for
  /// none.
  public var notBefore: Timestamp?
  /// Next deadline without a fix: the end of a deferral or of a one-shot request's time limit. The planner
  /// decides again at this time. Nil if nothing is due.
  public var deadline: Timestamp?
  /// Maximum delay of a fix in s while fixes are only collected; 0 if each fix is required immediately.
  public var maxFixDelay = 0.0
  /// True if headings are published.
  public var isHeadingWanted = false
  /// True if locations are paused at rest: nothing is due until the accelerometer detects motion.
  public var isPaused = false

  /// Time of the last observation, to which the values below refer; nil before the first location.
  public var timestamp: Timestamp?
  /// Speed over ground in m/s; nil if unknown.
  public var speed: Double?
  /// Standard deviation of the speed in m/s; nil if unknown.
  public var speedAccuracy: Double?
  /// Horizontal accuracy in m (68 %); nil if unknown.
  public var horizontalAccuracy: Double?

  /// Creates requirements without a request, a filter or a position.
  public init(isWanted: Bool = false, desiredAccuracy: DesiredAccuracy = .best) {
    self.isWanted = isWanted
    standingAccuracy = desiredAccuracy
  }
}
