import Foundation

/// A program that a test started: its output is captured, and it ends with the object at the latest.
///
/// It leads a process group of its own (`setsid`), so that `terminate` also reaches what it has started.
// Sendable: `process` is used under `lock` after `init`.
public final class ChildProcess: @unchecked Sendable {
  public let processIdentifier: Int32
  private let process = Process()
  private let outputPath: String
  private let scratch: ScratchFolder
  private let lock = NSLock()

  /// Starts a program.
  /// - Parameter program: a name that is looked for in PATH and in the system's folders, or a path.
  public init(_ program: String, _ arguments: [String], environment: [String: String] = [:]) throws {
    scratch = try ScratchFolder()
    outputPath = try scratch.write("", to: "output")
    guard let path = Self.find(program) else { throw ChildProcessError.notInstalled(program) }
    let output = try FileHandle(forWritingTo: URL(fileURLWithPath: outputPath))
    process.executableURL = URL(fileURLWithPath: "/usr/bin/setsid")
    process.arguments = [path] + arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = output
    try process.run()
    processIdentifier = process.processIdentifier
  }

  deinit { terminate() }

  /// What it has written to stdout and stderr so far.
  public var output: String {
    (try? String(decoding: Data(contentsOf: URL(fileURLWithPath: outputPath)), as: UTF8.self)) ?? ""
  }

  public var isRunning: Bool { lock.withLock { process.isRunning } }

  /// The exit status, once it has ended.
  public var exitStatus: Int32? { lock.withLock { process.isRunning ? nil : process.terminationStatus } }

  /// Sends a signal to it and to what it started.
  public func signal(_ number: Int32) { kill(-processIdentifier, number) }

  /// Asks it and what it started to end, insists after two seconds, and returns when it has ended.
  public func terminate() {
    signal(SIGTERM)
    let deadline = Date().addingTimeInterval(2)
    while isRunning, Date() < deadline { usleep(10_000) }
    signal(SIGKILL)
    lock.withLock { process.waitUntilExit() }
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

  public var description: String {
    switch self {
    case .notInstalled(let program): "\(program) is not installed"
    }
  }
}
