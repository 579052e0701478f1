internal import CLinux
internal import Glibc
internal import Synchronization

/// An operating-system thread for blocking work, such as device reads and connections to gpsd or a broker.
/// Blocking calls never run on Swift's cooperative pool.
package struct DedicatedThread: Sendable {
  private let handle: pthread_t

  /// Starts a thread.
  /// - Parameters:
  ///   - name: shown by `top -H` and in core dumps; the kernel stores the first 15 bytes.
  ///   - stackSize: bytes; pages are allocated on first use.
  ///   - body: runs once; the thread exits when it returns.
  /// - Throws: `SystemError` if the kernel cannot create a thread.
  package static func start(
    name: String, stackSize: Int = 512 * 1024, _ body: @escaping @Sendable () -> Void
  ) throws(SystemError) -> DedicatedThread {
    var attributes = pthread_attr_t()
    unsafe pthread_attr_init(&attributes)
    defer { unsafe pthread_attr_destroy(&attributes) }
    unsafe pthread_attr_setstacksize(&attributes, stackSize)
    let box = unsafe Unmanaged.passRetained(ThreadBody(name: name, run: body))
    var handle = pthread_t()
    let code = unsafe pthread_create(
      &handle, &attributes,
      { context in
        guard let context = unsafe context else { return nil }
        let body = unsafe Unmanaged<ThreadBody>.fromOpaque(context).takeRetainedValue()
        _ = unsafe body.name.withCString { unsafe pthread_setname_np(pthread_self(), $0) }
        body.run()
        return nil
      }, box.toOpaque())
    guard code == 0 else {
      unsafe box.release()
      throw SystemError(operation: "start thread", object: name, code: code)
    }
    return DedicatedThread(handle: handle)
  }

  /// Waits until the thread has exited. Call it once, from another thread.
  package func join() { pthread_join(handle, nil) }

  /// Detaches the thread: its resources are released when it exits. Call either this or `join`.
  package func detach() { pthread_detach(handle) }
}

private final class ThreadBody: Sendable {
  let name: String
  let run: @Sendable () -> Void

  init(name: String, run: @escaping @Sendable () -> Void) {
    self.name = String(name.prefix(15))
    self.run = run
  }
}

/// A heartbeat of a thread. The thread counts each iteration of its loop. A watchdog requests an iteration
/// and checks that the count increases, so that a waiting thread wakes up only if it is monitored.
package final class Heartbeat: Sendable {
  /// The thread's name, as `top -H` shows it.
  package let name: String
  private let turnCount = Atomic(0)
  private let pauseEnd = Atomic<Int64>(0)
  private let caller: @Sendable () -> Void

  /// Creates a heartbeat.
  ///
  /// - Parameter call: wakes the thread's loop, from any thread and without blocking.
  package init(name: String, call: @escaping @Sendable () -> Void) {
    self.name = String(name.prefix(15))
    caller = call
  }

  /// Counts an iteration. Called by the thread itself.
  package func beat() {
    turnCount.add(1, ordering: .relaxed)
    if pauseEnd.load(ordering: .relaxed) != 0 { pauseEnd.store(0, ordering: .relaxed) }
  }

  /// Announces that the current iteration can take up to `seconds`, for example for a DNS lookup.
  package func expectPause(seconds: Double) {
    pauseEnd.store(MonotonicTime.after(min(seconds, 1e6)).nanoseconds, ordering: .relaxed)
  }

  /// Requests an iteration.
  package func call() { caller() }

  package var turns: Int { turnCount.load(ordering: .relaxed) }

  /// The end of the announced pause; the clock's start if there is none.
  package var excusedUntil: MonotonicTime { MonotonicTime(nanoseconds: pauseEnd.load(ordering: .relaxed)) }
}

/// The monitored threads of this process.
package enum WatchedThreads {
  private static let roster = Locked<[Heartbeat]>([])

  /// The heartbeats of all running threads.
  package static var all: [Heartbeat] { roster.withLock { $0 } }

  static func add(_ heartbeat: Heartbeat) { roster.withLock { $0.append(heartbeat) } }

  static func remove(_ heartbeat: Heartbeat) { roster.withLock { $0.removeAll { $0 === heartbeat } } }
}

extension DedicatedThread {
  /// Starts a monitored thread whose body is a loop.
  /// - Parameters:
  ///   - call: wakes the loop, from any thread and without blocking.
  ///   - body: receives the heartbeat and calls `beat` in each iteration.
  /// - Throws: `SystemError` if the kernel cannot create a thread.
  package static func startWatched(
    name: String, stackSize: Int = 512 * 1024, call: @escaping @Sendable () -> Void,
    _ body: @escaping @Sendable (Heartbeat) -> Void
  ) throws(SystemError) -> DedicatedThread {
    let heartbeat = Heartbeat(name: name, call: call)
    WatchedThreads.add(heartbeat)
    do throws(SystemError) {
      return try start(name: name, stackSize: stackSize) {
        body(heartbeat)
        WatchedThreads.remove(heartbeat)
      }
    } catch {
      WatchedThreads.remove(heartbeat)
      throw error
    }
  }
}

/// The thread of a source: started once, monitored, and stopped once. It waits on `wake`.
package final class ServiceThread: Sendable {
  package let wake: EventDescriptor
  private let ended: EventDescriptor
  private let state = Locked<(thread: DedicatedThread?, isStopping: Bool)>((nil, false))

  /// Creates the descriptors.
  ///
  /// - Throws: `SystemError` if the process has no free file descriptors.
  package init() throws(SystemError) {
    wake = try EventDescriptor()
    ended = try EventDescriptor()
  }

  package var isStopping: Bool { state.withLock { $0.isStopping } }

  /// Starts the thread. A second call, or a call after `stop`, has no effect.
  /// - Throws: `SystemError` if the kernel cannot create a thread.
  package func start(name: String, _ body: @escaping @Sendable (Heartbeat) -> Void) throws(SystemError) {
    try state.withLock { state throws(SystemError) in
      guard state.thread == nil, !state.isStopping else { return }
      state.thread = try DedicatedThread.startWatched(
        name: name, call: { [wake] in wake.signal() },
        { [ended] heartbeat in
          body(heartbeat)
          ended.signal()
        })
    }
  }

  /// Wakes the thread and waits until it has exited or the time limit has passed. A thread that does not exit
  /// in time is detached.
  /// - Parameter timeout: the time limit in seconds; nil for none.
  /// - Returns: true if the thread has exited.
  @discardableResult
  package func stop(timeout: Double? = nil) -> Bool {
    let thread = state.withLock { state in
      state.isStopping = true
      defer { state.thread = nil }
      return state.thread
    }
    wake.signal()
    guard let thread else { return true }
    if let timeout, !ended.wait(seconds: timeout) {
      thread.detach()
      return false
    }
    thread.join()
    return true
  }
}
