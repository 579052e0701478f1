internal import Platform

/// Where the pipeline's thread leaves word of how things stand, when somebody has asked for it.
///
/// Whoever asks never waits for the pipeline: it is shown what was left last, and how old that is. Nothing is put together
/// while nobody asks.
final class SnapshotDesk: Sendable {
  /// Signalled with each snapshot that is left.
  let fresh: EventDescriptor
  private let wanted = Flag()
  private let newest = Locked<AgentSnapshot?>(nil)
  private let wake: @Sendable () -> Void

  /// - Parameter wake: makes the pipeline's thread look here.
  /// - Throws: `SystemError` when the process has no descriptor left.
  init(wake: @escaping @Sendable () -> Void) throws(SystemError) {
    fresh = try EventDescriptor()
    self.wake = wake
  }

  /// Asks for a snapshot.
  func ask() {
    wanted.raise()
    wake()
  }

  /// Whether one was asked for since the last call. The pipeline's to call.
  func takeWish() -> Bool { wanted.isRaised && wanted.take() }

  func leave(_ snapshot: AgentSnapshot) {
    newest.withLock { $0 = snapshot }
    fresh.signal()
  }

  var latest: AgentSnapshot? { newest.withLock { $0 } }
}
