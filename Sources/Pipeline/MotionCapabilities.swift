internal import Motion
package import Sensors
package import Spatial

/// What the motion side can tell with the sensors it has: for `status` and `odographd check`.
package struct MotionCapabilities: Hashable, Sendable {
  /// The reference frames that can be served now, the best first.
  package private(set) var frames: [AttitudeReferenceFrame]
  /// Each service by name; nil when it is available, else why it is not and what would help.
  package private(set) var services: [String: String?] = [:]
  /// What is told less well than was asked for, by service, with the reason and what would help.
  package private(set) var degradations: [String: String] = [:]

  /// - Parameters:
  ///   - settings: what was asked for.
  ///   - sensors: that are there, asleep or awake.
  ///   - isPlaceKnown: whether a position has said how far magnetic north is from true north.
  package init(_ settings: PipelineConfiguration, sensors: Set<SensorKind>, isPlaceKnown: Bool) {
    var usable = sensors
    if !isPlaceKnown { usable.remove(.positioning) }
    let available = AttitudeReferenceFrame.available(with: usable)
    frames = AttitudeReferenceFrame.xTrueNorthZVertical.withFallbacks.filter(available.contains)
    let attitude = settings.attitude
    add("attitude", .attitude, usable, switch: attitude.isEnabled ? nil : "attitude.enabled")
    add("heading", .magneticHeading, usable, switch: settings.heading.isEnabled ? nil : "heading.enabled")
    add("trueHeading", .trueHeading, usable, switch: settings.heading.isEnabled ? nil : "heading.enabled")
    if sensors.contains(.positioning), !isPlaceKnown, services["trueHeading"] == .some(.some("no positioning; attach one")) {
      services["trueHeading"] = "no position yet, which says how far magnetic north is from true north; wait for a fix"
    }
    for output in [MotionOutput.gravity, .userAcceleration, .rotationRate, .magneticField] {
      add(output.rawValue, output, usable, switch: nil)
    }
    for event in PipelineConfiguration.Motion.Event.allCases {
      let isOn = settings.motion.events.contains(event)
      // Rest and movement are in the accelerometer's readings; all else is told from the user's acceleration.
      let isEasy = event == .activity
      add(
        event.rawValue, isEasy ? nil : .userAcceleration, usable,
        switch: isOn ? nil : "motion.events with \"\(event.rawValue)\" in it")
      if isEasy, isOn, !usable.contains(.accelerometer) { services[event.rawValue] = "no accelerometer; attach one" }
    }
    guard attitude.isEnabled, services["attitude"] == .some(nil), !available.contains(attitude.frame),
      let frame = attitude.frame.withFallbacks.first(where: available.contains)
    else { return }
    let why =
      attitude.frame == .xTrueNorthZVertical && available.contains(.xMagneticNorthZVertical)
      ? "no position yet; wait for a fix"
      : "no \(attitude.frame.needsMagnetometer ? "magnetometer" : "gyroscope"); attach one, or set attitude.frame"
    degradations["attitude"] = "in \(frame.rawValue) in place of \(attitude.frame.rawValue): \(why)"
  }

  /// - Parameter key: the configuration that would switch it on; nil when it is on.
  private mutating func add(_ name: String, _ output: MotionOutput?, _ sensors: Set<SensorKind>, switch key: String?) {
    if let key {
      services[name] = .some("switched off; set \(key)")
      return
    }
    switch output?.limitation(with: sensors) {
    case nil: services[name] = .some(nil)
    case .degraded(let reason):
      services[name] = .some(nil)
      degradations[name] = reason
    case .unavailable(let reason): services[name] = .some(reason)
    }
  }
}
