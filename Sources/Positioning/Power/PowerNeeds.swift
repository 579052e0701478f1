public import Sensors

/// All that somebody waits for: what `PowerPlanner` weighs.
public struct PowerNeeds: Hashable, Sendable {
  /// Of locations.
  public var location: LocationNeeds
  /// Metres by which what a subscriber shows may be wrong, where a reporting policy promises that; nil without one.
  public var errorBound: Double?
  /// Metres from where the device was last seen to the nearest edge of a region; nil when there is no region.
  public var distanceToBoundary: Double?
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
    return min(accuracy, errorBound ?? accuracy)
  }

  /// Whether rest is a reason for the receiver to sleep.
  var mayRest: Bool { location.isWanted && location.isPaused || isCoarse }

  /// Whether the accuracy asked for leaves room for sleep.
  var isCoarse: Bool {
    location.isWanted && location.desiredAccuracy.meters.map { $0 >= PowerPlanner.restfulAccuracy } ?? false
  }

  /// Seconds that a fix may wait. Regions, a promised bound and headings want to know at once.
  var latency: Double {
    let isWaitedFor = distanceToBoundary != nil || errorBound != nil || location.isHeadingWanted
    return isWaitedFor ? 1 : max(1, location.patience)
  }

  var isPositionWanted: Bool { location.isWanted || distanceToBoundary != nil }
}
