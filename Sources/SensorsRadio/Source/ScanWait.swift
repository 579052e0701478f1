internal import Platform
internal import Sensors

/// Waits for the descriptor of a scan until the scan is no longer in demand.
struct ScanWait: Sendable {
  enum Outcome {
    case ready
    case timedOut
    /// The scan is no longer in demand, or the source stops.
    case abandoned
  }

  let wake: EventDescriptor
  /// Counts an iteration of the thread's loop.
  let beat: @Sendable () -> Void
  /// Announces the maximum duration in s of a call that cannot be interrupted.
  let expectPause: @Sendable (Double) -> Void
  let isWanted: @Sendable () -> Bool

  /// Waits until the descriptor is readable, or until a time.
  func wait(for descriptor: Int32, until deadline: MonotonicTime) -> Outcome {
    while true {
      beat()
      guard isWanted() else { return .abandoned }
      let left = deadline.secondsRemaining
      guard left > 0 else { return .timedOut }
      switch waitUntilReadable([descriptor, wake.descriptor], seconds: left) {
      case descriptor: return .ready
      case wake.descriptor: wake.drain()
      default: continue
      }
    }
  }
}

/// The result of a scan.
struct ScanResult: Sendable {
  var scan: RadioScan
  /// The reason why the source did not scan itself and reports the results of other programs, with the
  /// remedy; nil if it scanned.
  var notice: SourceError?
  /// A remedy for incomplete results; nil if there is none.
  var advice: SourceError?
}
