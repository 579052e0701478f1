package import Glibc

/// Addresses of local sockets.
package enum LocalSocket {
  /// Longest path that fits into an address.
  package static let pathLimit = 107

  /// Calls a function with the address of a socket.
  /// - Parameter path: a path, or with a leading "@" a name in the abstract namespace.
  package static func withAddress<Result>(
    _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
  ) -> Result {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var bytes = Array(path.utf8.prefix(pathLimit))
    if bytes.first == UInt8(ascii: "@") { bytes[0] = 0 }
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
    // The address length ends an abstract name; a path ends with a zero byte, which is included in the
    // length.
    let length = MemoryLayout<sa_family_t>.size + bytes.count + (bytes.first == 0 ? 0 : 1)
    return unsafe withUnsafePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe body($0, socklen_t(length)) }
    }
  }

  /// Connects to a stream socket without waiting.
  /// - Parameter path: as for `withAddress`.
  /// - Returns: the non-blocking descriptor, which the caller closes.
  /// - Throws: `SystemError`, with the code EAGAIN if the listener's queue is full.
  package static func connect(to path: String) throws(SystemError) -> Int32 {
    guard path.utf8.count <= pathLimit else {
      throw SystemError(operation: "connect to", object: path, code: ENAMETOOLONG)
    }
    let descriptor = socket(
      AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard descriptor >= 0 else { throw SystemError(operation: "connect to", object: path, code: errno) }
    let status = unsafe withAddress(path) { unsafe Glibc.connect(descriptor, $0, $1) }
    guard status == 0 else {
      let code = errno
      close(descriptor)
      throw SystemError(operation: "connect to", object: path, code: code)
    }
    return descriptor
  }
}
