package import Fleet
package import FleetManagement
internal import HTTPTypes
package import JSON
package import MQTT
internal import Platform
internal import Spatial
internal import Telemetry

/// The broker connection for all requests that read or change vehicles' settings and regions, or send
/// commands. It exists as long as the server. Its own thread receives messages; a request that waits for a
/// response occupies no thread.
package final class ManagementSession: Sendable {
  /// The result of sending a message to the broker.
  package enum Delivery: Hashable, Sendable {
    case sent
    /// The broker rejected the message with this reason.
    case refused(String)
    /// The broker has not acknowledged the message; it is sent as soon as there is a connection.
    case unsent
  }

  private struct State {
    var management: ManagementState
    var isConnected = false
    /// True after all retained messages were read once.
    var isRead = false
    var reading: RetainedReading?
    /// The handlers of the broker's acknowledgement, by the message's token. The argument is the reason of a
    /// rejection; nil if the broker accepted the message.
    var deliveries: [UInt64: @Sendable (MQTTReasonCode?) -> Void] = [:]
    /// The waits for a vehicle's response, by the request's identifier.
    var answers: [String: TimedReply<CommandRequest>] = [:]
  }

  /// The maximum numbers of messages that wait for the connection, and of requests that wait for a response.
  package static let largestQueue = 20_000
  package static let largestWait = 1_000
  /// The seconds to wait for the broker's acknowledgement.
  package static let timeout = 10.0

  package let root: String
  private let state: Locked<State>
  private let queue: PublishQueue
  private let session: MQTTSession

  /// Creates the session.
  ///
  /// - Parameter targets: the vehicles of this server.
  /// - Throws: `FleetError` for invalid topic names or broker settings.
  package init(_ broker: MQTTConfiguration, _ targets: VehicleTargets) throws(FleetError) {
    root = targets.root
    // Retained messages are requested at QoS 0, because at QoS 1 a broker drops those beyond its queue limit;
    // see `FleetExchange`.
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

  /// Starts to connect.
  package func start() throws(FleetError) {
    do throws(MQTTError) { try session.start() } catch { throw FleetError(error) }
  }

  package func stop() { session.stop(drain: 1) }

  package var isConnected: Bool { state.withLock { $0.isConnected } }

  package func withState<Result>(_ body: (ManagementState) throws -> Result) rethrows -> Result {
    try state.withLock { try body($0.management) }
  }

  /// The seconds to wait for a connection, so that an unreachable broker is reported soon.
  private static let connectionTimeout = 2.0

  /// Waits until all retained messages were read, but no longer than `connectionTimeout` for a connection.
  /// - Throws: 503 after the time limit.
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
      guard now - began < Int64((isConnected ? seconds : min(seconds, Self.connectionTimeout)) * 1e9) else {
        throw WebError(
          .serviceUnavailable, "not-read", "The vehicles' retained messages have not been read yet.",
          remedy: "Retry in a few seconds; if the error persists, check whether the broker is reachable.",
          headers: [.retryAfter: "5"])
      }
      try await Task.sleep(for: .milliseconds(50))
    }
  }

  /// Requests are not queued for an unreachable broker: they would reach vehicles unexpectedly later.
  private static let unreachable = WebError(
    .serviceUnavailable, "broker-unreachable", "There is no connection to the broker; nothing was sent.",
    remedy: "Check whether the broker runs, and retry.", headers: [.retryAfter: "5"])

  // MARK: Documents

  /// Publishes desired documents, one for each vehicle, and waits a limited time for the broker's
  /// acknowledgements.
  /// - Throws: 503 if too many messages are waiting.
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
          // The published document is applied now, because the broker sends it back later; concurrent readers
          // get the new state.
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
    _ = await reply.value(within: Self.timeout)
    let known = outcomes.withLock { $0 }
    return Dictionary(messages.map { ($0.0, known[$0.0] ?? .unsent) }) { first, _ in first }
  }

  private static func delivery(_ reason: MQTTReasonCode?) -> Delivery {
    reason.map { .refused("by the broker: \($0); check its access list for this server's user") } ?? .sent
  }

  // MARK: Commands

  /// Sends a command and waits for its response.
  /// - Parameters:
  ///   - seconds: the time to wait for the response; 0 to wait only for the broker's acknowledgement.
  ///   - lifetime: the seconds after which the broker discards the request.
  /// - Returns: the request, with its response if it arrived in time.
  /// - Throws: 503 if too many requests are waiting.
  package func give(
    _ command: String, _ arguments: [String: JSONValue], to key: VehicleKey, by name: String, seconds: Double,
    lifetime: Double
  ) async throws -> CommandRequest {
    let id = CommandMessage.newIdentifier()
    let now = Moment.now.time
    let request = CommandRequest(
      id: id, vehicle: key, command: command, arguments: arguments, by: name, asked: now,
      expires: now.advanced(bySeconds: lifetime))
    let message = CommandMessage.request(
      command, arguments, id: id, to: key, root: root, expiringAfter: lifetime)
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
    let answer = await reply.value(within: seconds == 0 ? Self.timeout : seconds)
    return state.withLock { state in
      state.answers[id] = nil
      let known = answer ?? state.management.request(id) ?? request
      if !known.isSent {
        // A command that was reported as failed must not be executed later.
        queue.withdraw(token)
        state.deliveries[token] = nil
      }
      return known
    }
  }
}
