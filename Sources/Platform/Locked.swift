internal import DequeModule
internal import Glibc

/// A value behind a pthread mutex.
///
/// `Synchronization.Mutex` would do the same, but the thread sanitizer does not see its futex and
/// reports false races; a pthread mutex is checked properly.
// Sendable: `value` is reached only between lock and unlock of the one mutex that belongs to it.
@safe public final class Locked<Value>: @unchecked Sendable {
  fileprivate let mutex: UnsafeMutablePointer<pthread_mutex_t>
  fileprivate var value: Value

  public init(_ value: sending Value) {
    unsafe mutex = .allocate(capacity: 1)
    unsafe mutex.initialize(to: pthread_mutex_t())
    unsafe pthread_mutex_init(mutex, nil)
    self.value = value
  }

  deinit {
    unsafe pthread_mutex_destroy(mutex)
    unsafe mutex.deallocate()
  }

  /// Runs `body` with exclusive access to the value.
  public func withLock<Result, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    return try body(&value)
  }
}

/// A value behind a lock whose changes other threads can wait for: a mutex and its condition variable.
// Sendable: the value is reached only between lock and unlock of its mutex.
@safe package final class Monitor<Value>: @unchecked Sendable {
  private let locked: Locked<Value>
  private let changed: UnsafeMutablePointer<pthread_cond_t>

  package init(_ value: sending Value) {
    locked = Locked(value)
    unsafe changed = .allocate(capacity: 1)
    unsafe changed.initialize(to: pthread_cond_t())
    // The default clock of a condition is the wall clock, which steps when the receiver sets it.
    var attributes = pthread_condattr_t()
    unsafe pthread_condattr_init(&attributes)
    unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    unsafe pthread_cond_init(changed, &attributes)
    unsafe pthread_condattr_destroy(&attributes)
  }

  deinit {
    unsafe pthread_cond_destroy(changed)
    unsafe changed.deallocate()
  }

  /// Runs `body` with exclusive access to the value, then wakes the threads that wait for it to change.
  package func update<Result>(_ body: (inout Value) -> Result) -> Result {
    locked.withLock { value in
      defer { unsafe pthread_cond_broadcast(changed) }
      return body(&value)
    }
  }

  /// Runs `body` with exclusive access to the value, for a look that changes nothing which others wait for.
  package func withLock<Result>(_ body: (inout Value) -> Result) -> Result { locked.withLock(body) }

  /// Waits until `body` returns something, at the longest until `deadline` (`SystemClock.monotonic`, ns); nil waits for as
  /// long as it takes. `body` runs once at least, and again after each change.
  package func wait<Result>(until deadline: Int64?, for body: (inout Value) -> Result?) -> Result? {
    unsafe pthread_mutex_lock(locked.mutex)
    defer { unsafe pthread_mutex_unlock(locked.mutex) }
    while true {
      if let result = body(&locked.value) { return result }
      guard let deadline else {
        unsafe pthread_cond_wait(changed, locked.mutex)
        continue
      }
      var time = timespec(
        tv_sec: Int(max(0, deadline) / 1_000_000_000), tv_nsec: Int(max(0, deadline) % 1_000_000_000))
      if unsafe pthread_cond_timedwait(changed, locked.mutex, &time) == ETIMEDOUT {
        return body(&locked.value)
      }
    }
  }
}

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
