internal import CLinux
internal import Glibc
internal import Synchronization

/// An operating-system thread of its own for work that blocks: reading a device, talking to gpsd or a
/// broker. Blocking calls never run on Swift's cooperative pool.
public struct DedicatedThread: Sendable {
  private let handle: pthread_t

  /// Starts a thread.
  /// - Parameters:
  ///   - name: shown by `top -H` and in core dumps; the kernel keeps the first 15 bytes.
  ///   - stackSize: bytes; the pages are taken only when touched.
  ///   - body: runs once; the thread ends when it returns.
  /// - Throws: `SystemError` when the kernel has no room for another thread.
  public static func start(
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

  /// Waits until the thread has ended. Call it once, from another thread.
  public func join() { pthread_join(handle, nil) }

  /// Nobody will wait for its end: what the thread holds is given back then. Call either this or `join`.
  public func detach() { pthread_detach(handle) }
}

private final class ThreadBody: Sendable {
  let name: String
  let run: @Sendable () -> Void

  init(name: String, run: @escaping @Sendable () -> Void) {
    self.name = String(name.prefix(15))
    self.run = run
  }
}

/// A thread's sign of life: the thread counts each turn of its loop, and whoever doubts it calls and looks whether another
/// turn follows. A thread that waits is therefore never woken for it unless somebody watches.
public final class Heartbeat: Sendable {
  /// As the kernel shows the thread in `top -H`.
  public let name: String
  private let turnCount = Atomic(0)
  private let pauseEnd = Atomic<Int64>(0)
  private let caller: @Sendable () -> Void

  /// - Parameter call: makes the thread's loop turn, from any thread and without waiting.
  public init(name: String, call: @escaping @Sendable () -> Void) {
    self.name = String(name.prefix(15))
    caller = call
  }

  /// Counts a turn. The thread's own to call.
  public func beat() {
    turnCount.add(1, ordering: .relaxed)
    if pauseEnd.load(ordering: .relaxed) != 0 { pauseEnd.store(0, ordering: .relaxed) }
  }

  /// Says that what follows, until the next turn, may take so many seconds with good reason, as the lookup of a name does.
  public func expectPause(seconds: Double) {
    pauseEnd.store(SystemClock.monotonic &+ Int64(min(seconds, 1e6) * 1e9), ordering: .relaxed)
  }

  /// Asks for a turn.
  public func call() { caller() }

  public var turns: Int { turnCount.load(ordering: .relaxed) }

  /// Until when (`SystemClock.monotonic`, ns) the thread has excused itself; 0 when it has not.
  public var excusedUntil: Int64 { pauseEnd.load(ordering: .relaxed) }
}

/// The threads of this process whose loops must turn.
public enum WatchedThreads {
  private static let roster = Locked<[Heartbeat]>([])

  /// Those that run now.
  public static var all: [Heartbeat] { roster.withLock { $0 } }

  static func add(_ heartbeat: Heartbeat) { roster.withLock { $0.append(heartbeat) } }

  static func remove(_ heartbeat: Heartbeat) { roster.withLock { $0.removeAll { $0 === heartbeat } } }
}

extension DedicatedThread {
  /// Starts a thread whose body is a loop that can be watched from its start to its end.
  /// - Parameters:
  ///   - call: makes the loop turn, from any thread and without waiting.
  ///   - body: is handed its heartbeat, and lets it beat in each turn.
  /// - Throws: `SystemError` when the kernel has no room for another thread.
  public static func startWatched(
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

/// The thread of a source: started once, watched, and stopped once; it waits on `wake`.
public final class ServiceThread: Sendable {
  public let wake: EventDescriptor
  private let ended: EventDescriptor
  private let state = Locked<(thread: DedicatedThread?, isStopping: Bool)>((nil, false))

  /// - Throws: `SystemError` when the process has no file descriptor left.
  public init() throws(SystemError) {
    wake = try EventDescriptor()
    ended = try EventDescriptor()
  }

  public var isStopping: Bool { state.withLock { $0.isStopping } }

  /// Starts the thread; a second call, or one after `stop`, does nothing.
  /// - Throws: `SystemError` when the kernel has no room for another thread.
  public func start(name: String, _ body: @escaping @Sendable (Heartbeat) -> Void) throws(SystemError) {
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

  /// Wakes the thread and returns when it has ended, or after a time at most: then it is left alone.
  /// - Parameter patience: seconds; nil waits for ever.
  /// - Returns: whether it has ended.
  @discardableResult
  public func stop(patience: Double? = nil) -> Bool {
    let thread = state.withLock { state in
      state.isStopping = true
      defer { state.thread = nil }
      return state.thread
    }
    wake.signal()
    guard let thread else { return true }
    if let patience, !ended.wait(seconds: patience) {
      thread.detach()
      return false
    }
    thread.join()
    return true
  }
}
