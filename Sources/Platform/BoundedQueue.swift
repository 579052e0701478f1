internal import DequeModule

/// A first-in, first-out hand-over between threads with a bound.
///
/// When the queue is full the *oldest* element makes room, because a late sensor value is worth less
/// than a fresh one; each element dropped so is counted in `overflowCount`.
public final class BoundedQueue<Element: Sendable>: Sendable {
  /// What `pop` came back with.
  public enum Outcome: Sendable {
    case element(Element)
    /// Nothing arrived before the time limit.
    case timedOut
    /// The queue was closed and is drained.
    case closed
  }

  private struct State: Sendable {
    var waiting = Deque<Element>()
    var dropped = 0
    var isClosed = false
  }

  private let capacity: Int
  private let state = Monitor(State())

  /// - Parameter capacity: how many elements wait at most; at least 1.
  public init(capacity: Int) { self.capacity = max(1, capacity) }

  /// Appends an element; a full queue drops its oldest. After `close()` the element is ignored.
  public func push(_ element: Element) {
    state.update { state in
      guard !state.isClosed else { return }
      if state.waiting.count == capacity {
        state.waiting.removeFirst()
        state.dropped += 1
      }
      state.waiting.append(element)
    }
  }

  /// Takes the oldest element, waiting for one until `deadline` (`SystemClock.monotonic`, ns); nil waits
  /// for as long as it takes.
  public func pop(until deadline: Int64?) -> Outcome {
    let outcome: Outcome? = state.wait(until: deadline) { state in
      state.waiting.popFirst().map(Outcome.element) ?? (state.isClosed ? .closed : nil)
    }
    return outcome ?? .timedOut
  }

  /// No further element is taken in; those that wait are still handed out.
  public func close() { state.update { $0.isClosed = true } }

  /// How many elements were dropped because the queue was full.
  public var overflowCount: Int { state.withLock { $0.dropped } }
}
