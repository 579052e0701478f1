public import MQTT

/// What `odograph record` is asked for.
public struct RecordOptions: Sendable {
  public var broker = BrokerOptions()
  /// MQTT topic filters.
  public var filters: [String]
  /// Where the topics of all fleets begin, to take topics apart.
  public var root = FleetSelection().root
  public var profile = MessageProfile.native
  /// A `postgres://` URL or the path of an SQLite file.
  public var store: String
  public var qos: QoS = .atLeastOnce
  /// A group that splits the messages among its members.
  public var share: String?
  /// Under which name the broker keeps what comes while nobody records; nil makes one of this machine, the store and
  /// what is recorded.
  public var clientID: String?
  /// Seconds for which the broker keeps it; nil is a day, and in a group five minutes, as the broker hands also an
  /// absent member its part.
  public var sessionExpiry: UInt32?
  /// Messages after which a commit does not wait for more.
  public var commitCount = 2000
  /// Seconds for which a commit waits for more.
  public var commitInterval = 0.05
  /// Messages that wait in memory at most while the store is away.
  public var bufferedMessages = 10_000
  /// Ends after so many messages were received; nil goes on.
  public var count: Int?
  /// Seconds, from the start; nil goes on.
  public var timeout: Double?
  /// Whether progress and result are JSON, a line each second and one at the end.
  public var isJSON = false
  /// No progress line.
  public var isQuiet = false

  public init(filters: [String], store: String) {
    self.filters = filters
    self.store = store
  }

  /// - Throws: `FleetError` for options that make no sense.
  func validate() throws(FleetError) {
    func check(_ holds: Bool, _ option: String, _ cause: String) throws(FleetError) {
      if !holds { throw FleetError(operation: "use", object: option, cause: cause, exit: .usage) }
    }
    try check(!store.isEmpty, "the store", "name a file or a postgres:// URL")
    try check((1...100_000).contains(commitCount), "--commit-count \(commitCount)", "it is 1 to 100000")
    try check(
      (0...60).contains(commitInterval), "--commit-interval \(commitInterval)", "it is 0 to 60 seconds")
    try check(
      (1...10_000_000).contains(bufferedMessages), "--buffer \(bufferedMessages)", "it is 1 to 10000000")
    try check(count ?? 1 >= 1, "--count \(count ?? 0)", "it is 1 or more")
    try check((clientID?.utf8.count ?? 1) > 0, "--client-id", "it is empty")
  }
}
