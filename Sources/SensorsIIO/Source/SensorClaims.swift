internal import Platform
internal import Sensors

/// The sensor kinds of several contexts, each assigned to one of them.
///
/// Two contexts may both have an accelerometer. Delivered by both, the samples would be out of order. A context
/// therefore claims the kinds of which it starts devices, and holds them until these devices are lost or stopped.
/// At the start, an earlier context in the order of registration takes precedence, if its search is over within
/// 5 s.
public final class SensorClaims: Sendable {
  /// The maximum duration in s for which a context waits for the first search of those before it.
  static let patience = 5.0

  private struct State {
    var wakes: [EventDescriptor] = []
    var owners: [SensorKind: Int] = [:]
    /// The contexts whose first search is over.
    var searched: Set<Int> = []
    /// The time at which the first context was about to search.
    var start: MonotonicTime?
  }

  private let state = Locked(State())

  /// Creates claims without contexts.
  public init() {}

  /// Registers a context. `wake` is signalled when a kind has become free.
  func register(_ wake: EventDescriptor) -> Int {
    state.withLock { state in
      state.wakes.append(wake)
      return state.wakes.count - 1
    }
  }

  /// Returns the kinds that no other context holds.
  func free(_ kinds: Set<SensorKind>, for context: Int) -> Set<SensorKind> {
    state.withLock { state in kinds.filter { (state.owners[$0] ?? context) == context } }
  }

  /// Returns the time in s until the context may claim: 0 after the first search of all contexts before it.
  func turn(of context: Int) -> Double {
    state.withLock { state in
      let start = state.start ?? .now
      state.start = start
      let isNext = (0..<context).allSatisfy(state.searched.contains)
      return isNext ? 0 : start.advanced(bySeconds: Self.patience).secondsRemaining
    }
  }

  /// Assigns the free ones of these kinds to the context, and returns them.
  func claim(_ kinds: Set<SensorKind>, for context: Int) -> Set<SensorKind> {
    state.withLock { state in
      let free = kinds.filter { (state.owners[$0] ?? context) == context }
      for kind in free { state.owners[kind] = context }
      return free
    }
  }

  /// Frees the kinds that the context no longer delivers: those not in `kinds`.
  func hold(only kinds: Set<SensorKind>, for context: Int) {
    change { state in state.owners = state.owners.filter { $0.value != context || kinds.contains($0.key) } }
  }

  /// Records that the first search of the context is over.
  func hasSearched(_ context: Int) { change { _ = $0.searched.insert(context) } }

  /// Wakes all contexts if the change has an effect.
  private func change(_ body: (inout State) -> Void) {
    let wakes: [EventDescriptor] = state.withLock { state in
      let before = (state.owners.count, state.searched.count)
      body(&state)
      return before == (state.owners.count, state.searched.count) ? [] : state.wakes
    }
    for wake in wakes { wake.signal() }
  }
}
