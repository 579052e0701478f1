internal import Positioning
public import Sensors
internal import Spatial

extension AgentPipeline {
  /// What each kind of sensor must deliver now.
  public var demands: [SensorKind: SensorDemand] { power.demands }

  /// What each kind of sensor must deliver at the most, while nothing sleeps.
  var fullDemands: [SensorKind: SensorDemand] {
    PowerPlanner.fullDemands(for: powerNeeds)
  }

  /// The demands, once after each change; nil when they are as they were.
  public mutating func takeChangedDemands() -> [SensorKind: SensorDemand]? { power.takeChangedDemands() }

  mutating func planPower(at time: Timestamp) {
    // The needs are computed only when there is something to decide.
    guard power.isPlanDue(at: time) else { return }
    power.plan(powerNeeds, at: time)
  }

  /// Takes over what was measured of the processor and the radio since the start.
  mutating func note(usage: MachineUsage) { power.note(usage: usage) }

  /// What the consumers wait for.
  var powerNeeds: PowerNeeds {
    var needs = PowerNeeds(location: locationNeeds)
    let isFusionWanted = configuration.isAttitudeEnabled || configuration.isHeadingEnabled
    if isFusionWanted || !configuration.motionEvents.isEmpty {
      let inertial = SensorDemand.rate(
        hertz: configuration.iio.rate, latency: .seconds(configuration.iio.latency))
      for kind in [SensorKind.accelerometer, .gyroscope, .magnetometer] { needs.inertial[kind] = inertial }
    }
    return needs
  }

  private var locationNeeds: LocationNeeds {
    var needs = LocationNeeds(
      isWanted: configuration.isLocationEnabled, desiredAccuracy: configuration.desiredAccuracy)
    // Of the filter's way, what is left from where the device was last seen.
    needs.distance = configuration.distanceFilter.map { filter in
      guard let told = location.location, let lastSeen else { return filter }
      return max(0, filter - told.coordinate.distance(to: lastSeen.coordinate))
    }
    needs.isHeadingWanted = configuration.isHeadingEnabled
    needs.timestamp = lastSeen?.timestamp
    needs.speed = lastSeen?.speed
    needs.speedAccuracy = lastSeen?.speedAccuracy
    needs.horizontalAccuracy = lastSeen?.horizontalAccuracy
    return needs
  }
}
