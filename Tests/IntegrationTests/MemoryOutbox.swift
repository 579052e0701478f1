import MQTT
import Platform

/// A minimal in-memory `OutboundProvider`.
final class MemoryOutbox: OutboundProvider {
  private struct Contents {
    var records: [OutboundRecord] = []
    var handedOut = 0
    var nextToken: UInt64 = 1
    var rejected: [(token: UInt64, reason: MQTTReasonCode)] = []
  }

  private let contents = Locked(Contents())
  private let greeting: MQTTMessage?

  /// - Parameter greeting: message that precedes the records of each connection after the first; nil for none.
  init(greeting: MQTTMessage? = nil) { self.greeting = greeting }

  var isEmpty: Bool { contents.withLock { $0.records.isEmpty } }
  var rejected: [(token: UInt64, reason: MQTTReasonCode)] { contents.withLock { $0.rejected } }

  func append(_ message: MQTTMessage) {
    contents.withLock {
      $0.records.append(OutboundRecord(token: $0.nextToken, message: message))
      $0.nextToken += 1
    }
  }

  func next(limit: Int) -> [OutboundRecord] {
    contents.withLock { contents in
      let records = contents.records.dropFirst(contents.handedOut).prefix(limit)
      contents.handedOut += records.count
      return Array(records)
    }
  }

  func acknowledged(_ tokens: [UInt64]) {
    for token in tokens { remove(token) }
  }

  func rejected(_ token: UInt64, reason: MQTTReasonCode) {
    contents.withLock { $0.rejected.append((token, reason)) }
    remove(token)
  }

  func offerAgain() {
    contents.withLock {
      $0.handedOut = 0
      guard let greeting, !$0.records.isEmpty else { return }
      $0.records.insert(OutboundRecord(token: $0.nextToken, message: greeting), at: 0)
      $0.nextToken += 1
    }
  }

  private func remove(_ token: UInt64) {
    contents.withLock { contents in
      guard let index = contents.records.firstIndex(where: { $0.token == token }) else { return }
      contents.records.remove(at: index)
      if index < contents.handedOut { contents.handedOut -= 1 }
    }
  }
}
