internal import Motion
internal import Positioning
internal import Sensors
package import Spatial
package import Telemetry

// Content and schedule of `status`.

extension AgentPipeline {
  /// Returns the last message of a clean stop.
  package mutating func farewell(at timestamp: Timestamp) -> VehicleMessage {
    .status(report(.offline, at: timestamp))
  }

  /// Returns the `status` that would be published now.
  package func report(_ state: StatusMessage.State, at timestamp: Timestamp) -> StatusMessage {
    var message = status.message(state, at: timestamp, timeBase: timeBase, environment: shown)
    describeServices(&message)
    message.energy = EnergyReport(energy(at: timestamp))
    return message
  }

  /// Schedules a `status` soon after a reference frame appeared or a service became unavailable.
  mutating func observeCapabilities() {
    let known = MotionCapability(sensors: motion.sensors, isNavigated: motion.isNavigated)
    guard known != knownCapability else { return }
    knownCapability = known
    status.observe(motion.capabilities(location.availability))
  }

  /// Adds the availability of all services, with reason and remedy for unavailable ones.
  func describeServices(_ message: inout StatusMessage) {
    let capabilities = motion.capabilities(location.availability)
    message.authorization = location.availability.authorizationStatus.rawValue
    message.services = location.services.merging(capabilities.services.mapValues { $0 ?? "available" }) { $1 }
    message.services["altitude"] = altitude.reason(location.availability) ?? "available"
    message.frames = capabilities.frames.map(\.rawValue)
    message.degradations = capabilities.degradations
    message.orientation = motion.orientation
    message.level = level.map { StatusMessage.Level($0) }
    message.compass = motion.compass
    message.navigation = navigation?.report(at: now)
    (message.odometer, message.odometerDisagreement) = (odometer.shown, odometer.disagreement)
  }

  /// Requested outputs that the existing sensors do not support. A missing fix or mounting does not count.
  package var limitations: [MotionCapabilities.Limitation] {
    var sensors = motion.sensors
    let canNavigate = navigation != nil && sensors.contains(.accelerometer) && sensors.contains(.gyroscope)
    sensors.insert(.positioning)
    if location.availability.reason(against: .barometer) == nil { sensors.insert(.barometer) }
    return MotionCapabilities.limitations(
      configuration, sensors: sensors, isNavigated: motion.isNavigated || canNavigate, location.availability)
  }

  /// Schedules `status` immediately, because a new session must override the will of the previous one, and
  /// publishes the next attitude, because earlier live values may have been dropped.
  /// - Parameter sessionStart: the civil time in the new session's will.
  package mutating func beginSession(at sessionStart: UTCTime?) {
    status.sessionStart = sessionStart ?? status.sessionStart
    status.requestNow()
    motion.beginSession()
  }

  /// Schedules `status` at the next `advance`.
  package mutating func requestStatus() { status.requestNow() }

  /// The environment with the counters of the pipeline's own parts.
  var shown: AgentEnvironment {
    var shown = environment
    shown.counters.merge(location.counters) { $1 }
    shown.counters.merge(motion.manager.refusals) { $1 }
    if coarse.contradictedFixes > 0 { shown.counters["fixes.contradicted"] = coarse.contradictedFixes }
    return shown
  }
}

/// The sensors and state that determine the motion services.
struct MotionCapability: Hashable, Sendable {
  var sensors: Set<SensorKind>
  var isNavigated: Bool
}
