internal import Glibc
internal import Platform

/// The local socket on which the agent says how it is: whoever connects is sent one JSON document, and the connection is
/// closed. Nothing is read, so nothing can be said wrongly, and nothing is waited for: a client that does not read finds the
/// document in its own buffer or misses it.
final class ControlSocket {
  let path: String
  let descriptor: Int32
  /// Connections that wait for the document; a bounded number, the rest waits in the kernel's queue.
  private(set) var waiting: [Int32] = []

  private static let capacity = 16

  /// Takes the place of a socket that nobody listens on any more.
  /// - Throws: `SystemError`, as when the folder is not there or another agent listens.
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
    // Nobody can connect before `listen`, so the rights hold from the first moment.
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

  /// Takes in who wants to connect, as far as there is room.
  func admit() {
    while waiting.count < Self.capacity {
      let client = accept(descriptor, nil, nil)
      guard client >= 0 else { return }
      waiting.append(client)
    }
  }

  /// Sends the document to all who wait, and takes leave of them.
  func answer(_ document: [UInt8]) {
    for client in waiting {
      _ = send(client, document, document.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
      close(client)
    }
    waiting.removeAll(keepingCapacity: true)
  }
}
