public import SensorsCAN
public import SensorsGPSD
public import SensorsIIO
public import SensorsRadio
public import Simulation
public import Spatial

/// Source of a device's sensor data.
public enum SensorInput: Sendable, Hashable {
  /// Sensors of this machine or of another, live.
  case hardware(Hardware)
  /// Recorded files, on their own time line.
  case recording(Recording)
  /// A computed drive, on its own time line; without a `startTime` it starts now.
  case simulation(SimulatedDrive.Configuration)

  public struct Hardware: Sendable, Hashable {
    /// Address of gpsd; nil for none.
    public var gpsd: GPSDAddress?
    /// Path of the only receiver to use, as named by gpsd; nil for all.
    public var receiver: String?
    /// True if u-blox receivers get their approximate position.
    public var assistsReceiver: Bool
    /// One for each libiio context; empty without motion sensors.
    public var iio: [IIOConfiguration]
    /// The vehicle's own bus; nil for none.
    public var can: CANBus?
    /// Radios to scan with; empty for none.
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
    /// A track: `.nmea`, `.gpx`, or gpsd's reports as `.json`; "none" for a receiver without a fix; nil for no receiver.
    public var position: String?
    /// A CSV of inertial samples; nil for none.
    public var sensors: String?
    /// Any time on the day of the first fix (UTC), for NMEA without dates; nil when the track has its dates.
    public var date: UTCTime?
    /// Log of the vehicle's bus; nil for none. With a track, the civil times of both determine its place.
    public var can: CANLog?
    /// A fixed position instead of a track, reported once a second; nil for none.
    public var place: Coordinate?
    /// Seconds after which a fixed position ends; nil for never. With other files it ends with them.
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

  /// Returns the receivers of a gpsd only.
  public static func gpsd(_ address: GPSDAddress = GPSDAddress(), receiver: String? = nil) -> SensorInput {
    .hardware(Hardware(gpsd: address, receiver: receiver, iio: []))
  }

  /// Returns the motion sensors of a libiio context only.
  public static func iio(_ configuration: IIOConfiguration = IIOConfiguration()) -> SensorInput {
    .hardware(Hardware(gpsd: nil, iio: [configuration]))
  }
}

/// Reason why an input cannot be used, with the remedy.
public struct SensorInputError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The word, the path or the kind of input.
  public var place: String
  public var problem: String

  public var description: String { "\(place): \(problem)" }
}

extension SensorInput {
  /// Parses an input from the words of a command line: `gpsd://HOST:PORT` and libiio's URIs (`local:`,
  /// `ip:HOST`, …) for hardware, `simulation` for a computed drive, and files by their endings: `.csv` for
  /// motion sensors, `.nmea`, `.gpx` or `.json` for a track.
  /// - Throws: `SensorInputError` for an unknown word, and for words that exclude each other.
  public init(parsing words: some Sequence<String>) throws(SensorInputError) {
    var hardware = Hardware(gpsd: nil, iio: [])
    var recording = Recording()
    var isSimulation = false
    for word in words {
      if word == "simulation" {
        isSimulation = true
      } else if word.hasPrefix("gpsd://") {
        hardware.gpsd = try GPSDAddress(word)
      } else if ["local:", "ip:", "usb:", "serial:", "xml:"].contains(where: word.hasPrefix) {
        hardware.iio.append(IIOConfiguration(uri: word))
      } else if word.lowercased().hasSuffix(".csv") {
        recording.sensors = word
      } else if TrackFormat(path: word) != nil {
        recording.position = word
      } else {
        throw SensorInputError(
          place: word,
          problem: "is not an input; write gpsd://HOST:PORT, local:, ip:HOST, simulation, or a file named "
            + ".nmea, .gpx, .json or .csv")
      }
    }
    let isHardware = hardware.gpsd != nil || !hardware.iio.isEmpty
    let isRecording = recording != Recording()
    switch (isHardware, isRecording, isSimulation) {
    case (true, false, false): self = .hardware(hardware)
    case (false, true, false): self = .recording(recording)
    case (false, false, true): self = .simulation(SimulatedDrive.Configuration())
    case (false, false, false):
      throw SensorInputError(place: "input", problem: "required; write gpsd://127.0.0.1:2947 or a file")
    default:
      throw SensorInputError(
        place: "input", problem: "hardware, recordings and a simulation cannot be combined; name one of them")
    }
  }
}

extension GPSDAddress {
  /// - Parameter word: as in `gpsd://127.0.0.1:2947`; the port is optional, an IPv6 address is in brackets.
  init(_ word: String) throws(SensorInputError) {
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
      throw SensorInputError(
        place: word, problem: "is no address of a gpsd; write gpsd://HOST or gpsd://HOST:PORT")
    }
    self.init(host: String(host), port: port)
  }
}
