internal import Glibc
package import Platform

/// A stream socket that accepts connections from programs on this machine or in its network.
package final class ListeningSocket {
  /// The descriptor for `poll(2)` with `POLLIN`. Its calls do not block.
  package let descriptor: Int32
  /// Path of a Unix socket, which is removed at the end; nil for TCP.
  private let path: String?

  private static let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
  /// Maximum number of connections that wait to be accepted.
  private static let backlog: Int32 = 16

  deinit {
    close(descriptor)
    if let path { unlink(path) }
  }

  private init(descriptor: Int32, path: String?) { (self.descriptor, self.path) = (descriptor, path) }

  /// Creates a Unix socket, and replaces an existing socket on which no process listens.
  /// - Parameters:
  ///   - path: at most `LocalSocket.pathLimit` bytes.
  ///   - mode: file mode; the owner and group need write permission to connect.
  ///   - group: the file's group; nil for that of the process.
  /// - Throws: `SystemError`, for example if the folder is missing, another process is listening, or the path is a file.
  package static func unix(
    _ path: String, mode: UInt32, group: UInt32? = nil
  ) throws(SystemError) -> ListeningSocket {
    guard path.utf8.count <= LocalSocket.pathLimit else {
      throw SystemError(operation: "listen on", object: path, code: ENAMETOOLONG)
    }
    let descriptor = try make(AF_UNIX)
    func attempt(_ call: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
      LocalSocket.withAddress(path) { call($0, $1) == 0 ? 0 : errno }
    }
    var problem = attempt { bind(descriptor, $0, $1) }
    if problem == EADDRINUSE {
      let probe = socket(AF_UNIX, type, 0)
      let isAlive = attempt { connect(probe, $0, $1) } != ECONNREFUSED
      close(probe)
      var status = stat()
      // Connections to a file are refused, too.
      let isSocket = lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
      if isSocket, !isAlive, unlink(path) == 0 { problem = attempt { bind(descriptor, $0, $1) } }
    }
    // Connections are impossible before `listen`, so the permissions apply from the start.
    var operation = "listen on"
    if problem == 0 {
      if let group, chown(path, uid_t.max, group) != 0 {
        (operation, problem) = ("give group \(group) access to", errno)
      } else if chmod(path, mode) != 0 || listen(descriptor, backlog) != 0 {
        problem = errno
      }
      if problem != 0 { unlink(path) }
    }
    guard problem == 0 else {
      close(descriptor)
      throw SystemError(operation: operation, object: path, code: problem)
    }
    return ListeningSocket(descriptor: descriptor, path: path)
  }

  /// Creates a TCP socket.
  /// - Throws: `SystemError`, for example if another process uses the port.
  package static func tcp(_ address: ListeningAddress) throws(SystemError) -> ListeningSocket {
    let descriptor = try make(address.isIPv6 ? AF_INET6 : AF_INET)
    var on: Int32 = 1
    let size = socklen_t(MemoryLayout<Int32>.size)
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, size)
    // An address of one family does not occupy the port of the other.
    if address.isIPv6 { setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &on, size) }
    let isBound = address.withAddress { bind(descriptor, $0, $1) == 0 }
    guard isBound, listen(descriptor, backlog) == 0 else {
      let problem = errno
      close(descriptor)
      throw SystemError(operation: "listen on", object: address.description, code: problem)
    }
    return ListeningSocket(descriptor: descriptor, path: nil)
  }

  private static func make(_ family: Int32) throws(SystemError) -> Int32 {
    let descriptor = socket(family, type, 0)
    guard descriptor >= 0 else { throw SystemError(operation: "create", object: "socket", code: errno) }
    return descriptor
  }

  /// Accepts a waiting connection, whose calls do not block.
  /// - Returns: the connection's descriptor; nil if none is waiting.
  /// - Throws: `SystemError` if the process or the system has no free descriptors.
  package func accept() throws(SystemError) -> Int32? {
    while true {
      let client = Glibc.accept(descriptor, nil, nil)
      if client >= 0 {
        _ = fcntl(client, F_SETFD, FD_CLOEXEC)
        _ = fcntl(client, F_SETFL, O_NONBLOCK)
        return client
      }
      switch errno {
      case EINTR, ECONNABORTED: continue
      case EMFILE, ENFILE, ENOBUFS, ENOMEM:
        throw SystemError(operation: "accept a connection on", object: path ?? "TCP", code: errno)
      default: return nil
      }
    }
  }
}

/// A numeric IP address with a port on which the agent listens.
package struct ListeningAddress: Hashable, Sendable, CustomStringConvertible {
  /// Numeric address, without brackets.
  package let host: String
  package let port: UInt16

  /// Parses `127.0.0.1:10110` or `[::1]:10110`; `localhost` stands for 127.0.0.1. Nil for any other text.
  package init?(_ text: String) {
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]), port > 0
    else { return nil }
    var host = String(text[..<colon])
    if host == "localhost" { host = "127.0.0.1" }
    let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
    if isBracketed { host = String(host.dropFirst().dropLast()) }
    guard isBracketed == host.contains(":") else { return nil }
    (self.host, self.port) = (host, port)
    var bytes = in6_addr()
    guard inet_pton(isIPv6 ? AF_INET6 : AF_INET, host, &bytes) == 1 else { return nil }
  }

  package var description: String { isIPv6 ? "[\(host)]:\(port)" : "\(host):\(port)" }

  var isIPv6: Bool { host.contains(":") }

  /// True if only programs on this machine can connect.
  package var isLoopback: Bool { isIPv6 ? host == "::1" : host.hasPrefix("127.") }

  func withAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    func call<Address>(_ address: inout Address) -> Result {
      withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          body($0, socklen_t(MemoryLayout<Address>.size))
        }
      }
    }
    if isIPv6 {
      var address = sockaddr_in6()
      address.sin6_family = sa_family_t(AF_INET6)
      address.sin6_port = port.bigEndian
      inet_pton(AF_INET6, host, &address.sin6_addr)
      return call(&address)
    }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    inet_pton(AF_INET, host, &address.sin_addr)
    return call(&address)
  }
}
