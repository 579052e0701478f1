internal import Fleet
internal import FleetConsole
internal import Glibc
internal import MQTT
internal import Spatial

/// Where a vehicle was, out of a recording.
struct RecordedPosition: Hashable, Sendable {
  enum Source: String, Hashable, Sendable {
    /// Said at the time.
    case location
    /// Said afterwards, as one of many.
    case track
    /// Said at the time, by radios in reach: no fix, and often hundreds of metres off.
    case coarse
  }

  var vehicle: VehicleKey
  /// To the millisecond.
  var time: UTCTime
  var coordinate: Coordinate
  /// Metres above mean sea level.
  var altitude: Double?
  /// Metres at 68 %.
  var accuracy: Double?
  /// m/s.
  var speed: Double?
  /// Degrees clockwise from true north.
  var course: Double?
  var source: Source
}

/// A message out of a recording, as it came.
struct StoredMessage: Hashable, Sendable {
  /// By the recorder's clock.
  var received: UTCTime
  var topic: String
  /// nil for topics that follow none of the profiles.
  var vehicle: VehicleKey?
  /// The topic's native path below the vehicle.
  var kind: String?
  var qos: QoS
  /// Kept by the broker from before the recording's subscription.
  var retain: Bool
  var coordinate: Coordinate?
  var payload: [UInt8]
}

/// How much a selection holds.
struct RecordingExtent: Hashable, Sendable {
  /// Rows, before regions and repetitions are taken out.
  var count = 0
  /// The recorder's times of the first and last message; nil when there is none.
  var received: ClosedRange<UTCTime>?
}

/// A recording, to be read row by row, so that it costs the same memory whatever its length. Calls block.
protocol Recording: AnyObject {
  /// For people: a path, or a database's address without its secrets.
  var name: String { get }

  /// Of its schema; known when it is open.
  var version: Int { get }

  /// - Throws: `FleetError` when it is not there, or no recording.
  func open() throws(FleetError)

  /// How many positions there are.
  func countPositions(_ selection: RecordingSelection) throws(FleetError) -> Int

  /// Hands over positions by vehicle and in the order of their times, until `body` returns false. Those without a time are
  /// left out.
  /// - Parameter isByDay: all vehicles of a day (UTC) first, and then those of the next.
  func readPositions(
    _ selection: RecordingSelection, isByDay: Bool, _ body: (RecordedPosition) throws(FleetError) -> Bool
  ) throws(FleetError)

  /// Hands over where one vehicle was, in the order of times, until `body` returns false. Of one moment there may be several.
  func readTrack(_ span: TrackSpan, _ body: (TrackSample) throws(FleetError) -> Bool) throws(FleetError)

  func extent(_ selection: RecordingSelection) throws(FleetError) -> RecordingExtent

  /// Whether there is any message of a vehicle.
  func knows(_ vehicle: VehicleKey) throws(FleetError) -> Bool

  /// Of the positions of a vehicle; nil where there are none.
  func extent(of vehicle: VehicleKey, from: UTCTime?, to: UTCTime?) throws(FleetError) -> HistoryExtent?

  /// When vehicles were last heard of, by fleet and vehicle.
  func newest(_ scope: RecordingScope) throws(FleetError) -> [(vehicle: VehicleKey, time: UTCTime)]

  /// What vehicles said last, as a broker would keep it.
  func beginning(_ query: BeginningQuery, at now: UTCTime) throws(FleetError) -> RecordedBeginning

  /// Trips or driving events, newest first.
  func page(_ query: JournalQuery) throws(FleetError) -> [PagedEntry]

  /// What a vehicle said of regions, newest first.
  func transitions(
    _ span: TrackSpan, after: JournalPlace?, limit: Int
  ) throws(FleetError) -> [PagedEntry]

  /// What trips add up to, by vehicle, day and kind.
  func drivenDays(
    _ part: RecordingSelection, offset: Int, limit: Int
  ) throws(FleetError) -> [DrivenDay]

