internal import Motion
internal import Positioning
internal import Sensors
internal import Spatial
internal import Telemetry

extension AgentConfiguration {
  /// Layers flags over the environment over a file over the defaults.
  ///
  /// - Parameters:
  ///   - file: the path of a TOML file; nil for none.
  ///   - environment: variables that begin with `ODOGRAPH_` override the file.
  ///   - assignments: `key=value` pairs of the command line, which override both.
  /// - Throws: `ConfigurationError` naming the place, the key and what it accepts.
  public static func load(
    file: String?, environment: [String: String], assignments: [String]
  ) throws(ConfigurationError) -> AgentConfiguration {
    try ConfigurationLayers(file: file, environment: environment, assignments: assignments).configuration()
  }

  init(layers: [ConfigurationLayer], file: String?) throws(ConfigurationError) {
    let reader = ConfigurationReader(layers: layers, file: file)
    fleet = try reader.text("vehicle.fleet")
    vehicle = try reader.text("vehicle.id")
    topicRoot = try reader.text("mqtt.topic_root")
    do {
      _ = try TopicScheme(root: topicRoot, fleet: fleet, vehicle: vehicle)
    } catch {
      throw ConfigurationError(
        .invalidValue, place: reader.place(of: "vehicle.id"), problem: error.description)
    }
    let speed = try reader.number("input.speed")
    self.speed = speed > 0 ? speed : nil
    input = try Input(reader)
    gpsd = GPSD(
      isEnabled: try reader.flag("gpsd.enabled"), host: try reader.text("gpsd.host"),
      port: try reader.integer("gpsd.port"), device: reader.optionalText("gpsd.device"))
    iio = try IIO(reader)
    isLocationEnabled = try reader.flag("location.enabled")
    location = try LocationSettings(reader)
    isHeadingEnabled = try reader.flag("heading.enabled")
    headingInterval = try reader.number("heading.interval")
    headingFilter = try reader.number("heading.filter")
    headingOrientation =
      DeviceOrientation(rawValue: try reader.text("heading.orientation")) ?? .portrait
    isAttitudeEnabled = try reader.flag("attitude.enabled")
    attitudeInterval = try reader.number("attitude.interval")
    attitudeFrame =
      AttitudeReferenceFrame(rawValue: try reader.text("attitude.frame")) ?? .xMagneticNorthZVertical
    privacy = try PrivacyPolicy(reader)
    motionEvents = try reader.choices("motion.events", of: MotionEvent.self)
    watchesEventsAtRest = try reader.flag("motion.events_at_rest")
    requiredSensors = try reader.choices("sensors.required", of: SensorKind.self)
    statusInterval = try reader.number("status.interval")
    energy = try EnergyFigures(reader)
    radioTail = try reader.number("energy.radio_tail")
    mqtt = try MQTT(reader, fleet: fleet, vehicle: vehicle)
    store = try Store(reader)
    let calibration = reader.optionalText("calibration.path")
    calibrationPath =
      calibration == "none" ? nil : calibration ?? Self.path("calibration", beside: store.path)
    if try reader.flag("recorder.enabled") {
      recorder = Recorder(
        path: reader.optionalText("recorder.path") ?? Self.path("accelerometer.history", beside: store.path),
        megabytes: try reader.integer("recorder.megabytes"))
    }
    regions = try Regions(reader)
    logLevel = try reader.text("log.level")
    operation = try Operation(reader)
    profiles = try Profiles(reader, fleet: fleet, vehicle: vehicle)
    remote = try Remote(reader)
  }

  private static func path(_ name: String, beside path: String) -> String {
    path.lastIndex(of: "/").map { path[...$0] + name } ?? name
  }
}

extension AgentConfiguration.Input {
  fileprivate init(_ reader: ConfigurationReader) throws(ConfigurationError) {
    switch try reader.text("input.mode") {
    case "replay":
      let replay = AgentConfiguration.Replay(
        position: reader.optionalText("replay.position"), sensors: reader.optionalText("replay.sensors"),
        date: try reader.time("replay.date"))
      guard replay.position != nil || replay.sensors != nil else {
        throw ConfigurationError(
          .missingKey, place: reader.place(of: "input.mode"),
          problem: "a replay needs replay.position, replay.sensors or both")
      }
      self = .replay(replay)
    case "simulation":
      let duration = try reader.number("simulation.duration")
      self = .simulation(
        AgentConfiguration.Simulation(
          scenario: .init(rawValue: try reader.text("simulation.scenario")) ?? .drive,
          seed: UInt64(try reader.integer("simulation.seed")), duration: duration > 0 ? duration : nil,
          start: try reader.time("simulation.start")))
    default: self = .hardware
    }
  }
}

extension AgentConfiguration.IIO {
  fileprivate init(_ reader: ConfigurationReader) throws(ConfigurationError) {
    isEnabled = try reader.flag("iio.enabled")
    contexts = try reader.texts("iio.contexts")
    accelerometer = try reader.text("iio.accelerometer")
    gyroscope = try reader.text("iio.gyroscope")
    magnetometer = try reader.text("iio.magnetometer")
    barometer = try reader.text("iio.barometer")
    rate = try reader.number("iio.rate")
    latency = try reader.number("iio.latency")
    mountMatrices = [:]
    for entry in try reader.texts("iio.mount_matrix") {
      let (device, matrix) = try Self.mountMatrix(entry, place: reader.place(of: "iio.mount_matrix"))
      mountMatrices[device] = matrix
    }
  }

  /// Reads "device = 1, 0, 0; 0, 1, 0; 0, 0, 1".
  private static func mountMatrix(
    _ entry: String, place: String
  ) throws(ConfigurationError) -> (String, MountMatrix) {
    let halves = entry.split(separator: "=", maxSplits: 1)
    guard halves.count == 2, let matrix = MountMatrix(parsing: halves[1]) else {
      throw ConfigurationError(
        .invalidValue, place: place,
        problem:
          "\"\(entry.prefix(120))\" is not \"device = 1, 0, 0; 0, 1, 0; 0, 0, 1\" with rows that span space")
    }
    return (String(halves[0].trimmingSpaces()), matrix)
  }
}

extension EnergyFigures {
  fileprivate init(_ reader: ConfigurationReader) throws(ConfigurationError) {
    self.init()
    let keys: [EnergyComponent: String] = [
      .receiver: "receiver", .accelerometer: "accelerometer", .gyroscope: "gyroscope",
      .magnetometer: "magnetometer", .barometer: "barometer", .processor: "processor", .radio: "radio",
    ]
    for (component, key) in keys { power[component] = try reader.number("energy.\(key)_mw") * 1e-3 }
    wakeup = try reader.number("energy.wakeup_mj") * 1e-3
    burst = try reader.number("energy.radio_burst_mj") * 1e-3
    byte = try reader.number("energy.radio_byte_uj") * 1e-6
    sensorLinger = try reader.number("energy.sensor_linger")
  }
}
