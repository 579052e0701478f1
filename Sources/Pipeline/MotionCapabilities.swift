internal import Motion
internal import Navigation
package import Positioning
package import Sensors
package import Spatial

/// The motion services that the sensors support, for `status` and `odographd check`. A service is available
/// only if its values are published.
package struct MotionCapabilities: Hashable, Sendable {
  /// The reference frames that are available, in order of preference.
  package private(set) var frames: [AttitudeReferenceFrame]
  /// Services by name: nil if available, otherwise the reason and the remedy.
  package private(set) var services: [String: String?] = [:]
  /// Services with reduced quality by name, with the reason and the remedy.
  package private(set) var degradations: [String: String] = [:]

  /// - Parameters:
  ///   - settings: the configuration.
  ///   - sensors: the available sensors, including sleeping ones; positioning counts as available after the
  ///     first position.
  ///   - isNavigated: true if navigation provides the vehicle's attitude, so that no magnetometer is
  ///     required.
  ///   - availability: reasons why other sensors are unavailable, as reported by their sources.
  ///   - effectiveInterval: time in s between samples used for attitudes and headings; nil if unknown.
  ///   - restriction: the reason why their source delivers fewer samples than the sensor could; nil if it does
  ///     not.
  package init(
    _ settings: PipelineConfiguration, sensors: Set<SensorKind>, isNavigated: Bool = false,
    _ availability: ServiceAvailability, effectiveInterval: Double? = nil,
    restriction: String? = nil
  ) {
    var available = AttitudeReferenceFrame.available(with: sensors)
    if isNavigated { available.formUnion([.xTrueNorthZVertical, .xMagneticNorthZVertical]) }
    /// Returns the sensors from which an output is computed.
    func basis(_ output: MotionOutput) -> Set<SensorKind> {
      let isNorthWanted = [.attitude, .magneticHeading, .trueHeading].contains(output)
      return isNavigated && isNorthWanted ? sensors.union([.magnetometer, .positioning]) : sensors
    }
    frames = AttitudeReferenceFrame.xTrueNorthZVertical.withFallbacks.filter(available.contains)
    var missing: [SensorKind: String] = [:]
    for kind in SensorKind.allCases where !sensors.contains(kind) {
      missing[kind] = availability.reason(against: kind)
    }
    if !settings.location.isEnabled, !sensors.contains(.positioning) {
      missing[.positioning] =
        "no position, which gives the magnetic declination: location is switched off; set location.enabled = true"
    } else if missing[.positioning] == nil {
      missing[.positioning] =
        "no position yet for the magnetic declination; wait for a fix"
    }
    func add(_ name: String, _ output: MotionOutput, switch key: String?) {
      if let key {
        services[name] = "switched off; set \(key)"
        return
      }
      switch output.limitation(with: basis(output)) {
      case nil: services[name] = .some(nil)
      case .degraded(let reason):
        services[name] = .some(nil)
        degradations[name] = reason
      case .unavailable(let reason):
        // A sensor without any source is named before positioning: a first position would not help a device
        // that lacks a magnetometer.
        let lacking = output.neededSensors.subtracting(sensors).sorted()
        let absent = lacking.filter { missing[$0] == nil }
        let known = (lacking.filter { $0 != .positioning } + lacking).lazy.compactMap { missing[$0] }.first
        services[name] =
          absent.isEmpty
          ? known ?? reason
          : "no \(absent.map(\.rawValue).joined(separator: " and no ")); attach \(absent.count == 1 ? "one" : "them")"
      }
    }
    let (attitude, heading) = (settings.attitude, settings.heading)
    add("attitude", .attitude, switch: attitude.isEnabled ? nil : "attitude.enabled = true")
    for (name, output) in [("heading", MotionOutput.magneticHeading), ("trueHeading", .trueHeading)] {
      add(name, output, switch: heading.isEnabled ? nil : "heading.enabled = true")
    }
    // Gravity and rotation rate are members of `attitude`. The magnetic field is also in `status`.
    for output in [MotionOutput.gravity, .rotationRate] {
      add(output.rawValue, output, switch: attitude.isEnabled ? nil : "attitude.enabled = true")
    }
    add(MotionOutput.magneticField.rawValue, .magneticField, switch: nil)
    for event in PipelineConfiguration.Motion.Event.allCases {
      let isOn = settings.motion.events.contains(event)
      add(event.rawValue, .userAcceleration, switch: isOn ? nil : "motion.events to name \(event.rawValue)")
      // Rest is detected from accelerometer readings, and does not require the sensors of the reference
      // frame.
      if event == .activity { degradations[event.rawValue] = nil }
    }
    if let effectiveInterval {
      for (name, interval) in [("attitude", attitude.interval), ("heading", heading.interval)]
      where services[name] == .some(nil) && effectiveInterval > 1.05 * interval {
        degradations[name] = Self.slow(
          interval, effectiveInterval, restriction, before: degradations[name])
      }
    }
    guard attitude.isEnabled, services["attitude"] == .some(nil), !available.contains(attitude.frame),
      let frame = attitude.frame.withFallbacks.first(where: available.contains)
    else { return }
    let lacking: SensorKind =
      sensors.contains(.magnetometer)
      ? (attitude.frame.needsMagnetometer ? .positioning : .gyroscope) : .magnetometer
    let slow = degradations["attitude"].flatMap { $0.hasPrefix(Self.slowPrefix) ? $0 + "; " : nil } ?? ""
    degradations["attitude"] =
      slow + "in \(frame.rawValue) in place of \(attitude.frame.rawValue): "
      + (missing[lacking] ?? "no \(lacking.rawValue); attach one, or set attitude.frame")
  }

  private static let slowPrefix = "effective interval "

  private static func slow(
    _ interval: Double, _ effective: Double, _ restriction: String?, before reason: String?
  ) -> String {
    let milliseconds = (effective * 1e4).rounded() / 10
    return
      "\(slowPrefix)\(milliseconds) ms instead of \((interval * 1e4).rounded() / 10) ms: "
      + (restriction ?? "limited by the sensor")
      + (reason.map { "; \($0)" } ?? "")
  }
}

