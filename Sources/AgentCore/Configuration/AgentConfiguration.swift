package import Pipeline
package import Sensors
package import Settings
internal import Telemetry

/// Configuration of `odographd`, in the types of the configured modules. `Config/odograph.toml` documents
/// each key; `ConfigurationKey.all` has their types, ranges and defaults.
package struct AgentConfiguration: Sendable, Hashable {
  /// Preset that provides the values of unset keys.
  package var preset: Preset
  package var fleet: String
  package var vehicle: String
  package var topicRoot: String
  package var input: Input
  /// Speed of a replay or a simulation as a multiple of real time; nil is as fast as possible.
  package var speed: Double?
  /// gpsd settings; nil if gpsd is not used.
  package var gpsd: GPSD?
  package var iio: IIO
  /// CAN settings; nil if no bus is read.
  package var can: CAN?
  /// Wi-Fi and cellular scans.
  package var radio: Radio
  /// Required sensors: the agent does not start if one is missing.
  package var requiredSensors: Set<SensorKind>
  /// Settings of the pipeline.
  package var pipeline: PipelineConfiguration
  package var mqtt: MQTT
  package var store: Store
  package var state: State
  /// The file of the motion sensors' calibration; nil stores none.
  package var calibrationPath: String?
  /// Settings of the accelerometer recorder; nil records nothing.
  package var recorder: Recorder?
  /// Settings of the recorder that a command may start; nil if `recorder` always records, or if commands may
  /// not start it.
  package var commandedRecorder: Recorder?
  /// The folder of tracks that a command may select; nil for none.
  package var tracks: String?
  /// Trace settings; nil records no traces.
  package var traces: Traces?
  package var beacons: Beacons
  package var regions: Regions
  package var logLevel: String
  package var operation: Operation
  /// Services that provide positions to programs on this machine; empty if they are off.
  package var local: [LocalService]
  /// True to provide orientation and compass on D-Bus.
  package var hasSensorProxy: Bool
  package var profiles: Profiles
  package var remote: Remote
}

extension AgentConfiguration {
  /// Fleet and vehicle, for messages and owner files.
  var vehicleName: String { "\(fleet)/\(vehicle)" }

  /// - Parameters:
  ///   - layers: sources of keys; the first has priority.
  ///   - file: path of the file, for messages about missing keys.
  ///   - folders: the default folders.
  /// - Throws: `ConfigurationError` naming the origin, the key and its valid values.
  package init(
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
    state = State(reader, store: store)
    let calibration = reader.statePath("calibration.path", else: "calibration")
    calibrationPath = calibration == "none" ? nil : calibration
    recorder = try Recorder(reader)
    pipeline = try PipelineConfiguration(reader, isRecording: recorder != nil, isVirtual: input != .hardware)
    if can != nil { pipeline.vehicle = try PipelineConfiguration.Vehicle(reader) }
    pipeline.trips = try PipelineConfiguration.Trips(reader)
    traces = try Traces(reader, store: store)
    if traces != nil { pipeline.traces = try PipelineConfiguration.Traces(reader) }
    iio.setRange(required: pipeline.requiredRange)
    beacons = try Beacons(reader)
    if input == .hardware { pipeline.coarse.radios = radio.kinds }
    // The sensors of recorded or simulated input are discovered when it is read, so no receiver is assumed
    // for it.
    pipeline.hasReceiver = input == .hardware && gpsd != nil
    pipeline.coarse.isLearning = beacons.learns || beacons.shares
    regions = try Regions(reader)
    logLevel = try reader.text("log.level")
    operation = try Operation(reader)
    hasSensorProxy = try reader.flag("sensor_proxy.enabled")
    local = []
    for dialect in LocalService.Dialect.allCases {
      if let service = try LocalService(dialect, reader) { local.append(service) }
    }
    profiles = try Profiles(reader, fleet: fleet, vehicle: vehicle)
    remote = try Remote(reader)
    if recorder == nil, remote.isEnabled, remote.recordSeconds > 0 {
      commandedRecorder = try Recorder(settings: reader)
    }
    tracks = reader.optionalText("simulation.tracks")
  }
}
