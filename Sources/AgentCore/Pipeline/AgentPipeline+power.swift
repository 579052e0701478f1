internal import Positioning
public import Sensors
internal import Spatial

extension AgentPipeline {
  /// What each kind of sensor must deliver now.
  public var demands: [SensorKind: SensorDemand] { power.demands }

  /// What each kind of sensor must deliver at the most, while nothing sleeps.
  var fullDemands: [SensorKind: SensorDemand] { PowerPlanner.fullDemands(for: powerNeeds) }

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
  private var powerNeeds: PowerNeeds {
    var needs = PowerNeeds(location: locationNeeds, errorBound: location.errorBound)
    if let lastSeen {
      needs.distanceToBoundary = regions.monitor.distanceToNearestBoundary(from: lastSeen.coordinate)
    }
    needs.watchesMotion = configuration.location.pausesAutomatically
    let inertial = SensorDemand.rate(
      hertz: configuration.iio.rate, latency: .seconds(configuration.iio.latency))
    let isFusionWanted = configuration.isAttitudeEnabled || configuration.isHeadingEnabled
    if isFusionWanted || !configuration.motionEvents.isEmpty {
      for kind in [SensorKind.accelerometer, .gyroscope, .magnetometer] { needs.inertial[kind] = inertial }
    }
    if isFusionWanted {
      needs.inertial[.thermometer] = .rate(hertz: 0.2, latency: .seconds(configuration.iio.latency))
    }
    // A blow is over in a hundredth of a second; that it is told two seconds later does no harm.
    if configuration.watchesEventsAtRest, !configuration.motionEvents.isDisjoint(with: [.impact, .shake]) {
      needs.restless[.accelerometer] = .rate(
        hertz: configuration.iio.rate, latency: .seconds(PowerPlanner.watchLatency))
    }
    // A recorder records rest, too.
    if configuration.recorder != nil { needs.restless[.accelerometer] = inertial }
    return needs
  }

  private var locationNeeds: LocationNeeds {
    var needs = location.needs
    // What privacy withholds was seen all the same, and need not be looked for again.
    if let lastSeen, needs.timestamp.map({ $0 < lastSeen.timestamp }) ?? true {
      needs.timestamp = lastSeen.timestamp
      needs.speed = lastSeen.speed
      needs.speedAccuracy = lastSeen.speedAccuracy
      needs.horizontalAccuracy = lastSeen.horizontalAccuracy
    }
    return needs
  }
}

extension Mobility {
  /// - Parameter activity: what carries the device.
  init(_ activity: ActivityType) {
    switch activity {
    case .automotive: self = .vehicle
    case .pedestrian: self = .pedestrian
    case .other: self = .other
    }
  }
}
