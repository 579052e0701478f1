internal import DequeModule
package import Fleet
internal import Glibc
package import MQTT
internal import Platform
internal import Spatial

/// A connection for an operation that sends requests and waits for answers. It subscribes, publishes, and
/// passes all events to the calling thread one by one.
package final class FleetExchange: Sendable {
  package enum Event: Sendable {
    case message(MQTTMessage)
    /// The broker accepted a message, or rejected it with a reason.
    case published(UInt64, MQTTReasonCode?)
    case answered(filter: String, MQTTReasonCode)
    case connected(MQTTServerProperties)
    case disconnected(MQTTDisconnection)
    /// A signal requests the operation to stop.
    case interrupted(signal: Int32)
  }

  /// The maximum number of waiting events. An overflow ends the command, because it would continue with
  /// incomplete data.
  private static let capacity = 200_000

  private struct State: Sendable {
    var events = EventQueue<Event>(capacity: FleetExchange.capacity)
    var properties: MQTTServerProperties?
  }

  private let state: Locked<State>
  private let wake: EventDescriptor
  // Created on the command's thread before any other thread, which then inherits the blocked signals.
  private let signals: SignalDescriptor
  private let requests: PublishQueue
  private let session: MQTTSession
  let filters: [String]
  /// The marker filter that matches nothing; its answer follows the retained messages, see `RetainedReading`.
  private let mark: String?

  /// Creates an exchange.
  ///
  /// - Parameters:
  ///   - filters: filters for messages during the command, at QoS 1.
  ///   - kept: filters for retained messages, at QoS 0. At QoS 1 a broker limits messages in flight and
  ///     queued messages, and silently drops further ones (mosquitto: 500 and 1000; under 3.1.1 20 and 1000).
  ///     At QoS 0 only the speed of the connection limits them.
  /// - Throws: `FleetError` for invalid options or filters.
  package init(_ broker: MQTTConfiguration, filters: [String] = [], kept: [String] = []) throws(FleetError) {
    self.filters = filters + kept
    mark = RetainedReading.mark(behind: kept)
    let subscriptions =
      filters.map { MQTTSubscription($0) }
      + (kept + [mark].compactMap { $0 }).map { MQTTSubscription($0, qos: .atMostOnce) }
    do throws(SystemError) {
      signals = try SignalDescriptor([SIGINT, SIGTERM, SIGHUP])
      wake = try EventDescriptor()
    } catch { throw FleetError(error) }
    let (state, wake) = (Locked(State()), wake)
    self.state = state
    @Sendable func post(_ event: Event) {
      state.withLock { state in
        state.events.append(event)
        if case .connected(let properties) = event { state.properties = properties }
      }
      wake.signal()
    }
    requests = PublishQueue { post(.published($0, $1)) }
    do throws(MQTTError) {
      session = try MQTTSession(
        configuration: broker, subscriptions: subscriptions, outbound: requests,
        handlers: .init(
          connectionChanged: { change in
            switch change {
            case .connected(let properties): post(.connected(properties))
            case .disconnected(let reason, _): post(.disconnected(reason))
            }
          },
          received: { messages in
            for message in messages { post(.message(message)) }
            return .kept
          },
          subscriptionAnswered: { post(.answered(filter: $0, $1)) }))
    } catch { throw FleetError(error) }
  }

  /// The limits granted by the broker; nil before the first connection.
  var properties: MQTTServerProperties? { state.withLock { $0.properties } }

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
      let deadline = SystemClock.monotonic + Int64(seconds * 1e9)
      guard let event = try next(until: deadline) else {
        throw FleetError(
          operation: "use", object: "the broker", cause: "it did not answer within \(Int(seconds)) s",
          kind: .unavailable)
      }
      switch event {
      case .connected: isConnected = true
      case .disconnected(let reason): throw FleetError(reason)
      case .answered(let filter, let reason):
        if filter == mark {
          kept.append(event)
        } else if reason.isError {
          throw FleetError.refused(filter: filter, reason: "\(reason)")
        }
        waiting.remove(filter)
      case .message, .published: kept.append(event)
      case .interrupted(let signal): throw .interrupted(signal: signal)
      }
    }
    state.withLock { [kept] in $0.events.putBack(kept) }
  }

  func start() throws(FleetError) {
    signal(SIGPIPE, SIG_IGN)
    do throws(MQTTError) { try session.start() } catch { throw FleetError(error) }
  }

  /// Sends a message; a `published` event reports its result.
  @discardableResult
  package func publish(_ message: MQTTMessage) -> UInt64 {
    let token = requests.append(message)
    session.wakeUp()
    return token
  }

  /// Withdraws an unacknowledged message, so that it is not sent again after a reconnection.
  func withdraw(_ token: UInt64) { requests.withdraw(token) }

  /// Returns the next event; nil if none arrives until `deadline` (monotonic ns).
  /// - Throws: `FleetError` if the event queue has overflowed.
  package func next(until deadline: Int64) throws(FleetError) -> Event? {
    while true {
      if let event = try state.withLock({ state throws(FleetError) in try state.events.next() }) {
        return event
      }
      let left = Double(deadline - SystemClock.monotonic) * 1e-9
      guard left > 0 else { return nil }
      _ = waitUntilReadable([wake.descriptor, signals.descriptor], seconds: min(left, 3600))
      wake.drain()
      if let number = signals.received().first { return .interrupted(signal: number) }
    }
  }

  /// Returns the number of a received signal; nil if there is none.
  func interruption() -> Int32? { signals.received().first }

  /// Returns all retained messages that match the filters `kept`. Call it after `open`.
  /// - Throws: `FleetError` if the connection is lost, or if the broker does not confirm that the messages
  ///   are complete.
  func retained() throws(FleetError) -> [MQTTMessage] {
    guard let mark else { return [] }
    var reading = RetainedReading(at: SystemClock.monotonic)
    var messages: [MQTTMessage] = []
    while true {
      switch try next(until: reading.deadline) {
      case .message(let message)?:
        guard message.retain else { continue }
        messages.append(message)
        reading.kept(at: SystemClock.monotonic)
      case .answered(let filter, _)? where filter == mark: reading.marked(at: SystemClock.monotonic)
      case .disconnected(let reason)?: throw FleetError(reason)
      case .interrupted(let signal)?: throw .interrupted(signal: signal)
      case .published?, .answered?, .connected?: break
      case nil:
        switch reading.outcome(at: SystemClock.monotonic) {
        case .pending: continue
        case .complete:
          session.unsubscribe(mark)
          return messages
        case .unknown:
          throw FleetError(
            operation: "read", object: "the retained messages",
            cause:
              "after \(messages.count) messages the broker did not confirm that these were all, so that some may be missing; "
              + "name fewer vehicles with --fleet and --vehicle, or raise the broker's queue limit per client (mosquitto: "
              + "max_queued_messages)",
            kind: .unavailable)
        }
      }
    }
  }

  /// Connects, and reads the retained messages below the filters `kept`; the connection stays open.
  static func reading(
    _ broker: MQTTConfiguration, filters: [String] = [], kept: [String]
  ) throws(FleetError) -> (FleetExchange, [MQTTMessage]) {
    let exchange = try FleetExchange(broker, filters: filters, kept: kept)
    do throws(FleetError) {
      try exchange.open()
      return (exchange, try exchange.retained())
    } catch {
      exchange.close()
      throw error
    }
  }

  /// Connects, and reads the retained messages of vehicles, supplemented by those of a recording; the
  /// connection stays open.
  ///
  /// Vehicles of the recording are also requested by exact topics, because some brokers deliver retained
  /// messages only for exact topics. The broker's messages take precedence over recorded ones.
  /// - Parameters:
  ///   - paths: the paths of the retained messages below each vehicle.
  ///   - answers: the paths of further messages during the operation.
  static func reading(
    _ broker: MQTTConfiguration, _ targets: VehicleTargets, _ paths: [String], answers: [String] = [],
    beginning: BeginningQuery.Source
  ) throws(FleetError) -> (FleetExchange, [MQTTMessage]) {
    var kept = try targets.filters(paths)
    let beginning = try beginning(targets.query(paths))
    if targets.named == nil {
      kept += beginning.vehicles.flatMap { key in paths.map { key.topic(root: targets.root, $0) } }
    }
    let (exchange, retained) = try reading(broker, filters: try targets.filters(answers), kept: kept)
    return (exchange, beginning.adding(retained))
  }

  /// Disconnects from the broker.
  package func close() { session.stop(drain: 2) }
}

/// A bounded queue of events. After an overflow the next read fails, because a command would continue with
/// incomplete data.
struct EventQueue<Event: Sendable>: Sendable {
  private let capacity: Int
  private var events: Deque<Event> = []
  private var dropped = 0

  init(capacity: Int) { self.capacity = capacity }

  mutating func append(_ event: Event) {
    if events.count >= capacity { dropped += 1 } else { events.append(event) }
  }

  /// Puts events back to the front of the queue, in their order.
  mutating func putBack(_ earlier: [Event]) {
    events.prepend(contentsOf: earlier)
  }

  /// Returns the oldest event; nil if there is none.
  /// - Throws: `FleetError` after an overflow.
  mutating func next() throws(FleetError) -> Event? {
    guard dropped == 0 else {
      throw FleetError(
        operation: "keep up with", object: "the broker",
        cause: "\(dropped) messages exceeded the queue limit; name fewer vehicles with --fleet and --vehicle",
        kind: .unavailable)
    }
    return events.popFirst()
  }
}
