import Compression
import Fleet
import FleetWeb
import JSON
import TestSupport
import Testing

@Suite struct WebServerTests {
  @Test(.timeLimit(.minutes(2))) func everyAnswerHasSecurityHeaders() async throws {
    let web = try WebFixture(leaflet: try LeafletFiles(folder: nil))
    for (method, path) in [
      ("GET", "/"), ("GET", "/nothing"), ("POST", "/"), ("GET", "/api/v1/vehicles"), ("HEAD", "/"),
      ("GET", "/health/live"), ("PROPFIND", "/"),
    ] {
      let answer = try await web.ask(method, path)
      let policy = answer.headers["content-security-policy"] ?? ""
      #expect(policy.hasPrefix("default-src 'none'; script-src 'self'"), "\(method) \(path)")
      #expect(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"))
      #expect(answer.headers["x-content-type-options"] == "nosniff")
      #expect(answer.headers["referrer-policy"] == "no-referrer")
      #expect(answer.headers["access-control-allow-origin"] == nil && answer.headers["server"] == nil)
    }
  }

  @Test(.timeLimit(.minutes(2))) func thePageIsServed() async throws {
    let web = try WebFixture()
    let page = try await web.ask("GET", "/")
    #expect(page.status == 200 && page.headers["content-type"] == "text/html; charset=utf-8")
    #expect(page.text.hasPrefix("<!doctype html>"))
    let tag = try #require(page.headers["etag"])
    #expect(try await web.ask("GET", "/", ["If-None-Match": "\"x\", \(tag)"]).status == 304)
    #expect(try await web.ask("GET", "/index.html").body == page.body)
    let head = try await web.ask("HEAD", "/")
    #expect(head.status == 200 && head.headers["content-length"] == "\(page.body.count)")
  }

