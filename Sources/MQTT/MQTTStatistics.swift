internal import Glibc
package import Spatial

/// Statistics of a session since its start.
public struct MQTTStatistics: Hashable, Sendable {
  /// Number of accepted connections.
  public var connections = 0
  /// Number of records acknowledged by the broker.
  public var acknowledged = 0
  /// Number of records finally rejected by the broker.
  public var rejected = 0
  /// Number of records that were sent more than once.
  public var postponed = 0
  /// Number of `publishNow` messages passed to the kernel.
  public var sentNow = 0
  /// Number of `publishNow` messages dropped for lack of a connection or of bandwidth.
  public var droppedNow = 0
  /// Number of messages passed to the handler.
  public var received = 0
  /// Number of skipped messages larger than `MQTTConfiguration.maximumPacketSize`.
  public var oversized = 0
  /// Number of messages that were acknowledged and dropped because their topic or a property contains a
  /// character that libmosquitto rejects, such as a control character.
  public var malformed = 0
  /// Use of the link by all connections.
  public var link = LinkUse()

  public init() {}
}

/// Use of a session's link since the start.
public struct LinkUse: Hashable, Sendable {
  /// Bytes sent and received, with TLS, without TCP and lower headers.
  public var bytes = 0
  /// Number of changes from idle to active.
  public var bursts = 0
  /// Time in s for which a radio was connected: from each byte to the end of the tail.
  public var seconds = 0.0

  public init() {}
}

/// Measures the use of the link. A radio remains connected for a tail after the last byte, and traffic within
/// the tail belongs to the same burst.
package struct LinkMeter: Sendable {
  package private(set) var use = LinkUse()
  /// Length of the tail in s.
  private let tail: Double
  private var connectedUntil: Timestamp?
  /// Number of bytes transferred by the current connection.
  private var carried = 0

  /// - Parameter tail: length of the tail in s, at least 0.
  package init(tail: Double) {
    self.tail = min(max(0, tail), 86_400)
  }

  /// Resets the byte count for a new connection.
  package mutating func begin() { carried = 0 }

  /// Updates the measurement at `now` with the connection's byte count.
  /// Returns whether it increased.
  package mutating func observe(carried total: Int, at now: Timestamp) -> Bool {
    guard total > carried else { return false }
    use.bytes += total - carried
    carried = total
    let isNew = connectedUntil.map { now > $0 } ?? true
    if isNew { use.bursts += 1 }
    let end = now.advanced(bySeconds: tail)
    use.seconds += end.seconds(since: isNew ? now : connectedUntil ?? now)
    connectedUntil = end
    return true
  }
}

/// Returns the bytes sent and received by a TCP socket according to the kernel; nil if unavailable.
func bytesCarried(by socket: Int32) -> Int? {
  counters(of: socket, at: 128, 200).map { received, sent in Int(clamping: received &+ sent) }
}

/// Returns whether the peer has acknowledged the SYN of a TCP socket, which counts as one byte; nil if
/// unavailable.
func wasAccepted(_ socket: Int32) -> Bool? { counters(of: socket, at: 120, 120).map { $0.0 > 0 } }

/// Returns the number of bytes that the peer has acknowledged on a TCP socket, with its SYN; nil if unavailable.
func bytesArrived(from socket: Int32) -> Int? {
  counters(of: socket, at: 120, 120).map { Int(clamping: $0.0) }
}

/// Returns the number of bytes that were written to a TCP socket and not acknowledged yet; nil if unavailable.
func bytesUnderWay(from socket: Int32) -> Int? {
  var count: CInt = 0
  return unsafe ioctl(socket, UInt(TIOCOUTQ), &count) == 0 ? Int(count) : nil
}

/// Returns two kernel counters of a TCP socket by their offsets in `struct tcp_info` of <linux/tcp.h>, because
/// Glibc's definition ends before these fields. Nil if the kernel's structure is shorter.
private func counters(of socket: Int32, at first: Int, _ second: Int) -> (UInt64, UInt64)? {
  unsafe withUnsafeTemporaryAllocation(byteCount: max(first, second) + 8, alignment: 8) { info in
    var size = socklen_t(info.count)
    guard unsafe getsockopt(socket, Int32(IPPROTO_TCP), TCP_INFO, info.baseAddress, &size) == 0,
      size == info.count
    else { return nil }
    return unsafe (
      info.loadUnaligned(fromByteOffset: first, as: UInt64.self),
      info.loadUnaligned(fromByteOffset: second, as: UInt64.self)
    )
  }
}
