package import Fleet
internal import Glibc
package import MQTT
package import Spatial

/// A position of a vehicle in a recording.
package struct RecordedPosition: Hashable, Sendable {
  package enum Source: String, Hashable, Sendable {
    /// A position from a `location` message, which is sent immediately.
    case location
    /// A position from a `track` message, which is sent later.
    case track
    /// A position from radio beacons in a `location` message, often inaccurate by hundreds of metres.
    case coarse
    /// A position in a `location` message that another measurement contradicts.
    case suspect

    /// True if lines and distances include the position: it is neither suspect nor from radio beacons.
    package var isOnPath: Bool { self == .location || self == .track }
  }

  package var vehicle: VehicleKey
  /// The time by the vehicle's clock, with a resolution of a millisecond.
  package var time: UTCTime
  package var coordinate: Coordinate
  /// Altitude above mean sea level in m; nil if unknown.
  package var altitude: Double?
  /// The 68 % radius in m; nil if unknown.
  package var accuracy: Double?
  /// Ground speed in m/s; nil if unknown.
  package var speed: Double?
  /// Course in degrees clockwise from true north; nil if unknown.
  package var course: Double?
  package var source: Source
}

/// An original message in a recording.
package struct StoredMessage: Hashable, Sendable {
  /// The time of reception by the recorder's clock.
  package var received: UTCTime
  package var topic: String
  /// The vehicle; nil for a topic that the wire format does not define.
  package var vehicle: VehicleKey?
  /// The topic's native path below the vehicle; nil for a topic that the wire format does not define.
  package var kind: String?
  package var qos: QoS
  /// True if the broker sent the message as a retained one, published before the subscription.
  package var retain: Bool
  package var coordinate: Coordinate?
  package var payload: [UInt8]

  package init(
    received: UTCTime, topic: String, vehicle: VehicleKey? = nil, kind: String? = nil, qos: QoS, retain: Bool,
    coordinate: Coordinate? = nil, payload: [UInt8]
  ) {
    (self.received, self.topic, self.vehicle, self.kind) = (received, topic, vehicle, kind)
    (self.qos, self.retain, self.coordinate, self.payload) = (qos, retain, coordinate, payload)
  }
}

/// The number of messages in a selection, and the range of their times of reception.
package struct RecordingExtent: Hashable, Sendable {
  /// The number of messages, including duplicates and messages outside of the selected areas.
  package var count = 0
  /// The times of reception of the first and the last message; nil without messages.
  package var received: ClosedRange<UTCTime>?
}

/// A recording that is read one row at a time with constant memory. Calls block.
package protocol Recording: AnyObject {
  /// The name for display: a path, or a database's address without credentials.
  var name: String { get }

  /// The version of the schema. It is only valid after `open()`.
  var version: Int { get }

  /// Opens the recording.
  ///
  /// - Throws: `FleetError` if it does not exist or is not a recording.
  func open() throws(FleetError)

  /// Returns the number of selected positions; areas are ignored.
  func countPositions(_ selection: RecordingSelection) throws(FleetError) -> Int

  /// Passes positions to `body`, sorted by vehicle and time, until it returns false. Positions without a time
  /// are omitted.
  /// - Parameter isByDay: true to sort by day (UTC) first.
  func readPositions(
    _ selection: RecordingSelection, isByDay: Bool, _ body: (RecordedPosition) throws(FleetError) -> Bool
  ) throws(FleetError)

  /// Passes the positions of one vehicle to `body` in order of time, until it returns false. Consecutive
  /// positions can have the same time.
  func readTrack(_ span: TrackSpan, _ body: (TrackSample) throws(FleetError) -> Bool) throws(FleetError)

  func extent(_ selection: RecordingSelection) throws(FleetError) -> RecordingExtent

  /// Returns a vehicle name that occurs in more than one fleet, with two of these fleets; nil if there is none.
  func sharedName(
    _ selection: RecordingSelection
  ) throws(FleetError) -> (vehicle: String, fleets: [String])?

  /// Returns whether the recording has any message of a vehicle.
  func knows(_ vehicle: VehicleKey) throws(FleetError) -> Bool

  /// Returns the time range and the number of a vehicle's positions; nil if there are none.
  func extent(of vehicle: VehicleKey, from: UTCTime?, to: UTCTime?) throws(FleetError) -> HistoryExtent?

  /// Returns the times of the last position before a span and of the first one at or after its end, within
  /// `days` of the span. Only positions that lines include are considered, with an accuracy up to `accuracy`
  /// in m or an unknown one.
  func neighbours(
    of span: TrackSpan, accuracy: Double, days: Double
  ) throws(FleetError) -> (before: UTCTime?, after: UTCTime?)

  /// Returns the time of the last position of each vehicle, sorted by fleet and vehicle.
  func newest(_ scope: RecordingScope) throws(FleetError) -> [(vehicle: VehicleKey, time: UTCTime)]

  /// Returns the vehicles' last messages, as a broker would retain them.
  func beginning(_ query: BeginningQuery, at now: UTCTime) throws(FleetError) -> RecordedBeginning

  /// Returns a page of trips or driving events, newest first.
  func page(_ query: JournalQuery) throws(FleetError) -> [PagedEntry]

  /// Returns a vehicle's region events, newest first.
  func transitions(
    _ span: TrackSpan, after: JournalPosition?, limit: Int
  ) throws(FleetError) -> [PagedEntry]

  /// Returns the sums of trips by vehicle, day and kind.
  func drivenDays(
    _ part: RecordingSelection, offset: Int, limit: Int
  ) throws(FleetError) -> [DrivenDay]

  /// Passes messages to `body` in the order of their reception, until it returns false.
  func readMessages(
    _ selection: RecordingSelection, _ body: (StoredMessage) throws(FleetError) -> Bool
  ) throws(FleetError)

  /// Passes vehicle, epoch and sequence number of each message that has them to `body`, in any order, until
  /// it returns false.
  func readNumbers(
    of fleets: [String],
    _ body: (_ vehicle: VehicleKey, _ epoch: String, _ seq: Int64) throws(FleetError) -> Bool
  ) throws(FleetError)

  /// Passes trips to `body`, sorted by vehicle and start, until it returns false.
  func readTrips(_ selection: TripSelection, _ body: (ReportedTrip) throws(FleetError) -> Bool)
    throws(FleetError)

  /// Passes driving events to `body`, sorted by vehicle and start, until it returns false.
  func readDrivingEvents(
    _ selection: DrivingEventSelection, _ body: (ReportedDrivingEvent) throws(FleetError) -> Bool
  ) throws(FleetError)
}

