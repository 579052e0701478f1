import Foundation

/// A program that a test started: its output is captured, and it ends with the object at the latest.
///
/// It leads a process group of its own, so that signals also reach what it has started. It is spawned with
/// `posix_spawn(3)`, because Foundation's `Process` needs the run loop of the thread that started it to notice the
/// end.
// Sendable: `status` is used only under `lock`; the rest is constant.
public final class ChildProcess: @unchecked Sendable {
  public let processIdentifier: Int32
  private let outputPath: String
  private let scratch: ScratchFolder
  private let lock = NSLock()
  private var status: Int32?

  /// Starts a program.
  /// - Parameters:
  ///   - program: a name that is looked for in PATH and in the system's folders, or a path.
  ///   - environment: variables beside those of the test.
  public init(_ program: String, _ arguments: [String], environment: [String: String] = [:]) throws {
    guard let path = Self.find(program) else { throw ChildProcessError.notInstalled(program) }
    scratch = try ScratchFolder()
    outputPath = try scratch.write("", to: "output")

    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, outputPath, O_WRONLY | O_APPEND, 0)
    posix_spawn_file_actions_adddup2(&actions, 1, 2)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    posix_spawnattr_setpgroup(&attributes, 0)
    // The test runner's own mask and handlers are no business of the program's.
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    sigfillset(&signals)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    let flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
    posix_spawnattr_setflags(&attributes, Int16(flags))

    let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    let argv = ([path] + arguments).map { strdup($0) } + [nil]
    let envp = variables.map { strdup("\($0)=\($1)") } + [nil]
    defer { for text in argv + envp { free(text) } }
    var identifier: pid_t = 0
    let code = posix_spawn(&identifier, path, &actions, &attributes, argv, envp)
    guard code == 0 else { throw ChildProcessError.didNotStart(program, String(cString: strerror(code))) }
    processIdentifier = identifier
  }

  deinit { terminate() }

  /// What it has written to stdout and stderr so far.
  public var output: String {
    (try? String(decoding: Data(contentsOf: URL(fileURLWithPath: outputPath)), as: UTF8.self)) ?? ""
  }

  public var isRunning: Bool { exitStatus == nil }

  /// How it ended: the exit code, or minus the number of the signal that ended it. Nil while it runs.
  public var exitStatus: Int32? {
    lock.withLock {
      if status == nil {
        var raw: Int32 = 0
        if waitpid(processIdentifier, &raw, WNOHANG) == processIdentifier {
          let signal = raw & 0x7F
          status = signal == 0 ? (raw >> 8) & 0xFF : -signal
        }
      }
      return status
    }
  }

  /// Sends a signal to it and to what it started.
  public func signal(_ number: Int32) { kill(-processIdentifier, number) }

  /// Asks it and what it started to end, insists after two seconds, and returns when it has ended.
  public func terminate() {
    signal(SIGTERM)
    _ = waitUntil(seconds: 2) { !isRunning }
    // What it started may outlive it.
    signal(SIGKILL)
    _ = waitUntil(seconds: 10) { !isRunning }
  }

  /// Where a program is; nil when it is not installed.
  public static func find(_ program: String) -> String? {
    if program.contains("/") { return FileManager.default.isExecutableFile(atPath: program) ? program : nil }
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    let folders = path.split(separator: ":").map(String.init) + ["/usr/sbin", "/usr/local/sbin", "/sbin"]
    return folders.map { $0 + "/" + program }.first(where: FileManager.default.isExecutableFile(atPath:))
  }
}

public enum ChildProcessError: Error, CustomStringConvertible {
  case notInstalled(String)
  case didNotStart(String, String)

  public var description: String {
    switch self {
    case .notInstalled(let program): "\(program) is not installed"
    case .didNotStart(let program, let cause): "start \(program): \(cause)"
    }
  }
}
