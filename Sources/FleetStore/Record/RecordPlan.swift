package import Fleet
internal import Glibc
package import MQTT

/// The settings of a recording: selection, store and session.
package struct RecordPlan: Sendable {
  /// A `postgres://` URL or the path of an SQLite file.
  package var store: String
  /// The MQTT topic filters.
  package var filters: [String]
  /// The root of the topics.
  package var root: String
  /// The wire format of the vehicles.
  package var profile: MessageProfile
  package var share: String?
  /// The MQTT client identifier; nil to derive it from machine, store and selection.
  package var clientID: String?
  /// The expiry of the broker session in s; nil for the default (`RecordEntry.usualSessionExpiry`).
  package var sessionExpiry: UInt32?
  package var qos = QoS.atLeastOnce
  /// The number of messages after which a commit starts immediately.
  package var commitCount = Self.usualCommitCount
  /// The maximum time in s for which a smaller batch waits for more messages.
  package var commitInterval = Self.usualCommitInterval
  /// The maximum number of messages in memory while the database is unavailable.
  package var bufferedMessages = Self.usualBufferedMessages
  /// The number of messages to record; nil for no limit.
  package var count: Int?
  /// The number of full days to retain; nil for all.
  package var keptDays: Int?

  package init(store: String, filters: [String], root: String, profile: MessageProfile) {
    (self.store, self.filters, self.root, self.profile) = (store, filters, root, profile)
  }

  package static let usualCommitCount = 2000
  package static let usualCommitInterval = 0.05
  package static let usualBufferedMessages = 10_000

  /// Returns a text that identifies the recording, from which the name of its broker session is derived. It
  /// contains store, broker, shared-subscription group and topic filters. A file is identified by its full
  /// path, independent of the working directory and of whether it exists already.
  package func identity(_ broker: MQTTConfiguration) -> String {
    var store = store
    if !RecordingAddress.isPostgreSQL(store) {
      let name = store.lastIndex(of: "/").map { store.index(after: $0) } ?? store.startIndex
      let folder = name == store.startIndex ? "." : String(store[..<name])
      store =
        Self.resolved(store)
        ?? Self.resolved(folder).map { ($0 == "/" ? "" : $0) + "/\(store[name...])" } ?? store
    }
    return ([store, broker.brokerName, share ?? ""] + filters.sorted()).joined(separator: "\n")
  }

  /// Returns the full path of a file or folder; nil if it does not exist.
  private static func resolved(_ path: String) -> String? {
    guard let resolved = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(resolved) }
    return unsafe String(cString: resolved)
  }

  /// Checks the path or URL of a store.
  /// - Throws: `FleetError` for an empty name, an invalid URL, and a file name with the extension of an
  ///   export format.
  package static func check(store: String) throws(FleetError) {
    guard !store.isEmpty else { throw .usage("use", "the store", "name a file or a postgres:// URL") }
    try RecordingAddress.check(store)
    if let form = RecordingAddress.exportForm(ofNewFile: store) {
      throw .usage(
        "record into", store,
        "a recording is a database, not a \(form) file; record into a file such as fleet.sqlite, and "
          + "convert it to \(form) with odograph export")
    }
  }

  /// Parses a number of days, such as `90d`.
  /// - Throws: `FleetError` for an invalid number of days.
  package static func days(_ keep: String) throws(FleetError) -> Int {
    guard keep.hasSuffix("d"), let days = Int(keep.dropLast()), (1...36_500).contains(days) else {
      throw .invalid("keep", "\(keep.prefix(40))", "write days as 90d, 1d to 36500d")
    }
    return days
  }
}
