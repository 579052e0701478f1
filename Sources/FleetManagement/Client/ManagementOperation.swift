internal import DequeModule
package import Fleet
internal import Glibc
package import MQTT
package import Platform

/// A command's use of a `ManagementClient`: the connection's events, one by one on the calling thread.
package final class ManagementOperation: Sendable {
  package enum Event: Sendable {
    case message(MQTTMessage)
    /// The broker accepted a message, or rejected it with a reason.
    case published(UInt64, MQTTReasonCode?)
    case answered(filter: String, MQTTReasonCode)
    case connected
    case disconnected(MQTTDisconnection)
    /// A signal requests the operation to stop.
    case interrupted(signal: Int32)
  }

  /// The maximum number of waiting events. An overflow ends the command, because it would continue with
  /// incomplete data.
  private static let capacity = 200_000

  package let client: ManagementClient
  private let events: Locked<EventQueue<Event>>
  private let wake: EventDescriptor
  // Created on the command's thread before any other thread, which then inherits the blocked signals.
  private let signals: SignalDescriptor
  private let filters: [String]

  /// Creates an operation.
  ///
  /// - Parameters:
  ///   - filters: filters for messages during the command.
  ///   - kept: filters for retained messages, see `ManagementClient`.
  ///   - paths: the paths below a vehicle whose messages are stored; nil for all retained messages.
  /// - Throws: `FleetError` for invalid options or filters.
  package init(
    _ broker: MQTTConfiguration, root: String, filters: [String] = [], kept: [String] = [],
    storing paths: Set<String>? = nil
  ) throws(FleetError) {
    self.filters = filters + kept
    do throws(SystemError) {
      signals = try SignalDescriptor([SIGINT, SIGTERM, SIGHUP])
      wake = try EventDescriptor()
    } catch { throw FleetError(error) }
    let (events, wake) = (Locked(EventQueue<Event>(capacity: Self.capacity)), wake)
    self.events = events
    client = try ManagementClient(
      broker, ManagementState(root: root, paths: paths), filters: filters, kept: kept
    ) { event in
      events.withLock { events in
        switch event {
        case .received(let batch): for message in batch.messages { events.append(.message(message)) }
        case .published(let token, let reason): events.append(.published(token, reason))
        case .answered(let filter, let reason): events.append(.answered(filter: filter, reason))
        case .connection(.connected): events.append(.connected)
        case .connection(.disconnected(let reason)): events.append(.disconnected(reason))
        case .connection: break
        }
      }
      wake.signal()
    }
  }

  /// Connects, and waits until the broker has granted every subscription. Messages that arrive before are
  /// queued for `next`.
  /// - Throws: `FleetError` if the broker is unreachable, rejects a request, or does not answer in time.
  package func open(seconds: Double = 30) throws(FleetError) {
    try start()
    var waiting = Set(filters)
    var kept: [Event] = []
    var isConnected = false
    while !isConnected || !waiting.isEmpty {
      // The time limit starts again with each event, because answers follow the retained messages, which can
      // be many.
      let deadline = MonotonicTime.after(seconds)
      guard let event = try next(until: deadline) else {
        throw FleetError(
          operation: "use", object: "the broker", cause: "it did not answer within \(Int(seconds)) s",
          kind: .unavailable)
      }
      switch event {
      case .connected: isConnected = true
      case .disconnected(let reason): throw FleetError(reason)
      case .answered(let filter, let reason):
        if waiting.remove(filter) != nil, reason.isError {
          throw FleetError.refused(filter: filter, reason: "\(reason)")
        }
      case .message, .published: kept.append(event)
      case .interrupted(let signal): throw .interrupted(signal: signal)
      }
    }
    events.withLock { [kept] in $0.putBack(kept) }
  }

  func start() throws(FleetError) {
    signal(SIGPIPE, SIG_IGN)
    try client.start()
  }

  /// Returns the next event; nil if none arrives until `deadline`.
  /// - Throws: `FleetError` if the event queue has overflowed.
  package func next(until deadline: MonotonicTime) throws(FleetError) -> Event? {
    while true {
      if let event = try events.withLock({ events throws(FleetError) in try events.next() }) { return event }
      let left = deadline.secondsRemaining
      guard left > 0 else { return nil }
      _ = waitUntilReadable([wake.descriptor, signals.descriptor], seconds: min(left, 3600))
      wake.drain()
      if let number = signals.received().first { return .interrupted(signal: number) }
    }
  }

  /// Returns the number of a received signal; nil if there is none.
  func interruption() -> Int32? { signals.received().first }

  /// Waits until all retained messages were received. Call it after `open`.
  /// - Throws: `FleetError` if the connection is lost, or if the broker does not confirm that the messages
  ///   are complete.
  private func waitUntilRead() throws(FleetError) {
    while true {
      let (reading, count) = client.withState { ($0.reading, $0.retainedCount) }
      switch reading?.outcome(at: .now) {
      case .complete: return client.removeMark()
      case .unknown:
        throw FleetError(
          operation: "read", object: "the retained messages",
          cause:
            "after \(count) messages the broker did not confirm that these were all, so that some may be missing; "
            + "name fewer vehicles with --fleet and --vehicle, or raise the broker's queue limit per client (mosquitto: "
            + "max_queued_messages)",
          kind: .unavailable)
      case .pending, nil: break
      }
      switch try next(until: reading?.deadline ?? .distantFuture) {
      case .disconnected(let reason)?: throw FleetError(reason)
      case .interrupted(let signal)?: throw .interrupted(signal: signal)
      case .message?, .published?, .answered?, .connected?, nil: break
      }
    }
  }

  /// Connects, and reads the retained messages of vehicles, supplemented by those of a recording; the
  /// connection stays open.
  ///
  /// Vehicles of the recording are also requested by exact topics, because some brokers deliver retained
  /// messages only for exact topics. The broker's messages take precedence over recorded ones.
  /// - Parameters:
  ///   - paths: the paths of the retained messages below each vehicle.
  ///   - exact: further topics of retained messages.
  ///   - answers: the paths of further messages during the operation.
  ///   - beginning: returns the messages of a recording.
  static func reading(
    _ broker: MQTTConfiguration, _ targets: VehicleTargets, _ paths: [String], exact: [String] = [],
    answers: [String] = [], beginning: BeginningQuery.Source = { _ in RecordedBeginning(name: "") }
  ) throws(FleetError) -> ManagementOperation {
    var kept = try targets.filters(paths) + exact
    let beginning = try beginning(targets.query(paths))
    if targets.named == nil {
      kept += beginning.vehicles.flatMap { key in paths.map { key.topic(root: targets.root, $0) } }
    }
    let operation = try ManagementOperation(
      broker, root: targets.root, filters: try targets.filters(answers), kept: kept)
    operation.client.store(beginning.messages)
    do throws(FleetError) {
      try operation.open()
      try operation.waitUntilRead()
      return operation
    } catch {
      operation.close()
      throw error
    }
  }

  /// Disconnects from the broker.
  package func close() { client.stop(drain: 2) }
}

/// A bounded queue of events. After an overflow the next read fails, because a command would continue with
/// incomplete data.
package struct EventQueue<Event: Sendable>: Sendable {
  private let capacity: Int
  private var events: Deque<Event> = []
  private var dropped = 0

  package init(capacity: Int) { self.capacity = capacity }

  package mutating func append(_ event: Event) {
    if events.count >= capacity { dropped += 1 } else { events.append(event) }
  }

  /// Puts events back to the front of the queue, in their order.
  package mutating func putBack(_ earlier: [Event]) {
    events.prepend(contentsOf: earlier)
  }

  /// Returns the oldest event; nil if there is none.
  /// - Throws: `FleetError` after an overflow.
  package mutating func next() throws(FleetError) -> Event? {
    guard dropped == 0 else {
      throw FleetError(
        operation: "keep up with", object: "the broker",
        cause: "\(dropped) messages exceeded the queue limit; name fewer vehicles with --fleet and --vehicle",
        kind: .unavailable)
    }
    return events.popFirst()
  }
}
