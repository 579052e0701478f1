internal import Motion
internal import Positioning
internal import Sensors
internal import Spatial
internal import Telemetry

/// The barometer's side of the pipeline: betters the altitude of locations, finds the level of a garage, and makes `altitude`
/// messages.
struct AltitudeReports: Sendable {
  private let settings: PipelineConfiguration.Altitude
  private let privacy: PrivacyPolicy
  private let isReduced: Bool
  private var altimeter = Altimeter()
  private var gate: IntervalGate?
  /// The level that was told last; 0 when there is none, as on the level of the street: a tunnel is no news.
  private var toldLevel = 0
  /// Whether anything was told: what the broker has kept is of a former run.
  private var hasTold = false
  /// Whether the newest position may be told as it is, and so how high it is.
  private var isShown: Bool

  /// s for which an altitude by pressure is of now.
  private static let freshness = 3.0
  /// s without a receiver from which on an altitude is the barometer's.
  private static let outage = 5.0

  init(_ configuration: PipelineConfiguration) {
    settings = configuration.altitude
    privacy = configuration.privacy
    isReduced = configuration.location.desiredAccuracy == .reduced
    gate = settings.interval.map { IntervalGate(interval: $0) }
    // Where there are zones, nobody knows whether it is in one.
    isShown = !isReduced && privacy == PrivacyPolicy()
  }

  /// Goes on under another configuration with what it has found out.
  func reconfigured(_ new: PipelineConfiguration) -> AltitudeReports {
    var next = AltitudeReports(new)
    next.altimeter = altimeter
    (next.toldLevel, next.hasTold) = (toldLevel, hasTold)
    if privacy == new.privacy, isReduced == next.isReduced { next.isShown = isShown }
    return next
  }

  // MARK: What goes in

  /// Takes pressures; hands out the messages that are due.
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

  /// Takes a location of the receiver that is believed.
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

  // MARK: What comes out

  /// A location with what the barometer knows better, and with the level.
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
    // Navigation takes the pressure itself, and has more to hold it against.
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

  /// Why there is nothing to be had, and what would help; nil when there is.
  func reason(_ availability: ServiceAvailability) -> String? {
    guard settings.isEnabled else { return "switched off; set altitude.enabled = true" }
    return altimeter.isRelativeAltitudeAvailable ? nil : availability.reason(against: .barometer)
  }

  private var source: AltitudeSource {
    altimeter.secondsSinceFix.map { $0 < Self.outage } == true ? .fused : .barometric
  }
}

extension PipelineConfiguration {
  /// Whether anybody wants the barometer.
  var isAltitudeWanted: Bool { altitude.isEnabled && location.isEnabled }
}
