internal import DequeModule
package import MQTT
internal import Platform

/// What waits for a connection on which much is published, as that of `simulate`, and what is under way on it.
///
/// It is bounded: a broker that is slower than what is appended costs messages, which are counted, and not memory.
package final class PublishQueue: OutboundProvider {
  package struct Counters: Hashable, Sendable {
    package var accepted = 0
    package var acknowledged = 0
    package var rejected = 0
    /// There was no room.
    var dropped = 0
    package var bytes = 0
  }

  private struct State {
    var waiting: Deque<OutboundRecord> = []
    var underWay: [UInt64: MQTTMessage] = [:]
    var nextToken: UInt64 = 0
    var counters = Counters()
  }

  private let capacity: Int
  private let state = Locked(State())

  package init(capacity: Int) { self.capacity = max(1, capacity) }

  package var counters: Counters { state.withLock { $0.counters } }

  /// Messages that the broker has not acknowledged.
  package var pending: Int { state.withLock { $0.waiting.count + $0.underWay.count } }

  package func append(_ messages: some Sequence<MQTTMessage>) {
    state.withLock { state in
      for message in messages {
        guard state.waiting.count < capacity else {
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

  package func next(limit: Int) -> [OutboundRecord] {
    state.withLock { state in
      let records = Array(state.waiting.prefix(limit))
      for record in records { state.underWay[record.token] = record.message }
      state.waiting.removeFirst(records.count)
      return records
    }
  }

  package func acknowledged(_ tokens: [UInt64]) {
    state.withLock { state in
      for token in tokens where state.underWay.removeValue(forKey: token) != nil {
        state.counters.acknowledged += 1
      }
    }
  }

  package func rejected(_ token: UInt64, reason: MQTTReasonCode) {
    state.withLock { state in
      if state.underWay.removeValue(forKey: token) != nil { state.counters.rejected += 1 }
    }
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
