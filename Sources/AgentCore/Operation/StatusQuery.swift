internal import Glibc
internal import JSON
internal import Platform
internal import Telemetry

/// Implements `odographd status`: requests the state of the agent on this machine.
package struct StatusQuery {
  private let path: String
  private let isDefault: Bool
  /// Time limit in s; a working agent answers in a fraction of a second.
  private static let timeLimit = 5.0
  private static let sizeLimit = 1 << 20

  /// - Parameter socket: the agent's socket; nil uses the configured one, or the default.
  package init(_ configuration: AgentConfiguration?, socket: String?) {
    let named = socket ?? configuration?.operation.controlSocket
    path = named ?? AgentFolders.system.listening
    isDefault = named == nil
  }

  /// Returns the document as received.
  ///
  /// - Throws: `SystemError` naming the socket, if no agent answers.
  package func document() throws -> [UInt8] {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw failure("ask", errno) }
    defer { close(descriptor) }
    guard path.utf8.count <= LocalSocket.pathLimit else { throw failure("ask", ENAMETOOLONG) }
    guard LocalSocket.withAddress(path, { connect(descriptor, $0, $1) }) == 0 else {
      throw failure("query the agent at", errno)
    }
    var document: [UInt8] = []
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let deadline = MonotonicTime.after(Self.timeLimit)
    while document.count < Self.sizeLimit {
      let left = deadline.secondsRemaining
      guard left > 0, waitUntilReadable([descriptor], seconds: left) != nil else {
        throw failure("wait for the agent at", ETIMEDOUT)
      }
      let count = read(descriptor, &bytes, bytes.count)
      if count < 0 { throw failure("query the agent at", errno) }
      if count == 0 { break }
      document += bytes[..<count]
    }
    return document
  }

  /// Returns the document as text, with one or more lines for each part.
  ///
  /// - Throws: as `document()`, and `JSONError` for an invalid answer.
  package func lines() throws -> [String] { StatusText.lines(try JSONValue(parsing: try document())) }

  /// Returns the remedy for an error of `document()`, to be appended to it; empty if there is none.
  package func remedy(for error: any Error) -> String {
    switch (error as? SystemError)?.code {
    case ENOENT:
      "; start the agent, or name its configuration with --config, or its socket with --socket"
        + (isDefault && geteuid() != 0 ? ", or set XDG_RUNTIME_DIR to that of the agent" : "")
    case ECONNREFUSED: "; the agent has ended: start it"
    case EACCES: "; join the group of the socket, or run as root"
    case ETIMEDOUT: "; the agent runs, and does not answer: see its log"
    default: ""
    }
  }

  private func failure(_ operation: String, _ code: Int32) -> SystemError {
    SystemError(operation: operation, object: "\(path) (control.socket)", code: code)
  }
}
