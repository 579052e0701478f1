package import Positioning
internal import Sensors
internal import Spatial

/// The requirements of the programs on this machine that receive orientation and heading.
package struct LocalMotionDemand: Hashable, Sendable {
  /// True if a program receives the orientation of the device.
  package var orientation: Bool
  /// True if a program receives the heading.
  package var heading: Bool

  package init(orientation: Bool = false, heading: Bool = false) {
    (self.orientation, self.heading) = (orientation, heading)
  }
}

/// Orientation and heading for programs on this machine. Neither of them is a position, so that privacy zones do not
/// apply.
package struct LocalMotionState: Hashable, Sendable {
  /// True if an accelerometer is available.
  package var hasAccelerometer = false
  /// True if a magnetometer is available, or navigation has provided a heading.
  package var hasCompass = false
  /// Orientation of the device; nil if unknown, and without demand.
  package var orientation: DeviceOrientation?
  /// Heading in degrees clockwise from true north, or from magnetic north while the declination is unknown. Nil if
  /// unknown, and without demand.
  package var heading: Double?

  package init() {}
}

/// The part of the pipeline that serves programs on this machine with orientation and heading, and powers the inertial
/// sensors for them. It publishes nothing.
struct LocalMotion: PipelinePart {
  private var demand = LocalMotionDemand()
  private var state = LocalMotionState()
  private var drained = LocalMotionState()
  /// Time from which the next heading is computed.
  private var headingDue: Timestamp?
  /// True if navigation has provided a heading since the sensors became available.
  private var wasNavigated = false

  /// Sample rate in Hz and latency in s of the accelerometer for the orientation alone.
  private static let (orientationRate, orientationLatency) = (PowerPlanner.watchRate, 0.4)
  /// Latency in s of the samples for the heading.
  private static let headingLatency = 0.2
  /// Minimum interval in s and difference in degrees between two headings.
  private static let (headingInterval, headingStep) = (0.1, 1.0)

  mutating func set(_ new: LocalMotionDemand, _ context: inout PipelineContext) {
    demand = new
    if !new.orientation { state.orientation = nil }
    if !new.heading { (state.heading, headingDue) = (nil, nil) }
    context.isPlanOutdated = true
  }

  /// Returns whether a scan at this time is required.
  func isDue(at timestamp: Timestamp) -> Bool { demand.orientation || isHeadingDue(at: timestamp) }

  /// Returns whether the heading at this time is required.
  func isHeadingDue(at timestamp: Timestamp) -> Bool {
    demand.heading && headingDue.map { $0 <= timestamp } ?? true
  }

  /// Updates the available sensors.
  /// - Parameter isNavigated: true if navigation provides a heading.
  mutating func observe(sensors: Set<SensorKind>, isNavigated: Bool) {
    state.hasAccelerometer = sensors.contains(.accelerometer)
    wasNavigated = state.hasAccelerometer && (wasNavigated || isNavigated)
    state.hasCompass = wasNavigated || state.hasAccelerometer && sensors.contains(.magnetometer)
    if !state.hasAccelerometer { state.orientation = nil }
    if !state.hasCompass { state.heading = nil }
  }

  /// Updates the orientation and, if it is due, the heading.
  mutating func observe(_ orientation: DeviceOrientation?, heading: Double?, at timestamp: Timestamp) {
    if demand.orientation { state.orientation = orientation }
    guard isHeadingDue(at: timestamp) else { return }
    headingDue = timestamp.advanced(bySeconds: Self.headingInterval)
    if let heading, let last = state.heading,
      abs(signedDegrees(from: last, to: heading)) < Self.headingStep
    {
      return
    }
    state.heading = heading
  }

  /// Returns the state if it has changed since the last call; nil if unchanged.
  mutating func drain() -> LocalMotionState? {
    guard state != drained else { return nil }
    drained = state
    return state
  }

  func add(to needs: inout PowerNeeds, _ context: PipelineContext) {
    if demand.orientation {
      needs.require(
        .accelerometer, .rate(hertz: Self.orientationRate, latency: .seconds(Self.orientationLatency)))
    }
    guard demand.heading else { return }
    let rate = SensorDemand.rate(
      hertz: context.configuration.inertial.rate,
      latency: .seconds(min(context.configuration.inertialLatency, Self.headingLatency)))
    for kind in [SensorKind.accelerometer, .gyroscope, .magnetometer] { needs.require(kind, rate) }
  }
}

extension PowerNeeds {
  /// Adds the demand of a consumer that requires a sensor at rest and in motion.
  mutating func require(_ kind: SensorKind, _ demand: SensorDemand) {
    restless[kind] = demand.combined(with: restless[kind] ?? .off)
    // The demand in motion replaces that at rest.
    if let moving = inertial[kind] { inertial[kind] = demand.combined(with: moving) }
  }
}
