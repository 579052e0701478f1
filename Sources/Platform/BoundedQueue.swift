internal import Glibc

/// A first-in, first-out hand-over between threads with a bound.
///
/// When the queue is full the *oldest* element makes room, because a late sensor value is worth less
/// than a fresh one; each element dropped so is counted in `overflowCount`.
// Sendable: every stored property is touched only between lock and unlock of `mutex`.
@safe public final class BoundedQueue<Element: Sendable>: @unchecked Sendable {
  /// What `pop` came back with.
  public enum Outcome: Sendable {
    case element(Element)
    /// Nothing arrived before the time limit, or `wake()` was called.
    case timedOut
    /// The queue was closed and is drained.
    case closed
  }

  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let notEmpty: UnsafeMutablePointer<pthread_cond_t>
  private var ring: [Element?]
  private var head = 0
  private var count = 0
  private var dropped = 0
  private var isClosed = false
  private var wakeRequested = false

  /// - Parameter capacity: how many elements wait at most; at least 1.
  public init(capacity: Int) {
    ring = Array(repeating: nil, count: max(1, capacity))
    unsafe mutex = .allocate(capacity: 1)
    unsafe mutex.initialize(to: pthread_mutex_t())
    unsafe pthread_mutex_init(mutex, nil)
    unsafe notEmpty = .allocate(capacity: 1)
    unsafe notEmpty.initialize(to: pthread_cond_t())
    // The default clock of a condition is the wall clock, which steps when the receiver sets it.
    var attributes = pthread_condattr_t()
    unsafe pthread_condattr_init(&attributes)
    unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    unsafe pthread_cond_init(notEmpty, &attributes)
    unsafe pthread_condattr_destroy(&attributes)
  }

  deinit {
    unsafe pthread_cond_destroy(notEmpty)
    unsafe notEmpty.deallocate()
    unsafe pthread_mutex_destroy(mutex)
    unsafe mutex.deallocate()
  }

  /// Appends an element; a full queue drops its oldest. After `close()` the element is ignored.
  public func push(_ element: Element) {
    locked {
      guard !isClosed else { return }
      if count == ring.count {
        ring[head] = nil
        head = (head + 1) % ring.count
        count -= 1
        dropped += 1
      }
      ring[(head + count) % ring.count] = element
      count += 1
      unsafe pthread_cond_signal(notEmpty)
    }
  }

  /// Waits until there is room, then appends: for producers that can be slowed down, such as a replay.
  /// Returns false once the queue is closed.
  public func pushWaiting(_ element: Element) -> Bool {
    while true {
      let done: Bool? = locked {
        guard !isClosed else { return false }
        guard count < ring.count else { return nil }
        ring[(head + count) % ring.count] = element
        count += 1
        unsafe pthread_cond_signal(notEmpty)
        return true
      }
      if let done { return done }
      usleep(500)
    }
  }

  /// Takes the oldest element, waiting for one until `deadline` (`SystemClock.monotonic`, ns); nil waits
  /// for as long as it takes.
  public func pop(until deadline: Int64?) -> Outcome {
    locked {
      while count == 0 {
        if isClosed { return .closed }
        if wakeRequested {
          wakeRequested = false
          return .timedOut
        }
        if let deadline {
          var time = timespec(
            tv_sec: Int(deadline / 1_000_000_000), tv_nsec: Int(deadline % 1_000_000_000))
          if unsafe pthread_cond_timedwait(notEmpty, mutex, &time) == ETIMEDOUT, count == 0, !isClosed {
            return .timedOut
          }
        } else {
          unsafe pthread_cond_wait(notEmpty, mutex)
        }
      }
      guard let element = ring[head] else { return .closed }
      ring[head] = nil
      head = (head + 1) % ring.count
      count -= 1
      return .element(element)
    }
  }

  /// Makes a waiting `pop` return `.timedOut`.
  public func wake() {
    locked {
      wakeRequested = true
      unsafe pthread_cond_broadcast(notEmpty)
    }
  }

  /// No further element is taken in; those that wait are still handed out.
  public func close() {
    locked {
      isClosed = true
      unsafe pthread_cond_broadcast(notEmpty)
    }
  }

  /// How many elements were dropped because the queue was full.
  public var overflowCount: Int { locked { dropped } }

  private func locked<Result>(_ body: () -> Result) -> Result {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    return body()
  }
}