  @Test(.timeLimit(.minutes(2))) func leafletComesFromItsFolder() async throws {
    let directory = try TemporaryDirectory()
    #expect(throws: FleetError.self) { try LeafletFiles(folder: directory.path) }
    let script = String(repeating: "console.log('map');\n", count: 500)
    _ = try directory.write("leaflet.esm.min.js", script)
    _ = try directory.write("leaflet.css", ".map {}")
    _ = try directory.write("secret.txt", "no")
    let web = try WebFixture(leaflet: try LeafletFiles(folder: directory.path))
    let plain = try await web.ask("GET", "/vendor/leaflet/leaflet.esm.min.js")
    #expect(plain.text == script && plain.headers["content-type"] == "text/javascript; charset=utf-8")
    let packed = try await web.ask("GET", "/vendor/leaflet/leaflet.esm.min.js", ["Accept-Encoding": "gzip"])
    #expect(try Gzip.unpacked(packed.body, limit: 1 << 20) == Array(script.utf8))
    #expect(packed.headers["content-length"] == "\(packed.body.count)")
    #expect(
      try await web.ask("GET", "/vendor/leaflet/leaflet.css").headers["content-type"]
        == "text/css; charset=utf-8")
    #expect(try await web.ask("GET", "/vendor/leaflet/secret.txt").status == 404)
  }

  /// No path leads to files other than those of the page.
  @Test(
    .timeLimit(.minutes(2)),
    arguments: [
      "/../Package.swift", "/..%2f..%2fetc/passwd", "/vendor/leaflet/../../etc/passwd", "//etc/passwd",
      "/vendor/leaflet/%2e%2e/%2e%2e/etc/passwd", "/index.html%00.js", "/./index.html/..", "/%", "/\\..\\x",
      "/vendor/leaflet", "/vendor/leaflet/", "/api/v1", "/api/v1/", "/api/v1/vehicles/a", "/api/v2/vehicles",
      "/api/v1/vehicles//x", "/api/v1/vehicles/%FF/x", "/api/v1/vehicles/a/b/c",
      "/api/v1/vehicles/../vehicles/a",
    ])
  func otherPathsAreNotFound(path: String) async throws {
    let web = try WebFixture()
    let answer = try await web.ask("GET", path)
    #expect(answer.status == 404 || answer.status == 503, "\(path): \(answer.status)")
    #expect(try JSONValue(parsing: answer.body)["error"]?["message"]?.string != nil)
  }

  @Test(.timeLimit(.minutes(2))) func answersListTheAllowedMethods() async throws {
    let web = try WebFixture()
    for (method, path, allowed) in [
      ("POST", "/api/v1/vehicles", "GET, HEAD"), ("DELETE", "/", "GET, HEAD"),
      ("GET", "/api/v1/stream/7", "POST"),
      ("PROPFIND", "/health/live", "GET, HEAD"), ("PUT", "/api/v1/vehicles/a/b", "GET, HEAD"),
    ] {
      let answer = try await web.ask(method, path)
      #expect(
        answer.status == 405 && answer.headers["allow"] == allowed, "\(method) \(path) \(answer.headers)")
      #expect(try JSONValue(parsing: answer.body)["error"]?["code"]?.string == "method-not-allowed")
    }
  }

  /// Without a login, requests to a foreign host name and changes by a foreign page are refused.
  @Test(.timeLimit(.minutes(2))) func onlyLocalPagesAreServed() async throws {
    let web = try WebFixture()
    for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "[::2]:80"] {
      let answer = try await web.ask("GET", "/api/v1/vehicles", ["Host": host])
      #expect(answer.status == 421 && answer.text.contains("wrong-host"), "\(host)")
    }
    for host in ["localhost", "LOCALHOST:80", "127.0.0.1:\(web.port)", "[::1]:8080"] {
      #expect(try await web.ask("GET", "/api/v1/vehicles", ["Host": host]).status == 200, "\(host)")
    }
    for origin in ["http://evil.example", "null", "https://localhost", "http://localhost:1"] {
      let answer = try await web.ask("POST", "/api/v1/stream/x", ["Origin": origin], body: "{}")
      #expect(answer.status == 403, "\(origin)")
    }
    #expect(
      try await web.ask("POST", "/api/v1/stream/x", ["Origin": "http://localhost"], body: "{}").status == 404)
  }

  @Test(.timeLimit(.minutes(2))) func bodiesAndHeadersHaveTheirLimits() async throws {
    let web = try WebFixture()
    let large = try await web.ask("POST", "/api/v1/stream/x", body: String(repeating: "x", count: 5000))
    #expect(large.status == 413 && large.text.contains("too-large"))
    let port = web.port
    let isClosed = try await onThread {
      let connection = try HTTPConnection(port: port)
      connection.write(
        "GET / HTTP/1.1\r\nHost: localhost\r\nX: \(String(repeating: "y", count: 100_000))\r\n\r\n")
      return connection.isClosed()
    }
    #expect(isClosed)
    for nonsense in ["\u{0}\u{1}\u{2}\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\r\n\r\n\r\nx"] {
      let isClosed = try await onThread {
        let connection = try HTTPConnection(port: port)
        connection.write(nonsense)
        return connection.isClosed()
      }
      #expect(isClosed, "\(nonsense.debugDescription)")
    }
    #expect(try await web.ask("GET", "/health/live").status == 200)
  }

  @Test(.timeLimit(.minutes(2))) func metricsCountRequests() async throws {
    let web = try WebFixture()
    web.locate(48.1)
    _ = try await web.ask("GET", "/api/v1/vehicles/demo/van")
    _ = try await web.ask("GET", "/api/v1/vehicles/demo/bus")
    _ = try await web.ask("GET", "/x-\(web.port)")
    _ = try await web.ask("PROPFIND", "/")
    let metrics = try await web.ask("GET", "/metrics")
    #expect(metrics.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
    let route = #"route="/api/v1/vehicles/{fleet}/{vehicle}",method="GET""#
    for line in [
      "odograph_http_requests_total{\(route),status=\"200\"} 1",
      "odograph_http_requests_total{\(route),status=\"404\"} 1",
      #"odograph_http_requests_total{route="none",method="GET",status="404"} 1"#,
      #"odograph_http_requests_total{route="none",method="other",status="405"} 1"#,
      #"odograph_fleet_vehicles{state="unknown"} 1"#, "odograph_fleet_messages_total 1",
      "odograph_broker_up 0", "odograph_server_streams 0",
    ] {
      #expect(metrics.text.contains(line + "\n"), "\(line)\n\(metrics.text)")
    }
    #expect(!metrics.text.contains("\(web.port)"))
  }

  @Test(.timeLimit(.minutes(2))) func theServerIsReadyAfterTheRetainedMessages() async throws {
    let web = try WebFixture()
    #expect(try await web.ask("GET", "/health/live").status == 200)
    #expect(try await web.ask("GET", "/health/ready").status == 503)
    _ = web.feed.observe(.connected, at: .now)
    #expect(try await web.ask("GET", "/health/ready").status == 503)
    web.feed.markKept()
    try await eventually { web.feed.link().isComplete }
    #expect(try await web.ask("GET", "/health/ready").status == 200)
  }

  @Test func withoutALoginOnlyLoopbackIsServed() throws {
    for address in ["0.0.0.0:80", "[::]:80", "fleet.example:80", "127.example.org:80", "192.168.1.1:0"] {
      var configuration = ServeConfiguration(address: try ListenAddress(parsing: address))
      #expect(throws: FleetError.self) { try configuration.check(LoopbackAccess()) }
      // With a login, but without encryption.
      let error = #expect(throws: FleetError.self) { try configuration.check(NamedAccess()) }
      #expect(error?.kind == .invalidInput && error?.description.contains("plain = true") == true)
      #expect(try configuration.check(NamedAccess(isSecure: true)) == nil)
      #expect(try configuration.check(NamedAccess(isBehindProxy: true)) == nil)
      configuration.allowsPlain = true
      #expect(try configuration.check(NamedAccess())?.contains("unencrypted") == true)
      #expect(throws: FleetError.self) { try configuration.check(LoopbackAccess()) }
    }
    for address in ["127.0.0.1:80", "127.8.0.1:80", "[::1]:80", "localhost:80"] {
      let configuration = ServeConfiguration(address: try ListenAddress(parsing: address))
      #expect(try configuration.check(LoopbackAccess()) == nil && configuration.check(NamedAccess()) == nil)
    }
  }
}
