internal import Glibc

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
  /// Messages larger than `MQTTConfiguration.maximumPacketSize` that were left out.
  public var oversized = 0
  /// Messages that were acknowledged and dropped: their topic or a property has a character that libmosquitto rejects, such as a
  /// control character.
  public var malformed = 0
  /// What all connections together used of the link.
  public var link = LinkUse()

  public init() {}
}

/// What a session used of its link since the start.
public struct LinkUse: Hashable, Sendable {
  /// Bytes sent and received, with TLS, without the headers of TCP and below.
  public var bytes = 0
  /// How often the link was idle and then was not.
  public var bursts = 0
  /// Seconds that a radio was connected for it: from each byte to the end of the tail.
  public var seconds = 0.0

  public init() {}
}

/// Books the use of the link: a radio stays connected for a tail after the last byte, and what comes within it belongs to
/// the same burst.
package struct LinkMeter: Sendable {
  package private(set) var use = LinkUse()
  /// Nanoseconds.
  private let tail: Int64
  private var connectedUntil = Int64.min
  /// Bytes that the present connection has carried so far.
  private var carried = 0

  /// - Parameter tail: seconds, at least 0.
  package init(tail: Double) {
    self.tail = Int64(min(max(0, tail), 86_400) * 1e9)
  }

  /// A new connection begins its count at zero.
  package mutating func begin() { carried = 0 }

  /// Learns at `now` (ns on a clock that does not step) how many bytes the connection has carried; returns whether there
  /// were any new ones.
  package mutating func observe(carried total: Int, at now: Int64) -> Bool {
    guard total > carried else { return false }
    use.bytes += total - carried
    carried = total
    let isNew = now > connectedUntil
    if isNew { use.bursts += 1 }
    use.seconds += Double(now + tail - (isNew ? now : connectedUntil)) * 1e-9
    connectedUntil = now + tail
    return true
  }
}

/// Bytes that a TCP socket has sent and received, as the kernel counts them; nil when it does not say.
func bytesCarried(by socket: Int32) -> Int? {
  guard let received = counter(of: socket, at: 128), let sent = counter(of: socket, at: 200) else {
    return nil
  }
  return Int(clamping: received &+ sent)
}

/// Whether the other side has ever answered a TCP socket's SYN, which counts as an acknowledged byte; nil when the kernel does
/// not say.
func wasAccepted(_ socket: Int32) -> Bool? { counter(of: socket, at: 120).map { $0 > 0 } }

/// One of the kernel's counters of a TCP socket, by its offset in `struct tcp_info` of <linux/tcp.h>: Glibc's own ends before
/// these fields.
private func counter(of socket: Int32, at offset: Int) -> UInt64? {
  var info = [UInt8](repeating: 0, count: offset + 8)
  var size = socklen_t(info.count)
  guard unsafe getsockopt(socket, Int32(IPPROTO_TCP), TCP_INFO, &info, &size) == 0, size == info.count else {
    return nil
  }
  return unsafe info.withUnsafeBytes { unsafe $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
}