extension MotionCapabilities {
  /// A requested output that a missing sensor prevents or degrades.
  package struct Limitation: Hashable, Sendable {
    /// Name of a service, or the key that requests the output.
    package var output: String
    /// True if the output is completely unavailable.
    package var isUnavailable: Bool
    /// The reason and the remedy.
    package var reason: String
  }

  /// Returns the requested outputs that missing sensors prevent or degrade. The parameters are those of
  /// `MotionCapabilities.init`.
  package static func limitations(
    _ settings: PipelineConfiguration, sensors: Set<SensorKind>, isNavigated: Bool = false,
    _ availability: ServiceAvailability
  ) -> [Limitation] {
    let capabilities = MotionCapabilities(
      settings, sensors: sensors, isNavigated: isNavigated, availability)
    var limitations: [Limitation] = []
    for name in ["attitude", "heading", "trueHeading"]
      + PipelineConfiguration.Motion.Event.allCases.map(\.rawValue)
    {
      if let reason = capabilities.services[name] ?? nil, !reason.hasPrefix("switched off") {
        limitations.append(Limitation(output: name, isUnavailable: true, reason: reason))
      } else if let reason = capabilities.degradations[name] {
        limitations.append(Limitation(output: name, isUnavailable: false, reason: reason))
      }
    }
    func need(_ kinds: [SensorKind], for output: String) {
      let missing = kinds.filter { !sensors.contains($0) }
      guard !missing.isEmpty else { return }
      let reason =
        missing.lazy.compactMap { availability.reason(against: $0) }.first
        ?? "no \(missing.map(\.rawValue).joined(separator: " and no ")); attach \(missing.count == 1 ? "one" : "them")"
      limitations.append(Limitation(output: output, isUnavailable: true, reason: reason))
    }
    if settings.isNavigating {
      need([.accelerometer, .gyroscope], for: "positions without sky (navigation.enabled)")
    }
    let needs: [(events: [DrivingEvent.Kind], sensors: [SensorKind])] = [
      (
        [.braking, .acceleration, .cornering, .swerve, .kerb, .pothole], [.accelerometer, .gyroscope]
      ),
      ([.tilt], [.accelerometer]),
    ]
    for (kinds, needed) in needs {
      let asked = kinds.filter(settings.events.kinds.contains).map(\.rawValue)
      if !asked.isEmpty { need(needed, for: "\(asked.joined(separator: ", ")) (events.kinds)") }
    }
    if settings.traces != nil { need([.accelerometer], for: "traces (trace.enabled)") }
    if settings.isRecording { need([.accelerometer], for: "recordings (recorder.enabled)") }
    // A missing barometer is only a limitation if `altitude` messages are configured; otherwise the barometer
    // is optional.
    if settings.altitude.isEnabled, settings.altitude.interval != nil {
      need([.barometer], for: "altitude (altitude.interval)")
    }
    return limitations
  }
}

extension [MotionCapabilities.Limitation] {
  /// Combines limitations of the same cause: those with equal reasons. If there is no inertial sensor at all,
  /// limitations by any missing inertial sensor have one cause.
  /// - Parameter sensors: the available sensors.
  package func combined(sensors: Set<SensorKind>) -> Self {
    let inertial: [SensorKind] = [.accelerometer, .gyroscope, .magnetometer]
    let hasNone = sensors.isDisjoint(with: inertial)
    var combined: Self = []
    for var limitation in self {
      if hasNone, limitation.isUnavailable,
        inertial.contains(where: { limitation.reason.hasPrefix("no \($0.rawValue)") })
      {
        limitation.reason = "no inertial sensor; attach one"
      }
      let same = combined.firstIndex {
        $0.isUnavailable == limitation.isUnavailable && $0.reason == limitation.reason
      }
      if let same { combined[same].output += ", " + limitation.output } else { combined.append(limitation) }
    }
    return combined
  }
}
