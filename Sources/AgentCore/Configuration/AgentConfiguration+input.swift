internal import Bytes
internal import Sensors
package import SensorsGPSD
package import SensorsIIO
package import Simulation
package import Spatial
internal import Telemetry

extension AgentConfiguration {
  /// The source of sensor data.
  package enum Input: Sendable, Hashable {
    /// gpsd and IIO devices.
    case hardware
    /// Recordings, on a virtual clock.
    case replay(Replay)
    /// A simulated drive on a virtual clock; without a `startTime` it starts now.
    case simulation(SimulatedDrive.Configuration)
  }

  package struct Replay: Sendable, Hashable {
    /// A track: `.nmea`, `.gpx`, or gpsd's JSON; "none" for a receiver without a fix; nil for no receiver.
    package var position: String?
    /// A CSV of inertial samples; nil for none.
    package var sensors: String?
    /// The day of the first fix, for NMEA without dates.
    package var date: UTCTime?
    /// A log of the vehicle's bus by `candump -l`; nil for none.
    package var can: String?
    /// A fixed position instead of a track; nil for none.
    package var place: Coordinate?
    /// Seconds after which a fixed position ends; nil for never.
    package var duration: Double?
  }

  package struct GPSD: Sendable, Hashable {
    package var address: GPSDAddress
    /// gpsd device whose reports are used; nil to choose one of gpsd's devices.
    package var device: String?
    /// Sends u-blox receivers their approximate position.
    package var assists: Bool
  }

  /// Configurations of the libiio contexts; empty if IIO is off.
  package typealias IIO = [IIOConfiguration]
}

extension AgentConfiguration.Input {
  init(_ reader: ConfigurationReader) throws(ConfigurationError) {
    let place = try reader.coordinate("input.place")
    switch try reader.text("input.mode") {
    case "replay":
      let replay = AgentConfiguration.Replay(
        position: reader.optionalText("replay.position"), sensors: reader.optionalText("replay.sensors"),
        date: try reader.time("replay.date"), can: reader.optionalText("replay.can"), place: place)
      guard replay.position != nil || replay.sensors != nil || replay.can != nil || place != nil else {
        throw ConfigurationError(
          .missingKey, place: reader.place(of: "input.mode"),
          problem: "a replay needs replay.position, replay.sensors or replay.can")
      }
      guard place == nil || replay.position == nil else {
        throw ConfigurationError(
          .conflict, place: reader.place(of: "input.place"),
          problem: "input.place and replay.position exclude one another; remove one")
      }
      self = .replay(replay)
    case "simulation" where place != nil:
      self = .replay(
        AgentConfiguration.Replay(
          date: try reader.time("simulation.start"), place: place,
          duration: try reader.positive("simulation.duration")))
    case "simulation":
      var simulation = SimulatedDrive.Configuration()
      simulation.scenario =
        switch try reader.text("simulation.scenario") {
        case "parked": .parked
        case "no-location": .noLocation
        default: .drive
        }
      simulation.seed = UInt64(try reader.integer("simulation.seed"))
      simulation.duration = try reader.positive("simulation.duration")
      simulation.startTime = try reader.time("simulation.start")
      // A simulated drive is meant to show motion, not a receiver that searches for satellites.
      simulation.receiver.coldStart = 2
      self = .simulation(simulation)
    default:
      guard place == nil else {
        throw ConfigurationError(
          .conflict, place: reader.place(of: "input.place"),
          problem: "key input.place: requires simulated input; set input.mode = \"simulation\", or remove it")
      }
      self = .hardware
    }
  }
}

extension AgentConfiguration.GPSD {
  /// Reads the `gpsd` keys. Nil if gpsd is disabled.
  init?(_ reader: ConfigurationReader) throws(ConfigurationError) {
    guard try reader.flag("gpsd.enabled") else { return nil }
    address = GPSDAddress(
      host: try reader.text("gpsd.host"), port: UInt16(clamping: try reader.integer("gpsd.port")))
    device = reader.optionalText("gpsd.device")
    assists = try reader.flag("gpsd.assist")
  }
}

extension [IIOConfiguration] {
  init(_ reader: ConfigurationReader) throws(ConfigurationError) {
    self = []
    guard try reader.flag("iio.enabled") else { return }
    var shared = IIOConfiguration()
    for entry in try reader.texts("iio.mount_matrix") {
      let (device, matrix) = try Self.mountMatrix(entry, reader)
      shared.mountMatrices[device] = matrix
    }
    for kind in [SensorKind.accelerometer, .gyroscope, .magnetometer, .barometer] {
      switch try reader.text("iio.\(kind.rawValue)") {
      case "auto": break
      case "off": shared.kinds.remove(kind)
      case let device: shared.devices[kind] = device
      }
    }
    // If altitude messages are published at intervals or a barometer device is configured, a missing
    // barometer is reported.
    let altitudeInterval: Double? = try reader.positive("altitude.interval")
    if try reader.flag("altitude.enabled"), altitudeInterval != nil || shared.devices[.barometer] != nil {
      shared.helpers.remove(.barometer)
    }
    for uri in try reader.texts("iio.contexts") {
      shared.uri = uri
      append(shared)
    }
  }

  /// Requests a range of the accelerometers that is sufficient for crashes.
  ///
  /// - Parameter required: the range in m/s² below which a restriction is reported; nil requests none.
  mutating func setRange(required: Double?) {
    guard let required else { return }
    for index in indices { self[index].accelerometerRange = .init(required: required) }
  }

  /// Parses "device = 1, 0, 0; 0, 1, 0; 0, 0, 1".
  private static func mountMatrix(
    _ entry: String, _ reader: ConfigurationReader
  ) throws(ConfigurationError) -> (String, MountMatrix) {
    let halves = entry.split(separator: "=", maxSplits: 1)
    guard halves.count == 2, let matrix = MountMatrix(parsing: halves[1]) else {
      throw reader.problem(
        "iio.mount_matrix",
        "\"\(entry.prefix(120))\" is not \"device = 1, 0, 0; 0, 1, 0; 0, 0, 1\" with rows that span space")
    }
    guard matrix.isRotation else {
      throw reader.problem(
        "iio.mount_matrix",
        "\"\(entry.prefix(120))\" is not a rotation: its rows must be orthogonal unit vectors and not mirrored"
      )
    }
    return (halves[0].trimmingSpaces().description, matrix)
  }
}
