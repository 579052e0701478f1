internal import MQTT
internal import Platform

/// The few messages that a command sends, each of which is told to have arrived or to be refused.
final class OutboundRequests: OutboundProvider {
  private struct State {
    var waiting: [OutboundRecord] = []
    var underWay: [UInt64: MQTTMessage] = [:]
    var nextToken: UInt64 = 1
  }

  private let state = Locked(State())
  private let settled: @Sendable (UInt64, MQTTReasonCode?) -> Void

  /// - Parameter settled: called with a message's token, and the broker's reason when it will never take it.
  init(settled: @escaping @Sendable (UInt64, MQTTReasonCode?) -> Void) { self.settled = settled }

  /// Returns the token by which the message's fate is told.
  func append(_ message: MQTTMessage) -> UInt64 {
    state.withLock { state in
      defer { state.nextToken += 1 }
      state.waiting.append(OutboundRecord(token: state.nextToken, message: message))
      return state.nextToken
    }
  }

  func next(limit: Int) -> [OutboundRecord] {
    state.withLock { state in
      let records = Array(state.waiting.prefix(limit))
      state.waiting.removeFirst(records.count)
      for record in records { state.underWay[record.token] = record.message }
      return records
    }
  }

  func acknowledged(_ tokens: [UInt64]) {
    for token in tokens where state.withLock({ $0.underWay.removeValue(forKey: token) }) != nil {
      settled(token, nil)
    }
  }

  func rejected(_ token: UInt64, reason: MQTTReasonCode) {
    if state.withLock({ $0.underWay.removeValue(forKey: token) }) != nil { settled(token, reason) }
  }

  func offerAgain() {
    state.withLock { state in
      let again = state.underWay.sorted { $0.key < $1.key }.map {
        OutboundRecord(token: $0.key, message: $0.value)
      }
      state.underWay = [:]
      state.waiting = again + state.waiting
    }
  }
}