extension Recording {
  package func readPositions(
    _ selection: RecordingSelection, _ body: (RecordedPosition) throws(FleetError) -> Bool
  ) throws(FleetError) {
    try readPositions(selection, isByDay: false, body)
  }
}

/// The address of a recording on the command line: a `postgres://` or `postgresql://` URL, or the path of an
/// SQLite file.
package enum RecordingAddress {
  /// The cause in an error: the recording has a newer schema, which this version does not support.
  static let newerVersion = "created by a newer odograph; use that version or a newer one"

  /// The cause in an error: the recording has an older schema, which must be migrated first.
  static let olderVersion = "created by an older odograph; update it with odograph record --prepare"

  static func isPostgreSQL(_ text: String) -> Bool {
    text.hasPrefix("postgres://") || text.hasPrefix("postgresql://")
  }

  /// Checks an address. A misspelt URL is an error, so that it does not become the name of a new file.
  /// - Throws: `FleetError` for a URL that is not PostgreSQL's, or that libpq cannot parse.
  static func check(_ text: String) throws(FleetError) {
    if isPostgreSQL(text), let problem = PostgreSQLHosts.problem(of: text) {
      throw .usage("use", "the recording \(PostgreSQLStore.withoutSecrets(text))", problem)
    }
    guard !isPostgreSQL(text), let scheme = text.firstRange(of: "://") else { return }
    let name = text[..<scheme.lowerBound]
    guard !name.isEmpty, name.allSatisfy(\.isLetter) else { return }
    throw .usage(
      "use", "the recording \(name)://…",
      "it is a file, or a URL that begins with postgres:// or postgresql://")
  }

  /// Returns the paths of the recording's files; empty for a database server.
  package static func files(of text: String) -> [String] {
    isPostgreSQL(text) ? [] : ["", "-wal", "-shm"].map { text + $0 }
  }

  /// Returns the store for recording.
  /// - Parameter keep: the days to retain; nil for all.
  /// - Parameter report: called with notices about long operations.
  package static func store(
    for text: String, keep: Int? = nil, report: @escaping @Sendable (RecordNotice) -> Void = { _ in }
  ) -> any MessageStore {
    guard isPostgreSQL(text) else { return SQLiteStore(path: text) }
    return PostgreSQLStore(address: text, partitioned: PartitionedDays(keep: keep)) {
      report(RecordNotice($0, isRoutine: true))
    }
  }

  /// Returns the export format that a file name ends with, such as CSV, if the file does not exist; nil
  /// otherwise. A new recording cannot be in an export format.
  static func exportForm(ofNewFile path: String) -> String? {
    guard !isPostgreSQL(path), unsafe access(path, F_OK) != 0,
      let format = (try? ExportFormat.named(by: path)) ?? nil
    else { return nil }
    return format == .jsonl ? "JSON lines" : format == .geojson ? "GeoJSON" : format.rawValue.uppercased()
  }

  /// Opens a recording.
  ///
  /// - Parameter shouldContinue: called several times a second while the database works; reading fails if it returns
  ///   false.
  /// - Throws: `FleetError` if it does not exist or is not a recording.
  package static func open(_ text: String, shouldContinue: @escaping () -> Bool = { true }) throws(FleetError)
    -> any Recording
  {
    try check(text)
    let recording: any Recording =
      isPostgreSQL(text)
      ? PostgreSQLRecording(address: text, shouldContinue: shouldContinue)
      : SQLiteRecording(path: text, shouldContinue: shouldContinue)
    try recording.open()
    return recording
  }
}
