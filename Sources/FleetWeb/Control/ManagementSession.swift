package import Fleet
package import FleetControl
internal import HTTPTypes
package import JSON
package import MQTT
internal import Platform
internal import Spatial
internal import Telemetry

/// The one connection by which all requests to this server read and change vehicles' settings and regions and give
/// commands. It lasts as long as the server; its own thread takes in what comes, and requests wait for their answers
/// without a thread.
package final class ManagementSession: Sendable {
  /// What became of a message on its way to the broker.
  package enum Delivery: Hashable, Sendable {
    case sent
    /// The broker will not take it, for this reason.
    case refused(String)
    /// The broker has not confirmed it: it is sent as soon as there is a connection.
    case unsent
  }

  private struct State {
    var management: ManagementState
    var isConnected = false
    /// Whether all that the broker keeps has been read once.
    var isRead = false
    var reading: RetainedReading?
    /// Who waits for the broker's word on a message, by the message's token.
    var deliveries: [UInt64: @Sendable (MQTTReasonCode?) -> Void] = [:]
    /// Who waits for the answer to a request, by its identifier.
    var answers: [String: TimedReply<CommandRequest>] = [:]
  }

  /// Messages that wait for the connection at most, and requests that wait for an answer.
  package static let largestQueue = 20_000
  package static let largestWait = 1_000
  /// Seconds for which the broker's word on a message is waited for.
  package static let patience = 10.0

  package let root: String
  private let state: Locked<State>
  private let queue: PublishQueue
  private let session: MQTTSession

  /// - Parameter targets: the vehicles that this server is about.
  /// - Throws: `FleetError` for names that cannot stand in a topic and settings of the broker that make no sense.
  package init(_ broker: MQTTConfiguration, _ targets: VehicleTargets) throws(FleetError) {
    root = targets.root
    // At QoS 0 a broker sends all that it keeps; see `FleetExchange`.
    let kept = try targets.filters(ManagementState.paths)
    let mark = RetainedReading.mark(behind: kept)
    let subscriptions =
      try targets.filters([ManagementState.answers]).map { MQTTSubscription($0) }
      + (kept + [mark].compactMap { $0 }).map { MQTTSubscription($0, qos: .atMostOnce) }
    let state = Locked(State(management: ManagementState(root: targets.root)))
    self.state = state
    queue = PublishQueue(capacity: Self.largestQueue) { token, reason in
      let waiting = state.withLock { $0.deliveries.removeValue(forKey: token) }
      waiting?(reason)
    }
    do throws(MQTTError) {
      session = try MQTTSession(
        configuration: broker, subscriptions: subscriptions, outbound: queue,
        handlers: .init(
          connectionChanged: { change in
            state.withLock { state in
              if case .connected = change {
                state.isConnected = true
                state.reading = RetainedReading(at: SystemClock.monotonic)
              } else {
                state.isConnected = false
              }
            }
          },
          received: { messages in
            for message in messages { Self.receive(message, state) }
            return .kept
          },
          subscriptionAnswered: { filter, _ in
            guard filter == mark else { return }
            state.withLock { $0.reading?.marked(at: SystemClock.monotonic) }
          }))
    } catch { throw FleetError(error) }
  }

  private static func receive(_ message: MQTTMessage, _ state: Locked<State>) {
    let (answer, waiting) = state.withLock { state -> (CommandRequest?, TimedReply<CommandRequest>?) in
      if message.retain { state.reading?.kept(at: SystemClock.monotonic) }
      guard let answer = state.management.receive(message, at: Moment.now.time) else { return (nil, nil) }
      return (answer, state.answers.removeValue(forKey: answer.id))
    }
    waiting?.resolve(answer)
  }

  /// Begins to connect.
  package func start() throws(FleetError) {
    do throws(MQTTError) { try session.start() } catch { throw FleetError(error) }
  }

  package func stop() { session.stop(drain: 1) }

  package var isConnected: Bool { state.withLock { $0.isConnected } }

  package func withState<Result>(_ body: (ManagementState) throws -> Result) rethrows -> Result {
    try state.withLock { try body($0.management) }
  }

  /// Seconds that a connection is waited for: who asks is to be told soon that the broker cannot be reached.
  private static let connectionPatience = 2.0

  /// Waits until all that the broker keeps has been read, and no longer than `connectionPatience` for a connection.
  /// - Throws: 503 when that takes longer than the time.
  package func waitUntilRead(seconds: Double = 10) async throws {
    let began = SystemClock.monotonic
    while true {
      let now = SystemClock.monotonic
      let (isRead, isConnected) = state.withLock { state in
        if !state.isRead, state.isConnected, state.reading?.outcome(at: now) == .complete {
          state.isRead = true
        }
        return (state.isRead, state.isConnected)
      }
      if isRead { return }
      guard now - began < Int64((isConnected ? seconds : min(seconds, Self.connectionPatience)) * 1e9) else {
        throw WebError(
          .serviceUnavailable, "not-read", "What the broker keeps of the vehicles has not been read yet.",
          remedy: "Ask again in a few seconds; if it stays so, look whether the broker can be reached.",
          headers: [.retryAfter: "5"])
      }
      try await Task.sleep(for: .milliseconds(50))
    }
  }

  /// Nothing is put aside for a broker that is not there: it would reach vehicles when nobody thinks of it any more.
  private static let unreachable = WebError(
    .serviceUnavailable, "broker-unreachable", "There is no connection to the broker; nothing was sent.",
    remedy: "Look whether the broker runs, and ask again.", headers: [.retryAfter: "5"])

  // MARK: Documents

  /// Publishes what is wanted, one message for each vehicle, and waits for the broker's word on each for a bounded time.
  /// - Throws: 503 when too much waits for the connection.
  package func publish(_ messages: [(VehicleKey, MQTTMessage)]) async throws -> [VehicleKey: Delivery] {
    let reply = TimedReply<Bool>()
    let outcomes = Locked<[VehicleKey: Delivery]>([:])
    let count = messages.count
    guard count > 0 else { return [:] }
    let isTaken = try state.withLock { state in
      guard state.isConnected else { throw Self.unreachable }
      guard queue.pending + count <= Self.largestQueue else { return false }
      for (key, message) in messages {
        let own = queue.append(message)
        state.deliveries[own] = { [state = self.state] reason in
          // The broker's own copy comes later; whoever reads meanwhile is told what holds.
          if reason == nil { state.withLock { _ = $0.management.receive(message, at: Moment.now.time) } }
          let isLast = outcomes.withLock { outcomes in
            outcomes[key] = Self.delivery(reason)
            return outcomes.count == count
          }
          if isLast { reply.resolve(true) }
        }
      }
      return true
    }
    guard isTaken else { throw WebError.busy("Too many messages wait for the broker.") }
    session.wakeUp()
    _ = await reply.value(within: Self.patience)
    let known = outcomes.withLock { $0 }
    return Dictionary(messages.map { ($0.0, known[$0.0] ?? .unsent) }) { first, _ in first }
  }

  private static func delivery(_ reason: MQTTReasonCode?) -> Delivery {
    reason.map { .refused("by the broker: \($0); check its access list for this server's user") } ?? .sent
  }

  // MARK: Commands

  /// Gives a command and waits for its answer.
  /// - Parameters:
  ///   - seconds: how long the answer is waited for; 0 waits for the broker's word only.
  ///   - lifetime: seconds for which the broker hands the request out.
  /// - Returns: the request, with its answer if that came in time.
  /// - Throws: 503 when too many wait already.
  package func give(
    _ command: String, _ arguments: [String: JSONValue], to key: VehicleKey, by name: String, seconds: Double,
    lifetime: Double
  ) async throws -> CommandRequest {
    let id = String(UInt64.random(in: 0 ... .max), radix: 16)
    let now = Moment.now.time
    let path = "command/\(command)"
    let request = CommandRequest(
      id: id, vehicle: key, command: command, arguments: arguments, by: name, asked: now,
      expires: now.advanced(bySeconds: lifetime))
    let message = MQTTMessage(
      topic: key.topic(root: root, path),
      text: JSONValue.object(arguments.merging(["id": .string(id)]) { $1 }).text, qos: .atLeastOnce,
      properties: MQTTMessageProperties(
        contentType: "application/json", messageExpiryInterval: UInt32(lifetime.rounded(.up)),
        responseTopic: key.topic(root: root, path + "/response"), correlationData: Array(id.utf8)))
    let reply = TimedReply<CommandRequest>()
    let token = try state.withLock { state -> UInt64? in
      guard state.isConnected else { throw Self.unreachable }
      guard state.answers.count < Self.largestWait, queue.pending < Self.largestQueue else { return nil }
      state.management.add(request)
      state.answers[id] = reply
      let own = queue.append(message)
      state.deliveries[own] = { reason in
        let refusal = reason.map { "by the broker: \($0); check its access list for this server's user" }
        let settled = self.state.withLock { state in
          state.management.settle(id, refusal: refusal)
          return state.management.request(id)
        }
        if refusal != nil || seconds == 0 { reply.resolve(settled) }
      }
      return own
    }
    guard let token else { throw WebError.busy("Too many commands wait for their answers.") }
    session.wakeUp()
    let answer = await reply.value(within: seconds == 0 ? Self.patience : seconds)
    return state.withLock { state in
      state.answers[id] = nil
      let known = answer ?? state.management.request(id) ?? request
      if !known.isSent {
        // Who was told that it failed is not surprised by it an hour later.
        queue.withdraw(token)
        state.deliveries[token] = nil
      }
      return known
    }
  }
}
