internal import Glibc
internal import Platform

/// A client of a UNIX socket or a local TCP port that writes arbitrary bytes.
public final class LocalClient: Sendable {
  private let descriptor: Int32

  /// - Parameter waits: true to block while the server's backlog is full.
  /// - Throws: `SystemError`, such as `EAGAIN` if the backlog is full and `waits` is false.
  public init(_ path: String, waits: Bool = true) throws {
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    descriptor = socket(AF_UNIX, waits ? type : type | Int32(SOCK_NONBLOCK.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard result == 0 else {
      let code = errno
      close(descriptor)
      throw SystemError(operation: "connect to", object: path, code: code)
    }
  }

  /// - Throws: `SystemError` if the port does not accept the connection.
  public init(port: UInt16) throws {
    descriptor = LoopbackSocket.connect(Int(port))
    guard descriptor >= 0 else {
      throw SystemError(operation: "connect to", object: "port \(port)", code: errno)
    }
  }

  deinit { close(descriptor) }

  public func write(_ bytes: [UInt8]) {
    _ = send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
  }

  /// Reads until the server closes the connection.
  public func readAll() -> [UInt8] {
    var all: [UInt8] = []
    var bytes = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(descriptor, &bytes, bytes.count)
      guard count > 0 else { return all }
      all += bytes[..<count]
    }
  }

  /// Reads lines until one satisfies the condition, the server closes the connection, or no data arrives for 60 s. Returns the lines read;
  /// a later call continues.
  @discardableResult
  public func readLines(until isLast: (String) -> Bool) -> [String] {
    var lines: [String] = []
    var line: [UInt8] = []
    var byte: UInt8 = 0
    while waitUntilReadable([descriptor], seconds: 60) != nil, recv(descriptor, &byte, 1, 0) == 1 {
      guard byte == UInt8(ascii: "\n") else {
        line.append(byte)
        continue
      }
      lines.append(String(decoding: line, as: UTF8.self))
      line.removeAll()
      if let last = lines.last, isLast(last) { break }
    }
    return lines
  }
}
