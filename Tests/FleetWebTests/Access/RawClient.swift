import Glibc
import JSON

/// A TCP connection that sends exactly the bytes of a test, unlike an HTTP library.
final class RawClient: @unchecked Sendable {
  // Sendable: one test uses it at a time.
  private let descriptor: Int32
  private var buffer: [UInt8] = []

  struct Failure: Error {}

  struct Answer {
    var status = 0
    var headers: [(name: String, value: String)] = []
    var body: [UInt8] = []

    func header(_ name: String) -> String? { headers.first { $0.name == name.lowercased() }?.value }

    var text: String { String(decoding: body, as: UTF8.self) }

    /// The code of a refusal.
    var code: String? { (try? JSONValue(parsing: body))?["error"]?["code"]?.string }

    var json: JSONValue { (try? JSONValue(parsing: body)) ?? .null }

    /// The cookie of the answer, in the form of a request.
    var cookie: String? { header("set-cookie").map { String($0.prefix { $0 != ";" }) } }
  }

  init(port: Int, receiveBuffer: Int32? = nil) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    if var size = receiveBuffer {
      setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = UInt16(port).bigEndian
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else { throw Failure() }
  }

  deinit { close(descriptor) }

  @discardableResult
  func send(_ text: String) -> Bool { send(Array(text.utf8)) }

  @discardableResult
  func send(_ bytes: [UInt8]) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  /// Receives more bytes; false at the end of the connection or after `seconds` of silence.
  private func fill(seconds: Double) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&entry, 1, Int32(seconds * 1000)) > 0 else { return false }
    var chunk = [UInt8](repeating: 0, count: 65_536)
    let count = recv(descriptor, &chunk, chunk.count, 0)
    guard count > 0 else { return false }
    buffer += chunk[..<count]
    return true
  }

  /// Receives at most `count` bytes as text; empty at the end of the connection.
  func text(upTo count: Int) -> String {
    var chunk = [UInt8](repeating: 0, count: count)
    let received = recv(descriptor, &chunk, count, 0)
    return String(decoding: chunk.prefix(max(0, received)), as: UTF8.self)
  }

  /// Receives at most `count` bytes.
  /// - Returns: Number of bytes; 0 at the end of the connection.
  func read(upTo count: Int) -> Int {
    var chunk = [UInt8](repeating: 0, count: count)
    return max(0, recv(descriptor, &chunk, count, 0))
  }

  private func line(seconds: Double) throws -> String {
    while true {
      if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
        let line = buffer[..<end].filter { $0 != UInt8(ascii: "\r") }
        buffer.removeFirst(end + 1)
        return String(decoding: line, as: UTF8.self)
      }
      guard fill(seconds: seconds) else { throw Failure() }
    }
  }

  private func take(_ count: Int, seconds: Double) throws -> [UInt8] {
    while buffer.count < count { guard fill(seconds: seconds) else { throw Failure() } }
    defer { buffer.removeFirst(count) }
    return Array(buffer[..<count])
  }

  /// True if a text arrives before a silence of `seconds`. Received bytes stay in the buffer.
  func waits(for text: String, seconds: Double) -> Bool {
    while !String(decoding: buffer, as: UTF8.self).contains(text) {
      guard fill(seconds: seconds) else { return false }
    }
    return true
  }

  /// Receives an answer.
  /// - Parameter isHead: True if the answer has no body, whatever its length field contains.
  func receive(isHead: Bool = false, seconds: Double = 20) throws -> Answer {
    var answer = Answer()
    let first = try line(seconds: seconds).split(separator: " ")
    guard first.count >= 2, let status = Int(first[1]) else { throw Failure() }
    answer.status = status
    while true {
      let text = try line(seconds: seconds)
      if text.isEmpty { break }
      let parts = text.split(separator: ":", maxSplits: 1)
      answer.headers.append(
        (parts[0].lowercased(), parts.count > 1 ? String(parts[1].drop { $0 == " " }) : ""))
    }
    if isHead || status == 204 || status == 304 { return answer }
    if let length = answer.header("content-length").flatMap({ Int($0) }) {
      answer.body = try take(length, seconds: seconds)
    } else if answer.header("transfer-encoding") == "chunked" {
      while true {
        let size = Int(try line(seconds: seconds), radix: 16) ?? 0
        answer.body += try take(size, seconds: seconds)
        _ = try line(seconds: seconds)
        if size == 0 { break }
      }
    }
    return answer
  }

  /// True if the server closes the connection before a silence of `seconds`. Received bytes are discarded.
  func isClosed(within seconds: Double) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while poll(&entry, 1, Int32(seconds * 1000)) > 0 {
      if recv(descriptor, &chunk, chunk.count, 0) <= 0 { return true }
    }
    return false
  }

  /// Sends a request with host and length, and returns the answer.
  func ask(
    _ method: String, _ path: String, _ headers: [String] = [], body: String? = nil,
    host: String = "127.0.0.1"
  ) throws -> Answer {
    var lines = ["\(method) \(path) HTTP/1.1", "Host: \(host)"] + headers
    if let body { lines.append("Content-Length: \(body.utf8.count)") }
    send(lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? ""))
    return try receive(isHead: method == "HEAD")
  }
}
