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

/// A recorder that runs: its session at the broker, the queue behind that, and the thread that stores.
final class RunningRecorder: Sendable {
  let session: SubscriberSession
  let subscriber: FleetSubscriber
  let recorder: Recorder
  /// Hold the session's name.
  private let slot: SessionSlot?
  private let mark: SessionMark?

  /// - Parameters:
  ///   - store: opened; the recorder closes it at the end.
  ///   - connection: is told of the connection to the broker.
  ///   - reachedCount: is called when the plan's count is reached.
  /// - Throws: `FleetError` where there is no name for a session, no queue or no thread.
  static func start(
    _ plan: RecordPlan, into store: sending any MessageStore, _ broker: MQTTConfiguration,
    connection: @escaping @Sendable (FleetConnection) -> Void,
    reachedCount: @escaping @Sendable () -> Void = {}
  ) throws(FleetError) -> RunningRecorder {
    let slot = plan.clientID == nil ? try SessionSlot.free(for: plan.identity(broker)) : nil
    let mark = plan.clientID.map { SessionMark(of: $0, at: broker.brokerName) }
    var session = SubscriberSession(clientID: plan.clientID ?? slot?.clientID, share: plan.share)
    session.expiry = plan.sessionExpiry ?? (plan.share == nil ? 86_400 : 300)
    session.qos = plan.qos
    session.receiveMaximum = UInt16(clamping: max(1, 2 * plan.commitCount))
    session.portion = plan.commitCount
    session.bufferedMessages = plan.bufferedMessages
    // The store knows best what it has.
    session.isOnceInOrder = false
    let subscriber = try FleetSubscriber(
      broker: broker, filters: plan.filters, session: session, connection: connection)
    let recorder = try Recorder(plan, reachedCount: reachedCount)
    if let queue = subscriber.queue { try recorder.start(store, queue) }
    try subscriber.start()
    return RunningRecorder(session, subscriber, recorder, slot, mark)
  }

  private init(
    _ session: SubscriberSession, _ subscriber: FleetSubscriber, _ recorder: Recorder, _ slot: SessionSlot?,
    _ mark: SessionMark?
  ) {
    (self.session, self.subscriber, self.recorder) = (session, subscriber, recorder)
    (self.slot, self.mark) = (slot, mark)
  }
}
