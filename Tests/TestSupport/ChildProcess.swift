internal import Foundation
internal import Glibc
internal import Platform

/// A child process in its own session, so that signals also reach its descendants. It is killed, at the latest, when the object is
/// released.
public final class ChildProcess: Sendable {
  public let processID: Int32
  private let outputPath: String
  private let ownDirectory: TemporaryDirectory?
  private let status = Locked<Int32?>(nil)

  /// Starts a program.
  /// - Parameters:
  ///   - program: a path, or a name to find in PATH and the system's `sbin` folders.
  ///   - output: the file to which stdout and stderr are appended; nil creates a temporary file, read with `output`.
  ///   - environment: variables that are added to the inherited ones or replace them.
  /// - Throws: `SystemError` if the program cannot be started.
  public init(
    _ program: String, _ arguments: [String] = [], output: String? = nil, environment: [String: String] = [:]
  ) throws {
    guard let path = Self.find(program) else {
      throw SystemError(operation: "start", object: program, code: ENOENT)
    }
    ownDirectory = output == nil ? try TemporaryDirectory() : nil
    outputPath = output ?? ownDirectory?.file("output") ?? "/dev/null"
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, outputPath, O_WRONLY | O_CREAT | O_APPEND, 0o644)
    posix_spawn_file_actions_adddup2(&actions, 1, 2)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // A test process ignores SIGPIPE and may block signals; its children would inherit both.
    var defaults = sigset_t()
    sigfillset(&defaults)
    posix_spawnattr_setsigdefault(&attributes, &defaults)
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETSIGDEF) | Int16(POSIX_SPAWN_SETSIGMASK) | Self.newSession)
    let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    var argv = ([path] + arguments).map { strdup($0) } + [nil]
    var envp = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for pointer in argv + envp { free(pointer) } }
    var id: pid_t = 0
    let code = posix_spawn(&id, path, &actions, &attributes, &argv, &envp)
    guard code == 0 else { throw SystemError(operation: "start", object: path, code: code) }
    processID = id
  }

  deinit { kill() }

  /// `POSIX_SPAWN_SETSID`, which glibc hides without _GNU_SOURCE.
  private static let newSession: Int16 = 0x80

  /// Content of stdout and stderr so far.
  public var output: String {
    (try? String(decoding: Data(contentsOf: URL(fileURLWithPath: outputPath)), as: UTF8.self)) ?? ""
  }

  /// True while the process runs.
  public var isRunning: Bool { reap(WNOHANG) == nil }

  /// The exit status, or the negated number of the terminating signal; nil while the process runs.
  public var exitStatus: Int32? { reap(WNOHANG) }

  /// Sends a signal to the process and its descendants.
  public func signal(_ number: Int32) {
    if isRunning { _ = Glibc.kill(-processID, number) }
  }

  /// Sends SIGTERM, after 20 s SIGKILL, and waits until the process has exited.
  @discardableResult
  public func terminate() -> Int32 {
    signal(SIGTERM)
    for _ in 0..<2000 where isRunning { usleep(10_000) }
    return kill()
  }

  /// Kills the process and its descendants with SIGKILL and waits until the process has exited.
  @discardableResult
  public func kill() -> Int32 {
    signal(SIGKILL)
    return waitForExit()
  }

  /// Waits until the process has exited. Returns the exit status, or the negated number of the terminating signal.
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

  /// Returns the path of a program; nil if it is not installed.
  public static func find(_ program: String) -> String? {
    if program.contains("/") { return FileManager.default.isExecutableFile(atPath: program) ? program : nil }
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    let folders = path.split(separator: ":").map(String.init) + ["/usr/sbin", "/usr/local/sbin", "/sbin"]
    return folders.map { $0 + "/" + program }.first(where: FileManager.default.isExecutableFile(atPath:))
  }
}
