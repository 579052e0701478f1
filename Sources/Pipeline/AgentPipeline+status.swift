internal import Motion
internal import Positioning
internal import Sensors
package import Spatial
package import Telemetry

// Content and schedule of `status`.

extension AgentPipeline {
  /// Returns the `status` message of a clean stop, with the state `offline`.
  package mutating func farewell(at timestamp: Timestamp) -> VehicleMessage {
    .status(report(.offline, at: timestamp))
  }

  /// Returns a `status` message with the current content, without publishing it.
  package func report(_ state: StatusMessage.State, at timestamp: Timestamp) -> StatusMessage {
    var message = status.message(state, at: timestamp, timeBase: timeBase, environment: shown)
    describeServices(&message)
    message.energy = EnergyReport(energy(at: timestamp))
    return message
  }

  /// Schedules a `status` if the available motion services have changed, for example because a reference
  /// frame became available.
  mutating func observeCapabilities() {
    let known = MotionCapability(sensors: motion.sensors, isNavigated: motion.isNavigated)
    guard known != knownCapability else { return }
    knownCapability = known
    status.observe(motion.capabilities(location.availability))
  }

  /// Adds the availability of all services to a `status`, with reason and remedy for those that are
  /// unavailable.
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

  /// Requested outputs that the existing sensors do not support. An output that only lacks a first fix or the
  /// mounting is not included.
  package var limitations: [MotionCapabilities.Limitation] {
    let sensors = motion.sensors
    let canNavigate = navigation != nil && sensors.contains(.accelerometer) && sensors.contains(.gyroscope)
    return MotionCapabilities.limitations(
      configuration, sensors: servingSensors, isNavigated: motion.isNavigated || canNavigate,
      location.availability)
  }

  /// The limitations combined by cause: one entry for each cause.
  package var limitationsByCause: [MotionCapabilities.Limitation] {
    limitations.combined(sensors: servingSensors)
  }

  /// The available sensors, and sensors that exist but have not delivered a value yet.
  private var servingSensors: Set<SensorKind> {
    var sensors = motion.sensors.union([.positioning])
    if location.availability.reason(against: .barometer) == nil { sensors.insert(.barometer) }
    return sensors
  }

  /// Schedules `status` immediately, because it must replace the will of the previous session. Also publishes
  /// the next attitude, because earlier live values may have been dropped while there was no session.
  /// - Parameter sessionStart: the session's start in civil time, as in its will; nil if unknown.
  package mutating func beginSession(at sessionStart: UTCTime?) {
    status.sessionStart = sessionStart ?? status.sessionStart
    status.requestNow()
    motion.beginSession()
  }

  /// Schedules `status` at the next `advance`.
  package mutating func requestStatus() { status.requestNow() }

  /// The environment, extended by the counters of the pipeline's own parts.
  var shown: AgentEnvironment {
    var shown = environment
    shown.counters.merge(location.counters) { $1 }
    shown.counters.merge(motion.manager.refusals) { $1 }
    if coarse.contradictedFixes > 0 { shown.counters["fixes.contradicted"] = coarse.contradictedFixes }
    return shown
  }
}

/// The available sensors, and whether navigation provides the attitude. Together they determine the motion
/// services.
struct MotionCapability: Hashable, Sendable {
  var sensors: Set<SensorKind>
  var isNavigated: Bool
}
