internal import Motion
internal import Navigation
internal import Pipeline
internal import Positioning
internal import Sensors
internal import Settings
internal import Telemetry
internal import Traces

extension PipelineConfiguration {
  /// The range in m/s² that impacts and traces require of an accelerometer, which measures 1 g at rest; nil if
  /// neither is enabled.
  var requiredRange: Double? {
    guard motion.events.contains(.impact) || traces != nil else { return nil }
    return (motion.impact.threshold + 1) * standardGravity
  }

  init(_ reader: ConfigurationReader, isRecording: Bool, isVirtual: Bool) throws(ConfigurationError) {
    self.init()
    location = try Location(reader)
    heading.isEnabled = try reader.flag("heading.enabled")
    heading.interval = try reader.number("heading.interval")
    heading.filter = try reader.number("heading.filter")
    heading.orientation = try reader.choice("heading.orientation")
    attitude.isEnabled = try reader.flag("attitude.enabled")
    attitude.interval = try reader.number("attitude.interval")
    attitude.filter = try reader.number("attitude.filter")
    attitude.frame = try reader.choice("attitude.frame")
    altitude.isEnabled = try reader.flag("altitude.enabled")
    altitude.interval = try reader.positive("altitude.interval")
    motion = try Motion(reader)
    navigation.isEnabled = try reader.flag("navigation.enabled")
    navigation.vehicle = try reader.choice("navigation.vehicle")
    privacy = try PrivacyPolicy(reader)
    statusInterval = try reader.number("status.interval")
    inertial.rate = try reader.number("iio.rate")
    inertial.latency = try reader.number("iio.latency")
    (self.isRecording, self.isVirtual) = (isRecording, isVirtual)
    energy = try EnergyFigures(reader)
    events = try Events(reader)
  }
}

extension PipelineConfiguration.Events {
  fileprivate init(_ reader: ConfigurationReader) throws(ConfigurationError) {
    var limits = DrivingEventLimits(try reader.choice("events.vehicle"))
    limits.braking = try reader.positive("events.braking") ?? limits.braking
    limits.acceleration = try reader.positive("events.acceleration") ?? limits.acceleration
    limits.cornering = try reader.positive("events.cornering") ?? limits.cornering
    limits.speed = try reader.positive("events.speed_limit").map { $0 / 3.6 }
    limits.idling = try reader.number("events.idling")
    limits.tilt = try reader.number("events.tilt")
    limits.supply = try reader.positive("events.supply") ?? limits.supply
    self.init(kinds: try reader.choices("events.kinds"), limits: limits)
  }
}

extension PipelineConfiguration.Trips {
  init(_ reader: ConfigurationReader) throws(ConfigurationError) {
    self.init(
      isEnabled: try reader.flag("trips.enabled"), stop: try reader.number("trips.stop"),
      interval: try reader.positive("trips.interval"))
  }
}

extension PipelineConfiguration.Traces {
  init(_ reader: ConfigurationReader) throws(ConfigurationError) {
    self.init(
      severity: try reader.choice("trace.severity"), before: try reader.number("trace.before"),
      after: try reader.number("trace.after"))
  }
}

extension PipelineConfiguration.Motion {
  fileprivate init(_ reader: ConfigurationReader) throws(ConfigurationError) {
    self.init()
    events = try reader.choices("motion.events")
    watchesAtRest = try reader.flag("motion.events_at_rest")
    shake.threshold = try reader.number("motion.shake_threshold")
    shake.swingInterval = try reader.number("motion.shake_interval")
    shake.minimumSwings = try reader.integer("motion.shake_swings")
    shake.maximumDuration = try reader.number("motion.shake_duration")
    shake.axes = try reader.choices("motion.shake_axes")
    impact.threshold = try reader.number("motion.impact_threshold")
    impact.pulseDuration = try reader.number("motion.impact_duration")
    impact.quietTime = try reader.number("motion.impact_quiet")
    impact.sides = try reader.choices("motion.impact_sides")
    orientation.captureAngle = try reader.number("motion.orientation_angle")
    orientation.settlingTime = try reader.number("motion.orientation_duration")
    orientation.orientations = try reader.choices("motion.orientations")
    // The required number of swings at the fastest possible pace must fit into the configured duration.
    let shortest = Double(shake.minimumSwings - 1) * Self.quickestSwing
    guard shortest > shake.maximumDuration else { return }
    throw reader.problem(
      "motion.shake_swings",
      "\(shake.minimumSwings) swings take longer than motion.shake_duration = \(shake.maximumDuration); lower it or allow longer shakes",
      .conflict)
  }

  /// Shortest time in s between swings. Hands do not exceed ten oscillations per second.
  private static let quickestSwing = 0.05
}

extension PipelineConfiguration.Location {
  fileprivate init(_ reader: ConfigurationReader) throws(ConfigurationError) {
    self.init()
    policy =
      switch try reader.text("location.reporting") {
      case "bounded":
        .bounded(
          error: try reader.number("location.error_bound"), delay: try reader.number("location.delay_bound"),
          limits: try Self.displacementLimits(reader))
      case "significant": .significant
      default: .distance(try reader.positive("location.distance_filter"))
      }
    isEnabled = try reader.flag("location.enabled")
    desiredAccuracy = try reader.choice("location.desired_accuracy")
    activity = try reader.choice("location.activity")
    pausesAutomatically = try reader.flag("location.pauses_automatically")
    let limits = Deferral(
      distance: try reader.positive("location.deferral_distance"),
      timeout: try reader.positive("location.deferral_timeout"),
      error: try reader.positive("location.track_error"))
    deferral = limits.distance == nil && limits.timeout == nil ? nil : limits
    guard let deferral, policy == .significant else { return }
    throw reader.problem(
      deferral.distance == nil ? "location.deferral_timeout" : "location.deferral_distance",
      "significant changes are not deferred; set location.reporting to \"distance\" or \"bounded\"", .conflict
    )
  }
}

extension PipelineConfiguration.Location {
  /// Returns the displacement limits of the enabled message formats, and the distance filter if the operator
  /// (not only the preset) has set one.
  private static func displacementLimits(
    _ reader: ConfigurationReader
  ) throws(ConfigurationError) -> [DisplacementLimit] {
    let formats = try reader.texts("mqtt.profile")
    var tables = formats.contains("native") ? ["location"] : []
    if formats.contains("owntracks") { tables.append("owntracks") }
    if try reader.flag("homeassistant.enabled") { tables.append("homeassistant") }
    var limits: [DisplacementLimit] = []
    for table in tables {
      guard let metres: Double = try reader.positive("\(table).displacement_bound") else { continue }
      let seconds: Double = try reader.number("\(table).displacement_time")
      limits.append(DisplacementLimit(metres: metres, seconds: seconds))
    }
    if case .number(let filter)? = reader.written("location.distance_filter")?.value, filter > 0 {
      limits.append(DisplacementLimit(metres: filter))
    }
    return limits
  }
}

extension EnergyFigures {
  fileprivate init(_ reader: ConfigurationReader) throws(ConfigurationError) {
    self.init()
    for component in EnergyComponent.allCases {
      power[component] = try reader.number("energy.\(component.rawValue)_mw") * 1e-3
    }
    scanDuration[.wifi] = try reader.number("energy.wifi_scan")
    scanDuration[.cellular] = try reader.number("energy.cellular_scan")
    wakeup = try reader.number("energy.wakeup_mj") * 1e-3
    burst = try reader.number("energy.radio_burst_mj") * 1e-3
    byte = try reader.number("energy.radio_byte_uj") * 1e-6
    sensorLinger = try reader.number("energy.sensor_linger")
  }
}
