internal import Glibc
internal import Platform

extension EstablishedConnection {
  /// One turn while batches are held: nothing is written that would carry their acknowledgements, but the broker
  /// sees that somebody is there.
  func turnWhileHolding() -> Ending? {
    if let leaving, SystemClock.monotonic >= leaving.deadline {
      // Going without a word is the only way not to acknowledge: a lasting session brings it all again.
      loop.mailbox.setLeftCleanly(false)
      return Ending(cause: leaving.cause, phase: .established)
    }
    if SystemClock.monotonic >= pingDue {
      pingDue = SystemClock.monotonic + keepAliveInterval / 3
      // Behind a packet that is half written, a ping would be read as a part of it.
      if !hasHalfWritten, !connection.client.pingDirectly() {
        return Ending(cause: .closedByPeer, phase: .established)
      }
    }
    let now = SystemClock.monotonic
    let isReading = loop.hold.mayRead(at: now) && leaving == nil
    if isReading, Double(now - lastRead) > 1.5 * Double(keepAliveInterval) {
      return Ending(cause: .keepAliveExpired, phase: .established)
    }
    let events = isReading ? POLLIN : 0
    if isReading, isStreaming { connection.pause(milliseconds: Self.gathering) }
    let isAwaited = isReading && hasUnread
    let deadline = isAwaited ? 0 : loop.hold.deadline(after: now) ?? .max
    let ready = connection.wait(for: events, until: min(pingDue, deadline, leaving?.deadline ?? .max))
    // What is closed shows also when reading is paused; what was sent before the end can wait no longer then.
    if isAwaited || ready.socket != 0, let ending = read() { return ending }
    return nil
  }
}
