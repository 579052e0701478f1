internal import Glibc
internal import Platform

/// The agent's local status socket. Each client receives one JSON document, and the connection is closed.
/// Nothing is read, so clients cannot send invalid input. The agent never waits: a client that does not read
/// finds the document in its buffer or misses it.
final class ControlSocket {
  let path: String
  let descriptor: Int32
  /// Connections that wait for the document. Their number is limited; further connections wait in the
  /// kernel's queue.
  private(set) var waiting: [Int32] = []

  private static let capacity = 16

  /// Creates the socket, and replaces an existing socket on which no process listens.
  /// - Throws: `SystemError`, for example if the folder is missing or another agent is listening.
  init(path: String) throws(SystemError) {
    guard path.utf8.count <= LocalSocket.pathLimit else {
      throw SystemError(operation: "listen on", object: path, code: ENAMETOOLONG)
    }
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let descriptor = socket(AF_UNIX, type, 0)
    guard descriptor >= 0 else { throw SystemError(operation: "create", object: "socket", code: errno) }
    func attempt(_ call: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
      LocalSocket.withAddress(path) { call($0, $1) == 0 ? 0 : errno }
    }
    var problem = attempt { bind(descriptor, $0, $1) }
    if problem == EADDRINUSE {
      let probe = socket(AF_UNIX, type, 0)
      let isAlive = attempt { connect(probe, $0, $1) } != ECONNREFUSED
      close(probe)
      if !isAlive, unlink(path) == 0 { problem = attempt { bind(descriptor, $0, $1) } }
    }
    // Connections are impossible before `listen`, so the permissions apply from the start.
    if problem == 0, chmod(path, 0o660) != 0 || listen(descriptor, 16) != 0 {
      problem = errno
      unlink(path)
    }
    guard problem == 0 else {
      close(descriptor)
      throw SystemError(operation: "listen on", object: path, code: problem)
    }
    (self.path, self.descriptor) = (path, descriptor)
  }

  deinit {
    for client in waiting { close(client) }
    close(descriptor)
    unlink(path)
  }

  /// Accepts waiting connections up to the limit.
  func admit() {
    while waiting.count < Self.capacity {
      let client = accept(descriptor, nil, nil)
      guard client >= 0 else { return }
      waiting.append(client)
    }
  }

  /// Sends the document to all waiting clients and closes their connections.
  func answer(_ document: [UInt8]) {
    for client in waiting {
      _ = send(client, document, document.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
      close(client)
    }
    waiting.removeAll(keepingCapacity: true)
  }
}
