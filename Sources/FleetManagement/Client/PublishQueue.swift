internal import DequeModule
package import Fleet
package import MQTT
internal import Platform

/// The queue of messages to publish, and those in flight.
///
/// It is bounded for publishers with much data, such as `simulate`: if the broker is slower than the
/// publisher, messages are dropped and counted.
package final class PublishQueue: OutboundProvider {
  package struct Counters: Hashable, Sendable {
    package var accepted = 0
    package var acknowledged = 0
    package var rejected = 0
    /// The number of messages dropped because the queue was full.
    package var dropped = 0
    package var bytes = 0
  }

  private struct State {
    var waiting: Deque<OutboundRecord> = []
    var underWay: [UInt64: MQTTMessage] = [:]
    var nextToken: UInt64 = 0
    var counters = Counters()
  }

  private let capacity: Int
  private let settled: @Sendable (UInt64, MQTTReasonCode?) -> Void
  private let state = Locked(State())

  /// Creates a queue.
  ///
  /// - Parameter settled: called with a message's token when the broker has accepted the message (reason
  ///   nil), or has permanently rejected it (with the reason).
  package init(
    capacity: Int = .max, settled: @escaping @Sendable (UInt64, MQTTReasonCode?) -> Void = { _, _ in }
  ) {
    self.capacity = max(1, capacity)
    self.settled = settled
  }

  package var counters: Counters { state.withLock { $0.counters } }

  /// The number of messages that the broker has not acknowledged.
  package var pending: Int { state.withLock { $0.waiting.count + $0.underWay.count } }

  /// Appends a message, and returns the token that identifies its result.
  /// - Parameter isVital: true to accept the message even if the queue is full, up to twice its capacity.
  @discardableResult
  package func append(_ message: MQTTMessage, isVital: Bool = false) -> UInt64 {
    state.withLock { state in
      defer { state.nextToken += 1 }
      let reserve = isVital ? min(capacity, .max - capacity) : 0
      if state.waiting.count < capacity + reserve {
        state.counters.accepted += 1
        state.counters.bytes += message.topic.utf8.count + message.payload.count
        state.waiting.append(OutboundRecord(token: state.nextToken, message: message))
      } else {
        state.counters.dropped += 1
      }
      return state.nextToken
    }
  }

  /// Withdraws an unacknowledged message, so that it is not sent again after a reconnection.
  package func withdraw(_ token: UInt64) {
    state.withLock { state in
      state.underWay[token] = nil
      state.waiting.removeAll { $0.token == token }
    }
  }

  package func next(limit: Int) -> [OutboundRecord] {
    state.withLock { state in
      let records = Array(state.waiting.prefix(limit))
      for record in records { state.underWay[record.token] = record.message }
      state.waiting.removeFirst(records.count)
      return records
    }
  }

  package func acknowledged(_ tokens: [UInt64]) {
    let known = state.withLock { state in
      let known = tokens.filter { state.underWay.removeValue(forKey: $0) != nil }
      state.counters.acknowledged += known.count
      return known
    }
    for token in known { settled(token, nil) }
  }

  package func rejected(_ token: UInt64, reason: MQTTReasonCode) {
    let isKnown = state.withLock { state in
      guard state.underWay.removeValue(forKey: token) != nil else { return false }
      state.counters.rejected += 1
      return true
    }
    if isKnown { settled(token, reason) }
  }

  package func offerAgain() {
    state.withLock { state in
      guard !state.underWay.isEmpty else { return }
      let again = state.underWay.sorted { $0.key < $1.key }.map {
        OutboundRecord(token: $0.key, message: $0.value)
      }
      state.underWay.removeAll()
      state.waiting.prepend(contentsOf: again)
    }
  }
}

extension PublishQueue.Counters {
  static func + (a: Self, b: Self) -> Self {
    Self(
      accepted: a.accepted + b.accepted, acknowledged: a.acknowledged + b.acknowledged,
      rejected: a.rejected + b.rejected, dropped: a.dropped + b.dropped, bytes: a.bytes + b.bytes)
  }
}

/// A connection that publishes from a queue.
package struct PublishLink: Sendable {
  package let queue: PublishQueue
  private let session: MQTTSession
  private let hadSession: Locked<Bool>

  /// True if the broker still had a session of this client at the last connection.
  package var isSessionPresent: Bool { hadSession.withLock { $0 } }

  package init(
    _ configuration: MQTTConfiguration, capacity: Int,
    settled: @escaping @Sendable (UInt64, MQTTReasonCode?) -> Void = { _, _ in },
    connection: @escaping @Sendable (FleetConnection) -> Void
  ) throws(FleetError) {
    var configuration = configuration
    configuration.publishWindow = 1000
    queue = PublishQueue(capacity: capacity, settled: settled)
    let hadSession = Locked(false)
    self.hadSession = hadSession
    do throws(OperationError) {
      session = try MQTTSession(
        configuration: configuration, outbound: queue,
        handlers: .init(connectionChanged: { state in
          switch state {
          case .connected(let properties):
            hadSession.withLock { $0 = properties.sessionPresent }
            connection(.connected)
          case .disconnected(let reason, _): connection(.disconnected(reason))
          }
        }))
    } catch { throw FleetError(error) }
  }

  package func start() throws(FleetError) {
    do throws(OperationError) { try session.start() } catch { throw FleetError(error) }
  }

  package func send(_ messages: some Sequence<MQTTMessage>) {
    for message in messages { queue.append(message) }
    session.wakeUp()
  }

  package func stop(drain seconds: Double) { session.stop(drain: seconds) }
}
