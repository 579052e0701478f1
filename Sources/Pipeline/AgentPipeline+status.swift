internal import Motion
internal import Positioning
internal import Sensors
package import Spatial
package import Telemetry

// What `status` says, and when it is due.

extension AgentPipeline {
  /// The last message of a clean stop.
  package mutating func farewell(at timestamp: Timestamp) -> VehicleMessage {
    .status(report(.offline, at: timestamp))
  }

  /// What would be published as `status` now.
  package func report(_ state: StatusMessage.State, at timestamp: Timestamp) -> StatusMessage {
    var message = status.message(state, at: timestamp, timeBase: timeBase, environment: shown)
    describeServices(&message)
    message.energy = EnergyReport(energy(at: timestamp))
    return message
  }

  /// A frame that has come or a service that has gone is told with the next `status`, soon.
  mutating func observeCapabilities() {
    let known = MotionCapability(sensors: motion.sensors, isNavigated: motion.isNavigated)
    guard known != knownCapability else { return }
    knownCapability = known
    status.observe(motion.capabilities(location.availability))
  }

  /// What there is to be had, what is not and why, and what would help.
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

  /// What is asked for and no sensor that is there now serves; that a fix or the mounting is still to come counts for nothing.
  package var limitations: [MotionCapabilities.Limitation] {
    let sensors = motion.sensors
    let canNavigate = navigation != nil && sensors.contains(.accelerometer) && sensors.contains(.gyroscope)
    return MotionCapabilities.limitations(
      configuration, sensors: servingSensors, isNavigated: motion.isNavigated || canNavigate,
      location.availability)
  }

  /// The limitations, one for each cause.
  package var limitationsByCause: [MotionCapabilities.Limitation] {
    limitations.combined(sensors: servingSensors)
  }

  /// The available sensors, and those whose values are still to come.
  private var servingSensors: Set<SensorKind> {
    var sensors = motion.sensors.union([.positioning])
    if location.availability.reason(against: .barometer) == nil { sensors.insert(.barometer) }
    return sensors
  }

  /// Makes `status` due at the next moment, as a new session must overrule the will of the one before, and publishes the next
  /// attitude, as values that are sent now or never may have been dropped before.
  /// - Parameter sessionStart: the civil time that the new session's will carries.
  package mutating func beginSession(at sessionStart: UTCTime?) {
    status.sessionStart = sessionStart ?? status.sessionStart
    status.requestNow()
    motion.beginSession()
  }

  /// Makes `status` due at the next moment.
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

/// What the motion side has to work with.
struct MotionCapability: Hashable, Sendable {
  var sensors: Set<SensorKind>
  var isNavigated: Bool
}
