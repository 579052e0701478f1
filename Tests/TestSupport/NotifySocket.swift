internal import Glibc
internal import Platform

/// The socket of a service manager on which a service reports its state (sd_notify(3)).
public final class NotifySocket: Sendable {
  /// Value of `NOTIFY_SOCKET`.
  public let address: String
  private let descriptor: Int32
  private let received = Locked<[String]>([])

  /// - Parameter address: a path, or an abstract name with a leading "@".
  public init(_ address: String) throws {
    self.address = address
    descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var name = sockaddr_un()
    name.sun_family = sa_family_t(AF_UNIX)
    var bytes = Array(address.utf8)
    if bytes.first == UInt8(ascii: "@") { bytes[0] = 0 }
    withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: bytes) }
    let size = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
    let result = withUnsafePointer(to: &name) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
    }
    guard result == 0 else { throw SystemError(operation: "listen on", object: address, code: errno) }
  }

  deinit { close(descriptor) }

  /// Messages received so far, oldest first; each has one or more lines.
  public var messages: [String] {
    received.withLock { received in
      var bytes = [UInt8](repeating: 0, count: 4096)
      while true {
        let count = recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
        guard count >= 0 else { return received }
        received.append(String(decoding: bytes.prefix(count), as: UTF8.self))
      }
    }
  }

  public func count(of message: String) -> Int { messages.count { $0 == message } }
}
