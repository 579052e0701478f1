internal import Foundation
internal import Glibc

/// A wall clock for child processes that a test can set, stop and start (libfaketime with a timestamp file).
public final class FakeClock: Sendable {
  /// The clocks of a child process that are faked.
  public enum Reach: Sendable {
    /// Only the wall clock, as after `date -s`; the kernel's monotonic clocks never jump.
    case wallClock
    /// Every clock, as after a long suspend.
    case allClocks
  }

  private let file: String
  private let library: String
  private let reach: Reach

  private static let libraries = [
    "/usr/lib/\(machine)-linux-gnu/faketime/libfaketimeMT.so.1", "/usr/lib/faketime/libfaketimeMT.so.1",
    "/usr/local/lib/faketime/libfaketimeMT.so.1", "/usr/lib64/faketime/libfaketimeMT.so.1",
  ]

  private static var machine: String {
    var name = utsname()
    uname(&name)
    return withUnsafeBytes(of: &name.machine) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }

  private static let installed = libraries.first(where: FileManager.default.fileExists(atPath:))

  /// True if libfaketime is installed (Debian: faketime).
  static var isInstalled: Bool { installed != nil }

  /// Creates a clock that runs and shows the correct time.
  public init(in directory: TemporaryDirectory, reach: Reach = .wallClock) throws {
    guard let library = Self.installed else { throw CocoaError(.fileNoSuchFile) }
    self.library = library
    self.reach = reach
    file = directory.file("clock")
    try set("+0")
  }

  /// Starts a program that uses this clock.
  /// - Parameter output: the file to which stdout and stderr are appended.
  public func start(_ program: String, _ arguments: [String], output: String) throws -> ChildProcess {
    // In the first process that loads the library, the environment moves on the stack, and Swift can no longer find the arguments.
    try ChildProcess(
      "sh", ["-c", #"exec "$0" "$@""#, program] + arguments, output: output, environment: environment)
  }

  /// The environment of a child process that uses this clock. Start Swift programs through a shell.
  public var environment: [String: String] {
    var variables = ["LD_PRELOAD": library, "FAKETIME_TIMESTAMP_FILE": file, "FAKETIME_NO_CACHE": "1"]
    if reach == .wallClock { variables["FAKETIME_DONT_FAKE_MONOTONIC"] = "1" }
    return variables
  }

  /// Shifts the clock by this number of days from the correct time; it continues to run.
  public func jump(days: Int) throws { try set((days < 0 ? "\(days)" : "+\(days)") + "d") }

  /// Stops the clock.
  /// - Parameter time: such as "2026-11-21 12:00:00".
  public func stop(at time: String) throws { try set(time) }

  // Written atomically: a child process may read the file at any time.
  private func set(_ stamp: String) throws {
    try Data((stamp + "\n").utf8).write(to: URL(fileURLWithPath: file), options: .atomic)
  }
}
