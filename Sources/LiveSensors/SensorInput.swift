public import Sensors
public import SensorsCAN
public import SensorsGPSD
public import SensorsIIO
public import SensorsRadio
public import Simulation
public import Spatial

/// The source of a device's sensor data.
public enum SensorInput: Sendable, Hashable {
  /// Sensors of this machine or of another machine, live.
  case hardware(Hardware)
  /// Position and motion sensors of an `odographd` on this machine, shared with other programs. The agent decides
  /// which positions this program receives.
  case agent(AgentAddress = AgentAddress())
  /// Recorded files.
  case recording(Recording)
  /// A simulated drive; without a `startTime` it starts at the current time.
  case simulation(SimulatedDrive.Configuration)

  public struct Hardware: Sendable, Hashable {
    /// The address of gpsd; nil to use no GNSS receiver.
    public var gpsd: GPSDAddress?
    /// The path of the receiver to use, as gpsd names it; nil to choose one of gpsd's receivers.
    public var receiver: String?
    /// True to send u-blox receivers an approximate position, which shortens their time to fix.
    public var assistsReceiver: Bool
    /// The configuration of each libiio context; empty to use no motion sensors.
    public var iio: [IIOConfiguration]
    /// The vehicle's CAN bus; nil to use none.
    public var can: CANBus?
    /// The radios that scan for access points and cells; empty to use none.
    public var radios: [Radio]

    public init(
      gpsd: GPSDAddress? = GPSDAddress(), receiver: String? = nil,
      iio: [IIOConfiguration] = [IIOConfiguration()], can: CANBus? = nil, radios: [Radio] = [],
      assistsReceiver: Bool = false
    ) {
      self.assistsReceiver = assistsReceiver
      self.gpsd = gpsd
      self.receiver = receiver
      self.iio = iio
      self.can = can
      self.radios = radios
    }
  }

  public struct Recording: Sendable, Hashable {
    /// The track: an `.nmea` or `.gpx` file, or gpsd's reports as `.json`. "none" means a receiver without a
    /// fix, nil means no receiver.
    public var position: String?
    /// A CSV file of inertial samples; nil to use none.
    public var sensors: String?
    /// Any time on the UTC day of the first fix, for NMEA files without dates; nil if the track contains
    /// dates.
    public var date: UTCTime?
    /// A log of the vehicle's CAN bus; nil to use none. With a track, the log is aligned with the track by
    /// civil time.
    public var can: CANLog?
    /// A fixed position instead of a track, which is reported once a second; nil to use the track.
    public var place: Coordinate?
    /// The time in s after which a fixed position ends; nil for no end. With other files, it ends when they
    /// end.
    public var duration: Double?

    public init(
      position: String? = nil, sensors: String? = nil, date: UTCTime? = nil, can: CANLog? = nil,
      place: Coordinate? = nil, duration: Double? = nil
    ) {
      self.place = place
      self.duration = duration
      self.position = position
      self.sensors = sensors
      self.date = date
      self.can = can
    }
  }

  /// Returns an input with the receivers of a gpsd, without other sensors.
  public static func gpsd(_ address: GPSDAddress = GPSDAddress(), receiver: String? = nil) -> SensorInput {
    .hardware(Hardware(gpsd: address, receiver: receiver, iio: []))
  }

  /// Returns an input with the motion sensors of a libiio context, without other sensors.
  public static func iio(_ configuration: IIOConfiguration = IIOConfiguration()) -> SensorInput {
    .hardware(Hardware(gpsd: nil, iio: [configuration]))
  }
}

extension SensorInput {
  /// Parses an input from command-line arguments. `gpsd://HOST:PORT` and libiio's URIs (`local:`, `ip:HOST`,
  /// …) select hardware, `agent` or `agent:SOCKET` an `odographd`, and `simulation` a simulated drive. Files
  /// are recognized by their extensions: `.csv` for motion sensors; `.nmea`, `.gpx` or `.json` for a track.
  /// - Throws: `SourceError` for an unknown argument, and for arguments that exclude each other.
  public init(parsing words: some Sequence<String>) throws(SourceError) {
    var hardware = Hardware(gpsd: nil, iio: [])
    var recording = Recording()
    var isSimulation = false
    var agents: [AgentAddress] = []
    for word in words {
      if word == "simulation" {
        isSimulation = true
      } else if word == "agent" {
        agents.append(AgentAddress())
      } else if word.hasPrefix("agent:") {
        agents.append(AgentAddress(path: String(word.dropFirst("agent:".count))))
      } else if word.hasPrefix("gpsd://") {
        hardware.gpsd = try GPSDAddress(word)
      } else if ["local:", "ip:", "usb:", "serial:", "xml:"].contains(where: word.hasPrefix) {
        hardware.iio.append(IIOConfiguration(uri: word))
      } else if word.lowercased().hasSuffix(".csv") {
        recording.sensors = word
      } else if TrackFormat(path: word) != nil {
        recording.position = word
      } else {
        throw SourceError(
          place: word,
          problem: "is not an input",
          remedy: "write gpsd://HOST:PORT, local:, ip:HOST, agent, simulation, or a file named "
            + ".nmea, .gpx, .json or .csv")
      }
    }
    let isHardware = hardware.gpsd != nil || !hardware.iio.isEmpty
    let isRecording = recording != Recording()
    if agents.count == 1, !isHardware, !isRecording, !isSimulation {
      self = .agent(agents[0])
      return
    }
    guard agents.isEmpty else {
      throw SourceError(
        place: "input", problem: "an agent cannot be combined with other inputs", remedy: "name one of them")
    }
    switch (isHardware, isRecording, isSimulation) {
    case (true, false, false): self = .hardware(hardware)
    case (false, true, false): self = .recording(recording)
    case (false, false, true): self = .simulation(SimulatedDrive.Configuration())
    case (false, false, false):
      throw SourceError(
        place: "input", problem: "required", remedy: "write gpsd://127.0.0.1:2947 or a file")
    default:
      throw SourceError(
        place: "input", problem: "hardware, recordings and a simulation cannot be combined",
        remedy: "name one of them")
    }
  }
}

extension GPSDAddress {
  /// Parses the address of a gpsd.
  ///
  /// - Parameter word: an address such as `gpsd://127.0.0.1:2947`; the port is optional, an IPv6 address is
  ///   in brackets.
  init(_ word: String) throws(SourceError) {
    var rest = word.dropFirst("gpsd://".count)
    var host = Substring()
    if rest.first == "[", let end = rest.firstIndex(of: "]") {
      host = rest[rest.index(after: rest.startIndex)..<end]
      rest = rest[rest.index(after: end)...]
    } else {
      host = rest.prefix { $0 != ":" }
      rest = rest[host.endIndex...]
    }
    let port = rest.isEmpty ? Self.standardPort : rest.first == ":" ? UInt16(rest.dropFirst()) : nil
    guard let port, port > 0, !host.isEmpty, !host.contains("/") else {
      throw SourceError(
        place: word, problem: "is no address of a gpsd", remedy: "write gpsd://HOST or gpsd://HOST:PORT")
    }
    self.init(host: String(host), port: port)
  }
}
