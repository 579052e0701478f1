package import Fleet
package import JSON
package import MQTT
internal import Platform
internal import Spatial

/// A broker connection that manages vehicles: it receives their documents and responses, and publishes
/// documents and commands to them.
///
/// The connection's thread applies messages to a `ManagementState`. Callers either block a thread with a
/// `ManagementOperation`, or wait asynchronously.
package final class ManagementClient: Sendable {
  package typealias Ticket = ManagementState.Ticket
  package typealias Outcome = ManagementState.Outcome

  /// An event of the connection, after it was applied to the state.
  package enum Event: Sendable {
    /// Messages other than copies of stored documents.
    case received(FleetBatch)
    /// The broker accepted a message, or rejected it with a reason.
    case published(UInt64, MQTTReasonCode?)
    case answered(filter: String, MQTTReasonCode)
    case connection(FleetConnection)
  }

  private struct State: Sendable {
    var management: ManagementState
    /// Outcomes without a waiting task.
    var outcomes: [Ticket: Outcome] = [:]
    var waiting: [Ticket: CheckedContinuation<Outcome, Never>] = [:]
    /// The timers of operations with a waiting task, with their time.
    var timers: [Ticket: (time: MonotonicTime, task: Task<Void, Never>)] = [:]
  }

  package let root: String
  /// The marker filter behind the filters for retained messages. The broker answers it after those messages, see
  /// `RetainedReading`.
  private let mark: String?
  private let state: Locked<State>
  private let queue: PublishQueue
  private let subscriber: FleetSubscriber

  /// Creates a client.
  ///
  /// - Parameters:
  ///   - state: the initial state.
  ///   - filters: filters for messages, at QoS 1.
  ///   - kept: filters for retained messages, at QoS 0. At QoS 1 a broker limits messages in flight and
  ///     queued messages, and silently drops further ones (mosquitto: 500 and 1000; under 3.1.1 20 and 1000).
  ///     At QoS 0 only the speed of the connection limits them.
  ///   - isFeed: true if `filters` match all topics of `kept`. A document that arrives for both is observed once,
  ///     and the answer to a marker filter behind `filters` is observed. Rejected `filters` are requested again.
  ///   - observer: called for each event on the connection's thread.
  /// - Throws: `FleetError` for invalid options or filters.
  package init(
    _ broker: MQTTConfiguration, _ state: ManagementState, filters: [String], kept: [String] = [],
    isFeed: Bool = false, observer: @escaping @Sendable (Event) -> Void
  ) throws(FleetError) {
    root = state.root
    let mark = RetainedReading.mark(behind: kept)
    let state = Locked(State(management: state))
    (self.mark, self.state) = (mark, state)
    let queue = PublishQueue { token, reason in
      Self.update(state) { $0.acknowledged(token, reason, at: .now) }
      observer(.published(token, reason))
    }
    self.queue = queue
    subscriber = try FleetSubscriber(
      broker, filters, .atLeastOnce,
      .init(
        received: { batch in
          // Times of a `Moment` include the time asleep; deadlines are monotonic.
          let now = MonotonicTime.now
          var batch = batch
          batch.messages = Self.update(state) { state in
            batch.messages.filter { state.receive($0, at: now, batch.receivedAt.time) || !isFeed }
          }
          if !batch.messages.isEmpty { observer(.received(batch)) }
          return .kept
        },
        connection: { change in
          Self.update(state) { state in
            switch change {
            case .connected: state.connected(at: .now)
            case .disconnected:
              for token in state.disconnected(at: .now) { queue.withdraw(token) }
            case .subscribed, .refused, .doubtful, .dropped: break
            }
          }
          observer(.connection(change))
        }), queue: nil,
      mark: isFeed
        ? RetainedReading.mark(behind: filters).map { mark in
          (mark, { observer(.answered(filter: mark, .success)) })
        } : nil,
      kept: kept + [mark].compactMap(\.self), retriesRefused: isFeed, outbound: queue,
      answered: { filter, reason in
        if filter == mark { Self.update(state) { $0.marked(at: .now) } }
        observer(.answered(filter: filter, reason))
      })
  }

  /// Starts connecting, and returns immediately.
  package func start() throws(FleetError) { try subscriber.start() }

  /// Disconnects.
  /// - Parameter seconds: the maximum time to wait for acknowledgements.
  package func stop(drain seconds: Double = 1) { subscriber.stop(drain: seconds) }

  package func withState<Result>(_ body: (ManagementState) throws -> Result) rethrows -> Result {
    try state.withLock { try body($0.management) }
  }

  /// Changes the state, and resumes the tasks whose operation has ended.
  @discardableResult
  private static func update<Result>(
    _ locked: Locked<State>, _ body: (inout ManagementState) -> Result
  ) -> Result {
    let (result, resumed) = locked.withLock { state in
      let result = body(&state.management)
      var resumed: [(CheckedContinuation<Outcome, Never>, Outcome)] = []
      for effect in state.management.advance(to: .now) {
        if let task = state.waiting.removeValue(forKey: effect.ticket) {
          resumed.append((task, effect.outcome))
        } else {
          state.outcomes[effect.ticket] = effect.outcome
        }
        state.timers.removeValue(forKey: effect.ticket)?.task.cancel()
      }
      for ticket in state.waiting.keys { setTimer(&state, ticket, locked) }
      return (result, resumed)
    }
    for (task, outcome) in resumed { task.resume(returning: outcome) }
    return result
  }

  // MARK: Publishing

  /// Publishes a message; a `published` event reports its result.
  @discardableResult
  package func publish(_ message: MQTTMessage) -> UInt64 {
    let token = queue.append(message)
    subscriber.wakeUp()
    return token
  }

  /// Withdraws an unacknowledged message, so that it is not sent again after a reconnection.
  func withdraw(_ token: UInt64) { queue.withdraw(token) }

  /// Publishes the message of each vehicle to which a request is addressed.
  func send(_ request: RequestOutcomes, message: (VehicleKey) -> MQTTMessage) -> Ticket {
    let queue = queue
    let ticket = Self.update(state) { state in
      state.send(request) { key in
        let message = message(key)
        return (queue.append(message), message)
      }
    }
    subscriber.wakeUp()
    return ticket
  }

  /// Stores messages that the broker would have retained. Messages from the broker replace them.
  func store(_ messages: [MQTTMessage]) {
    Self.update(state) { state in for message in messages { state.store(message) } }
  }

  /// Removes the marker subscription.
  func removeMark() { if let mark { subscriber.unsubscribe(mark) } }

  // MARK: Outcomes

  /// Lets time pass, and returns the outcome of an operation; nil while it is waiting. The outcome is returned
  /// once.
  /// - Parameter isOver: true to end the operation before its time limit.
  func outcome(of ticket: Ticket, isOver: Bool = false) -> Outcome? {
    Self.update(state) { if isOver { $0.expire(ticket) } }
    return state.withLock { $0.outcomes.removeValue(forKey: ticket) }
  }

  /// Sets the timer of an operation, unless it is set to a time that is not later than the deadline. A deadline can
  /// move in both directions; a timer that ends too early is set again.
  private static func setTimer(_ state: inout State, _ ticket: Ticket, _ locked: Locked<State>) {
    guard let deadline = state.management.deadline(of: ticket) else { return }
    let left = deadline.secondsRemaining
    if let timer = state.timers[ticket], timer.time <= deadline, !timer.time.hasPassed { return }
    state.timers[ticket]?.task.cancel()
    let task = Task {
      try? await Task.sleep(for: .seconds(max(0, min(left, 1e8))))
      if !Task.isCancelled { update(locked) { _ in } }
    }
    state.timers[ticket] = (deadline, task)
  }

  /// Waits for the outcome of an operation without blocking a thread. A cancellation ends the operation.
  private func wait(for ticket: Ticket) async -> Outcome {
    await withTaskCancellationHandler {
      await withCheckedContinuation { task in
        let outcome = state.withLock { state in
          let outcome = state.outcomes.removeValue(forKey: ticket)
          if outcome == nil {
            state.waiting[ticket] = task
            Self.setTimer(&state, ticket, self.state)
          }
          return outcome
        }
        if let outcome { task.resume(returning: outcome) }
      }
    } onCancel: {
      Self.update(state) { $0.expire(ticket) }
    }
  }
}

