internal import AMQP
internal import Fleet
internal import FleetConsole
internal import MQTT

/// Where a recorder's messages come from, what marks that as in use, and what is left there when it ends.
struct RecordEntry: Sendable {
  let source: any RecordSource
  /// A sentence about what the broker goes on keeping; nil for nothing.
  private(set) var left: String?
  /// Hold the session's name.
  private var slot: SessionSlot?
  private var mark: SessionMark?

  /// Seconds for which a broker keeps a session that nobody takes up. With a share of a group's too: mosquitto hands what a member has
  /// not acknowledged to nobody else (its issue 2662), so that it is lost when the session ends.
  static let usualSessionExpiry: UInt32 = 86_400

  /// A session at a broker, or a share of a group's.
  /// - Parameters:
  ///   - waits: whether a broker that is not there at the start is waited for, in place of an end.
  ///   - connection: is told of the connection to the broker.
  /// - Throws: `FleetError` where there is no name for a session, or the settings cannot work.
  init(
    _ plan: RecordPlan, _ broker: MQTTConfiguration, waits: Bool = false,
    connection: @escaping @Sendable (FleetConnection) -> Void
  ) throws(FleetError) {
    slot = plan.clientID == nil ? try SessionSlot.free(for: plan.identity(broker)) : nil
    mark = plan.clientID.map { SessionMark(of: $0, at: broker.brokerName) }
    var session = SubscriberSession(clientID: plan.clientID ?? slot?.clientID, share: plan.share)
    session.expiry = plan.sessionExpiry ?? Self.usualSessionExpiry
    session.qos = plan.qos
    session.receiveMaximum = UInt16(clamping: max(1, 2 * plan.commitCount))
    session.portion = plan.commitCount
    session.bufferedMessages = plan.bufferedMessages
    // The store knows best what it has.
    session.isOnceInOrder = false
    session.endsUnreached = !waits
    source = try FleetSubscriber(
      broker: broker, filters: plan.filters, session: session, connection: connection)
    guard let name = session.clientID, session.expiry > 0, session.share == nil else { return }
    left =
      "the broker keeps what comes for session \(name) for \(session.expiry) s; "
      + "the same command takes it up, with --forget it ends that"
  }

  /// A queue of a cluster.
  /// - Throws: `FleetError` when the settings cannot work.
  init(_ queue: AMQPConfiguration, _ waiter: CommandWaiter) throws(FleetError) {
    source = try QueueSource(queue, waiter)
    left =
      "the cluster keeps what comes in queue \(queue.queue); "
      + "the same command takes it up, with --forget it ends that"
  }
}

/// A recorder that runs: where its messages come from, the queue behind that, and the thread that stores.
final class RunningRecorder: Sendable {
  let recorder: Recorder
  private let entry: RecordEntry

  var source: any RecordSource { entry.source }
  var left: String? { entry.left }

  /// - Parameters:
  ///   - store: opened; the recorder closes it at the end.
  ///   - reachedCount: is called when the plan's count is reached.
  /// - Throws: `FleetError` where there is no queue or no thread.
  static func start(
    _ plan: RecordPlan, into store: sending any MessageStore, from entry: RecordEntry,
    reachedCount: @escaping @Sendable () -> Void = {}
  ) throws(FleetError) -> RunningRecorder {
    let recorder = try Recorder(plan, reachedCount: reachedCount)
    if let batches = entry.source.batches { try recorder.start(store, batches) }
    try entry.source.start()
    return RunningRecorder(recorder, entry)
  }

  private init(_ recorder: Recorder, _ entry: RecordEntry) {
    (self.recorder, self.entry) = (recorder, entry)
  }
}
