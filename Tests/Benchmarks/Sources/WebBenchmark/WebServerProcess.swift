import Glibc
import Support

struct WebBenchmarkOptions {
  var rows = 5_000_000
  var rounds = 7
  /// Path of the `odograph` command; by default in the folder of this program.
  var odograph = ownFolder() + "odograph"
  var directory = "/tmp"
  var cases: [String] = []
  /// Options for the script that controls the browser.
  var live: [String] = []
}

private func ownFolder() -> String {
  var bytes = [CChar](repeating: 0, count: 4096)
  let count = readlink("/proc/self/exe", &bytes, bytes.count)
  let own = String(decoding: bytes.prefix(max(0, count)).map(UInt8.init(bitPattern:)), as: UTF8.self)
  return own.lastIndex(of: "/").map { String(own[...$0]) } ?? ""
}

/// `odograph serve` in a child process.
final class WebServerProcess {
  let port = freePort()
  let process: Child

  /// Starts the server; nil if it does not answer.
  init?(_ options: WebBenchmarkOptions, broker: Broker, _ arguments: [String]) {
    process = Child(
      [
        options.odograph, "serve", "--broker", "mqtt://127.0.0.1:\(broker.port)", "--listen",
        "127.0.0.1:\(port)",
      ] + arguments)
    let deadline = now() + 60
    while now() < deadline {
      if get("/health/live")?.status == 200 { return }
      usleep(50_000)
    }
    return nil
  }

  func end() { _ = process.end(SIGTERM) }

  struct Answer {
    var status: Int
    /// Bytes of the body as received.
    var bytes: Int
    /// Seconds from sending the request to the last received byte.
    var seconds: Double
    var head: String
  }

  /// Sends a request on a new connection.
  func get(_ path: String) -> Answer? {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = UInt16(port).bigEndian
    let connected = withUnsafePointer(to: address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard connected == 0 else { return nil }
    let start = now()
    let request = Array("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n\r\n".utf8)
    guard send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else { return nil }
    var all: [UInt8] = []
    var portion = [UInt8](repeating: 0, count: 1 << 18)
    while case let count = recv(descriptor, &portion, portion.count, 0), count > 0 {
      all += portion[..<count]
    }
    let seconds = now() - start
    guard let end = all.indices.dropLast(3).first(where: { all[$0...].starts(with: [13, 10, 13, 10]) }) else {
      return nil
    }
    let head = String(decoding: all[..<end], as: UTF8.self)
    let status = head.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    return Answer(status: status, bytes: all.count - end - 4, seconds: seconds, head: head)
  }
}
