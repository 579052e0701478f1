internal import Fleet
internal import MQTT
internal import Spatial

/// Where a vehicle was, out of a recording.
struct RecordedPosition: Hashable, Sendable {
  enum Source: String, Hashable, Sendable {
    /// Said at the time.
    case location
    /// Said afterwards, as one of many.
    case track
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

  /// - Throws: `FleetStoreError` when it is not there, or no recording.
  func open() throws(FleetStoreError)

  /// How many positions there are.
  func countPositions(_ selection: RecordingSelection) throws(FleetStoreError) -> Int

  /// Hands over positions by vehicle and in the order of their times, until `body` returns false. Those without a time are
  /// left out.
  func readPositions(
    _ selection: RecordingSelection, _ body: (RecordedPosition) throws(FleetError) -> Bool
  ) throws(RecordingReadError)

  func extent(_ selection: RecordingSelection) throws(FleetStoreError) -> RecordingExtent

  /// Hands over messages in the order in which they were received, until `body` returns false.
  func readMessages(
    _ selection: RecordingSelection, _ body: (StoredMessage) throws(FleetError) -> Bool
  ) throws(RecordingReadError)
}

/// What stops a reading: the recording, or what is done with it.
enum RecordingReadError: Error {
  case recording(FleetStoreError)
  case consumer(FleetError)
}

extension FleetError {
  init(_ error: FleetStoreError) {
    self.init(operation: error.operation, object: error.object, cause: error.cause, exit: .usage)
  }

  init(_ error: RecordingReadError) {
    switch error {
    case .recording(let error): self.init(error)
    case .consumer(let error): self = error
    }
  }
}

/// The text that names a recording on the command line.
enum RecordingAddress {
  static func recording(for text: String) -> any Recording {
    FleetStoreAddress.isPostgreSQL(text) ? PostgreSQLRecording(address: text) : SQLiteRecording(path: text)
  }

  /// - Throws: `FleetError` when it is not there, or no recording.
  static func open(_ text: String) throws(FleetError) -> any Recording {
    let recording = recording(for: text)
    do throws(FleetStoreError) { try recording.open() } catch { throw FleetError(error) }
    return recording
  }
}
