internal import Motion
internal import Positioning
internal import Sensors
internal import Spatial
internal import Telemetry

/// The barometer's part of the pipeline. It improves the altitude of locations, detects the level in a
/// garage, and creates `altitude` messages.
struct AltitudeReports: Sendable {
  private let settings: PipelineConfiguration.Altitude
  private let privacy: PrivacyPolicy
  private let isReduced: Bool
  private var altimeter = Altimeter()
  private var gate: IntervalGate?
  /// The level that was published last; 0 if none was. Level 0 is street level, so that driving through a
  /// tunnel at street level publishes nothing.
  private var toldLevel = 0
  /// True if a message was published in this run. Before, the broker's retained message may be from an
  /// earlier run.
  private var hasTold = false
  /// True if the newest position may be published exactly; only then its altitude may be published.
  private var isShown: Bool

  /// Maximum age in s of a barometric altitude that may be used for a location.
  private static let freshness = 3.0
  /// Time in s without the receiver's altitude after which the altitude counts as barometric only.
  private static let outage = 5.0

  init(_ configuration: PipelineConfiguration) {
    settings = configuration.altitude
    privacy = configuration.privacy
    isReduced = configuration.location.desiredAccuracy == .reduced
    gate = settings.interval.map { IntervalGate(interval: $0) }
    // With privacy zones, it is unknown before the first position whether the vehicle is in one.
    isShown = !isReduced && privacy == PrivacyPolicy()
  }

  /// Returns a copy with the same state and another configuration.
  func reconfigured(_ new: PipelineConfiguration) -> AltitudeReports {
    var next = AltitudeReports(new)
    next.altimeter = altimeter
    (next.toldLevel, next.hasTold) = (toldLevel, hasTold)
    if privacy == new.privacy, isReduced == next.isReduced { next.isShown = isShown }
    return next
  }

  // MARK: Inputs

  /// Processes pressures, and publishes `altitude` messages that are due.
  mutating func process(_ block: [PressureData], _ timeBase: TimeBase, into send: (VehicleMessage) -> Void) {
    guard settings.isEnabled else { return }
    for pressure in block where altimeter.process(pressure) {
      guard isShown, let data = altimeter.altitudeData else { continue }
      let floor = altimeter.floor
      let absolute = altimeter.absoluteAltitudeData
      let isNews = (floor?.level ?? 0) != toldLevel || !hasTold && absolute != nil
      let isDue = gate?.isOpen(at: pressure.timestamp) ?? false
      guard isNews || isDue else { continue }
      toldLevel = floor?.level ?? 0
      hasTold = hasTold || absolute != nil
      var message = AltitudeMessage(
        time: timeBase.utc(at: data.timestamp), data: data, absolute: absolute, floor: floor)
      message.source = message.altitude == nil ? nil : source
      send(.altitude(message))
    }
  }

  /// Processes an accepted location of the receiver.
  mutating func observe(_ location: Location) {
    isShown = !isReduced && privacy.shown(location) == location
    guard settings.isEnabled, let altitude = location.altitude,
      let deviation = location.verticalAccuracy ?? location.horizontalAccuracy.map({ 2 * $0 })
    else { return }
    altimeter.update(
      altitude: altitude, deviation: deviation, speed: location.speed, at: location.timestamp)
  }

  mutating func observe(isAtRest: Bool?) { altimeter.observe(isAtRest: isAtRest) }
  mutating func observe(isReceiverOn: Bool) { altimeter.observe(isReceiverOn: isReceiverOn) }

  // MARK: Outputs

  /// Returns a location with the level, and with the barometer's altitude if that is more accurate.
  mutating func improved(_ location: Location) -> Location {
    isShown = !isReduced && privacy.shown(location) == location
    if location.positionSource == .inertial, let speed = location.speed {
      altimeter.observe(speed: speed, at: location.timestamp)
    }
    guard settings.isEnabled, let data = altimeter.absoluteAltitudeData,
      altimeter.isAtRest || abs(location.timestamp.seconds(since: data.timestamp)) <= Self.freshness
    else { return location }
    var location = location
    location.floor = altimeter.floor
    switch location.positionSource {
    // Navigation has already used the pressure for these altitudes, together with other sensors.
    case .fused, .coarse: break
    case .inertial: if location.altitude != nil { location.altitudeSource = .barometric }
    case .gnss, nil:
      guard data.accuracy < location.verticalAccuracy ?? .infinity else { break }
      if let altitude = location.altitude, let ellipsoidal = location.ellipsoidalAltitude {
        location.ellipsoidalAltitude = ellipsoidal + data.altitude - altitude
      }
      (location.altitude, location.verticalAccuracy) = (data.altitude, data.accuracy)
      location.altitudeSource = source
    }
    return location
  }

  /// Returns why altitudes are unavailable, with a remedy; nil if they are available.
  func reason(_ availability: ServiceAvailability) -> String? {
    guard settings.isEnabled else { return "switched off; set altitude.enabled = true" }
    return altimeter.isRelativeAltitudeAvailable ? nil : availability.reason(against: .barometer)
  }

  private var source: AltitudeSource {
    altimeter.secondsSinceFix.map { $0 < Self.outage } == true ? .fused : .barometric
  }
}

extension PipelineConfiguration {
  /// True if the barometer is required.
  var isAltitudeWanted: Bool { altitude.isEnabled && location.isEnabled }
}
