internal import Glibc
internal import Platform

/// The response of a web server.
package struct HTTPAnswer: Sendable {
  package var status: Int
  /// Header values by lower-case name; the last value if a header occurs twice.
  package var headers: [String: String]
  /// Body without chunk framing, still compressed if it was sent compressed.
  package var body: [UInt8]

  package var text: String { String(decoding: body, as: UTF8.self) }
}

/// A blocking HTTP/1.1 connection to a server on this machine. It sends exactly the given bytes and does not follow redirects or retry.
package final class HTTPConnection: Sendable {
  private let descriptor: Int32
  private let received = Locked<[UInt8]>([])

  /// - Parameter receiveBuffer: size in bytes of the kernel's receive buffer (`SO_RCVBUF`), to simulate a slow client; nil for the default.
  /// - Throws: `SystemError`.
  package init(port: Int, receiveBuffer: Int32? = nil, timeout: Int = 60) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    if var receiveBuffer {
      setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, socklen_t(MemoryLayout<Int32>.size))
    }
    var time = timeval(tv_sec: timeout, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = UInt16(clamping: port).bigEndian
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else {
      let code = errno
      close(descriptor)
      throw SystemError(operation: "connect to", object: "port \(port)", code: code)
    }
  }

  deinit { close(descriptor) }

  /// Sends raw text.
  package func write(_ text: String) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }

  /// Sends a request, with `Host: localhost` unless `headers` contains a host.
  package func send(
    _ method: String, _ path: String, _ headers: [String: String] = [:], body: String? = nil
  ) {
    var text = "\(method) \(path) HTTP/1.1\r\n"
    if headers["Host"] == nil { text += "Host: localhost\r\n" }
    for (name, value) in headers { text += "\(name): \(value)\r\n" }
    if let body { text += "Content-Length: \(body.utf8.count)\r\n" }
    write(text + "\r\n" + (body ?? ""))
  }

  /// Sends a request and reads the complete response.
  /// - Throws: `SystemError` if the connection is closed or the timeout expires first.
  package func ask(
    _ method: String, _ path: String, _ headers: [String: String] = [:], body: String? = nil
  ) throws -> HTTPAnswer {
    send(method, path, headers, body: body)
    var answer = try readHead()
    if method == "HEAD" || answer.status == 304 || answer.status == 204 { return answer }
    answer.body = try readBody(of: answer)
    return answer
  }

  /// Reads the body after `readHead`.
  package func readBody(of head: HTTPAnswer) throws -> [UInt8] {
    guard head.headers["transfer-encoding"]?.contains("chunked") == true else {
      return try take(Int(head.headers["content-length"] ?? "") ?? 0)
    }
    var body: [UInt8] = []
    while let chunk = try readChunk() { body += chunk }
    return body
  }

  /// Reads the status and headers of a response.
  package func readHead() throws -> HTTPAnswer {
    var lines: [String] = []
    while true {
      let line = try readLine()
      if line.isEmpty { break }
      lines.append(line)
    }
    let status = lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { continue }
      headers[line[..<colon].lowercased()] = String(line[line.index(after: colon)...].drop { $0 == " " })
    }
    return HTTPAnswer(status: status, headers: headers, body: [])
  }

  /// Reads one chunk of a chunked body; nil at the end of the body.
  package func readChunk() throws -> [UInt8]? {
    let size = Int(try readLine().split(separator: ";").first ?? "", radix: 16) ?? 0
    let bytes = try take(size)
    _ = try readLine()
    return size == 0 ? nil : bytes
  }

  /// Waits until the server closes the connection, and discards everything received. Returns false after the timeout.
  package func isClosed() -> Bool {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = recv(descriptor, &bytes, bytes.count, 0)
      if count == 0 || count < 0 && errno == ECONNRESET { return true }
      if count < 0 { return false }
    }
  }

  private func readLine() throws -> String {
    while true {
      let line = received.withLock { bytes -> String? in
        guard let end = bytes.firstIndex(of: 10) else { return nil }
        defer { bytes.removeFirst(end + 1) }
        return String(decoding: bytes[..<end].filter { $0 != 13 }, as: UTF8.self)
      }
      if let line { return line }
      try fill()
    }
  }

  private func take(_ count: Int) throws -> [UInt8] {
    while received.withLock({ $0.count }) < count { try fill() }
    return received.withLock { bytes in
      defer { bytes.removeFirst(count) }
      return Array(bytes.prefix(count))
    }
  }

  private func fill() throws {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = recv(descriptor, &bytes, bytes.count, 0)
    guard count > 0 else {
      throw SystemError(operation: "read from", object: "server", code: count == 0 ? ECONNRESET : errno)
    }
    received.withLock { $0 += bytes[..<count] }
  }
}

/// Runs a blocking closure on its own thread, so that it does not block other tests or a server in this process.
package func onThread<Result: Sendable>(
  _ body: @escaping @Sendable () throws -> Result
) async throws -> Result {
  try await withCheckedThrowingContinuation { continuation in
    do {
      let thread = try DedicatedThread.start(name: "test") {
        do { continuation.resume(returning: try body()) } catch { continuation.resume(throwing: error) }
      }
      thread.detach()
    } catch { continuation.resume(throwing: error) }
  }
}
