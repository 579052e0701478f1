internal import Motion
internal import Positioning
internal import Sensors
internal import Spatial
internal import Telemetry

/// The barometer's part of the pipeline. It improves the altitude of locations, detects the level in a
/// garage, and creates `altitude` messages.
struct AltitudeReports: PipelinePart {
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
    gate = configuration.altitude.interval.map { IntervalGate(interval: $0) }
    isShown = configuration.isEverythingShown
  }

  mutating func reconfigure(from old: PipelineConfiguration, _ context: inout PipelineContext) {
    let new = context.configuration
    gate = new.altitude.interval.map { IntervalGate(interval: $0) }
    let wasReduced = old.location.desiredAccuracy == .reduced
    if new.privacy != old.privacy || context.isReduced != wasReduced { isShown = new.isEverythingShown }
  }

  // MARK: Inputs

  /// Processes pressures, and publishes `altitude` messages that are due.
  mutating func process(_ pressures: [PressureData], _ context: inout PipelineContext) {
    guard context.configuration.isAltitudeWanted else { return }
    for pressure in pressures where altimeter.process(pressure) {
      guard isShown, let data = altimeter.altitudeData else { continue }
      let floor = altimeter.floor
      let absolute = altimeter.absoluteAltitudeData
      let isNews = (floor?.level ?? 0) != toldLevel || !hasTold && absolute != nil
      let isDue = gate?.isOpen(at: pressure.timestamp) ?? false
      guard isNews || isDue else { continue }
      toldLevel = floor?.level ?? 0
      hasTold = hasTold || absolute != nil
      var message = AltitudeMessage(
        time: context.timeBase.utc(at: data.timestamp), data: data, absolute: absolute, floor: floor)
      message.source = message.altitude == nil ? nil : source
      context.send(.altitude(message))
    }
  }

  /// Processes the accepted locations of the receiver.
  mutating func process(_ step: inout FixStep, _ context: inout PipelineContext) {
    for location in step.locations { observe(location, context) }
  }

  private mutating func observe(_ location: Location, _ context: PipelineContext) {
    isShown = context.isExact(location)
    guard context.configuration.altitude.isEnabled, let altitude = location.altitude,
      let deviation = location.verticalAccuracy ?? location.horizontalAccuracy.map({ 2 * $0 })
    else { return }
    altimeter.update(
      altitude: altitude, deviation: deviation, speed: location.speed, at: location.timestamp)
  }

  mutating func observe(_ change: ActivityChange, _ context: inout PipelineContext) {
    altimeter.observe(isAtRest: change.isAtRest)
  }

  mutating func observe(isReceiverOn: Bool) { altimeter.observe(isReceiverOn: isReceiverOn) }

  // MARK: Outputs

  /// Adds the level to a location, and the barometer's altitude if that is more accurate.
  mutating func process(_ location: inout Location, _ context: inout PipelineContext) {
    isShown = context.isExact(location)
    if location.positionSource == .inertial, let speed = location.speed {
      altimeter.observe(speed: speed, at: location.timestamp)
    }
    guard context.configuration.altitude.isEnabled, let data = altimeter.absoluteAltitudeData,
      altimeter.isAtRest || abs(location.timestamp.seconds(since: data.timestamp)) <= Self.freshness
    else { return }
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
  }

  /// At rest the altitude is constant, even if the air pressure changes.
  func add(to needs: inout PowerNeeds, _ context: PipelineContext) {
    guard context.configuration.isAltitudeWanted, context.activity != .stationary else { return }
    needs.inertial[.barometer] = .rate(
      hertz: 1, latency: .seconds(context.configuration.inertialLatency))
  }

  /// Describes the service: `available`, or why altitudes are unavailable, with a remedy.
  func describe(in status: inout StatusMessage, _ context: PipelineContext) {
    status.services["altitude"] =
      if !context.configuration.altitude.isEnabled {
        "switched off; set altitude.enabled = true"
      } else if altimeter.isRelativeAltitudeAvailable {
        "available"
      } else {
        context.availability.reason(against: .barometer) ?? "available"
      }
  }

  private var source: AltitudeSource {
    altimeter.secondsSinceFix.map { $0 < Self.outage } == true ? .fused : .barometric
  }
}

extension PipelineConfiguration {
  /// True if the barometer is required.
  var isAltitudeWanted: Bool { altitude.isEnabled && location.isEnabled }

  /// True if every position may be published exactly. With privacy zones, it is unknown before the first position
  /// whether the vehicle is in one.
  fileprivate var isEverythingShown: Bool {
    location.desiredAccuracy != .reduced && privacy == PrivacyPolicy()
  }
}
