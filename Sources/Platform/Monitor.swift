internal import Glibc

/// A value behind a lock whose changes other threads can wait for: a mutex and its condition variable.
// Sendable: `value` is reached only between lock and unlock of the one mutex that belongs to it.
@safe package final class Monitor<Value>: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let changed: UnsafeMutablePointer<pthread_cond_t>
  private var value: Value

  package init(_ value: sending Value) {
    unsafe mutex = .allocate(capacity: 1)
    unsafe mutex.initialize(to: pthread_mutex_t())
    unsafe pthread_mutex_init(mutex, nil)
    unsafe changed = .allocate(capacity: 1)
    unsafe changed.initialize(to: pthread_cond_t())
    // The default clock of a condition is the wall clock, which steps when the receiver sets it.
    var attributes = pthread_condattr_t()
    unsafe pthread_condattr_init(&attributes)
    unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    unsafe pthread_cond_init(changed, &attributes)
    unsafe pthread_condattr_destroy(&attributes)
    self.value = value
  }

  deinit {
    unsafe pthread_cond_destroy(changed)
    unsafe changed.deallocate()
    unsafe pthread_mutex_destroy(mutex)
    unsafe mutex.deallocate()
  }

  /// Runs `body` with exclusive access to the value, then wakes the threads that wait for it to change.
  package func update<Result>(_ body: (inout Value) -> Result) -> Result {
    unsafe pthread_mutex_lock(mutex)
    defer {
      // In this order, so that who is woken does not wait for the lock at once.
      unsafe pthread_mutex_unlock(mutex)
      unsafe pthread_cond_broadcast(changed)
    }
    return body(&value)
  }

  /// Runs `body` with exclusive access to the value, for a look that changes nothing which others wait for.
  package func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    return body(&value)
  }

  /// Waits until `body` returns something, at the longest until `deadline` (`SystemClock.monotonic`, ns); nil waits for as
  /// long as it takes. `body` runs once at least, and again after each change.
  package func wait<Result>(until deadline: Int64?, for body: (inout Value) -> Result?) -> Result? {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    while true {
      if let result = body(&value) { return result }
      guard let deadline else {
        unsafe pthread_cond_wait(changed, mutex)
        continue
      }
      var time = timespec(
        tv_sec: Int(max(0, deadline) / 1_000_000_000), tv_nsec: Int(max(0, deadline) % 1_000_000_000))
      if unsafe pthread_cond_timedwait(changed, mutex, &time) == ETIMEDOUT { return body(&value) }
    }
  }
}
