internal import Fleet
internal import FleetCommand
internal import Glibc
internal import MQTT

/// The plan of a recording: selection, store and settings.
struct RecordPlan: Sendable {
  /// A `postgres://` URL or the path of an SQLite file.
  var store: String
  /// The MQTT topic filters.
  var filters: [String]
  /// The topic root, and the wire format.
  var root: String
  var profile: MessageProfile
  var share: String?
  /// The client identifier; nil to derive it from machine, store and selection.
  var clientID: String?
  /// The expiry of the session in seconds; nil for the default.
  var sessionExpiry: UInt32?
  var qos = QoS.atLeastOnce
  /// The number of messages after which a commit starts immediately, and the seconds to wait for more.
  var commitCount = Self.usualCommitCount
  var commitInterval = Self.usualCommitInterval
  /// The maximum number of messages in memory while the database is unavailable.
  var bufferedMessages = Self.usualBufferedMessages
  /// The number of messages to record; nil for no limit.
  var count: Int?
  /// The days to retain; nil for all.
  var keptDays: Int?
  var isQuiet = false

  static let usualCommitCount = 2000
  static let usualCommitInterval = 0.05
  static let usualBufferedMessages = 10_000

  /// Returns the identity of the recording, for its own session at the broker. The store is identified by its
  /// full path, independent of the working folder.
  func identity(_ broker: MQTTConfiguration) -> String {
    var store = store
    if !RecordingAddress.isPostgreSQL(store), let path = unsafe realpath(store, nil) {
      store = unsafe String(cString: path)
      unsafe free(path)
    }
    return ([store, broker.brokerName, share ?? ""] + filters.sorted()).joined(separator: "\n")
  }

  /// Checks the name of a store.
  /// - Throws: `FleetError` for an invalid name.
  static func check(store: String) throws(FleetError) {
    guard !store.isEmpty else { throw .usage("use", "the store", "name a file or a postgres:// URL") }
    try RecordingAddress.check(store)
    if let form = RecordingAddress.exportForm(ofNewFile: store) {
      throw .usage(
        "record into", store,
        "a recording is a database, and its name says \(form); record into a file such as fleet.sqlite, and "
          + "odograph export makes \(form) of it")
    }
  }

  /// Parses the days of `--keep`.
  /// - Throws: `FleetError` for an invalid number of days.
  static func days(_ keep: String) throws(FleetError) -> Int {
    guard keep.hasSuffix("d"), let days = Int(keep.dropLast()), (1...36_500).contains(days) else {
      throw .usage("use", "--keep \(keep.prefix(40))", "write days as 90d, 1d to 36500d")
    }
    return days
  }
}
