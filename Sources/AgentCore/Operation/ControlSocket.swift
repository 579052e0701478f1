internal import Glibc
internal import Platform

/// The agent's local status socket. Each client receives one JSON document, and the connection is closed.
/// Nothing is read, so clients cannot send invalid input. The agent never waits: a client that does not read
/// finds the document in its buffer or misses it.
final class ControlSocket {
  private let socket: ListeningSocket
  /// Connections that wait for the document. Their number is limited; further connections wait in the
  /// kernel's queue.
  private(set) var waiting: [Int32] = []

  private static let capacity = 16

  /// Creates the socket, and replaces an existing socket on which no process listens.
  /// - Throws: `SystemError`, for example if the folder is missing or another agent is listening.
  init(path: String) throws(SystemError) { socket = try .unix(path, mode: 0o660) }

  deinit { for client in waiting { close(client) } }

  var descriptor: Int32 { socket.descriptor }

  /// Accepts waiting connections up to the limit.
  func admit() {
    while waiting.count < Self.capacity, let client = try? socket.accept() { waiting.append(client) }
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
