package import Positioning
package import Sensors
package import Spatial

extension AgentPipeline {
  /// Current demand for each kind of sensor.
  package var demands: [SensorKind: SensorDemand] { power.demands }

  /// Maximum demand for each kind of sensor: the demand in motion, without energy saving.
  package var fullDemands: [SensorKind: SensorDemand] { PowerPlanner.fullDemands(for: powerNeeds) }

  /// Returns the current demands if they changed since the last call; nil if unchanged.
  package mutating func drainDemands() -> [SensorKind: SensorDemand]? { power.drainDemands() }

  package mutating func planPower(at time: Timestamp) {
    // Computing the needs takes time, so they are computed only if a new plan is due.
    guard power.isPlanDue(at: time) else { return }
    power.plan(powerNeeds, at: time)
    let isReceiverOn = power.demands[.positioning]?.isOn ?? true
    // Navigation can continue the position while the receiver is off, so that the error bound is still
    // monitored.
    location.observe(isReceiverOn: isReceiverOn || navigation?.carried(at: time) != nil)
    navigation?.observe(isReceiverOn: isReceiverOn, at: time)
    altitude.observe(isReceiverOn: isReceiverOn)
  }

  /// Counts messages that were handed over for delivery, for the energy account.
  package mutating func observe(messages: Int) { power.observe(messages: messages) }

  /// Returns the energy that each component of the device has used until a time.
  package func energy(at time: Timestamp) -> [EnergyComponent: EnergyAccount] { power.accounts(at: time) }

  /// Current needs of all parts of the pipeline that use sensors.
  var powerNeeds: PowerNeeds {
    var needs = PowerNeeds(location: locationNeeds, errorBound: location.errorBound)
    needs.secondsUnwatched = location.secondsUnwatched
    needs.carried = navigation?.carried(at: now)
    // If navigation or radios provide positions, region boundaries are monitored without a GNSS fix.
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
    // At rest the altitude is constant, even if the air pressure changes.
    if configuration.isAltitudeWanted, !isAtRest {
      needs.inertial[.barometer] = .rate(hertz: 1, latency: .seconds(configuration.inertialLatency))
    }
    // An impact lasts a hundredth of a second. Its detection may be delayed by two seconds of buffering,
    // which saves energy.
    if configuration.motion.watchesAtRest, !configuration.motion.events.isDisjoint(with: [.impact, .shake]) {
      needs.restless[.accelerometer] = .rate(
        hertz: configuration.inertial.rate, latency: .seconds(PowerPlanner.watchLatency))
    }
    // The accelerometer recording also covers rest.
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
    // A position that was withheld for privacy was measured, so it need not be measured again. A position
    // that navigation continued without the receiver was not measured.
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
