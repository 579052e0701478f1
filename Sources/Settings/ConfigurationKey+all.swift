internal import Bytes
internal import Motion
internal import Positioning
internal import Spatial
internal import Telemetry
internal import VehicleData

extension ConfigurationKey {
  // Defaults of keys for gestures are the defaults of the detectors.
  private static let shake = ShakeDetector.Settings()
  private static let impact = ImpactDetector.Settings()
  private static let orientation = OrientationDetector.Settings()

  /// Signals that are common on vehicle buses. The vehicle identification number is excluded, because it
  /// identifies the owner.
  private static let usualSignals = [
    "Vehicle.Speed", "Vehicle.TraveledDistance", "Vehicle.IsMoving", "Vehicle.LowVoltageSystemState",
    "Vehicle.LowVoltageBattery.CurrentVoltage", "Vehicle.Powertrain.CombustionEngine.Speed",
    "Vehicle.Powertrain.FuelSystem.RelativeLevel",
  ]

  /// Sentences of NMEA 0183 that most programs read.
  private static let usualSentences = ["GGA", "GSA", "GSV", "VTG", "RMC", "GST", "ZDA"]

  /// Keys of a service for programs on the same machine.
  private static func localKeys(_ table: String) -> [ConfigurationKey] {
    [
      ConfigurationKey("\(table).listen", .texts, default: .texts([])),
      ConfigurationKey("\(table).socket", .text),
      ConfigurationKey("\(table).socket_mode", .text, default: .text("0660")),
      ConfigurationKey("\(table).socket_group", .text),
      ConfigurationKey("\(table).accuracy", .oneOf(["exact", "reduced", "none"]), default: .text("exact")),
      ConfigurationKey("\(table).access", .texts, default: .texts([])),
      ConfigurationKey("\(table).privacy", .oneOf(["apply", "ignore"]), default: .text("apply")),
      ConfigurationKey("\(table).rate", .number(0.01...10), default: .number(1)),
      ConfigurationKey("\(table).clients", .integer(1...1000), default: .integer(64)),
    ]
  }

  /// All keys in the order of `Config/odograph.toml`, which documents each key.
  package static let all: [ConfigurationKey] =
    main + localKeys("nmea") + [ConfigurationKey("nmea.sentences", .texts, default: .texts(usualSentences))]
    + localKeys("gpsd_server")
    + [ConfigurationKey("sensor_proxy.enabled", .flag, default: .flag(false))] + rest

