package import Positioning
package import Sensors
package import Spatial

extension AgentPipeline {
  /// Current demand for each kind of sensor.
  package var demands: [SensorKind: SensorDemand] { power.demands }

  /// Maximum demand for each kind of sensor, while none sleeps.
  package var fullDemands: [SensorKind: SensorDemand] { PowerPlanner.fullDemands(for: powerNeeds) }

  /// Returns the demands once after each change; nil if unchanged.
  package mutating func drainDemands() -> [SensorKind: SensorDemand]? { power.drainDemands() }

  package mutating func planPower(at time: Timestamp) {
    // The needs are computed only if there is something to decide.
    guard power.isPlanDue(at: time) else { return }
    power.plan(powerNeeds, at: time)
    let isReceiverOn = power.demands[.positioning]?.isOn ?? true
    // A bound can also be monitored by navigation instead of the receiver.
    location.observe(isReceiverOn: isReceiverOn || navigation?.carried(at: time) != nil)
    navigation?.observe(isReceiverOn: isReceiverOn, at: time)
    altitude.observe(isReceiverOn: isReceiverOn)
  }

  /// Counts messages handed over for delivery.
  package mutating func observe(messages: Int) { power.observe(messages: messages) }

  /// Returns the energy used by each part of the device until a time.
  package func energy(at time: Timestamp) -> [EnergyComponent: EnergyAccount] { power.accounts(at: time) }

  /// Current needs of all consumers.
  var powerNeeds: PowerNeeds {
    var needs = PowerNeeds(location: locationNeeds, errorBound: location.errorBound)
    needs.secondsUnwatched = location.secondsUnwatched
    needs.carried = navigation?.carried(at: now)
    // Positions from navigation or radios approach boundaries without a fix.
    let isByReceiver = needs.carried == nil && lastPlace?.positionSource != .coarse
    if let place = isByReceiver ? lastSeen : lastPlace ?? lastSeen {
      needs.distanceToBoundary = regions.distanceToNearestBoundary(from: place.coordinate)
      let mobility = Mobility(configuration.location.activity)
      let speed = place.speed ?? mobility.topSpeed
      needs.boundaryAccuracy = regions.desiredAccuracy(
        near: place.coordinate,
        within: mobility.metersCovered(in: PowerPlanner.approachTime, startingAt: speed))
    }
    needs.watchesMotion = configuration.location.pausesAutomatically
    let inertial = SensorDemand.rate(
      hertz: configuration.inertial.rate, latency: .seconds(configuration.inertialLatency))
    let isFusionWanted = configuration.attitude.isEnabled || configuration.heading.isEnabled
    if isFusionWanted || !configuration.motion.events.isEmpty {
      for kind in [SensorKind.accelerometer, .gyroscope, .magnetometer] { needs.inertial[kind] = inertial }
    }
    if isFusionWanted {
      needs.inertial[.thermometer] = .rate(hertz: 0.2, latency: .seconds(configuration.inertialLatency))
    }
    // At rest the height is constant, whatever the pressure.
    if configuration.isAltitudeWanted, !isAtRest {
      needs.inertial[.barometer] = .rate(hertz: 1, latency: .seconds(configuration.inertialLatency))
    }
    // An impact takes a hundredth of a second; publishing it two seconds later is acceptable.
    if configuration.motion.watchesAtRest, !configuration.motion.events.isDisjoint(with: [.impact, .shake]) {
      needs.restless[.accelerometer] = .rate(
        hertz: configuration.inertial.rate, latency: .seconds(PowerPlanner.watchLatency))
    }
    // A recorder records at rest, too.
    if configuration.isRecording { needs.restless[.accelerometer] = inertial }
    if motion.isLeveling {
      let soon = SensorDemand.rate(
        hertz: configuration.inertial.rate, latency: .seconds(min(1, configuration.inertialLatency)))
      (needs.restless[.accelerometer], needs.inertial[.accelerometer]) = (soon, soon)
    }
    for (kind, rate) in rawRates {
      let latency = min(configuration.inertialLatency, 0.5)
      let wanted = SensorDemand.rate(hertz: rate, latency: .seconds(latency))
      for demands in [\PowerNeeds.inertial, \.restless] {
        if case .rate(let usual, _)? = needs[keyPath: demands][kind], usual >= rate { continue }
        needs[keyPath: demands][kind] = wanted
      }
    }
    needs.coarse = coarse.supply(needs, fix: lastSeen, isAtRest: isAtRest, at: now)
    return needs
  }

  private var locationNeeds: LocationNeeds {
    var needs = location.needs
    // Positions withheld for privacy were observed and need not be measured again; those carried on without a
    // receiver were not.
    if let lastSeen {
      needs.timestamp = lastSeen.timestamp
      needs.speed = lastSeen.speed
      needs.speedAccuracy = lastSeen.speedAccuracy
      needs.horizontalAccuracy = lastSeen.horizontalAccuracy
    }
    if let end = regionSearchEnd, needs.isWanted {
      let other = needs.request
      needs.request = LocationNeeds.Request(
        accuracy: other?.accuracy ?? needs.standingAccuracy, deadline: max(end, other?.deadline ?? end))
    }
    return needs
  }
}
