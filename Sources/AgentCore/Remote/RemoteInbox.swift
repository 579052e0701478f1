internal import MQTT
internal import Platform
internal import Telemetry

/// Hands what the connection's thread receives to the pipeline's thread.
final class RemoteInbox: Sendable {
  enum Item: Sendable {
    case request(RemoteRequest)
    case connection(isConnected: Bool, problem: String?)
    /// The machine's operator wants the configuration file read again.
    case reload
  }

  /// Bytes of a payload that are kept: more than any document may have, so that too large a one is known by it.
  static let payloadLimit = (1 << 20) + 1
  private static let capacity = 64

  let topics: RemoteTopics
  private let wake: @Sendable () -> Void
  private let items = Locked<[Item]>([])

  /// - Parameter wake: called when something was put in.
  init(topics: RemoteTopics, wake: @escaping @Sendable () -> Void) {
    self.topics = topics
    self.wake = wake
  }

  /// - Returns: how many messages there was no room for.
  func put(_ messages: [MQTTMessage]) -> Int {
    var dropped = 0
    items.withLock { items in
      for message in messages {
        guard let subject = topics.subject(of: message.topic) else { continue }
        guard items.count < Self.capacity else {
          dropped += 1
          continue
        }
        items.append(
          .request(
            RemoteRequest(
              subject: subject, payload: Array(message.payload.prefix(Self.payloadLimit)),
              isRetained: message.retain,
              replyTo: CommandResponseMessage.ReplyAddress(
                topic: message.properties.responseTopic, correlation: message.properties.correlationData))))
      }
    }
    wake()
    return dropped
  }

  func put(_ state: MQTTConnectionState) {
    switch state {
    case .connected: put(.connection(isConnected: true, problem: nil))
    // A link that was closed for a while, or to be made anew, was not lost.
    case .disconnected(let why, _) where why.cause == .asleep || why.cause == .renewing: break
    case .disconnected(let why, _): put(.connection(isConnected: false, problem: why.description))
    }
  }

  func put(_ item: Item) {
    items.withLock { $0.append(item) }
    wake()
  }

  /// Makes the pipeline's thread look here again soon.
  func wakeUp() { wake() }

  /// What has come since the last call, in order.
  func take() -> [Item] {
    items.withLock { items in
      defer { items = [] }
      return items
    }
  }
}
