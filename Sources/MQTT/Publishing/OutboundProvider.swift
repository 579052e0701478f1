/// A message to be sent, with a token that identifies it in reports.
public struct OutboundRecord: Sendable {
  /// The provider's identifier of the record; the session only returns it.
  public var token: UInt64
  /// The message with QoS 1 or 2. (A record of QoS 0 counts as acknowledged once it is passed to the kernel.)
  public var message: MQTTMessage

  public init(token: UInt64, message: MQTTMessage) {
    self.token = token
    self.message = message
  }
}

/// A source of durable messages: a store that retains each record until it is acknowledged.
///
/// All calls come from the session's own thread, one at a time. The session holds at most one window of
/// records.
public protocol OutboundProvider: Sendable {
  /// Returns the next records in delivery order, at most `limit`. Each record is returned once until
  /// `offerAgain()`. Fewer than `limit` means that no more records are waiting; the session asks again after
  /// `MQTTSession.wakeUp()`.
  func next(limit: Int) -> [OutboundRecord]

  /// Reports that the broker has acknowledged these records. They may be deleted.
  func acknowledged(_ tokens: [UInt64])

  /// Reports that the broker will never accept this record. It belongs to the dead letters, with the reason.
  func rejected(_ token: UInt64, reason: MQTTReasonCode)

  /// Requests that all records returned and neither acknowledged nor rejected are offered again, oldest
  /// first, because the connection was lost or the broker requested a pause.
  func offerAgain()
}
