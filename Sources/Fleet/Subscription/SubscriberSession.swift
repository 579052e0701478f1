public import MQTT

/// How a subscriber stands with its broker: what the broker keeps for it while it is away, with whom it shares the
/// messages, and how much it takes in before something is stored.
public struct SubscriberSession: Hashable, Sendable {
  /// The name under which the broker keeps subscriptions and messages while the subscriber is away, 1...65,535 bytes;
  /// one subscriber at a time. nil takes a name of its own and leaves nothing behind.
  public var clientID: String?
  /// Seconds for which the broker keeps them (MQTT 5; under 3.1.1 it keeps them for ever).
  public var expiry: UInt32 = 86_400
  /// Members of a group (`$share/GROUP/…`) split the messages among them. A member that leaves in order takes all
  /// that the broker has for it before it goes, and leaves no session behind.
  public var share: String?
  /// The highest quality of service at which the broker delivers.
  public var qos: QoS = .atLeastOnce
  /// 1...65,535: how many messages of QoS 1 the broker sends ahead of their acknowledgement. Large is fast; a broker
  /// may allow fewer (mosquitto: `max_inflight_messages`).
  public var receiveMaximum: UInt16 = 4000
  /// How many messages the consumer stores at once, about: so many are read before something is stored, and what comes
  /// meanwhile waits in the network.
  public var portion = 2000
  /// How many messages, and bytes of payload, wait here at most for a consumer that stores nothing for a while.
  public var bufferedMessages = 10_000
  public var bufferedBytes = 16 << 20
  /// Leave out messages that came before, and put those of a vehicle that came together into the order of their
  /// numbers.
  public var isOnceInOrder = true

  public init(clientID: String? = nil, share: String? = nil) {
    self.clientID = clientID
    self.share = share
  }

  /// The filters as the broker is asked for them.
  /// - Throws: `FleetError` when the group's name cannot stand in a filter.
  package func filters(_ filters: [String]) throws(FleetError) -> [String] {
    guard let share else { return filters }
    guard !share.isEmpty, !share.contains(where: { "/+#\0".contains($0) }) else {
      throw FleetError(
        operation: "share in", object: "group \"\(share.prefix(60))\"",
        cause: "the name of a group is not empty and holds none of / + #", exit: .usage)
    }
    return filters.map { "$share/\(share)/\($0)" }
  }

  /// Writes itself into the session's settings.
  package func apply(to configuration: inout MQTTConfiguration) {
    configuration.receiveMaximum = max(1, receiveMaximum)
    configuration.heldPortion = max(1, portion)
    configuration.heldMessages = max(1, bufferedMessages)
    configuration.heldBytes = max(1, bufferedBytes)
    configuration.endsSession = share != nil
    guard let clientID else { return }
    configuration.clientID = clientID
    configuration.cleanStart = false
    configuration.sessionExpiryInterval = expiry
  }
}
