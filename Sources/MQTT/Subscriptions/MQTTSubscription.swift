/// What a session wants to receive.
public struct MQTTSubscription: Hashable, Sendable {
  /// Which of a topic's retained messages the broker sends on subscribing (MQTT 5 only).
  public enum RetainHandling: UInt8, Hashable, Sendable {
    case send = 0
    case sendIfNew = 1
    case doNotSend = 2
  }

  /// A topic filter; `$share/GROUP/FILTER` shares the messages among the members of a group.
  public var filter: String
  /// The highest level at which the broker delivers.
  public var qos: QoS
  /// Whether messages keep their sender's retain flag also when they arrive live (MQTT 5 only).
  public var retainAsPublished: Bool
  public var retainHandling: RetainHandling

  public init(
    _ filter: String, qos: QoS = .atLeastOnce, retainAsPublished: Bool = false,
    retainHandling: RetainHandling = .send
  ) {
    self.filter = filter
    self.qos = qos
    self.retainAsPublished = retainAsPublished
    self.retainHandling = retainHandling
  }

  var options: Int32 { (retainAsPublished ? 0x08 : 0) | Int32(retainHandling.rawValue) << 4 }
}
