internal import DequeModule
package import Fleet
internal import FleetConsole
internal import Glibc
package import MQTT
internal import Platform
internal import Spatial

/// A connection for a command that asks and waits for answers: subscribes, publishes, and hands what happens to the
/// command's own thread, one event after the other.
package final class FleetExchange: Sendable {
  package enum Event: Sendable {
    case message(MQTTMessage)
    /// The broker has taken a message over, or said why it will not.
    case published(UInt64, MQTTReasonCode?)
    case answered(filter: String, MQTTReasonCode)
    case connected(MQTTServerProperties)
    case disconnected(MQTTDisconnection)
    /// A signal asks the command to end.
    case interrupted(ExitStatus)
  }

  /// Events that wait for the command at most; more than that end it, because it would go on with a part.
  private static let capacity = 200_000

  private struct State: Sendable {
    var events = EventQueue<Event>(capacity: FleetExchange.capacity)
    var properties: MQTTServerProperties?
  }

  private let state: Locked<State>
  private let wake: EventDescriptor
  // Made on the command's thread, before there is any other.
  private let signals: SignalDescriptor
  private let requests: PublishQueue
  private let session: MQTTSession
  let filters: [String]
  /// The filter that nothing matches, whose answer says that what the broker keeps is on its way; see `RetainedReading`.
  private let mark: String?

  /// - Parameters:
  ///   - filters: for what comes while the command runs, at QoS 1.
  ///   - kept: for what the broker keeps, at QoS 0. At QoS 1 a broker sends no more of it than it lets be under way and wait
  ///     (mosquitto: 500 and 1000 messages, under 3.1.1 20 and 1000), and drops the rest without a word; at QoS 0 the
  ///     connection's own pace counts.
  /// - Throws: `FleetError` when options or filters are wrong.
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

  /// What the broker granted; nil before the first connection.
  var properties: MQTTServerProperties? { state.withLock { $0.properties } }

  /// Connects, and waits until every subscription is granted. Messages that come meanwhile wait for `next`.
  /// - Throws: `FleetError` when the broker cannot be reached, refuses, or does not answer in time.
  package func open(seconds: Double = 30) throws(FleetError) {
    try start()
    var waiting = Set(filters)
    var kept: [Event] = []
    var isConnected = false
    while !isConnected || !waiting.isEmpty {
      // Answers come behind what the broker keeps.
      let deadline = SystemClock.monotonic + Int64(seconds * 1e9)
      guard let event = try next(until: deadline) else {
        throw FleetError(
          operation: "use", object: "the broker", cause: "it did not answer within \(Int(seconds)) s",
          exit: .unavailable)
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
      case .interrupted(let status): throw .interrupted(status)
      }
    }
    state.withLock { [kept] in $0.events.putBack(kept) }
  }

  func start() throws(FleetError) {
    signal(SIGPIPE, SIG_IGN)
    do throws(MQTTError) { try session.start() } catch { throw FleetError(error) }
  }

  /// Sends a message; `published` tells its token's fate.
  @discardableResult
  package func publish(_ message: MQTTMessage) -> UInt64 {
    let token = requests.append(message)
    session.wakeUp()
    return token
  }

  /// Takes back a message that was not acknowledged: it is not sent again when the connection is made anew.
  func withdraw(_ token: UInt64) { requests.withdraw(token) }

  /// The next event; nil when there is none until a time, in monotonic nanoseconds.
  /// - Throws: `FleetError` when more has come than could wait for this command.
  package func next(until deadline: Int64) throws(FleetError) -> Event? {
    while true {
      if let event = try state.withLock({ state throws(FleetError) in try state.events.next() }) {
        return event
      }
      let left = Double(deadline - SystemClock.monotonic) * 1e-9
      guard left > 0 else { return nil }
      _ = waitUntilReadable([wake.descriptor, signals.descriptor], seconds: min(left, 3600))
      wake.drain()
      if let number = signals.received().first { return .interrupted(ExitStatus(signal: number)) }
    }
  }

  /// A signal that has come, for a command that waits for something else; nil while there is none.
  func interruption() -> ExitStatus? { signals.received().first.map { ExitStatus(signal: $0) } }

  /// What the broker has kept below the filters that were given for that: all of it, after `open`.
  /// - Throws: `FleetError` when the connection is lost, and when the broker does not say that this was all.
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
      case .interrupted(let status)?: throw .interrupted(status)
      case .published?, .answered?, .connected?: break
      case nil:
        switch reading.outcome(at: SystemClock.monotonic) {
        case .goesOn: continue
        case .complete:
          session.unsubscribe(mark)
          return messages
        case .unknown:
          throw FleetError(
            operation: "read", object: "what the broker keeps",
            cause:
              "after \(messages.count) messages it did not say that this was all, so that some may be missing; "
              + "name fewer vehicles with --fleet and --vehicle, or let more wait for a client (mosquitto: "
              + "max_queued_messages)",
            exit: .unavailable)
        }
      }
    }
  }

  /// Reads what the broker keeps below some filters; the connection stays.
  static func reading(
    _ broker: MQTTConfiguration, _ filters: [String]
  ) throws(FleetError) -> (FleetExchange, [MQTTMessage]) {
    let exchange = try FleetExchange(broker, kept: filters)
    do throws(FleetError) {
      try exchange.open()
      return (exchange, try exchange.retained())
    } catch {
      exchange.close()
      throw error
    }
  }

  /// Reads what the broker keeps of vehicles, and beside it what a recording has; the connection stays.
  ///
  /// What the recording knows is asked for by exact topics, too: some brokers hand out what they keep by these only. What the
  /// broker says goes before what was recorded.
  static func reading(
    _ broker: BrokerArguments, _ targets: VehicleTargets, _ paths: [String],
    beginning arguments: BeginningArguments, _ reader: BeginningReader
  ) throws(FleetError) -> (FleetExchange, [MQTTMessage]) {
    let configuration = try broker.configuration()
    var filters = try targets.filters(paths)
    let beginning = try arguments.read(targets.query(paths), reader)
    if targets.named == nil {
      filters += beginning.vehicles.flatMap { key in paths.map { key.topic(root: targets.root, $0) } }
    }
    let (exchange, kept) = try reading(configuration, filters)
    return (exchange, beginning.adding(kept))
  }

  /// Leaves the broker.
  package func close() { session.stop(drain: 2) }
}

extension FleetError {
  /// A signal came before there was anything to tell.
  static func interrupted(_ status: ExitStatus) -> FleetError {
    FleetError(operation: "finish", object: "the command", cause: "it was interrupted", exit: status)
  }
}

/// What has happened and was not looked at yet, up to a bound. What finds no room is not forgotten: the next look fails,
/// because a command would go on with a part of the whole.
struct EventQueue<Event: Sendable>: Sendable {
  private let capacity: Int
  private var events: Deque<Event> = []
  private var dropped = 0

  init(capacity: Int) { self.capacity = capacity }

  mutating func append(_ event: Event) {
    if events.count >= capacity { dropped += 1 } else { events.append(event) }
  }

  /// Events that were taken out and are to be looked at again, before all others.
  mutating func putBack(_ earlier: [Event]) {
    events.prepend(contentsOf: earlier)
  }

  /// The oldest; nil when there is none.
  /// - Throws: `FleetError` when some found no room.
  mutating func next() throws(FleetError) -> Event? {
    guard dropped == 0 else {
      throw FleetError(
        operation: "keep up with", object: "the broker",
        cause: "\(dropped) messages found no room; name fewer vehicles with --fleet and --vehicle",
        exit: .unavailable)
    }
    return events.popFirst()
  }
}
