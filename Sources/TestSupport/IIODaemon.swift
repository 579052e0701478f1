internal import Glibc
public import Platform

/// A real iiod on a free loopback port, serving what the thread that starts it sees as `local:`.
public final class IIODaemon: Sendable {
  public let port: Int
  private let pid: pid_t
  private let hasEnded = Locked(false)

  public var uri: String { "ip:127.0.0.1:\(port)" }

  /// Starts the daemon and waits until it answers.
  ///
  /// - Parameter port: to be served again after a restart; nil takes a free one.
  public init(port wanted: Int? = nil) throws(SystemError) {
    port = wanted ?? Self.freePort()
    pid = try Self.spawn(["iiod", "-u", "local:", "-p", "\(port)"])
    let port = port
    guard waitUntil({ Self.answers(port) }) else {
      throw SystemError(operation: "wait for", object: "iiod on port \(port)", code: ETIMEDOUT)
    }
  }

  deinit { kill() }

  /// Ends the daemon as a crash would.
  public func kill() {
    guard
      !hasEnded.withLock({ ended in
        defer { ended = true }
        return ended
      })
    else { return }
    Glibc.kill(pid, SIGKILL)
    var status: Int32 = 0
    unsafe waitpid(pid, &status, 0)
  }

  private static func spawn(_ words: [String]) throws(SystemError) -> pid_t {
    var arguments: [UnsafeMutablePointer<CChar>?] = unsafe words.map { unsafe strdup($0) }
    unsafe arguments.append(nil)
    defer { for index in unsafe arguments.indices { unsafe free(arguments[index]) } }
    var actions = posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    for stream in [Int32(1), 2] {
      unsafe posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_WRONLY, 0)
    }
    var child = pid_t()
    // PATH of a test runner seldom holds sbin.
    var code = ENOENT
    for folder in ["/usr/sbin", "/usr/bin", "/usr/local/sbin"] where code == ENOENT {
      code = unsafe posix_spawn(&child, "\(folder)/iiod", &actions, nil, arguments, environ)
    }
    guard code == 0 else { throw SystemError(operation: "start", object: "iiod", code: code) }
    return child
  }

  private static func freePort() -> Int {
    withSocket { descriptor in
      var address = loopback(port: 0)
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          unsafe bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
        }
      }
      return result ? Int(UInt16(bigEndian: address.sin_port)) : 0
    }
  }

  private static func answers(_ port: Int) -> Bool {
    withSocket { descriptor in
      var address = loopback(port: port)
      return unsafe withUnsafePointer(to: &address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
      }
    }
  }

  private static func withSocket<Value>(_ body: (Int32) -> Value) -> Value {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    return body(descriptor)
  }

  private static func loopback(port: Int) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(UInt16(clamping: port)).bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    return address
  }
}
