internal import Platform
internal import Sensors

/// How a scan waits: for its descriptor, and no longer than somebody wants it.
struct ScanWait: Sendable {
  enum Outcome {
    case ready
    case timedOut
    /// Nobody wants the scan any more, or the source ends.
    case abandoned
  }

  let wake: EventDescriptor
  /// Counts a turn of the thread's loop.
  let beat: @Sendable () -> Void
  /// Says that a call that cannot be interrupted may take so many seconds.
  let expectPause: @Sendable (Double) -> Void
  let isWanted: @Sendable () -> Bool

  /// Waits until there is something to read, or until a time of `SystemClock.monotonic`.
  func wait(for descriptor: Int32, until deadline: Int64) -> Outcome {
    while true {
      beat()
      guard isWanted() else { return .abandoned }
      let left = Double(deadline - SystemClock.monotonic) * 1e-9
      guard left > 0 else { return .timedOut }
      switch waitUntilReadable([descriptor, wake.descriptor], seconds: left) {
      case descriptor: return .ready
      case wake.descriptor: wake.drain()
      default: continue
      }
    }
  }
}

/// What came of a scan.
struct ScanResult: Sendable {
  var scan: RadioScan
  /// Why the radio was not asked, though it has told something, with what helps; nil when it was.
  var notice: RadioError?
  /// What would let it tell more; nil when nothing would.
  var advice: RadioError?
}
