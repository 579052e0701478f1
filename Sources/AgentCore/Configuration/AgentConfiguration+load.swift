internal import Motion
internal import Pipeline
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
    requiredSensors = try reader.choices("sensors.required", of: SensorKind.self)
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
    pipeline = try PipelineConfiguration(
      reader, isRecording: recorder != nil, isVirtual: input != .hardware)
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

extension PipelineConfiguration {
  fileprivate init(_ reader: ConfigurationReader, isRecording: Bool, isVirtual: Bool)
    throws(ConfigurationError)
  {
    self.init(
      location: try Location(reader),
      heading: Heading(
        isEnabled: try reader.flag("heading.enabled"), interval: try reader.number("heading.interval"),
        filter: try reader.number("heading.filter"),
        orientation: DeviceOrientation(rawValue: try reader.text("heading.orientation")) ?? .portrait),
      attitude: Attitude(
        isEnabled: try reader.flag("attitude.enabled"), interval: try reader.number("attitude.interval"),
        frame: AttitudeReferenceFrame(rawValue: try reader.text("attitude.frame"))
          ?? .xMagneticNorthZVertical),
      motion: Motion(
        events: try reader.choices("motion.events", of: Motion.Event.self),
        watchesAtRest: try reader.flag("motion.events_at_rest")),
      privacy: try PrivacyPolicy(reader), statusInterval: try reader.number("status.interval"),
      inertial: Inertial(rate: try reader.number("iio.rate"), latency: try reader.number("iio.latency")),
      isRecording: isRecording, energy: try EnergyFigures(reader), isVirtual: isVirtual)
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
