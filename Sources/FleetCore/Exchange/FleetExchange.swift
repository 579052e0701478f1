internal import Glibc
internal import MQTT
internal import Platform
internal import Spatial

/// A connection for a command that asks and waits for answers: subscribes, publishes, and hands what happens to the
/// command's own thread, one event after the other.
final class FleetExchange: Sendable {
  enum Event: Sendable {
    case message(MQTTMessage)
    /// The broker has taken a message over, or said why it will not.
    case published(UInt64, MQTTReasonCode?)
    case answered(filter: String, MQTTReasonCode)
    case connected(MQTTServerProperties)
    case disconnected(MQTTDisconnection)
  }

  /// Events that wait for the command at most; a fleet that says more meanwhile is not asked to, but may.
  private static let capacity = 200_000

  private struct State: Sendable {
    var events: [Event] = []
    var head = 0
    var dropped = 0
    var properties: MQTTServerProperties?
  }

  private let state: Locked<State>
  private let wake: EventDescriptor
  // Made on the command's thread, before there is any other.
  private let signals: SignalDescriptor
  private let requests: OutboundRequests
  private let session: MQTTSession
  let filters: [String]

  /// - Throws: `FleetError` when options or filters are wrong.
  init(_ broker: BrokerOptions, filters: [String]) throws(FleetError) {
    self.filters = filters
    let configuration = try broker.configuration()
    do throws(SystemError) {
      signals = try SignalDescriptor([SIGINT, SIGTERM, SIGHUP])
      wake = try EventDescriptor()
    } catch { throw FleetError(error) }
    let (state, wake) = (Locked(State()), wake)
    self.state = state
    @Sendable func post(_ event: Event) {
      state.withLock { state in
        if state.events.count - state.head >= Self.capacity {
          state.dropped += 1
        } else {
          state.events.append(event)
        }
        if case .connected(let properties) = event { state.properties = properties }
      }
      wake.signal()
    }
    requests = OutboundRequests { post(.published($0, $1)) }
    do throws(MQTTError) {
      session = try MQTTSession(
        configuration: configuration, subscriptions: filters.map { MQTTSubscription($0) }, outbound: requests,
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
    } catch { throw Self.usage(error) }
  }

  /// What the broker granted; nil before the first connection.
  var properties: MQTTServerProperties? { state.withLock { $0.properties } }

  /// Connects, and waits until every subscription is granted. Messages that come meanwhile wait for `next`.
  /// - Throws: `FleetError` when the broker cannot be reached, refuses, or does not answer in time.
  func open(seconds: Double = 30) throws(FleetError) {
    try start()
    var waiting = Set(filters)
    var kept: [Event] = []
    let deadline = SystemClock.monotonic + Int64(seconds * 1e9)
    var isConnected = false
    while !isConnected || !waiting.isEmpty {
      guard let event = try next(until: deadline) else {
        throw FleetError(
          operation: "use", object: "the broker", cause: "it did not answer within \(Int(seconds)) s",
          exit: .unavailable)
      }
      switch event {
      case .connected: isConnected = true
      case .disconnected(let reason): throw FleetError(reason)
      case .answered(let filter, let reason):
        if reason.isError {
          throw FleetError(
            operation: "subscribe to", object: "\"\(filter)\"",
            cause: "\(reason); check the broker's access list for this user", exit: .unavailable)
        }
        waiting.remove(filter)
      case .message, .published: kept.append(event)
      }
    }
    state.withLock { [kept] state in
      state.events = kept + state.events[state.head...]
      state.head = 0
    }
  }

  func start() throws(FleetError) {
    signal(SIGPIPE, SIG_IGN)
    do throws(MQTTError) { try session.start() } catch { throw Self.usage(error) }
  }

  /// Sends a message; `published` tells its token's fate.
  @discardableResult
  func publish(_ message: MQTTMessage) -> UInt64 {
    let token = requests.append(message)
    session.wakeUp()
    return token
  }

  /// The next event; nil when there is none until a time, in monotonic nanoseconds.
  /// - Throws: `FleetError` when a signal asks the command to end.
  func next(until deadline: Int64) throws(FleetError) -> Event? {
    while true {
      let event = state.withLock { state -> Event? in
        guard state.head < state.events.count else { return nil }
        defer {
          state.head += 1
          if state.head == state.events.count {
            state.events.removeAll(keepingCapacity: true)
            state.head = 0
          }
        }
        return state.events[state.head]
      }
      if let event { return event }
      let left = Double(deadline - SystemClock.monotonic) * 1e-9
      guard left > 0 else { return nil }
      _ = waitUntilReadable([wake.descriptor, signals.descriptor], seconds: min(left, 3600))
      wake.drain()
      if let number = signals.received().first {
        throw FleetError(
          operation: "finish", object: "the command", cause: "it was interrupted",
          exit: ExitStatus(signal: number))
      }
    }
  }

  /// What the broker has kept below the subscriptions: everything until nothing more comes for a while.
  /// - Parameters:
  ///   - silence: seconds after which there is no more.
  ///   - seconds: after which it ends regardless.
  func retained(silence: Double = 0.4, seconds: Double = 30) throws(FleetError) -> [MQTTMessage] {
    let end = SystemClock.monotonic + Int64(seconds * 1e9)
    var messages: [MQTTMessage] = []
    while true {
      let pause = SystemClock.monotonic + Int64(silence * 1e9)
      guard let event = try next(until: min(end, pause)) else { return messages }
      switch event {
      case .message(let message): if message.retain { messages.append(message) }
      case .disconnected(let reason): throw FleetError(reason)
      default: break
      }
      if SystemClock.monotonic >= end { return messages }
    }
  }

  /// Leaves the broker.
  func close() { session.stop(drain: 2) }

  private static func usage(_ error: MQTTError) -> FleetError {
    FleetError(operation: error.operation, object: error.object, cause: error.cause, exit: .usage)
  }
}
