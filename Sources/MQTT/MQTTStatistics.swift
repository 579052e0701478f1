/// What a session did since its start.
public struct MQTTStatistics: Hashable, Sendable {
  /// Connections that a broker accepted.
  public var connections = 0
  /// Records that the broker took over.
  public var acknowledged = 0
  /// Records that the broker will never take.
  public var rejected = 0
  /// Records that were sent a second time or more often.
  public var postponed = 0
  /// `publishNow` messages handed to the kernel.
  public var sentNow = 0
  /// `publishNow` messages dropped: no connection, or one too slow to carry them.
  public var droppedNow = 0
  /// Messages handed to the handler.
  public var received = 0
  /// What all connections together used of the link.
  public var link = LinkUse()

  public init() {}
}
