internal import Fleet
internal import FleetConsole
internal import Glibc
internal import MQTT

/// What is recorded, where to and how.
struct RecordPlan: Sendable {
  /// A `postgres://` URL or the path of an SQLite file.
  var store: String
  /// MQTT topic filters.
  var filters: [String]
  /// Where native topics begin, and in which words vehicles speak.
  var root: String
  var profile: MessageProfile
  var share: String?
  /// nil for a name of the machine, the store and the selection.
  var clientID: String?
  /// Seconds; nil for what is usual.
  var sessionExpiry: UInt32?
  var qos = QoS.atLeastOnce
  /// Messages after which a commit waits no longer, and seconds for which it waits for more.
  var commitCount = Self.usualCommitCount
  var commitInterval = Self.usualCommitInterval
  /// Most messages kept in memory while the database is away.
  var bufferedMessages = Self.usualBufferedMessages
  /// Messages after which whoever waits is told; nil for none.
  var count: Int?
  /// Days; nil to keep all.
  var keptDays: Int?
  var isQuiet = false

  static let usualCommitCount = 2000
  static let usualCommitInterval = 0.05
  static let usualBufferedMessages = 10_000

  /// What has a session of its own at the broker. The store by its full path, so that the folder in which the command
  /// is started does not matter.
  func identity(_ broker: MQTTConfiguration) -> String {
    var store = store
    if !RecordingAddress.isPostgreSQL(store), let path = unsafe realpath(store, nil) {
      store = unsafe String(cString: path)
      unsafe free(path)
    }
    return ([store, broker.brokerName, share ?? ""] + filters.sorted()).joined(separator: "\n")
  }

  /// Of a name: what a store can be.
  /// - Throws: `FleetError` for what can be none.
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

  /// The days of `--keep`.
  /// - Throws: `FleetError` for what is no number of days.
  static func days(_ keep: String) throws(FleetError) -> Int {
    guard keep.hasSuffix("d"), let days = Int(keep.dropLast()), (1...36_500).contains(days) else {
      throw .usage("use", "--keep \(keep.prefix(40))", "write days as 90d, 1d to 36500d")
    }
    return days
  }
}
