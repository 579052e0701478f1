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
struct LinkMeter: Sendable {
  private(set) var use = LinkUse()
  /// Nanoseconds.
  private let tail: Int64
  private var connectedUntil = Int64.min
  /// Bytes that the present connection has carried so far.
  private var carried = 0

  /// - Parameter tail: seconds, at least 0.
  init(tail: Double) {
    self.tail = Int64(min(max(0, tail), 86_400) * 1e9)
  }

  /// A new connection begins its count at zero.
  mutating func begin() { carried = 0 }

  /// Notes at `now` (ns on a clock that does not step) how many bytes the connection has carried; returns whether there
  /// were any new ones.
  mutating func note(carried total: Int, at now: Int64) -> Bool {
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
