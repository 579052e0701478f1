import FleetWeb
import Glibc
import JSON
import TestSupport
import Testing

/// Clients that behave like no browser. The limits are short, so that no test waits for a minute.
struct ConnectionTests {
  private func limits() -> ConnectionLimits {
    var limits = ConnectionLimits()
    (limits.idle, limits.request, limits.stall) = (0.5, 1, 1)
    return limits
  }

  /// Requests whose ends two servers in a row could find at different positions (request smuggling).
  @Test(arguments: [
    "POST /api/v1/echo HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "POST /api/v1/echo HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
    "POST /api/v1/echo HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcde",
    "POST /api/v1/echo HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: +4\r\n\r\nabcd",
    "POST /api/v1/echo HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4, 4\r\n\r\nabcd",
    "POST /api/v1/echo HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "POST /api/v1/echo HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "POST /api/v1/echo HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    "POST /api/v1/echo HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n",
    "POST /api/v1/echo HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999999999999999999\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n",
    "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost:\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: user@127.0.0.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: 127.0.0.1/x\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: 127.0.0.1:80x\r\n\r\n", "GET / HTTP/1.0\r\nHost: a b\r\n\r\n",
    "GET http://127.0.0.1/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n folded: x\r\n\r\n",
    "GET / HTTP/9.9\r\nHost: 127.0.0.1\r\n\r\n", "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}", "GARBAGE\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: a\u{0}b\r\n\r\n",
  ]) func ambiguousRequestsAreRefused(_ text: String) async throws {
    try await AccessFixture.run(.none, limits: limits(), subjects: [SomeRoutes()]) { web in
      let client = try RawClient(port: web.port)
      client.send(text + "GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
      let answer = try client.receive(seconds: 5)
      #expect(answer.status == 400 && answer.code == "malformed-request", "\(answer)")
      #expect(answer.header("content-type") == "application/json; charset=utf-8")
      #expect(answer.header("connection") == "close")
      // Nothing after the request is answered.
      #expect(throws: RawClient.Failure.self) { try client.receive(seconds: 5) }
      #expect(try web.ask("GET", "/health/live").status == 200)
    }
  }

  /// A client that waits for `100 Continue` before it sends its body, as curl does with longer ones, gets it.
  @Test func expectContinueIsAnswered() async throws {
    try await AccessFixture.run(.none, limits: limits(), subjects: [SomeRoutes()]) { web in
      func head(_ length: Int) -> String {
        "POST /api/v1/echo HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n"
          + "Content-Length: \(length)\r\n\r\n"
      }
      let client = try RawClient(port: web.port)
      for _ in 0..<2 {
        client.send(head(2))
        let expected = "HTTP/1.1 100 Continue\r\n\r\n"
        var text = ""
        while text.utf8.count < expected.utf8.count {
          let part = client.text(upTo: expected.utf8.count - text.utf8.count)
          if part.isEmpty { break }
          text += part
        }
        #expect(text == expected)
        client.send("{}")
        #expect(try client.receive(seconds: 5).status == 200)
      }
      // A body that would be refused is not requested.
      client.send(head(1 << 30))
      #expect(client.text(upTo: 12) != "HTTP/1.1 100")
    }
  }

  @Test(arguments: [
    ("localhost", true), ("127.0.0.1:8080", true), ("[::1]:80", true), ("[fe80::1%25eth0]", true),
    ("a-b.example:", true),
    ("xn--bcher-kva.example", true), ("a%20b", true), ("", false), (":80", false), ("a b", false),
    ("a@b", false), ("a/b", false),
    ("a:b", false), ("a:1:2", false), ("a:65536", false), ("[::1", false), ("[::1]x", false),
    ("[127.0.0.1]", false),
    ("::1", false), ("a%2", false), ("a%zz", false), ("bücher.example", false), ("a\\b", false),
    ("a?b", false),
  ])
  func hostsAreChecked(host: String, isValid: Bool) { #expect(HostHeader.isValid(host) == isValid) }

  /// A request that arrives byte by byte, in its head or its body, is aborted.
  @Test(arguments: [
    "", "G", "GET / HTTP/1.1\r\nHost: 127",
    "POST /api/v1/echo HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n",
  ]) func slowRequestsAreAborted(_ begin: String) async throws {
    try await AccessFixture.run(.none, limits: limits(), subjects: [SomeRoutes()]) { web in
      let client = try RawClient(port: web.port)
      client.send(begin)
      let trickle = Task.detached {
        while !Task.isCancelled, client.send(begin.isEmpty ? "" : "x") { usleep(50_000) }
      }
      #expect(client.isClosed(within: 20))
      trickle.cancel()
      await trickle.value
      #expect(try web.ask("GET", "/health/live").status == 200)
    }
  }

  /// A client that reads nothing of 100 MB is disconnected after 1 s, and costs little memory.
  @Test func clientsThatReadNothingAreDisconnected() async throws {
    var limits = limits()
    limits.idle = 30
    try await AccessFixture.run(.none, limits: limits, subjects: [SomeRoutes()]) { web in
      let clients = try (0..<20).map { _ in try RawClient(port: web.port, receiveBuffer: 4096) }
      let before = residentBytes()
      for client in clients { client.send("GET /api/v1/much HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n") }
      #expect(try web.ask("GET", "/health/live").status == 200)
      // Reads nothing until the server has closed the connection: then only the rest in the socket's buffers arrives.
      try await Task.sleep(for: .seconds(3))
      #expect(residentBytes() - before < 200 << 20)
      for client in clients { #expect(client.isClosed(within: 10)) }
    }
  }

  @Test func bodiesBeyondTheLimitAreRefused() async throws {
    try await AccessFixture.run(.none, subjects: [SomeRoutes()]) { web in
      let large = String(repeating: "a", count: 10 << 20)
      #expect(
        try web.ask("POST", "/api/v1/echo", body: String(repeating: "a", count: 1 << 20)).body.count == 1
          << 20)
      let announced = try web.ask("POST", "/api/v1/echo", body: large)
      #expect(announced.status == 413 && announced.code == "too-large")
      let client = try RawClient(port: web.port)
      client.send("POST /api/v1/echo HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n")
      let chunk = "100000\r\n" + String(repeating: "b", count: 1 << 20) + "\r\n"
      for _ in 0..<10 { client.send(chunk) }
      client.send("0\r\n\r\n")
      let chunked = try client.receive()
      #expect(chunked.status == 413 && chunked.code == "too-large")
      // Without a login the limit is lower.
      let login = try web.ask(
        "POST", "/api/v1/session", ["Content-Type: application/json"],
        body: String(repeating: " ", count: 5000) + "{}")
      #expect(login.status == 413)
    }
  }

  /// Heads beyond the limits are refused with the common form of errors, after the answers to earlier requests.
  @Test(arguments: [
    "GET /\(String(repeating: "p", count: 40_000)) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Large: \(String(repeating: "h", count: 70_000))\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\(String(repeating: "X-A: b\r\n", count: 200))\r\n",
  ]) func headsBeyondTheLimitsAreRefused(_ head: String) async throws {
    try await AccessFixture.run(.none, subjects: [SomeRoutes()]) { web in
      let client = try RawClient(port: web.port)
      let one = "GET /api/v1/vehicles HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
      client.send(one + one + head)
      for _ in 0..<2 { #expect(try client.receive().status == 200) }
      let answer = try client.receive()
      #expect(answer.status == 400 && answer.code == "head-too-large", "\(answer)")
      #expect(answer.json["error"]?["remedy"]?.string?.contains("32 kB at most, 16 kB each") == true)
    }
  }

  /// A client that reads slowly stays connected; a client that stops reading is disconnected.
  @Test func slowReadersAreServed() async throws {
    try await AccessFixture.run(.none, limits: limits(), subjects: [SomeRoutes()]) { web in
      let client = try RawClient(port: web.port, receiveBuffer: 4096)
      client.send("GET /api/v1/much HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
      // 200 kB in five times the limit for clients that read nothing.
      for _ in 0..<50 {
        usleep(100_000)
        try #require(client.read(upTo: 4096) > 0)
      }
      #expect(client.isClosed(within: 0) == false)
      try await Task.sleep(for: .seconds(3))
      #expect(client.isClosed(within: 10))
    }
  }

  /// Unknown paths count towards the limit of requests without a login.
  @Test func unknownAddressesAreLimitedToo() async throws {
    let settings = AccessFixture.settings("[access]\nrequests_per_second = 2")
    try await AccessFixture.run(AccessFixture.configuration(settings), subjects: [SomeRoutes()]) { web in
      let client = try RawClient(port: web.port)
      // Below the limit, the router answers unknown methods and names.
      #expect(try client.ask("DELETE", "/").header("allow") == "GET, HEAD")
      #expect(try client.ask("PUT", "/api/v1/vehicles").status == 405)
      #expect(try client.ask("GET", "/api/v1/nothing").code == "not-found")
      let statuses = try (0..<100).map { _ in try client.ask("GET", "/nothing").status }
      #expect(statuses.contains(404) && statuses.contains(429) && Set(statuses).count == 2)
    }
  }

  @Test func aThousandConnectionsAreServed() async throws {
    try await AccessFixture.run(.none, subjects: [SomeRoutes()]) { web in
      // The server has raised this process's limit of open files; each connection needs two here.
      let clients = try (0..<1000).map { _ in try RawClient(port: web.port) }
      for client in clients { client.send("GET /api/v1/vehicles HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n") }
      #expect(try clients.count { try $0.receive().status == 200 } == 1000)
    }
  }

  @Test func oneMoreThanTheLimitIsClosed() async throws {
    var limits = ConnectionLimits()
    limits.connections = 20
    try await AccessFixture.run(.none, limits: limits, subjects: [SomeRoutes()]) { web in
      var clients = try (0..<20).map { _ in try RawClient(port: web.port) }
      for client in clients { #expect(try client.ask("GET", "/health/live").status == 200) }
      #expect(try RawClient(port: web.port).isClosed(within: 10))
      clients.removeAll()
      var status: Int?
      while status != 200 { status = try? web.ask("GET", "/health/live").status }
    }
  }

  private func residentBytes() -> Int {
    guard let file = fopen("/proc/self/statm", "r") else { return 0 }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 200)
    guard fgets(&line, 200, file) != nil else { return 0 }
    let fields = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self).split(
      separator: " ")
    return (fields.count > 1 ? Int(fields[1]) ?? 0 : 0) * 4096
  }
}
