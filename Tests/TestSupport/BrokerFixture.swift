internal import Foundation
internal import Glibc
internal import Platform

/// A mosquitto broker on a free loopback port with its own temporary directory. It is stopped when the fixture is released.
public final class BrokerFixture: Sendable {
  public let port: Int
  public let directory: TemporaryDirectory
  private let configuration: String
  private let process = Locked<ChildProcess?>(nil)

  /// Starts a broker and waits until it accepts connections.
  /// - Parameter extra: additional lines of `mosquitto.conf`; `DIRECTORY` in them is replaced with the path of the temporary directory.
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

  /// Starts (or restarts) the broker on the same port.
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

  /// Waits until `text` occurs at least `times` times in the broker's log. There is no timeout; use the time limit of the test.
  public func waitForLog(_ text: String, times: Int = 1) async throws {
    while logCount(text) < times { try await Task.sleep(for: .milliseconds(5)) }
  }

  /// Returns the number of occurrences of `text` in the broker's log.
  public func logCount(_ text: String) -> Int {
    let log = FileManager.default.contents(atPath: directory.file("broker.log")) ?? Data()
    return String(decoding: log, as: UTF8.self).components(separatedBy: text).count - 1
  }

  /// Sends a signal to the broker.
  public func signal(_ number: Int32) { process.withLock { $0 }?.signal(number) }

  /// True if the persistence database has been saved completely: mosquitto writes a new file, then renames it.
  public var hasSavedDatabase: Bool {
    let files = FileManager.default
    return files.fileExists(atPath: directory.file("mosquitto.db"))
      && !files.fileExists(atPath: directory.file("mosquitto.db.new"))
  }

  /// Stops the broker with SIGKILL, like a power failure.
  public func kill() { process.withLock { $0 }?.kill() }

  /// Stops the broker with SIGTERM.
  public func stop() { process.withLock { $0 }?.terminate() }

  /// Suspends the broker with SIGSTOP: connections stay open, but nothing is answered.
  public func freeze() { process.withLock { $0 }?.signal(SIGSTOP) }

  public func thaw() { process.withLock { $0 }?.signal(SIGCONT) }
}