  private static let main: [ConfigurationKey] = [
    ConfigurationKey(
      "preset", .oneOf(Preset.allCases.map(\.rawValue)), default: .text(Preset.usual.rawValue)),

    ConfigurationKey("vehicle.fleet", .text, default: .text("default")),
    ConfigurationKey("vehicle.id", .text),

    ConfigurationKey(
      "input.mode", .oneOf(["hardware", "replay", "simulation"]), default: .text("hardware")),
    ConfigurationKey("input.speed", .number(0...10_000), default: .number(1)),
    ConfigurationKey("input.place", .coordinate),

    ConfigurationKey("gpsd.enabled", .flag, default: .flag(true)),
    ConfigurationKey("gpsd.host", .text, default: .text("127.0.0.1")),
    ConfigurationKey("gpsd.port", .integer(1...65_535), default: .integer(2947)),
    ConfigurationKey("gpsd.device", .text),
    ConfigurationKey("gpsd.assist", .flag, default: .flag(false)),

    ConfigurationKey("iio.enabled", .flag, default: .flag(true)),
    ConfigurationKey("iio.contexts", .texts, default: .texts(["local:"])),
    ConfigurationKey("iio.accelerometer", .text, default: .text("auto")),
    ConfigurationKey("iio.gyroscope", .text, default: .text("auto")),
    ConfigurationKey("iio.magnetometer", .text, default: .text("auto")),
    ConfigurationKey("iio.barometer", .text, default: .text("auto")),
    ConfigurationKey("iio.rate", .number(1...10_000), default: .number(100)),
    ConfigurationKey("iio.latency", .number(0...60), default: .number(0.5)),
    ConfigurationKey("iio.mount_matrix", .texts, default: .texts([])),

    ConfigurationKey("can.interface", .text),
    ConfigurationKey("can.dbc", .text),
    ConfigurationKey("can.signals", .texts, default: .texts(usualSignals)),
    ConfigurationKey("can.j1939", .flag, default: .flag(false)),
    ConfigurationKey("can.obd", .oneOf(["off", "11-bit", "29-bit"]), default: .text("off")),
    ConfigurationKey("can.voltage_path", .text),
    ConfigurationKey("can.speed", .text, default: .text("Vehicle.Speed")),
    ConfigurationKey("can.interval", .number(1...86_400), default: .number(10)),

    ConfigurationKey("radio.wifi", .text, default: .text("")),
    ConfigurationKey("radio.modem", .flag, default: .flag(false)),

    ConfigurationKey("replay.position", .text),
    ConfigurationKey("replay.can", .text),
    ConfigurationKey("replay.sensors", .text),
    ConfigurationKey("replay.date", .text),

    ConfigurationKey(
      "simulation.scenario", .oneOf(["drive", "parked", "no-location"]), default: .text("drive")),
    ConfigurationKey("simulation.seed", .integer(0...Int.max), default: .integer(1)),
    ConfigurationKey("simulation.duration", .number(0...31_536_000), default: .number(0)),
    ConfigurationKey("simulation.start", .text),
    ConfigurationKey("simulation.tracks", .text),

    ConfigurationKey("location.enabled", .flag, default: .flag(true)),
    ConfigurationKey(
      "location.desired_accuracy", .oneOf(DesiredAccuracy.allCases.map(\.rawValue)), default: .text("best")),
    ConfigurationKey(
      "location.activity", .oneOf(ActivityType.allCases.map(\.rawValue)), default: .text("automotive")),
    ConfigurationKey("location.pauses_automatically", .flag, default: .flag(true)),
    ConfigurationKey(
      "location.reporting", .oneOf(["distance", "bounded", "significant"]), default: .text("bounded")),
    ConfigurationKey("location.distance_filter", .number(0...1_000_000), default: .number(0)),
    ConfigurationKey("location.error_bound", .number(0.1...100_000), default: .number(20)),
    ConfigurationKey("location.delay_bound", .number(0...600), default: .number(5)),
    ConfigurationKey("location.displacement_bound", .number(0...100_000), default: .number(70)),
    ConfigurationKey("location.displacement_time", .number(0...3600), default: .number(1)),
    ConfigurationKey("location.deferral_distance", .number(0...1_000_000), default: .number(0)),
    ConfigurationKey("location.deferral_timeout", .number(0...86_400), default: .number(0)),
    ConfigurationKey("location.track_error", .number(0...100_000), default: .number(0)),

    ConfigurationKey("trips.enabled", .flag, default: .flag(true)),
    ConfigurationKey("trips.stop", .number(60...86_400), default: .number(300)),
    ConfigurationKey("trips.interval", .number(0...86_400), default: .number(300)),

    ConfigurationKey("trace.enabled", .flag, default: .flag(false)),
    ConfigurationKey("trace.severity", .oneOf(["light", "moderate", "severe"]), default: .text("light")),
    ConfigurationKey("trace.before", .number(1...60), default: .number(15)),
    ConfigurationKey("trace.after", .number(1...60), default: .number(15)),
    ConfigurationKey("trace.kept", .integer(0...1000), default: .integer(8)),
    ConfigurationKey("trace.kept_megabytes", .number(0...1000), default: .number(4)),

    ConfigurationKey("navigation.enabled", .flag, default: .flag(true)),
    ConfigurationKey("navigation.vehicle", .oneOf(["wheeled", "truck", "boat"]), default: .text("wheeled")),

    ConfigurationKey("beacons.learn", .flag, default: .flag(true)),
    ConfigurationKey("beacons.limit", .integer(100...200_000), default: .integer(20_000)),
    ConfigurationKey("beacons.forget_after", .integer(1...3650), default: .integer(180)),
    ConfigurationKey("beacons.share", .flag, default: .flag(false)),
    ConfigurationKey("beacons.receive", .flag, default: .flag(false)),

    ConfigurationKey("privacy.zones", .texts, default: .texts([])),
    ConfigurationKey("privacy.path", .text),
    ConfigurationKey("privacy.accuracy", .number(0...1_000_000), default: .number(0)),

    ConfigurationKey("heading.enabled", .flag, default: .flag(true)),
    ConfigurationKey("heading.interval", .number(0.01...86_400), default: .number(10)),
    ConfigurationKey("heading.filter", .number(0...180), default: .number(10)),
    ConfigurationKey(
      "heading.orientation", .oneOf(DeviceOrientation.allCases.map(\.rawValue)), default: .text("portrait")),

    ConfigurationKey("attitude.enabled", .flag, default: .flag(true)),
    ConfigurationKey("attitude.interval", .number(0.01...86_400), default: .number(1)),
    ConfigurationKey("attitude.filter", .number(0...180), default: .number(5)),
    ConfigurationKey(
      "attitude.frame", .oneOf(AttitudeReferenceFrame.allCases.map(\.rawValue)),
      default: .text("xMagneticNorthZVertical")),

    ConfigurationKey("altitude.enabled", .flag, default: .flag(true)),
    ConfigurationKey("altitude.interval", .number(0...86_400), default: .number(0)),

    ConfigurationKey(
      "events.kinds", .texts, default: .texts(DrivingEventMessage.Kind.known.map(\.name)),
      elements: DrivingEventMessage.Kind.known.map(\.name)),
    ConfigurationKey(
      "events.vehicle", .oneOf(["car", "van", "truck", "bus", "motorcycle"]), default: .text("car")),
    ConfigurationKey("events.braking", .number(0...20), default: .number(0)),
    ConfigurationKey("events.acceleration", .number(0...20), default: .number(0)),
    ConfigurationKey("events.cornering", .number(0...20), default: .number(0)),
    ConfigurationKey("events.speed_limit", .speed(0...500), default: .number(0)),
    ConfigurationKey("events.idling", .number(10...86_400), default: .number(300)),
    ConfigurationKey("events.tilt", .number(0.5...45), default: .number(2)),
    ConfigurationKey("events.supply", .number(0...60), default: .number(0)),

    ConfigurationKey(
      "motion.events", .texts, default: .texts(["impact", "activity"]),
      elements: ["shake", "impact", "orientation", "activity"]),
    ConfigurationKey("motion.events_at_rest", .flag, default: .flag(false)),
    ConfigurationKey("motion.shake_threshold", .number(0.1...16), default: .number(shake.threshold)),
    ConfigurationKey("motion.shake_interval", .number(0.05...5), default: .number(shake.swingInterval)),
    ConfigurationKey("motion.shake_swings", .integer(2...50), default: .integer(shake.minimumSwings)),
    ConfigurationKey("motion.shake_duration", .number(0.3...60), default: .number(shake.maximumDuration)),
    ConfigurationKey(
      "motion.shake_axes", .texts, default: .texts(ShakeAxis.allCases.map(\.rawValue)),
      elements: ShakeAxis.allCases.map(\.rawValue)),
    ConfigurationKey("motion.impact_threshold", .number(0.1...400), default: .number(impact.threshold)),
    ConfigurationKey("motion.impact_duration", .number(0.005...1), default: .number(impact.pulseDuration)),
    ConfigurationKey("motion.impact_quiet", .number(0.01...60), default: .number(impact.quietTime)),
    ConfigurationKey(
      "motion.impact_sides", .texts, default: .texts(Impact.Side.allCases.map(\.rawValue)),
      elements: Impact.Side.allCases.map(\.rawValue)),
    ConfigurationKey(
      "motion.orientation_angle", .number(1...44), default: .number(orientation.captureAngle)),
    ConfigurationKey(
      "motion.orientation_duration", .number(0...60), default: .number(orientation.settlingTime)),
    ConfigurationKey(
      "motion.orientations", .texts, default: .texts(DeviceOrientation.allCases.map(\.rawValue)),
      elements: DeviceOrientation.allCases.map(\.rawValue)),
    ConfigurationKey("sensors.required", .texts, default: .texts([])),

    ConfigurationKey("status.interval", .number(1...86_400), default: .number(300)),

    ConfigurationKey("energy.receiver_mw", .number(0...100_000), default: .number(87)),
    ConfigurationKey("energy.accelerometer_mw", .number(0...100_000), default: .number(0.3)),
    ConfigurationKey("energy.gyroscope_mw", .number(0...100_000), default: .number(0.7)),
    ConfigurationKey("energy.magnetometer_mw", .number(0...100_000), default: .number(1.8)),
    ConfigurationKey("energy.barometer_mw", .number(0...100_000), default: .number(0.006)),
    ConfigurationKey("energy.wifi_mw", .number(0...100_000), default: .number(278)),
    ConfigurationKey("energy.wifi_scan", .number(0...60), default: .number(4.2)),
    ConfigurationKey("energy.cellular_mw", .number(0...100_000), default: .number(120)),
    ConfigurationKey("energy.cellular_scan", .number(0...60), default: .number(0.3)),
    ConfigurationKey("energy.sensor_linger", .number(0...3600), default: .number(0)),
    ConfigurationKey("energy.processor_mw", .number(0...1_000_000), default: .number(300)),
    ConfigurationKey("energy.wakeup_mj", .number(0...1000), default: .number(0.05)),
    ConfigurationKey("energy.radio_mw", .number(0...100_000), default: .number(1060)),
    ConfigurationKey("energy.radio_tail", .number(0...3600), default: .number(11.6)),
    ConfigurationKey("energy.radio_burst_mj", .number(0...100_000), default: .number(315)),
    ConfigurationKey("energy.radio_byte_uj", .number(0...1000), default: .number(3.5)),

    ConfigurationKey("mqtt.broker", .texts, default: .texts(["mqtt://127.0.0.1:1883"])),
    ConfigurationKey("mqtt.client_id", .text),
    ConfigurationKey("mqtt.protocol", .oneOf(["5", "3.1.1"]), default: .text("5")),
    ConfigurationKey("mqtt.topic_root", .text, default: .text("odograph/v1")),
    ConfigurationKey(
      "mqtt.profile", .texts, default: .texts(["native"]), elements: ["native", "owntracks"]),
    ConfigurationKey("mqtt.keepalive", .integer(5...3600), default: .integer(60)),
    ConfigurationKey("mqtt.keepalive_at_rest", .integer(0...3600), default: .integer(0)),
    ConfigurationKey("mqtt.user", .text),
    ConfigurationKey("mqtt.password_file", .text),
    ConfigurationKey("mqtt.ca_file", .text),
    ConfigurationKey("mqtt.certificate_file", .text),
    ConfigurationKey("mqtt.key_file", .text),
    ConfigurationKey("mqtt.tls_minimum", .oneOf(["1.2", "1.3"]), default: .text("1.2")),
    ConfigurationKey("mqtt.alpn", .text),
    ConfigurationKey("mqtt.psk_identity", .text),
    ConfigurationKey("mqtt.psk_file", .text),
    ConfigurationKey(
      "mqtt.link", .oneOf(["always", "bursts", "bursts-at-rest"]), default: .text("bursts-at-rest")),
    ConfigurationKey("mqtt.burst_interval", .number(5...604_800), default: .number(1800)),
    ConfigurationKey("mqtt.burst_linger", .number(0...3600), default: .number(5)),
    ConfigurationKey("mqtt.window", .integer(1...1000), default: .integer(100)),
    ConfigurationKey("mqtt.connect_timeout", .number(1...300), default: .number(20)),
    ConfigurationKey("mqtt.backoff_base", .number(0.05...3600), default: .number(1)),
    ConfigurationKey("mqtt.backoff_limit", .number(0.05...86_400), default: .number(120)),
    ConfigurationKey("mqtt.session_expiry", .integer(0...31_536_000), default: .integer(3600)),
    ConfigurationKey("mqtt.message_expiry", .integer(0...31_536_000), default: .integer(0)),

    ConfigurationKey("regions.path", .text),
    ConfigurationKey("regions.state", .text),
    ConfigurationKey("regions.notify", .texts, default: .texts([])),

    ConfigurationKey("state.path", .text),

    ConfigurationKey("store.path", .text),
    ConfigurationKey("store.sync", .oneOf(["everything", "events", "second"]), default: .text("events")),
    ConfigurationKey("store.events_megabytes", .number(0.01...1_000_000), default: .number(64)),
    ConfigurationKey("store.events_days", .number(0...36_500), default: .number(90)),
    ConfigurationKey("store.state_megabytes", .number(0.01...1_000_000), default: .number(1)),
    ConfigurationKey("store.state_days", .number(0...36_500), default: .number(0)),
    ConfigurationKey("store.tracks_megabytes", .number(0.01...1_000_000), default: .number(128)),
    ConfigurationKey("store.tracks_days", .number(0...36_500), default: .number(90)),
    ConfigurationKey("store.other_megabytes", .number(0.01...1_000_000), default: .number(16)),
    ConfigurationKey("store.other_days", .number(0...36_500), default: .number(7)),
    ConfigurationKey("store.traces_megabytes", .number(0.01...1_000_000), default: .number(32)),
    ConfigurationKey("store.traces_days", .number(0...36_500), default: .number(90)),
    ConfigurationKey("store.dead_letters", .integer(0...1_000_000), default: .integer(1000)),
    ConfigurationKey("store.refused_hours", .number(0...8760), default: .number(24)),
    ConfigurationKey("store.memory_megabytes", .number(0.01...1024), default: .number(2)),
    ConfigurationKey("calibration.path", .text),
    ConfigurationKey("recorder.enabled", .flag, default: .flag(false)),
    ConfigurationKey("recorder.path", .text),
    ConfigurationKey("recorder.megabytes", .integer(1...1_000_000), default: .integer(100)),

    ConfigurationKey(
      "log.level", .oneOf(["debug", "info", "notice", "warning", "error"]), default: .text("info")),

    ConfigurationKey("control.socket", .text),
    ConfigurationKey("metrics.file", .text),
    ConfigurationKey("metrics.interval", .number(1...86_400), default: .number(15)),
  ]

