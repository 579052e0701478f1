package import Pipeline
package import Sensors
package import Telemetry

/// Everything that `odographd` can be told, as the modules take it that it configures. `Config/odograph.toml` documents each
/// key; `ConfigurationKey.all` has their types, ranges and defaults.
package struct AgentConfiguration: Sendable, Hashable {
  /// Whose settings are in force where nothing else is said.
  package var preset: Preset
  package var fleet: String
  package var vehicle: String
  package var topicRoot: String
  package var input: Input
  /// How many times faster than life a replay or a simulation runs; nil as fast as the machine can.
  package var speed: Double?
  /// Nil asks no gpsd.
  package var gpsd: GPSD?
  package var iio: IIO
  /// Nil reads no bus of the vehicle.
  package var can: CAN?
  /// What is heard of the transmitters around.
  package var radio: Radio
  /// What a vehicle must have: without one of these the agent does not start.
  package var requiredSensors: Set<SensorKind>
  /// What is decided by the pipeline.
  package var pipeline: PipelineConfiguration
  package var mqtt: MQTT
  package var store: Store
  /// The file that keeps what was learned of the motion sensors; nil keeps nothing.
  package var calibrationPath: String?
  /// Nil records nothing.
  package var recorder: Recorder?
  /// Nil keeps no traces.
  package var traces: Traces?
  package var beacons: Beacons
  package var regions: Regions
  package var logLevel: String
  package var operation: Operation
  package var profiles: Profiles
  package var remote: Remote
}

extension AgentConfiguration {
  /// - Parameters:
  ///   - layers: what sets keys; the first goes before the others.
  ///   - file: the path of the file, for messages about what is missing.
  ///   - folders: where things are kept that no key names.
  /// - Throws: `ConfigurationError` naming the place, the key and what it accepts.
  init(
    layers: [ConfigurationLayer], file: String?, folders: AgentFolders = .system
  ) throws(ConfigurationError) {
    let reader = try ConfigurationReader(layers: layers, file: file, folders: folders)
    preset = reader.preset
    fleet = try reader.text("vehicle.fleet")
    vehicle = try reader.text("vehicle.id")
    topicRoot = try reader.text("mqtt.topic_root")
    do {
      _ = try TopicScheme(root: topicRoot, fleet: fleet, vehicle: vehicle)
    } catch {
      func fits(_ fleet: String, _ vehicle: String) -> Bool {
        (try? TopicScheme(fleet: fleet, vehicle: vehicle)) != nil
      }
      let key =
        !fits(fleet, "vehicle")
        ? "vehicle.fleet" : !fits("fleet", vehicle) ? "vehicle.id" : "mqtt.topic_root"
      throw ConfigurationError(.invalidValue, place: reader.place(of: key), problem: error.description)
    }
    input = try Input(reader)
    speed = try reader.positive("input.speed")
    gpsd = try GPSD(reader)
    iio = try IIO(reader)
    can = try CAN(reader)
    radio = try Radio(reader)
    requiredSensors = try reader.choices("sensors.required")
    mqtt = try MQTT(reader, fleet: fleet, vehicle: vehicle)
    store = try Store(reader)
    let calibration = reader.optionalText("calibration.path") ?? store.path(beside: "calibration")
    calibrationPath = calibration == "none" ? nil : calibration
    recorder = try Recorder(reader, beside: store)
    pipeline = try PipelineConfiguration(reader, isRecording: recorder != nil, isVirtual: input != .hardware)
    if can != nil { pipeline.vehicle = try PipelineConfiguration.Vehicle(reader) }
    pipeline.trips = try PipelineConfiguration.Trips(reader)
    traces = try Traces(reader, beside: store)
    if traces != nil { pipeline.traces = try PipelineConfiguration.Traces(reader) }
    beacons = try Beacons(reader, beside: store)
    if input == .hardware { pipeline.coarse.radios = radio.kinds }
    // A recording names the sensors that it has.
    pipeline.hasReceiver = input == .hardware && gpsd != nil
    pipeline.coarse.isLearning = beacons.learns || beacons.shares
    regions = try Regions(reader)
    logLevel = try reader.text("log.level")
    operation = try Operation(reader)
    profiles = try Profiles(reader, fleet: fleet, vehicle: vehicle)
    remote = try Remote(reader)
  }
}
