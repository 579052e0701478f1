internal import Synchronization

/// A yes-or-no word from one thread to another.
final class Flag: Sendable {
  private let value = Atomic(false)

  func raise() { value.store(true, ordering: .releasing) }

  var isRaised: Bool { value.load(ordering: .acquiring) }

  /// Lowers the flag; returns whether it was raised.
  func take() -> Bool { value.exchange(false, ordering: .acquiringAndReleasing) }
}
