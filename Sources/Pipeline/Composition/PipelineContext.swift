package import Motion
internal import Navigation
internal import Positioning
internal import Sensors
package import Spatial
package import Telemetry

/// The shared values of the pipeline's parts: settings with privacy, time, the state of the vehicle, and the output.
package struct PipelineContext: Sendable {
  package var configuration: PipelineConfiguration

  // MARK: Time

  /// The latest time to which the pipeline has advanced.
  package var now: Timestamp
  /// Civil time.
  var timeBase: TimeBase

  // MARK: The vehicle

  /// The newest accepted position of the receiver, before privacy; it need not have been published.
  package var lastSeen: Location?
  /// The newest position from any source (receiver, navigation or radios), before privacy.
  var lastPlace: Location?
  /// State of rest or motion by the accelerometer, and its start; nil if unknown.
  package var activity: StationaryDetector.State?
  var activitySince: Timestamp?
  /// Rotation from the device's axes to the vehicle's, as determined by navigation; nil if unknown.
  package var mounting: Quaternion?
  /// Cells of the newest positions that privacy or reduced accuracy moves.
  var cells = BlurredCells()
  /// The distance driven.
  package var distance = DrivenDistance()
  /// True if the receiver repeats a position that the vehicle has left.
  var isReceiverFrozen = false
  /// Distance in m between the receiver's and the radio beacons' position; nil unless several beacons contradict the
  /// receiver.
  var beaconContradiction: Double?
  /// True if the newest location was not published for privacy.
  var isWithholding = false
  /// Speed limits of the regions that contain the vehicle, and the revision of the regions for which they are valid.
  var speedLimits: (revision: Int, limits: [(region: String, speed: Double)])?
  /// Available location services, and reasons why other services are unavailable.
  var availability: ServiceAvailability
  /// Time from which the next inertial scan must have a position by navigation (`ScanStep.fused`); nil if none
  /// is required beyond those that navigation derives itself.
  var fusedDue: Timestamp?
  /// Runtime state from outside the pipeline.
  var environment = AgentEnvironment()

  // MARK: Output

  /// Messages to publish, in order.
  package private(set) var messages: [VehicleMessage] = []
  /// Positions that `AgentPipeline` passes to all parts.
  var locations: [Location] = []
  /// Driving events that wait for their number and their trip.
  var drivingEvents: [DrivingEvent] = []
  /// True if the requirements for sensors may have changed since the last power plan.
  var isPlanOutdated = true
  /// True if the state differs from the last `status`.
  var isStatusOutdated = true

  package init(_ configuration: PipelineConfiguration, start: Timestamp, _ system: SystemTime) {
    self.configuration = configuration
    now = start
    timeBase = TimeBase(timestamp: start, system: system, isVirtual: configuration.isVirtual)
    availability = ServiceAvailability(
      isLocationEnabled: configuration.location.isEnabled,
      unavailable: Dictionary(
        uniqueKeysWithValues: SensorKind.allCases.map {
          ($0, "no source has it (\($0.rawValue)); attach one")
        }))
  }

  /// Publishes a message.
  mutating func send(_ message: VehicleMessage) { messages.append(message) }

  /// Removes and returns the messages to publish.
  package mutating func drainMessages() -> [VehicleMessage] {
    guard !messages.isEmpty else { return [] }
    defer { messages.removeAll(keepingCapacity: true) }
    return messages
  }

  /// Removes and returns the positions to pass to all parts.
  mutating func drainLocations() -> [Location] {
    guard !locations.isEmpty else { return [] }
    defer { locations.removeAll(keepingCapacity: true) }
    return locations
  }

  // MARK: Privacy

  var privacy: PrivacyPolicy { configuration.privacy }

  /// True if positions are published with reduced accuracy only.
  var isReduced: Bool { configuration.location.desiredAccuracy == .reduced }

  /// Returns a location in the form in which it may be published; nil if it must be withheld.
  /// - Parameter radius: minimum accuracy in m, as of a suspect location.
  func shown(_ location: Location, radius: Double = 0) -> ShownLocation? {
    let shown = privacy.shown(location, near: cells)?.widened(to: radius)
    return isReduced ? shown?.reduced(near: cells) : shown
  }

  /// Returns whether privacy permits to publish a position exactly.
  func isExact(_ location: Location) -> Bool {
    !isReduced && privacy.shown(location)?.location == location
  }

  // MARK: Rest

  /// True if the vehicle is at rest; nil if unknown.
  var isAtRest: Bool? { activity.map { $0 == .stationary } }

  /// Start of the present rest; nil in motion, and if unknown.
  var restSince: Timestamp? { activity == .stationary ? activitySince : nil }

  /// True if the vehicle has been at rest since its newest position was measured; that position need not be
  /// published.
  var isAtNewestPosition: Bool {
    guard let restSince, let place = lastPlace else { return false }
    return place.suspicion == nil && place.timestamp >= restSince
      && (place.speed ?? 0) < PowerPlanner.restSpeed
  }

  /// True if the newest position is still valid: it was measured during the present rest, and at most
  /// `PowerPlanner.longestSleep` ago, when the receiver must measure again.
  var isPositionConfirmed: Bool {
    guard isAtNewestPosition, let place = lastPlace else { return false }
    return now.seconds(since: place.timestamp) <= PowerPlanner.longestSleep
  }
}

/// The distance driven, for parts that do not own the odometer.
package struct DrivenDistance: Sendable {
  /// Distance in m, even if it was not published, and the part of it that was estimated for gaps.
  var counted = 0.0
  var estimated = 0.0
  /// Motion up to the newest position, derived from positions alone; nil if the speed is measured, and without an
  /// odometer.
  var motion: Odometer.PositionMotion?
  /// Value in m to add to `counted` for the reading of the vehicle's instruments.
  var offset = 0.0
}
