internal import Foundation
internal import Glibc

/// A wall clock for child processes that a test may set, stop and start (libfaketime, by its file of the time stamp).
public final class FakeClock: Sendable {
  /// Which of a child's clocks obey.
  public enum Reach: Sendable {
    /// The wall clock alone, as when somebody sets it: the kernel's other clocks never jump.
    case wallClock
    /// All clocks, as after a long sleep.
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

  /// Whether libfaketime is installed (Debian: faketime).
  static var isInstalled: Bool { installed != nil }

  /// The clock runs, and is right.
  public init(in directory: TemporaryDirectory, reach: Reach = .wallClock) throws {
    guard let library = Self.installed else { throw CocoaError(.fileNoSuchFile) }
    self.library = library
    self.reach = reach
    file = directory.file("clock")
    try set("+0")
  }

  /// Starts a program that lives by this clock.
  /// - Parameter output: the file that takes its stdout and stderr.
  public func start(_ program: String, _ arguments: [String], output: String) throws -> ChildProcess {
    // The first process with the library loses its environment's place on the stack, by which Swift finds the arguments.
    try ChildProcess(
      "sh", ["-c", #"exec "$0" "$@""#, program] + arguments, output: output, environment: environment)
  }

  /// The environment of a child that lives by this clock; a Swift program has to be started by a shell then.
  public var environment: [String: String] {
    var variables = ["LD_PRELOAD": library, "FAKETIME_TIMESTAMP_FILE": file, "FAKETIME_NO_CACHE": "1"]
    if reach == .wallClock { variables["FAKETIME_DONT_FAKE_MONOTONIC"] = "1" }
    return variables
  }

  /// Sets the clock so many days off the right time; it runs on.
  public func jump(days: Int) throws { try set((days < 0 ? "\(days)" : "+\(days)") + "d") }

  /// Stops the clock.
  /// - Parameter time: as in "2026-11-21 12:00:00".
  public func stop(at time: String) throws { try set(time) }

  // A child reads the file at any moment: it is replaced as a whole.
  private func set(_ stamp: String) throws {
    try Data((stamp + "\n").utf8).write(to: URL(fileURLWithPath: file), options: .atomic)
  }
}