  /// Hands over messages in the order in which they were received, until `body` returns false.
  func readMessages(
    _ selection: RecordingSelection, _ body: (StoredMessage) throws(FleetError) -> Bool
  ) throws(FleetError)

  /// Hands over whose message it is, its epoch and its number, of messages that have them, in no order, until `body` returns
  /// false.
  func readNumbers(
    of fleets: [String],
    _ body: (_ vehicle: VehicleKey, _ epoch: String, _ seq: Int64) throws(FleetError) -> Bool
  ) throws(FleetError)

  /// Hands over trips by vehicle and in the order in which they began, until `body` returns false.
  func readTrips(_ selection: TripSelection, _ body: (ToldTrip) throws(FleetError) -> Bool) throws(FleetError)

  /// Hands over driving events by vehicle and in the order in which they began, until `body` returns false.
  func readDrivingEvents(
    _ selection: DrivingEventSelection, _ body: (ToldDrivingEvent) throws(FleetError) -> Bool
  ) throws(FleetError)
}

extension Recording {
  func readPositions(
    _ selection: RecordingSelection, _ body: (RecordedPosition) throws(FleetError) -> Bool
  ) throws(FleetError) {
    try readPositions(selection, isByDay: false, body)
  }
}

/// The text that names a recording on the command line: a `postgres://` or `postgresql://` URL, or the path of an SQLite file.
enum RecordingAddress {
  /// The cause where a recording has a schema that this program does not know.
  static let newerVersion = "a newer odograph made it; use that or a newer one"

  /// The cause where it has one that this program reads no more.
  static let olderVersion = "an older odograph made it; bring it up to date with odograph record --prepare"

  static func isPostgreSQL(_ text: String) -> Bool {
    text.hasPrefix("postgres://") || text.hasPrefix("postgresql://")
  }

  /// A mistyped URL is not to become a file's name.
  /// - Throws: `FleetError` for a URL of anything else than PostgreSQL.
  static func check(_ text: String) throws(FleetError) {
    guard !isPostgreSQL(text), let scheme = text.firstRange(of: "://") else { return }
    let name = text[..<scheme.lowerBound]
    guard !name.isEmpty, name.allSatisfy(\.isLetter) else { return }
    throw .usage(
      "use", "the recording \(name)://…",
      "it is a file, or a URL that begins with postgres:// or postgresql://")
  }

  /// The files of a recording; none for one that a server keeps.
  static func files(of text: String) -> [String] {
    isPostgreSQL(text) ? [] : ["", "-wal", "-shm"].map { text + $0 }
  }

  /// Where to record to.
  /// - Parameter keep: days that it is to hold; nil for all.
  /// - Parameter isQuiet: whether nothing is said of what takes minutes.
  static func store(for text: String, keep: Int? = nil, isQuiet: Bool = false) -> any MessageStore {
    guard isPostgreSQL(text) else { return SQLiteStore(path: text) }
    return PostgreSQLStore(address: text, partitioned: PartitionedDays(keep: keep)) {
      if !isQuiet { StandardError.say($0) }
    }
  }

  /// What the name of a file that is not there yet promises, as in CSV, and no recording is; nil for other names.
  static func exportForm(ofNewFile path: String) -> String? {
    guard !isPostgreSQL(path), unsafe access(path, F_OK) != 0,
      let format = (try? ExportFormat.named(by: path)) ?? nil
    else { return nil }
    return format == .jsonl ? "JSON lines" : format == .geojson ? "GeoJSON" : format.rawValue.uppercased()
  }

  /// - Parameter goesOn: asked some times a second while the database works; when it says no, reading fails.
  /// - Throws: `FleetError` when it is not there, or no recording.
  static func open(_ text: String, goesOn: @escaping () -> Bool = { true }) throws(FleetError)
    -> any Recording
  {
    try check(text)
    let recording: any Recording =
      isPostgreSQL(text)
      ? PostgreSQLRecording(address: text, goesOn: goesOn) : SQLiteRecording(path: text, goesOn: goesOn)
    try recording.open()
    return recording
  }
}