  private static let rest: [ConfigurationKey] = [
    ConfigurationKey("owntracks.user", .text),
    ConfigurationKey("owntracks.device", .text),
    ConfigurationKey("owntracks.tid", .text),
    ConfigurationKey("owntracks.displacement_bound", .number(0...100_000), default: .number(50)),
    ConfigurationKey("owntracks.displacement_time", .number(0...3600), default: .number(10)),

    ConfigurationKey("homeassistant.enabled", .flag, default: .flag(false)),
    ConfigurationKey("homeassistant.prefix", .text, default: .text("homeassistant")),
    ConfigurationKey("homeassistant.displacement_bound", .number(0...100_000), default: .number(50)),
    ConfigurationKey("homeassistant.displacement_time", .number(0...3600), default: .number(10)),

    ConfigurationKey("remote.enabled", .flag, default: .flag(false)),
    ConfigurationKey("remote.keys", .texts, default: .texts(RemoteKeys.usual)),
    ConfigurationKey("remote.response_topics", .texts, default: .texts([])),
    ConfigurationKey("remote.rollback_after", .number(5...86_400), default: .number(120)),
    ConfigurationKey("remote.path", .text),
    ConfigurationKey("remote.files_path", .text),
    ConfigurationKey("remote.history_mb", .integer(0...10_000), default: .integer(16)),
    ConfigurationKey("remote.record_seconds", .number(0...604_800), default: .number(43_200)),
    ConfigurationKey("remote.samples_seconds", .number(0...86_400), default: .number(60)),
    ConfigurationKey("remote.samples_rate", .number(1...10_000), default: .number(100)),
  ]

  package static let byPath = Dictionary(uniqueKeysWithValues: all.map { ($0.path, $0) })

  /// Returns the key most similar to a misspelt key; nil if no key is similar enough.
  package static func nearest(to path: String) -> String? {
    Spelling.nearest(to: path, among: all.map(\.path))
  }

  /// Returns the table most similar to a misspelt table, in brackets; nil if no table is similar enough.
  package static func nearestSection(to name: String) -> String? {
    let sections = Set(all.filter { $0.path.contains(".") }.map { $0.path.prefix { $0 != "." } }).map(
      String.init
    )
    .sorted()
    return Spelling.nearest(to: name, among: sections).map { "[\($0)]" }
  }
}
