internal import Glibc
internal import Platform

/// A real iiod on a free loopback port, serving what the thread that starts it sees as `local:`.
public final class IIODaemon: Sendable {
  public let port: Int
  private let process: ChildProcess

  public var uri: String { "ip:127.0.0.1:\(port)" }

  /// Starts the daemon and waits until it answers.
  ///
  /// - Parameter port: to be served again after a restart; nil takes a free one.
  public init(port wanted: Int? = nil) throws {
    let port = try wanted ?? FreePort.next()
    self.port = port
    process = try ChildProcess("iiod", ["-u", "local:", "-p", "\(port)"])
    guard waitUntil({ FreePort.isAccepting(port) }) else {
      throw SystemError(operation: "wait for", object: "iiod on port \(port)", code: ETIMEDOUT)
    }
  }

  /// Ends the daemon as a crash would.
  public func kill() { process.kill() }
}