/// The reason why a `ManagementClient` cannot serve a request.
package enum ManagementProblem: Error, Hashable, Sendable {
  /// The retained messages have not been received yet.
  case notRead
  /// There is no connection to the broker. Requests are not queued: they would reach vehicles unexpectedly
  /// later.
  case unreachable
  case tooManyMessages
  case tooManyCommands
}

extension ManagementClient {
  /// The maximum numbers of messages that wait for the broker, and of operations that wait for an outcome.
  private static let largestQueue = 20_000
  private static let largestWait = 1_000
  /// The seconds to wait for the broker's acknowledgement.
  private static let timeout = 10.0
  /// The seconds to wait for a connection, so that an unreachable broker is reported soon.
  private static let connectionTimeout = 2.0

  /// Waits until all retained messages were read, but no longer than `connectionTimeout` for a connection.
  /// - Throws: `notRead` after the time limit.
  package func waitUntilRead(seconds: Double = 10) async throws(ManagementProblem) {
    let ticket = Self.update(state) {
      $0.read(connectBy: .after(Self.connectionTimeout), until: .after(seconds))
    }
    guard case .read = await wait(for: ticket) else { throw .notRead }
  }

  /// Publishes desired documents, and waits a limited time for the broker's acknowledgements.
  /// - Throws: `unreachable`, or `tooManyMessages` if too many messages wait for the broker.
  package func publish(
    _ subject: DocumentStore.Subject, _ documents: [VehicleKey: [UInt8]]
  ) async throws(ManagementProblem) -> RequestOutcomes {
    let request = RequestOutcomes(
      documents.keys.sorted(), at: .now, timeout: Self.timeout, answer: nil)
    guard !documents.isEmpty else { return request }
    try check(documents.count, problem: .tooManyMessages)
    let ticket = send(request) { subject.message(documents[$0] ?? [], to: $0, root: root) }
    guard case .reports(let reports) = await wait(for: ticket) else { return request }
    return reports
  }

