internal import Synchronization

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
