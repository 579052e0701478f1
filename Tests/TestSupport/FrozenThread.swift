internal import CLinux
internal import Foundation
internal import Glibc
public import Platform

/// A thread of another process, stopped by ptrace(2) while the other threads continue. It simulates a blocked thread.
public final class FrozenThread: Sendable {
  private let release: EventDescriptor
  private let tracer: DedicatedThread
  private let isThawed = Locked(false)

  /// - Parameter name: name of the thread in /proc.
  /// - Throws: `SystemError`: `ESRCH` if there is no such thread, `EPERM` if tracing is not permitted.
  public init(_ name: String, of processID: Int32) throws(SystemError) {
    guard let thread = Self.find(name, of: processID) else {
      throw SystemError(operation: "find thread", object: name, code: ESRCH)
    }
    let (release, ready) = (try EventDescriptor(), try EventDescriptor())
    let problem = Locked<Int32>(0)
    self.release = release
    // Only the thread that stopped the other thread may resume it.
    tracer = try DedicatedThread.start(name: "tracer") {
      if odograph_ptrace_stop(thread) == 0 {
        var status: Int32 = 0
        _ = waitpid(thread, &status, odograph_wait_all)
        ready.signal()
        while !release.wait(seconds: 3600) {}
        _ = odograph_ptrace_release(thread)
      } else {
        let code = errno
        problem.withLock { $0 = code }
        ready.signal()
      }
    }
    _ = ready.wait(seconds: 60)
    let code = problem.withLock { $0 }
    guard code == 0 else { throw SystemError(operation: "stop thread", object: name, code: code) }
  }

  deinit { thaw() }

  /// Resumes the thread.
  public func thaw() {
    let isFirst = isThawed.withLock { isThawed in
      defer { isThawed = true }
      return !isThawed
    }
    guard isFirst else { return }
    release.signal()
    tracer.join()
  }

  private static func find(_ name: String, of processID: Int32) -> Int32? {
    let folder = "/proc/\(processID)/task"
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return threads.first { thread in
      (try? String(contentsOfFile: "\(folder)/\(thread)/comm", encoding: .utf8)) == name + "\n"
    }.flatMap { Int32($0) }
  }
}
