internal import Glibc
internal import JSON
internal import Platform
internal import Telemetry

/// What `odographd status` does: asks the agent that runs on this machine how it is.
package struct StatusQuery {
  private let path: String
  /// Seconds; an agent that is well answers in a fraction of one.
  private static let timeLimit = 5.0
  private static let sizeLimit = 1 << 20

  /// - Parameter socket: the agent's socket; nil takes the one that the configuration names, or the usual one.
  package init(_ configuration: AgentConfiguration?, socket: String?) {
    path = socket ?? configuration?.operation.controlSocket ?? AgentFolders.system.listening
  }

  /// The document as it came.
  ///
  /// - Throws: `SystemError` naming the socket, when no agent answers there.
  package func document() throws -> [UInt8] {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw failure("ask", errno) }
    defer { close(descriptor) }
    guard path.utf8.count <= LocalSocket.pathLimit else { throw failure("ask", ENAMETOOLONG) }
    guard LocalSocket.withAddress(path, { connect(descriptor, $0, $1) }) == 0 else {
      throw failure("ask the agent at", errno)
    }
    var document: [UInt8] = []
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let deadline = SystemClock.monotonic + Int64(Self.timeLimit * 1e9)
    while document.count < Self.sizeLimit {
      let left = Double(deadline - SystemClock.monotonic) * 1e-9
      guard left > 0, waitUntilReadable([descriptor], seconds: left) != nil else {
        throw failure("wait for the agent at", ETIMEDOUT)
      }
      let count = read(descriptor, &bytes, bytes.count)
      if count < 0 { throw failure("ask the agent at", errno) }
      if count == 0 { break }
      document += bytes[..<count]
    }
    return document
  }

  /// The same for people: a line or some for each part.
  ///
  /// - Throws: as `document()`, and `JSONError` for an answer that is none.
  package func lines() throws -> [String] { StatusText.lines(try JSONValue(parsing: try document())) }

  private func failure(_ operation: String, _ code: Int32) -> SystemError {
    SystemError(operation: operation, object: "\(path) (control.socket)", code: code)
  }
}
