internal import Glibc
internal import Platform

/// A connection to the sensor rig's text protocol (Tests/SensorRig/README.md).
struct RigConnection: ~Copyable {
  private let descriptor: Int32
  private var received: [UInt8] = []

  /// - Throws: `SystemError` if the port does not accept the connection.
  init(port: Int) throws(SystemError) {
    descriptor = LoopbackSocket.connect(port)
    guard descriptor >= 0 else {
      throw SystemError(operation: "connect to", object: "sensor rig on port \(port)", code: errno)
    }
    // Fails a test whose guest hangs. On a busy machine, a working guest can be silent for minutes.
    var limit = timeval(tv_sec: 180, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { close(descriptor) }

  func send(_ text: String, _ payload: [UInt8] = []) throws(SystemError) {
    guard LoopbackSocket.sendAll(descriptor, (Array("\(text)\n".utf8) + payload)[...]) else {
      throw SystemError(operation: "send \(text) to", object: "sensor rig", code: errno)
    }
  }

  /// Reads the next line of the response.
  mutating func line() throws(SystemError) -> String {
    var chunk = [UInt8](repeating: 0, count: 4096)
    while true {
      if let end = received.firstIndex(of: UInt8(ascii: "\n")) {
        defer { received.removeSubrange(...end) }
        return String(decoding: received[..<end], as: UTF8.self)
      }
      let count = recv(descriptor, &chunk, chunk.count, 0)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        throw SystemError(
          operation: "read the answer of", object: "sensor rig", code: count == 0 ? ECONNRESET : errno)
      }
      received += chunk[..<count]
    }
  }

  /// Sends a command; returns the lines before its "ok".
  mutating func command(_ text: String, _ payload: [UInt8] = []) throws -> [String] {
    try send(text, payload)
    var lines: [String] = []
    while true {
      let line = try line()
      if line == "ok" || line.hasPrefix("ok ") { return lines }
      if line.hasPrefix("error ") { throw RigError("\(text): \(line.dropFirst(6))") }
      lines.append(line)
    }
  }
}

/// An error reported by the rig, or the reason why it does not start.
public struct RigError: Error, CustomStringConvertible {
  public let description: String

  init(_ description: String) { self.description = "sensor rig: \(description)" }
}

/// A program that runs in the rig's guest. It is stopped, at the latest, when the value is destroyed.
public struct RigProgram: ~Copyable {
  private var connection: RigConnection

  init(_ command: String, connection: consuming RigConnection) throws {
    try connection.send("exec \(command)")
    self.connection = connection
  }

  /// Sends a signal, such as "TERM", to its process group.
  public func signal(_ name: String) throws { try connection.send("signal \(name)") }

  /// Waits until the program has exited.
  /// - Returns: the exit status (128 plus the signal number if a signal ended it), and the lines of stdout and stderr.
  public mutating func waitForExit() throws -> (status: Int, output: [String]) {
    var output: [String] = []
    while true {
      let line = try connection.line()
      if line.hasPrefix("exit ") { return (Int(line.dropFirst(5)) ?? -1, output) }
      if line.hasPrefix("error ") { throw RigError(line) }
      output.append(String(line.dropFirst(2)))
    }
  }
}
