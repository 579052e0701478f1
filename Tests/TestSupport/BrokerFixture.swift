internal import Foundation
internal import Glibc
internal import Platform

/// A real mosquitto on a free loopback port, with a directory of its own; ended with the fixture.
public final class BrokerFixture: Sendable {
  public let port: Int
  public let directory: TemporaryDirectory
  private let configuration: String
  private let process = Locked<ChildProcess?>(nil)

  /// Starts a broker and waits until it accepts.
  /// - Parameter extra: further lines of its configuration; `DIRECTORY` in them stands for its directory.
  public init(_ extra: [String] = ["allow_anonymous true"], directory: TemporaryDirectory? = nil) throws {
    self.directory = try directory ?? TemporaryDirectory()
    let directory = self.directory.path
    port = try FreePort.next()
    let lines = [
      "listener \(port) 127.0.0.1", "user root", "log_dest file \(directory)/broker.log", "log_type all",
      "log_timestamp_format %H:%M:%S", "max_queued_messages 0", "max_inflight_messages 0",
    ]
    let own = extra.map { line in
      line.split(separator: "DIRECTORY", omittingEmptySubsequences: false).joined(separator: directory)
    }
    configuration = try self.directory.write("broker.conf", (lines + own).joined(separator: "\n") + "\n")
    try start()
  }

  /// Starts it (again) on the same port.
  public func start() throws {
    let started = try ChildProcess(
      "mosquitto", ["-c", configuration], output: directory.file("broker.out"))
    process.withLock { $0 = started }
    for _ in 0..<500 {
      if FreePort.isAccepting(port) { return }
      guard started.isRunning else { break }
      usleep(10_000)
    }
    throw SystemError(operation: "start", object: "mosquitto on port \(port)", code: ECONNREFUSED)
  }

  /// Waits until its log says something so many times; the test's time limit ends a wait that never does.
  public func waitForLog(_ text: String, times: Int = 1) async throws {
    while logCount(text) < times { try await Task.sleep(for: .milliseconds(5)) }
  }

  /// How many times its log has said something.
  public func logCount(_ text: String) -> Int {
    let log = FileManager.default.contents(atPath: directory.file("broker.log")) ?? Data()
    return String(decoding: log, as: UTF8.self).components(separatedBy: text).count - 1
  }

  /// Sends it a signal.
  public func signal(_ number: Int32) { process.withLock { $0 }?.signal(number) }

  /// Whether a database that it was told to save is whole: it writes a new file and renames it.
  public var hasSavedDatabase: Bool {
    let files = FileManager.default
    return files.fileExists(atPath: directory.file("mosquitto.db"))
      && !files.fileExists(atPath: directory.file("mosquitto.db.new"))
  }

  /// Ends it as a power cut would.
  public func kill() { process.withLock { $0 }?.kill() }

  /// Ends it in order.
  public func stop() { process.withLock { $0 }?.terminate() }

  /// Freezes it: connections stand and nothing answers.
  public func freeze() { process.withLock { $0 }?.signal(SIGSTOP) }

  public func thaw() { process.withLock { $0 }?.signal(SIGCONT) }
}
