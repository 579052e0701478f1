import Foundation
import Platform
import TestSupport
import Testing

/// `odograph serve` behind a real nginx with the configuration in Config/serve.md.
struct ServeBehindNginxTests {
  private static let page = "\(ContractScript.repository)/Config/serve.md"

  /// Returns one of the two fenced blocks of a language in the page: that with nginx's login, or that with the server's.
  private static func block(_ fence: String, withServerLogin isSecond: Bool = false) throws -> String {
    let parts = try String(contentsOfFile: page, encoding: .utf8).components(separatedBy: "```\(fence)\n")
    return try #require(
      parts.count == 3 ? parts[isSecond ? 2 : 1].components(separatedBy: "\n```").first : nil, "\(fence)")
  }

  /// Starts nginx with a single server.
  private static func nginx(
    _ location: String, port: Int, in directory: TemporaryDirectory
  ) throws -> ChildProcess {
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map { "\($0)_temp_path \(directory.file("nginx-" + $0));" }.joined(separator: "\n")
    try """
    daemon off; master_process off; pid \(directory.file("nginx.pid"));
    error_log stderr;
    events {}
    http {
    access_log off;
    \(temporary)
    server {
    listen 127.0.0.1:\(port);
    \(location)
    }
    }
    """.write(toFile: directory.file("nginx.conf"), atomically: true, encoding: .utf8)
    let child = try ChildProcess("nginx", ["-e", "stderr", "-c", directory.file("nginx.conf")])
    waitUntil { FreePort.isAccepting(port) || !child.isRunning }
    #expect(child.isRunning, "\(child.output)")
    return child
  }

  /// Without a login, the server refuses requests of a proxy that is not configured.
  @Test(.needs(.nginx)) func unconfiguredProxyIsRefused() async throws {
    let (broker, directory, port) = (
      try BrokerFixture(), try TemporaryDirectory(), try FreePort.next() as Int
    )
    let server = try ServeProcess(broker)
    defer { server.child.terminate() }
    let nginx = try Self.nginx(
      "location / { proxy_pass http://127.0.0.1:\(server.port); }", port: port, in: directory)
    defer { nginx.terminate() }
    try await onThread {
      let answer = try HTTPConnection(port: port).ask("GET", "/api/v1/vehicles")
      #expect(answer.status == 403 && answer.text.contains("proxy-not-configured"), "\(answer.text)")
    }
    #expect(try await server.get("/api/v1/vehicles").status == 200)
  }

  /// With the example of the page, nginx's users are logged in, regardless of the headers that clients send, and events arrive
  /// immediately.
  @Test(.needs(.nginx)) func exampleLogsUsersIn() async throws {
    let (broker, directory, port) = (
      try BrokerFixture(), try TemporaryDirectory(), try FreePort.next() as Int
    )
    // A program with a token in addition to nginx's users.
    let token = String(repeating: "r", count: 32)
    let robot = """

      [tokens.robot]
      sha256 = "515a733d7320b35b2117893952f93a9400dc4d5ca8bb6972453cae4cab993a07"
      """
    try (Self.block("toml serve") + robot).write(
      toFile: directory.file("serve.toml"), atomically: true, encoding: .utf8)
    try "ann:{PLAIN}correct horse\nbob:{PLAIN}battery\n".write(
      toFile: directory.file("fleet.htpasswd"), atomically: true, encoding: .utf8)
    let server = try ServeProcess(broker, ["--config", directory.file("serve.toml")])
    defer { server.child.terminate() }
    let shown = try Self.block("nginx")
    #expect(shown.contains("http://127.0.0.1:8080;") && shown.contains("/etc/nginx/fleet.htpasswd;"))
    let location = shown.replacing("127.0.0.1:8080", with: "127.0.0.1:\(server.port)")
      .replacing("/etc/nginx/fleet.htpasswd", with: directory.file("fleet.htpasswd"))
    let nginx = try Self.nginx(location, port: port, in: directory)
    defer { nginx.terminate() }
    func basic(_ name: String, _ password: String) -> String {
      "Basic " + Data("\(name):\(password)".utf8).base64EncodedString()
    }
    let (ann, bob) = (basic("ann", "correct horse"), basic("bob", "battery"))
    try await onThread {
      func session(_ headers: [String: String]) throws -> HTTPAnswer {
        try HTTPConnection(port: port).ask("GET", "/api/v1/session", headers)
      }
      #expect(try session([:]).status == 401)
      let mine = try session(["Authorization": ann])
      #expect(mine.status == 200 && mine.text.contains(#""name":"ann""#), "\(mine.text)")
      // A user with a password in nginx and without an entry in serve.toml.
      #expect(try session(["Authorization": bob]).status / 100 == 4)
      let claimed = try session(["Authorization": bob, "X-Remote-User": "ann"])
      #expect(claimed.status / 100 == 4 && !claimed.text.contains(#""name":"ann""#), "\(claimed.text)")
      #expect(try session(["X-Remote-User": "ann"]).status == 401)

      // The server validates tokens; a token does not log in as one of the proxy's users.
      func vehicles(_ authorization: String, _ headers: [String: String] = [:]) throws -> HTTPAnswer {
        try HTTPConnection(port: port).ask(
          "GET", "/api/v1/vehicles", headers.merging(["Authorization": authorization]) { $1 })
      }
      #expect(try vehicles("Bearer \(token)").status == 200)
      #expect(try vehicles("bearer \(token)", ["X-Remote-User": "ann"]).status == 200)
      let wrong = try vehicles("Bearer wrong", ["X-Remote-User": "ann"])
      #expect(wrong.status == 401 && wrong.text.contains("token-invalid"), "\(wrong.text)")
      for other in ["Bearer", "Bearer ", "Basic", "Bearer\t\(token)", ""] {
        #expect(try vehicles(other, ["X-Remote-User": "ann"]).status == 401, "\(other)")
      }

      let stream = try HTTPConnection(port: port)
      stream.send("GET", "/api/v1/stream", ["Authorization": ann])
      #expect(try stream.readHead().headers["content-type"]?.hasPrefix("text/event-stream") == true)
      #expect(try stream.readChunk()?.isEmpty == false)
    }
  }

  /// nginx provides TLS only, and people log in at the server. Without `[proxy]`, the server reports that it ignores nginx's headers.
  @Test(.needs(.nginx), arguments: [true, false]) func exampleWithTheServersLogin(isListed: Bool) async throws
  {
    let (broker, directory, port) = (
      try BrokerFixture(), try TemporaryDirectory(), try FreePort.next() as Int
    )
    let user = """

      [users.ann]
      password = "$y$j75$k2XAnEHBqQ1Ct2aMXFKNa/$D51GutEaDStaXNx6KNVHl2qcn8n8Q9TT3VpvxytddG1"
      """
    try ((isListed ? Self.block("toml serve", withServerLogin: true) : "") + user).write(
      toFile: directory.file("serve.toml"), atomically: true, encoding: .utf8)
    let server = try ServeProcess(broker, ["--config", directory.file("serve.toml")])
    let shown = try Self.block("nginx", withServerLogin: true)
    #expect(shown.contains("http://127.0.0.1:8080;") && shown.contains("X-Forwarded-Proto $scheme;"))
    // The test's nginx has no certificate.
    let location = shown.replacing("127.0.0.1:8080", with: "127.0.0.1:\(server.port)")
      .replacing("$scheme", with: "https")
    let nginx = try Self.nginx(location, port: port, in: directory)
    defer { nginx.terminate() }
    try await onThread {
      for _ in 0..<2 {
        let login = try HTTPConnection(port: port).ask(
          "POST", "/api/v1/session", ["Content-Type": "application/json"],
          body: #"{"name":"ann","password":"correct horse battery"}"#)
        #expect(login.status == 200, "\(login.text)")
        #expect(login.headers["set-cookie"]?.contains("; Secure") == isListed, "\(login.headers)")
      }
    }
    server.child.terminate()
    let lines = server.child.output.split(separator: "\n").filter { $0.contains("ignores X-Forwarded-For") }
    #expect(lines.count == (isListed ? 0 : 1), "\(server.child.output)")
    #expect(lines.allSatisfy { $0.contains(#"add addresses = ["127.0.0.1"] to [proxy]"#) })
  }
}
