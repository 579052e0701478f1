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

  /// Whether rest is a reason to sleep.
  var mayRest: Bool {
    guard location.isWanted, !location.isPaused else { return true }
    return location.desiredAccuracy.meters.map { $0 >= PowerPlanner.restfulAccuracy } ?? false
  }

  var isPositionWanted: Bool { location.isWanted || distanceToBoundary != nil }
}
