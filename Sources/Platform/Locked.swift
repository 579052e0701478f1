internal import DequeModule
internal import Glibc

/// A value protected by a pthread mutex.
///
/// `Synchronization.Mutex` would suffice, but the thread sanitizer does not recognize its futex and reports
/// false races. It checks a pthread mutex correctly.
///
/// The value must not be a closure, or an optional one: each access would wrap it in two more closures, because
/// the type is generic, until the stack overflows. A structure with the closure is not affected.
// Sendable: `value` is accessed only while its mutex is locked.
@safe package final class Locked<Value>: @unchecked Sendable {
  fileprivate let mutex: UnsafeMutablePointer<pthread_mutex_t>
  fileprivate var value: Value

  package init(_ value: sending Value) {
    unsafe mutex = .allocate(capacity: 1)
    unsafe mutex.initialize(to: pthread_mutex_t())
    unsafe pthread_mutex_init(mutex, nil)
    self.value = value
  }

  deinit {
    unsafe pthread_mutex_destroy(mutex)
    unsafe mutex.deallocate()
  }

  /// Calls `body` with exclusive access to the value.
  package func withLock<Result, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    return try body(&value)
  }
}

/// A value protected by a mutex with a condition variable, so that threads can wait for changes.
// Sendable: the value is accessed only while its mutex is locked.
@safe package final class Monitor<Value>: @unchecked Sendable {
  private let locked: Locked<Value>
  private let changed: UnsafeMutablePointer<pthread_cond_t>

  package init(_ value: sending Value) {
    locked = Locked(value)
    unsafe changed = .allocate(capacity: 1)
    unsafe changed.initialize(to: pthread_cond_t())
    // By default a condition uses the wall clock, which steps when the receiver sets it.
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

  /// Calls `body` with exclusive access to the value, then wakes all waiting threads.
  package func update<Result>(_ body: (inout Value) -> Result) -> Result {
    locked.withLock { value in
      defer { unsafe pthread_cond_broadcast(changed) }
      return body(&value)
    }
  }

  /// Calls `body` with exclusive access to the value, without waking waiting threads.
  package func withLock<Result, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try locked.withLock(body)
  }

  /// Waits until `body` returns a value, at most until `deadline` (nil for no limit). Calls `body` at least once, and after each change.
  package func wait<Result>(until deadline: MonotonicTime?, for body: (inout Value) -> Result?) -> Result? {
    unsafe pthread_mutex_lock(locked.mutex)
    defer { unsafe pthread_mutex_unlock(locked.mutex) }
    while true {
      if let result = body(&locked.value) { return result }
      guard let deadline else {
        unsafe pthread_cond_wait(changed, locked.mutex)
        continue
      }
      let nanoseconds = Int(max(0, deadline.nanoseconds))
      var time = timespec(tv_sec: nanoseconds / 1_000_000_000, tv_nsec: nanoseconds % 1_000_000_000)
      if unsafe pthread_cond_timedwait(changed, locked.mutex, &time) == ETIMEDOUT {
        return body(&locked.value)
      }
    }
  }
}

/// A bounded first-in, first-out queue between threads.
///
/// A full queue drops its *oldest* element, because a fresh sensor value is worth more than a late one.
/// `overflowCount` counts the dropped elements.
package final class BoundedQueue<Element: Sendable>: Sendable {
  /// The result of `pop`.
  package enum Outcome: Sendable {
    case element(Element)
    /// No element arrived before the deadline.
    case timedOut
    /// The queue is closed and empty.
    case closed
  }

  private struct State: Sendable {
    var waiting = Deque<Element>()
    var dropped = 0
    var isClosed = false
  }

  private let capacity: Int
  private let state = Monitor(State())

  /// Creates a queue.
  ///
  /// - Parameter capacity: the maximum number of elements, at least 1.
  package init(capacity: Int) { self.capacity = max(1, capacity) }

  /// Appends an element. Ignored after `close()`.
  /// - Returns: the oldest element, if the queue was full and dropped it.
  @discardableResult
  package func push(_ element: Element) -> Element? {
    state.update { state in
      guard !state.isClosed else { return nil }
      var oldest: Element?
      if state.waiting.count == capacity {
        oldest = state.waiting.popFirst()
        state.dropped += 1
      }
      state.waiting.append(element)
      return oldest
    }
  }

  /// Removes and returns the oldest element. Waits for one until `deadline` (nil for no limit).
  package func pop(until deadline: MonotonicTime?) -> Outcome {
    let outcome: Outcome? = state.wait(until: deadline) { state in
      state.waiting.popFirst().map(Outcome.element) ?? (state.isClosed ? .closed : nil)
    }
    return outcome ?? .timedOut
  }

  /// Closes the queue for new elements. The remaining elements can still be popped.
  package func close() { state.update { $0.isClosed = true } }

  /// The number of elements dropped because the queue was full.
  package var overflowCount: Int { state.withLock { $0.dropped } }
}
