/// A message that waits to be sent, and the name by which its fate is reported.
public struct OutboundRecord: Sendable {
  /// The provider's own name for the record; the session only hands it back.
  public var token: UInt64
  /// QoS 1 or 2. (A record of QoS 0 counts as acknowledged once it is handed to the kernel.)
  public var message: MQTTMessage

  public init(token: UInt64, message: MQTTMessage) {
    self.token = token
    self.message = message
  }
}

/// Where a session takes durable messages from: a store that keeps each record until it is acknowledged.
///
/// All calls come from the session's own thread, one at a time. The session holds at most a window of
/// records; the rest stay where they are.
public protocol OutboundProvider: Sendable {
  /// The records to send next, in the order in which they are to arrive, at most `limit`. Each is handed
  /// out once, until `offerAgain()`. Fewer than `limit` means "no more for now": `MQTTSession.wakeUp()`
  /// makes the session ask again.
  func next(limit: Int) -> [OutboundRecord]

  /// The broker has taken these over: they may be deleted.
  func acknowledged(_ tokens: [UInt64])

  /// The broker will never take this one: it goes to the dead letters, with the reason.
  func rejected(_ token: UInt64, reason: MQTTReasonCode)

  /// Every record that was handed out and is neither acknowledged nor rejected is to be offered again,
  /// oldest first: the connection was lost, or the broker asked for a pause.
  func offerAgain()
}
