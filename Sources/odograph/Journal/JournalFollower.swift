internal import Fleet
internal import FleetCommand
internal import FleetProgram
internal import FleetStore
internal import MQTT
internal import Platform
internal import Telemetry

/// A follower of live messages about trips, driving events or traces, which writes them as they arrive.
///
/// All work is done on the connection's thread, as in `odograph tail`: while the output is slow, no more
/// messages are received from the broker.
struct JournalFollower<Entry: Sendable> {
  let options: JournalOptions
  let broker: BrokerArguments
  let kind: MessageKind
  let vehicles: [String]
  /// Decodes a payload; nil for an invalid payload, and for an entry that the options exclude.
  let read: @Sendable (VehicleKey, [UInt8]) -> Entry?
  let isNew: @Sendable (inout JournalOrder, Entry) -> Bool

  /// Runs until `count` messages were written, the time limit is over, the output is closed, or a signal
  /// arrives.
  func run(_ writer: any DocumentWriter<Entry>) throws(FleetError) -> ExitStatus {
    let timeout = try options.time.limit()
    let root = broker.topicRoot
    let filters = try FleetSelection(
      root: root, fleets: broker.fleets(options.fleet), vehicles: vehicles, kinds: [kind]
    ).filters()
    let waiter = try CommandWaiter()
    let output = try JournalOutput(writer, options)
    _ = try output.flush()
    let state = Locked(Following(output: output, left: options.count))
    let (read, isNew) = (read, isNew)
    let subscriber = try FleetSubscriber(
      broker: broker.configuration(), filters: filters,
      handlers: .init(
        received: { batch in
          let end = state.withLock { state -> CommandWaiter.Ending? in
            do throws(FleetError) { return try state.take(batch, root, read, isNew) } catch {
              return .failed(error)
            }
          }
          if let end { waiter.end(end) }
          return .kept
        },
        connection: { waiter.observe($0) }))
    try subscriber.start()
    let ending = waiter.wait(seconds: timeout)
    subscriber.stop(drain: 2)
    // The document is completed even after a timeout or a signal.
    let left = try state.withLock { state throws(FleetError) -> Int? in
      state.hasEnded = true
      if case .failed = ending { return nil }
      if ending.isTimeOver { try waiter.requireAnswer(within: timeout) }
      try state.output.finish()
      return state.left
    }
    guard case .timedOut = ending else { return try ending.status() }
    guard let count = options.count else { return .done }
    StandardError.sayMissed(count, came: count - (left ?? 0))
    return .timedOut
  }
}

/// The state of a follower.
private struct Following<Entry> {
  var output: JournalOutput<Entry>
  /// The number of messages still to be written; nil for no limit.
  var left: Int?
  var hasEnded = false
  private var order = JournalOrder()

  init(output: JournalOutput<Entry>, left: Int?) { (self.output, self.left) = (output, left) }

  /// Writes the new messages of a batch.
  /// - Returns: the reason to stop if the last message was written or the output is closed; nil to continue.
  mutating func take(
    _ batch: FleetBatch, _ root: String, _ read: (VehicleKey, [UInt8]) -> Entry?,
    _ isNew: (inout JournalOrder, Entry) -> Bool
  ) throws(FleetError) -> CommandWaiter.Ending? {
    guard !hasEnded else { return nil }
    for message in batch.messages where left != 0 {
      guard let address = TopicAddress(topic: message.topic, root: root),
        let told = read(address.key, message.payload), isNew(&order, told)
      else { continue }
      _ = try output.append(told) { true }
      if let left { self.left = left - 1 }
    }
    let hasReader = try output.flush()
    hasEnded = left == 0 || !hasReader
    return hasEnded ? .ended(.done) : nil
  }
}
