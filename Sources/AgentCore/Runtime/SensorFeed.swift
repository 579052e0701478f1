internal import Logging
internal import Pipeline
internal import Platform
internal import Recordings
internal import Sensors
internal import SensorsGPSD
internal import SensorsIIO
internal import Simulation
internal import Spatial

/// Where the pipeline's events come from.
enum SensorFeed {
  /// Sources that push from threads of their own, on the machine's clock.
  case live([any SensorSource])
  /// A recording that a thread of its own plays at a pace, on the recording's time line.
  case paced(any SensorSource)
  /// A recording that is pulled as fast as the machine can.
  case recorded(any SensorRecording)
}

extension SensorFeed {
  /// What the configuration asks for. Hardware that is not there is no error here: its source says so and keeps trying.
  ///
  /// - Throws: an error naming file, line and remedy, for a recording that cannot be read; `ConfigurationError` when
  ///   nothing is left to read from.
  init(_ configuration: AgentConfiguration) throws {
    switch configuration.input {
    case .hardware: self = .live(try Self.hardware(configuration))
    case .replay(let replay):
      self = try Self.play(Self.recording(replay), speed: configuration.speed)
    case .simulation(let simulation):
      self = try Self.play(Self.drive(simulation), speed: configuration.speed)
    }
  }

  private static func play(_ recording: any SensorRecording, speed: Double?) throws -> SensorFeed {
    guard let speed else { return .recorded(recording) }
    return .paced(try PacedReplay(recording, speed: speed))
  }

  private static func hardware(_ configuration: AgentConfiguration) throws -> [any SensorSource] {
    var sources: [any SensorSource] = []
    if let gpsd = configuration.gpsd { sources.append(try GPSDSource(gpsd.address, device: gpsd.device)) }
    for context in configuration.iio { sources.append(try IIOSource(context)) }
    guard !sources.isEmpty else {
      throw ConfigurationError(
        .conflict, place: "configuration", problem: "gpsd and iio are both off; enable one, or set input.mode"
      )
    }
    return sources
  }

  private static func recording(_ replay: AgentConfiguration.Replay) throws -> any SensorRecording {
    var parts: [any SensorRecording] = []
    if let path = replay.position { parts.append(try track(path, date: replay.date)) }
    if let path = replay.sensors { parts.append(try CSVSensorRecording(path: path)) }
    return parts.count == 1 ? parts[0] : MergedRecording(parts)
  }

  /// The format goes by the name's ending, as people choose it.
  private static func track(_ path: String, date: UTCTime?) throws -> any SensorRecording {
    if path == "none" { return NoLocation() }
    let ending = path.split(separator: "/").last?.split(separator: ".").last?.lowercased()
    switch ending {
    case "gpx": return try GPXRecording(path: path)
    case "json", "jsonl", "log", "chk": return try GPSDLogRecording(path: path)
    case "nmea", "txt", "gga", "ubx": return try NMEARecording(path: path, startDate: date)
    default:
      throw ConfigurationError(
        .invalidValue, place: path,
        problem: "the ending says no format; name it .nmea, .gpx or .json (gpsd's reports)")
    }
  }

  private static func drive(_ configuration: SimulatedDrive.Configuration) throws -> any SensorRecording {
    var configuration = configuration
    configuration.startTime = configuration.startTime ?? UTCTime(nanoseconds: SystemClock.realtime)
    return try SimulatedDrive(configuration)
  }

  /// Where the pipeline's time line begins, and the civil time then.
  ///
  /// - Throws: an error naming file and line, for a recording that cannot be read.
  func startOfTime(_ input: AgentConfiguration.Input) throws -> (start: Timestamp, time: UTCTime) {
    let now = UTCTime(nanoseconds: SystemClock.realtime)
    // A pulled recording has a time line of its own; whatever is pushed comes on the machine's.
    var start = Timestamp(nanoseconds: SystemClock.boottime)
    if case .recorded = self { start = Timestamp(nanoseconds: 0) }
    switch input {
    case .hardware: return (start, now)
    case .simulation(let simulation): return (start, simulation.startTime ?? now)
    case .replay(let replay): return (start, try Self.firstTime(of: replay) ?? replay.date ?? now)
    }
  }

  /// The civil time at the start of a recording's time line, from its first fix that has one. The recording is opened a
  /// second time for this, because reading moves it on. Nil when none of the first fixes has a time.
  private static func firstTime(of replay: AgentConfiguration.Replay) throws -> UTCTime? {
    guard let path = replay.position, path != "none" else { return nil }
    var track = try track(path, date: replay.date)
    for _ in 0..<100 {
      guard let event = try track.next() else { return nil }
      guard case .position(let fixes) = event, let fix = fixes.first(where: { $0.time != nil }) else {
        continue
      }
      return fix.time?.advanced(bySeconds: -fix.timestamp.seconds)
    }
    return nil
  }
}
