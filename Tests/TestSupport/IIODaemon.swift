internal import Glibc
internal import Platform

/// An iiod on a free loopback port. It serves the `local:` context of the thread that starts it.
public final class IIODaemon: Sendable {
  public let port: Int
  private let process: ChildProcess

  public var uri: String { "ip:127.0.0.1:\(port)" }

  /// Starts the daemon and waits until it accepts connections.
  ///
  /// - Parameter port: the port to use, such as the previous one for a restart; nil for a free one.
  public init(port wanted: Int? = nil) throws {
    let port = try wanted ?? FreePort.next()
    self.port = port
    process = try ChildProcess("iiod", ["-u", "local:", "-p", "\(port)"])
    guard waitUntil({ FreePort.isAccepting(port) }) else {
      throw SystemError(operation: "wait for", object: "iiod on port \(port)", code: ETIMEDOUT)
    }
  }

  /// Kills the daemon with SIGKILL.
  public func kill() { process.kill() }
}
