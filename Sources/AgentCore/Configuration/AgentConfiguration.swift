package import Pipeline
public import Sensors
public import Spatial

/// Everything that `odographd` can be told, with types. `Config/odograph.toml` documents each key.
public struct AgentConfiguration: Sendable, Hashable {
  /// Where sensor data comes from.
  public enum Input: Sendable, Hashable {
    /// gpsd and IIO devices.
    case hardware
    /// Recordings, on a virtual clock.
    case replay(Replay)
    /// A computed drive, on a virtual clock.
    case simulation(Simulation)
  }

  public struct GPSD: Sendable, Hashable {
    public var isEnabled: Bool
    public var host: String
    public var port: Int
    /// Only reports of this device; nil takes all.
    public var device: String?
  }

  public struct IIO: Sendable, Hashable {
    public var isEnabled: Bool
    /// libiio addresses, as in "local:" or "ip:10.0.0.2".
    public var contexts: [String]
    /// By kind: "auto", "off", or a device's name, label or id.
    public var accelerometer, gyroscope, magnetometer, barometer: String
    /// Mount matrices by device, for devices without one of their own.
    public var mountMatrices: [String: MountMatrix]
  }

  public struct Replay: Sendable, Hashable {
    /// A track: `.nmea`, `.gpx`, or gpsd's JSON; "none" for a receiver without a fix; nil for no receiver.
    public var position: String?
    /// A CSV of inertial samples; nil for none.
    public var sensors: String?
    /// The day of the first fix, for NMEA without dates.
    public var date: UTCTime?
  }

  public struct Simulation: Sendable, Hashable {
    public enum Scenario: String, Sendable, Hashable, CaseIterable {
      case drive
      case parked
      case noLocation = "no-location"
    }

    public var scenario: Scenario
    public var seed: UInt64
    /// Seconds; nil drives on and on.
    public var duration: Double?
    /// The civil time at which it starts; nil is now.
    public var start: UTCTime?
  }

  /// The accelerometer's history on disk.
  public struct Recorder: Sendable, Hashable {
    public var path: String
    /// 10⁶ bytes that the file may take.
    public var megabytes: Int
  }

  public var fleet: String
  public var vehicle: String
  public var topicRoot: String
  public var input: Input
  /// How many times faster than life a replay or a simulation runs; nil as fast as the machine can.
  public var speed: Double?
  public var gpsd: GPSD
  public var iio: IIO

  /// What is decided by the pipeline.
  package var pipeline: PipelineConfiguration
  /// What a vehicle must have: without one of these the agent does not start.
  public var requiredSensors: Set<SensorKind>
  /// The file that keeps what was learned of the motion sensors; nil keeps nothing.
  public var calibrationPath: String?
  /// Nil records nothing.
  public var recorder: Recorder?

  /// Seconds that the radio stays connected after the last byte.
  public var radioTail: Double

  public var mqtt: MQTT
  public var store: Store
  public var regions: Regions
  public var logLevel: String
  public var operation: Operation
  public var profiles: Profiles
  public var remote: Remote
}
