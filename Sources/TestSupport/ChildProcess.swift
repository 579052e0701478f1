internal import Glibc
internal import Platform

/// A program that a test runs beside itself, ended by its process id.
public final class ChildProcess: Sendable {
  public let processID: Int32
  private let status = Locked<Int32?>(nil)

  /// Starts a program.
  /// - Parameters:
  ///   - path: absolute, or looked up in PATH.
  ///   - output: the file that takes stdout and stderr; nil discards them.
  ///   - environment: nil inherits.
  /// - Throws: `SystemError` when it cannot be started.
  public init(
    _ path: String, _ arguments: [String] = [], output: String? = nil, environment: [String]? = nil
  ) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(
      &actions, 1, output ?? "/dev/null", O_WRONLY | O_CREAT | O_APPEND, 0o644)
    posix_spawn_file_actions_adddup2(&actions, 1, 2)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // A test process ignores SIGPIPE, and its children would inherit that.
    var defaults = sigset_t()
    sigfillset(&defaults)
    posix_spawnattr_setsigdefault(&attributes, &defaults)
    // The threads of a pool block nearly all signals, and their children would inherit that too.
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
    var argv = ([path] + arguments).map { strdup($0) } + [nil]
    var envp = (environment ?? []).map { strdup($0) } + [nil]
    defer { for pointer in argv + envp { free(pointer) } }
    var id: pid_t = 0
    let code = envp.withUnsafeMutableBufferPointer { own in
      posix_spawnp(&id, path, &actions, &attributes, &argv, environment == nil ? environ : own.baseAddress)
    }
    guard code == 0 else { throw SystemError(operation: "start", object: path, code: code) }
    processID = id
  }

  deinit { kill() }

  /// Whether it still runs.
  public var isRunning: Bool { reap(WNOHANG) == nil }

  /// Sends a signal.
  public func signal(_ number: Int32) {
    if isRunning { _ = Glibc.kill(processID, number) }
  }

  /// Ends it with SIGTERM, after two seconds with SIGKILL, and waits for its end.
  @discardableResult
  public func terminate() -> Int32 {
    signal(SIGTERM)
    for _ in 0..<200 where isRunning { usleep(10_000) }
    return kill()
  }

  /// Ends it with SIGKILL and waits for its end.
  @discardableResult
  public func kill() -> Int32 {
    if isRunning { _ = Glibc.kill(processID, SIGKILL) }
    return waitForExit()
  }

  /// Waits for its end. Returns the exit status, or minus the signal that ended it.
  @discardableResult
  public func waitForExit() -> Int32 { reap(0) ?? -1 }

  private func reap(_ options: Int32) -> Int32? {
    status.withLock { status in
      if let status { return status }
      var raw: Int32 = 0
      guard waitpid(processID, &raw, options) == processID else { return nil }
      let signal = raw & 0x7F
      status = signal == 0 ? (raw >> 8) & 0xFF : -signal
      return status
    }
  }
}