  private func check(_ count: Int, problem: ManagementProblem) throws(ManagementProblem) {
    let (isConnected, waits) = withState { ($0.isConnected, $0.waitCount) }
    guard isConnected else { throw .unreachable }
    guard queue.pending + count <= Self.largestQueue, waits < Self.largestWait else { throw problem }
  }

  /// Sends a command and waits for its response.
  /// - Parameters:
  ///   - seconds: the time to wait for the response; 0 to wait only for the broker's acknowledgement.
  ///   - lifetime: the seconds after which the broker discards the request.
  /// - Returns: the request, with its response if it arrived in time.
  /// - Throws: `unreachable`, or `tooManyCommands` if too many requests are waiting.
  package func give(
    _ command: String, _ arguments: [String: JSONValue], to key: VehicleKey, by name: String, seconds: Double,
    lifetime: Double
  ) async throws(ManagementProblem) -> CommandRequest {
    try check(1, problem: .tooManyCommands)
    let (id, now) = (CommandMessage.newIdentifier(), Moment.now.time)
    let request = CommandRequest(
      id: id, vehicle: key, command: command, arguments: arguments, by: name, asked: now,
      expires: now.advanced(bySeconds: lifetime))
    let message = CommandMessage.request(
      command, arguments, id: id, to: key, root: root, expiringAfter: lifetime)
    let queue = queue
    let (token, ticket) = Self.update(state) { state in
      let token = queue.append(message)
      let until = MonotonicTime.after(seconds == 0 ? Self.timeout : seconds)
      return (token, state.send(request, awaitsResponse: seconds > 0, until: until, token: token))
    }
    subscriber.wakeUp()
    guard case .command(let last) = await wait(for: ticket) else { return request }
    // A command that was reported as failed must not be executed later.
    if !last.isSent {
      queue.withdraw(token)
      Self.update(state) { $0.withdrawn(token) }
    }
    return last
  }
}
