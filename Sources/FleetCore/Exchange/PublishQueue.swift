internal import MQTT
internal import Platform
internal import Telemetry

/// What waits for a connection on which much is published, as that of `simulate`, and what is under way on it.
///
/// It is bounded: a broker that is slower than what is appended costs messages, which are counted, and not memory.
final class PublishQueue: OutboundProvider {
  struct Counters: Hashable, Sendable {
    var accepted = 0
    var acknowledged = 0
    var rejected = 0
    /// There was no room.
    var dropped = 0
    var bytes = 0
  }

  private struct State {
    var waiting: [OutboundRecord] = []
    /// The first of `waiting` that was not handed out: taking from the front of an array would move the rest.
    var head = 0
    var underWay: [UInt64: MQTTMessage] = [:]
    var nextToken: UInt64 = 0
    var counters = Counters()
  }

  private let capacity: Int
  private let state = Locked(State())

  init(capacity: Int) { self.capacity = max(1, capacity) }

  var counters: Counters { state.withLock { $0.counters } }

  /// Messages that the broker has not acknowledged.
  var pending: Int { state.withLock { $0.waiting.count - $0.head + $0.underWay.count } }

  func append(_ messages: some Sequence<WireMessage>) {
    append(
      messages.lazy.map { message in
        MQTTMessage(
          topic: message.topic, payload: message.payload, qos: message.qos == 0 ? .atMostOnce : .atLeastOnce,
          retain: message.retain)
      })
  }

  func append(_ messages: some Sequence<MQTTMessage>) {
    state.withLock { state in
      for message in messages {
        guard state.waiting.count - state.head < capacity else {
          state.counters.dropped += 1
          continue
        }
        state.counters.accepted += 1
        state.counters.bytes += message.topic.utf8.count + message.payload.count
        state.waiting.append(OutboundRecord(token: state.nextToken, message: message))
        state.nextToken += 1
      }
    }
  }

  func next(limit: Int) -> [OutboundRecord] {
    state.withLock { state in
      let records = Array(state.waiting[state.head...].prefix(limit))
      for record in records { state.underWay[record.token] = record.message }
      state.head += records.count
      if state.head == state.waiting.count {
        state.waiting.removeAll(keepingCapacity: true)
        state.head = 0
      } else if state.head > 4096, state.head > state.waiting.count / 2 {
        state.waiting.removeFirst(state.head)
        state.head = 0
      }
      return records
    }
  }

  func acknowledged(_ tokens: [UInt64]) {
    state.withLock { state in
      for token in tokens where state.underWay.removeValue(forKey: token) != nil {
        state.counters.acknowledged += 1
      }
    }
  }

  func rejected(_ token: UInt64, reason: MQTTReasonCode) {
    state.withLock { state in
      if state.underWay.removeValue(forKey: token) != nil { state.counters.rejected += 1 }
    }
  }

  func offerAgain() {
    state.withLock { state in
      guard !state.underWay.isEmpty else { return }
      let again = state.underWay.sorted { $0.key < $1.key }.map {
        OutboundRecord(token: $0.key, message: $0.value)
      }
      state.underWay.removeAll()
      state.waiting = again + state.waiting[state.head...]
      state.head = 0
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
