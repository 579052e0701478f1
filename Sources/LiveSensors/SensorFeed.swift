internal import Platform
internal import Recordings
package import Sensors
internal import SensorsCAN
internal import SensorsGPSD
internal import SensorsIIO
internal import SensorsRadio
internal import Simulation
package import Spatial

/// A source of sensor events that can be started.
package enum SensorFeed: Sendable {
  /// Sources that push events from their own threads, with times of the machine's clock.
  case live([any SensorSource])
  /// A recording that its own thread replays at a configured speed.
  case paced(any SensorSource)
  /// A recording whose events are pulled as fast as possible.
  case recorded(any SensorRecording)
}

extension SensorFeed {
  /// The kinds of sensors of all sources. For hardware, the kinds that were discovered so far.
  var kinds: Set<SensorKind> {
    switch self {
    case .live(let sources): sources.reduce(into: []) { $0.formUnion($1.kinds) }
    case .paced(let source): source.kinds
    case .recorded(let recording): recording.kinds
    }
  }

  /// Creates the feed for an input. Missing hardware is no error: its source reports it and retries.
  /// - Parameters:
  ///   - input: the source of the sensor data.
  ///   - speed: the speed of a recording or simulation relative to real time; nil pulls its events at the
  ///     consumers' speed.
  ///   - location: replaces the positions of a recording or simulation; nil leaves them unchanged.
  /// - Throws: an error with file, line and remedy for an unreadable recording; `SourceError` for an
  ///   input without a source.
  package init(_ input: SensorInput, speed: Double?, location: SimulatedLocation? = nil) throws {
    switch input {
    case .hardware(let hardware): self = .live(try Self.sources(hardware))
    case .agent(let address): self = .live([try AgentSource(address)])
    case .recording(let files): self = try Self.play(Self.recording(files), speed: speed, location)
    case .simulation(let simulation): self = try Self.play(Self.drive(simulation), speed: speed, location)
    }
  }

  private static func play(
    _ recording: any SensorRecording, speed: Double?, _ location: SimulatedLocation?
  ) throws -> SensorFeed {
    var recording = recording
    if let location, recording.kinds.contains(.positioning) {
      recording = RelocatedRecording(recording, location)
    }
    guard let speed else { return .recorded(recording) }
    return .paced(try PacedReplay(recording, speed: speed))
  }

  private static func sources(_ hardware: SensorInput.Hardware) throws -> [any SensorSource] {
    var sources: [any SensorSource] = []
    if let gpsd = hardware.gpsd {
      sources.append(
        try GPSDSource(gpsd, device: hardware.receiver, assists: hardware.assistsReceiver))
    }
    let claims = SensorClaims()
    for context in hardware.iio { sources.append(try IIOSource(context, claims: claims)) }
    if let can = hardware.can { sources.append(try CANSource(can)) }
    for radio in hardware.radios { sources.append(try RadioSource(radio)) }
    guard !sources.isEmpty else {
      throw SourceError(
        place: "hardware",
        problem: "neither gpsd nor iio nor a CAN bus nor a radio is named",
        remedy: "name one of them")
    }
    return sources
  }

  private static func recording(_ files: SensorInput.Recording) throws -> any SensorRecording {
    var parts: [any SensorRecording] = []
    // A fixed position, or a receiver without a fix, ends when all other files have ended.
    var background: (any SensorRecording)?
    if let place = files.place {
      background = FixedReceiver(place, duration: files.duration.map { .seconds($0) })
    } else if let path = files.position {
      let track = try track(path, date: files.date)
      if track is NoLocation || track is FixedReceiver { background = track } else { parts.append(track) }
    }
    if let path = files.sensors { parts.append(try CSVSensorRecording(path: path)) }
    if let log = files.can { parts.append(try bus(log, beside: files)) }
    guard let first = parts.first ?? background else {
      throw SourceError(
        place: "recording", problem: "no file is named",
        remedy: "name a track, a CSV of samples or a log of a CAN bus")
    }
    return parts.count + (background == nil ? 0 : 1) == 1
      ? first : MergedRecording(parts, background: background)
  }

  private static func bus(
    _ log: CANLog, beside files: SensorInput.Recording
  ) throws -> any SensorRecording {
    // If the log is from another day than the track, both are replayed from their beginnings. Otherwise their
    // civil times are aligned.
    var zero: UTCTime?
    if let start = try firstTime(ofTrack: files), let first = try CandumpRecording.firstTime(path: log.path),
      abs(first.seconds(since: start)) < 86_400
    {
      zero = start
    }
    let decoder = try CANDecoder(log.configuration)
    return try CandumpRecording(path: log.path, decoder: decoder, interface: log.interface, zero: zero)
  }

  /// Opens a recorded track.
  ///
  /// - Throws: an error with file, line and remedy.
  static func track(_ path: String, date: UTCTime? = nil) throws -> any SensorRecording {
    if path == "none" { return NoLocation() }
    switch TrackFormat(path: path) {
    case .gpx:
      if let place = try GPXRecording.onlyWayPoint(path: path) { return FixedReceiver(place) }
      let recording = try GPXRecording(path: path)
      return recording.isOfWayPoints ? InterpolatedTrack(recording) : recording
    case .gpsd: return try GPSDLogRecording(path: path)
    case .nmea: return try NMEARecording(path: path, startDate: date)
    case nil:
      throw SourceError(
        place: path,
        problem: "unknown file name extension",
        remedy: "name it .nmea, .gpx, or .json or .log (gpsd's reports)")
    }
  }

  private static func drive(_ configuration: SimulatedDrive.Configuration) throws -> any SensorRecording {
    var configuration = configuration
    configuration.startTime = configuration.startTime ?? UTCTime.now
    return try SimulatedDrive(configuration)
  }

  /// Returns the timestamp at which the feed starts, and its civil time.
  /// - Throws: an error with file and line for an unreadable recording.
  package func startOfTime(_ input: SensorInput) throws -> (start: Timestamp, time: UTCTime) {
    let now = UTCTime.now
    // Timestamps of a pulled recording start at 0. All other events have times of the machine's monotonic
    // clock.
    var start = Timestamp.now
    if case .recorded = self { start = Timestamp(nanoseconds: 0) }
    switch input {
    case .hardware, .agent: return (start, now)
    case .simulation(let simulation): return (start, simulation.startTime ?? now)
    case .recording(let files): return (start, try Self.firstTime(of: files) ?? files.date ?? now)
    }
  }

  /// Returns the civil time at timestamp 0 of a recording, from its first fix with a time; nil if none of the
  /// first 100 events has one. This opens the recording a second time, because reading advances it.
  private static func firstTime(of files: SensorInput.Recording) throws -> UTCTime? {
    if let time = try firstTime(ofTrack: files) { return time }
    guard files.position == nil, let log = files.can else { return nil }
    return try CandumpRecording.firstTime(path: log.path)
  }

  private static func firstTime(ofTrack files: SensorInput.Recording) throws -> UTCTime? {
    guard let path = files.position, path != "none" else { return nil }
    var track = try track(path, date: files.date)
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

/// The format of a track, as determined by the extension of its file name.
enum TrackFormat {
  case gpx
  case gpsd
  case nmea

  init?(path: String) {
    switch path.split(separator: "/").last?.split(separator: ".").last?.lowercased() {
    case "gpx": self = .gpx
    case "json", "jsonl", "log", "chk": self = .gpsd
    case "nmea", "txt", "gga", "ubx": self = .nmea
    default: return nil
    }
  }
}
