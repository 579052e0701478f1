import CPeers
import Glibc
import MQTT
import StoreAndForward
import Support
import Synchronization
import Telemetry

func configuration(_ port: Int, _ client: String, window: Int = 100) -> MQTTConfiguration {
  var configuration = MQTTConfiguration(
    brokers: [MQTTConfiguration.Broker(host: "127.0.0.1", port: port)], clientID: client)
  configuration.publishWindow = window
  return configuration
}

/// Offers one message repeatedly, from memory.
final class MemoryProvider: OutboundProvider {
  private let count: Int
  private let message: MQTTMessage
  private let sent = Atomic(0)
  let done = Atomic(0)

  init(_ message: MQTTMessage, count: Int) {
    self.message = message
    self.count = count
  }

  func next(limit: Int) -> [OutboundRecord] {
    let start = sent.load(ordering: .relaxed)
    let portion = min(limit, count - start)
    sent.add(portion, ordering: .relaxed)
    return (start..<start + portion).map { OutboundRecord(token: UInt64($0), message: message) }
  }

  func acknowledged(_ tokens: [UInt64]) { done.add(tokens.count, ordering: .relaxed) }

  func rejected(_ token: UInt64, reason: MQTTReasonCode) { done.add(1, ordering: .relaxed) }

  func offerAgain() {}
}

/// Offers messages from the durable queue, like the agent.
struct OutboxProvider: OutboundProvider {
  let outbox: Outbox

  func next(limit: Int) -> [OutboundRecord] {
    outbox.next(limit: limit).map { record in
      OutboundRecord(
        token: record.seq,
        message: MQTTMessage(topic: record.topic, payload: record.payload, qos: .atLeastOnce))
    }
  }

  func acknowledged(_ tokens: [UInt64]) { outbox.remove(tokens) }

  func rejected(_ token: UInt64, reason: MQTTReasonCode) { outbox.reject(token, reason: reason.description) }

  func offerAgain() { outbox.offerAgain() }
}

/// Returns the seconds from the connection to the last acknowledgement.
func publishFromMemory(_ port: Int, _ window: Int, _ count: Int, _ size: Int) -> Double {
  let payload = [UInt8](repeating: 0x78, count: size)
  let provider = MemoryProvider(
    MQTTMessage(topic: "benchmark/session", payload: payload, qos: .atLeastOnce), count: count)
  return run(port, window, provider) { provider.done.load(ordering: .relaxed) >= count }
}

/// Returns the seconds from the connection to the last acknowledgement of a queue that was filled before.
func drainOutbox(_ port: Int, _ window: Int, _ count: Int, _ size: Int) -> Double {
  let path = "/tmp/delivery-benchmark-\(getpid()).sqlite"
  defer { for suffix in ["", "-wal", "-shm", ".lock"] { unlink(path + suffix) } }
  guard let outbox = try? Outbox(path: path) else { return .nan }
  let payload = [UInt8](repeating: 0x78, count: size)
  for start in stride(from: 0, to: count, by: 1000) {
    outbox.append(
      (start..<min(start + 1000, count)).map { _ in
        Publication(topic: "benchmark/agent", payload: payload, lane: .events, retain: false)
      })
  }
  return run(port, window, OutboxProvider(outbox: outbox)) { outbox.status.records == 0 }
}

private func run(
  _ port: Int, _ window: Int, _ provider: any OutboundProvider, until isDone: () -> Bool
) -> Double {
  let start = Atomic(0.0.bitPattern)
  let handlers = MQTTSession.Handlers(connectionChanged: { state in
    if case .connected = state { start.store(now().bitPattern, ordering: .relaxed) }
  })
  guard
    let session = try? MQTTSession(
      configuration: configuration(port, "benchmark", window: window), outbound: provider, handlers: handlers),
    (try? session.start()) != nil
  else { return .nan }
  while !isDone() { usleep(2000) }
  let seconds = now() - Double(bitPattern: start.load(ordering: .relaxed))
  session.stop()
  return seconds
}

/// Returns the seconds from the first to the last message received from the minimal publisher.
func receive(_ port: Int, _ qos: QoS, _ count: Int, _ size: Int) -> Double {
  let received = Atomic(0)
  let subscribed = Atomic(false)
  let first = Atomic(0.0.bitPattern)
  let last = Atomic(0.0.bitPattern)
  let handlers = MQTTSession.Handlers(
    received: { batch in
      if received.load(ordering: .relaxed) == 0 { first.store(now().bitPattern, ordering: .relaxed) }
      received.add(batch.count, ordering: .relaxed)
      last.store(now().bitPattern, ordering: .relaxed)
      return .kept
    }, subscriptionAnswered: { _, _ in subscribed.store(true, ordering: .relaxed) })
  guard
    let session = try? MQTTSession(
      configuration: configuration(port, "receiver"),
      subscriptions: [MQTTSubscription("benchmark/#", qos: qos)], handlers: handlers),
    (try? session.start()) != nil
  else { return .nan }
  while !subscribed.load(ordering: .relaxed) { usleep(1000) }
  // At QoS 0 the publisher does not wait; at QoS 1 it waits for its acknowledgements.
  _ = publish_minimal("127.0.0.1", Int32(port), Int32(qos.rawValue), 1000, Int32(count), Int32(size))
  for _ in 0..<2000 where received.load(ordering: .relaxed) < count { usleep(5000) }
  session.stop()
  if received.load(ordering: .relaxed) < count {
    complain("received \(received.load(ordering: .relaxed)) of \(count)")
  }
  return Double(bitPattern: last.load(ordering: .relaxed))
    - Double(bitPattern: first.load(ordering: .relaxed))
}
