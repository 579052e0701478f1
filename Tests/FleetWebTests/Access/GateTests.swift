import Fleet
import FleetWeb
import JSON
import Platform
import Spatial
import TestSupport
import Testing

/// Logins and permissions over real connections.
struct GateTests {
  @Test func withoutALoginLocalRequestsAreAccepted() async throws {
    try await AccessFixture.run(.none, subjects: [SomeRoutes()]) { web in
      let session = try web.ask("GET", "/api/v1/session")
      #expect(
        session.status == 200 && session.json["name"] == .string("local")
          && session.json["login"] == .bool(false))
      #expect(session.json["csrf"] == nil && session.header("cache-control") == "no-store")
      #expect(try web.ask("POST", "/api/v1/vehicles/delivery/van-1/commands", body: "{}").status == 200)
      for host in ["localhost:8080", "127.0.0.1", "[::1]:80"] {
        #expect(try web.ask("GET", "/api/v1/vehicles", host: host).status == 200, "\(host)")
      }
      // Without users there is no login.
      #expect(try web.logIn("ann").code == "login-wrong")
    }
  }

  /// Requests by a page whose host name resolves to this machine (DNS rebinding), or through a proxy that is not configured.
  @Test func withoutALoginOtherRequestsAreRefused() async throws {
    try await AccessFixture.run(.none, subjects: [SomeRoutes()]) { web in
      for host in ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8080", "10.0.0.5"] {
        let answer = try web.ask("GET", "/api/v1/vehicles", host: host)
        #expect(answer.status == 421 && answer.code == "host-unknown", "\(host)")
      }
      for header in [
        "X-Forwarded-For: 1.2.3.4", "Forwarded: for=1.2.3.4", "X-Real-IP: 1.2.3.4", "Via: 1.1 proxy",
      ] {
        let answer = try web.ask("GET", "/api/v1/vehicles", [header])
        #expect(answer.status == 403 && answer.code == "proxy-not-configured", "\(header)")
      }
      // By default nginx reveals itself only by HTTP 1.0.
      let client = try RawClient(port: web.port)
      client.send("GET /api/v1/vehicles HTTP/1.0\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
      #expect(try client.receive().code == "proxy-not-configured")
      let path = "/api/v1/vehicles/delivery/van-1/commands"
      for header in [
        "Origin: http://evil.example", "Origin: null", "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Site: same-site",
        "Origin: http://127.0.0.1:1",
      ] {
        let answer = try web.ask("POST", path, [header], body: "{}")
        #expect(answer.status == 403 && answer.code == "origin-foreign", "\(header)")
      }
      #expect(try web.ask("POST", path, ["Origin: http://127.0.0.1"], body: "{}").status == 200)
    }
  }

  @Test func aSessionIsOpenedUsedAndClosed() async throws {
    try await AccessFixture.run(
      AccessFixture.configuration(AccessFixture.settings()), subjects: [SomeRoutes()]
    ) { web in
      #expect(try web.ask("GET", "/api/v1/session").code == "login-required")
      let login = try web.logIn("ann")
      let cookie = try #require(login.cookie)
      let csrf = try #require(login.json["csrf"]?.string)
      let attributes = try #require(login.header("set-cookie"))
      #expect(
        attributes.contains("; HttpOnly") && attributes.contains("; SameSite=Strict")
          && attributes.contains("; Path=/"))
      #expect(!attributes.contains("Secure") && cookie.hasPrefix("odograph="))
      #expect(
        login.json["scope"]?["fleets"] == .array([.string("delivery")])
          && login.json["role"] == .string("operate"))
      let headers = ["Cookie: other=1; \(cookie)"]
      #expect(try web.ask("GET", "/api/v1/session", headers).json["csrf"] == .string(csrf))
      let path = "/api/v1/vehicles/delivery/van-1/commands"
      #expect(try web.ask("POST", path, headers, body: "{}").code == "csrf-token")
      #expect(
        try web.ask("POST", path, headers + ["X-CSRF-Token: \(csrf)x"], body: "{}").code == "csrf-token")
      #expect(
        try web.ask(
          "POST", path, headers + ["X-CSRF-Token: \(csrf)", "Origin: http://evil.example"], body: "{}"
        ).code
          == "origin-foreign")
      #expect(try web.ask("POST", path, headers + ["X-CSRF-Token: \(csrf)"], body: "{}").status == 200)
      // A second login opens another session, and ends the first one of this browser.
      let second = try web.logIn("ann", AccessFixture.password, headers)
      #expect(second.cookie != cookie && second.json["csrf"] != .string(csrf))
      #expect(try web.ask("GET", "/api/v1/session", headers).status == 401)
      let own = ["Cookie: \(try #require(second.cookie))"]
      let proof = try #require(second.json["csrf"]?.string)
      #expect(try web.ask("DELETE", "/api/v1/session", own).code == "csrf-token")
      let end = try web.ask("DELETE", "/api/v1/session", own + ["X-CSRF-Token: \(proof)"])
      #expect(end.status == 204 && end.header("set-cookie")?.contains("Max-Age=0") == true)
      // Replayed after the logout.
      #expect(try web.ask("GET", "/api/v1/session", own).code == "login-required")
      #expect(
        try web.ask("POST", path, own + ["X-CSRF-Token: \(proof)"], body: "{}").code == "login-required")
    }
  }

  @Test func unknownUsersAndWrongPasswordsAreIndistinguishable() async throws {
    try await AccessFixture.run(
      AccessFixture.configuration(AccessFixture.settings()), subjects: [SomeRoutes()]
    ) { web in
      let wrong = try web.logIn("ann", "wrong")
      let unknown = try web.logIn("nobody", "wrong")
      #expect(wrong.status == 401 && wrong.code == "login-wrong" && wrong.body == unknown.body)
      #expect(wrong.header("set-cookie") == nil)
      for _ in 0..<4 { #expect(try web.logIn("ann", "wrong").code == "login-wrong") }
      // During the delay the right password is refused, too; other users are not delayed.
      let delayed = try web.logIn("ann")
      #expect(
        delayed.status == 429 && delayed.code == "login-delayed" && delayed.header("retry-after") == "1")
      #expect(try web.logIn("bob").status == 200)
    }
  }

  @Test func tokensAuthenticateRequests() async throws {
    let settings = AccessFixture.settings("expires = \"2001-01-31\"")
    try await AccessFixture.run(AccessFixture.configuration(settings), subjects: [SomeRoutes()]) { web in
      let path = "/api/v1/vehicles/delivery/van-1/commands"
      let token = "Authorization: Bearer \(AccessFixture.operateToken)"
      #expect(try web.ask("POST", path, [token], body: "{}").status == 200)
      // Foreign pages cannot send the token, so that no further proof is required.
      #expect(try web.ask("POST", path, [token, "Origin: http://evil.example"], body: "{}").status == 200)
      for wrong in [
        "x", String(repeating: "x", count: 32), AccessFixture.viewToken, "",
        String(repeating: "a", count: 9000),
      ] {
        let answer = try web.ask("GET", "/api/v1/vehicles", ["Authorization: Bearer \(wrong)"])
        #expect(
          answer.status == 401 && ["token-invalid", "login-required"].contains(answer.code),
          "\(wrong.prefix(40))")
      }
      // An invalid token is refused, also beside the cookie of a session.
      let cookie = try #require(try web.logIn("ann").cookie)
      let both = ["Cookie: \(cookie)", "Authorization: Bearer \(AccessFixture.viewToken)"]
      #expect(try web.ask("GET", "/api/v1/vehicles", both).code == "token-invalid")
    }
  }

  /// A token without an entry is invalid, also on open connections and streams.
  @Test func revokedTokensAreRefused() async throws {
    let without = try AccessFixture.configuration(
      AccessFixture.settings().replacing(
        SecretDigest(of: AccessFixture.operateToken).hexadecimal,
        with: SecretDigest(of: "another").hexadecimal))
    try await AccessFixture.run(
      AccessFixture.configuration(AccessFixture.settings()), subjects: [SomeRoutes()]
    ) { web in
      let path = "/api/v1/vehicles/delivery/van-1/commands"
      let token = ["Authorization: Bearer \(AccessFixture.operateToken)"]
      let standing = try RawClient(port: web.port)
      #expect(try standing.ask("POST", path, token, body: "{}").status == 200)
      let stream = try RawClient(port: web.port)
      stream.send("GET /api/v1/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\(token[0])\r\n\r\n")
      #expect(stream.waits(for: ": here", seconds: 20))
      web.control.use(without)
      for method in ["GET", "POST"] {
        let place = method == "GET" ? "/api/v1/vehicles" : path
        let answer = try standing.ask(method, place, token, body: method == "GET" ? nil : "{}")
        #expect(answer.status == 401 && answer.code == "token-invalid", "\(answer)")
      }
      #expect(try stream.receive().text.hasSuffix("event: bye\ndata: login-required\n\n"))
    }
  }

  /// Cookies that no server has set have no effect, or are refused as malformed.
  @Test(arguments: [
    "odograph", "odograph=", "odograph==", "=", ";;;", "odograph=\u{7F}", "odograph=\"; Path=/",
    "odograph=%00",
    "odograph=\(String(repeating: "A", count: 8000))", "__Host-odograph=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    "odograph=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA; odograph=BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB",
    "\(String(repeating: "a=b; ", count: 1500))odograph=x", "odograph=\u{FF}\u{FE}",
  ]) func brokenCookiesAreNone(_ cookie: String) async throws {
    try await AccessFixture.run(
      AccessFixture.configuration(AccessFixture.settings()), subjects: [SomeRoutes()]
    ) { web in
      let answer = try web.ask("GET", "/api/v1/vehicles", ["Cookie: \(cookie)"])
      let isRefused = answer.status == 401 && answer.code == "login-required"
      #expect(isRefused || answer.status == 400 && answer.code == "malformed-request", "\(answer)")
      // A valid cookie beside it is accepted.
      guard answer.status == 401 else { return }
      let own = try #require(try web.logIn("ann").cookie)
      #expect(try web.ask("GET", "/api/v1/vehicles", ["Cookie: \(own); \(cookie)"]).status == 200)
    }
  }

  @Test func aProxyIsTrustedFromItsAddressOnly() async throws {
    let settings = "[users.eve]\nrole = \"operate\"\n[proxy]\nheader = \"X-Remote-User\"\naddresses = "
    let trusted = try AccessFixture.configuration(settings + "[\"127.0.0.1\"]")
    let other = try AccessFixture.configuration(settings + "[\"10.0.0.5\"]")
    let path = "/api/v1/vehicles/delivery/van-1/commands"
    try await AccessFixture.run(trusted, subjects: [SomeRoutes()]) { web in
      let eve = [
        "X-Remote-User: eve", "X-Forwarded-For: 6.6.6.6, 10.1.2.3", "X-Forwarded-Host: fleet.example",
      ]
      let session = try web.ask("GET", "/api/v1/session", eve)
      let csrf = try #require(session.json["csrf"]?.string)
      #expect(session.json["name"] == .string("eve"))
      #expect(try web.ask("POST", path, eve, body: "{}").code == "csrf-token")
      let proof = ["X-CSRF-Token: \(csrf)", "Origin: https://fleet.example"]
      #expect(try web.ask("POST", path, eve + proof, body: "{}").status == 200)
      #expect(try web.ask("GET", "/api/v1/session", ["X-Remote-User: mallory"]).code == "user-unknown")
      #expect(
        try web.ask("GET", "/api/v1/session", ["X-Remote-User: eve", "X-Remote-User: eve"]).code
          == "user-unknown")
      #expect(try web.ask("GET", "/api/v1/session").code == "login-required")
    }
    try await AccessFixture.run(other, subjects: [SomeRoutes()]) { web in
      let answer = try web.ask("GET", "/api/v1/session", ["X-Remote-User: eve"])
      #expect(answer.code == "login-required")
    }
  }

  /// A proxy that is not configured is reported once, with the remedy, and with the remedy its headers apply.
  @Test func headersOfAnUnlistedProxyAreReportedOnce() async throws {
    let said = Locked<[String]>([])
    let report: @Sendable (String) -> Void = { line in said.withLock { $0.append(line) } }
    let headers = ["X-Forwarded-For: 6.6.6.6", "X-Forwarded-Proto: https"]
    for (more, reports) in [("", 1), ("[proxy]\naddresses = [\"127.0.0.1\"]", 0)] {
      said.withLock { $0 = [] }
      let settings = try AccessFixture.configuration(AccessFixture.settings(more))
      try await AccessFixture.run(settings, subjects: [SomeRoutes()], report: report) { web in
        for _ in 0..<3 {
          let login = try web.logIn("ann", AccessFixture.password, headers)
          #expect(login.header("set-cookie")?.contains("; Secure") == (reports == 0), "\(login.headers)")
        }
      }
      let lines = said.withLock { $0 }
      #expect(lines.count == reports, "\(lines)")
      #expect(lines.allSatisfy { $0.contains("X-Forwarded-For from 127.0.0.1") }, "\(lines)")
      #expect(lines.allSatisfy { $0.contains("addresses = [\"127.0.0.1\"] to [proxy]") }, "\(lines)")
    }
  }

  @Test func aLinkShowsOneVehicleUntilItEnds() async throws {
    try await AccessFixture.run(
      AccessFixture.configuration(AccessFixture.settings()), subjects: [SomeRoutes()]
    ) { web in
      let token = ["Authorization: Bearer \(AccessFixture.operateToken)", "Content-Type: application/json"]
      func share(_ vehicle: String, _ seconds: Int = 3600) throws -> RawClient.Answer {
        let parts = vehicle.split(separator: "/")
        return try web.ask(
          "POST", "/api/v1/shares", token,
          body: "{\"fleet\":\"\(parts[0])\",\"vehicle\":\"\(parts[1])\",\"seconds\":\(seconds)}")
      }
      #expect(try share("taxi/t-1").status == 404)
      #expect(try share("delivery/van-1", 5).code == "invalid-body")
      let answer = try share("delivery/van-1")
      let url = try #require(answer.json["url"]?.string)
      let id = try #require(answer.json["id"]?.string)
      #expect(answer.status == 201 && url.hasPrefix("/s/") && !url.contains(id))
      let opened = try web.ask("GET", url)
      #expect(opened.status == 303 && opened.header("location") == "../#/vehicle/delivery/van-1")
      let link = ["Cookie: \(try #require(opened.cookie))"]
      #expect(try web.ask("GET", "/api/v1/vehicles/delivery/van-1", link).status == 200)
      #expect(try web.ask("GET", "/api/v1/vehicles/delivery/van-2", link).status == 404)
      #expect(try web.ask("GET", "/api/v1/vehicles/delivery/van-1/track", link).code == "link-only")
      let session = try web.ask("GET", "/api/v1/session", link)
      #expect(session.json["link"] == .bool(true) && session.json["role"] == .string("view"))
      let csrf = "X-CSRF-Token: \(try #require(session.json["csrf"]?.string))"
      let command = "/api/v1/vehicles/delivery/van-1/commands"
      #expect(try web.ask("POST", command, link + [csrf], body: "{}").status == 403)
      #expect(try web.ask("POST", "/api/v1/shares", link + [csrf], body: "{}").code == "link-only")
      #expect(try web.ask("GET", "/api/v1/shares", token).json["shares"]?.array?.count == 1)
      // Users with a session of their own continue with that.
      let bob = try #require(try web.logIn("bob").cookie)
      let both = ["Cookie: \(try #require(opened.cookie)); \(bob)"]
      #expect(try web.ask("GET", "/api/v1/session", both).json["name"] == .string("bob"))
      // Bob may not see the vehicle: the link reports that, instead of a page without the vehicle.
      let told = try web.ask("GET", url, ["Cookie: \(bob)"])
      #expect(told.status == 403 && told.text.contains("logged in as bob") && told.cookie == nil)
      #expect(try web.ask("DELETE", "/api/v1/shares/\(id)", token).status == 204)
      #expect(try web.ask("GET", "/api/v1/vehicles/delivery/van-1", link).code == "login-required")
      #expect(try web.ask("GET", url).status == 404)
      #expect(try web.ask("DELETE", "/api/v1/shares/\(id)", token).status == 404)
    }
  }

  /// A link ends with the token that created it, and stays invalid when the token is accepted again.
  @Test func aLinkEndsWithThePermissionOfItsCreator() async throws {
    let settings = AccessFixture.settings()
    let end = UTCTime.now.advanced(bySeconds: 3)
    let ending = settings.replacing(
      "[tokens.screen]", with: "expires = \"\(end.rfc3339)\"\n[tokens.screen]")
    try await AccessFixture.run(AccessFixture.configuration(ending)) { web in
      let token = ["Authorization: Bearer \(AccessFixture.operateToken)", "Content-Type: application/json"]
      let body = #"{"fleet":"delivery","vehicle":"van-1","seconds":3600}"#
      let made = try web.ask("POST", "/api/v1/shares", token, body: body)
      let url = try #require(made.json["url"]?.string)
      #expect(try web.ask("GET", url).status == 303)
      let ann = ["Cookie: \(try #require(try web.logIn("ann").cookie))"]
      func links() throws -> Int? { try web.ask("GET", "/api/v1/shares", ann).json["shares"]?.array?.count }
      #expect(try links() == 1)
      #expect(waitUntil { (try? web.ask("GET", url).status) == 404 })
      #expect(try links() == 0)
      // The link stays invalid when the token is accepted again.
      web.control.use(try AccessFixture.configuration(settings))
      #expect(try web.ask("GET", url).status == 404)
      web.control.know { $0.vehicle == "van-1" }
      let unknown = body.replacing("van-1", with: "van-2")
      #expect(try web.ask("POST", "/api/v1/shares", token, body: unknown).status == 404)
      #expect(try web.ask("POST", "/api/v1/shares", token, body: body).status == 201)
      #expect(try links() == 1)
      web.control.use(
        try AccessFixture.configuration(
          settings.replacing("fleets = [\"delivery\"]", with: "fleets = [\"bus\"]")))
      web.control.use(try AccessFixture.configuration(settings))
      let again = ["Cookie: \(try #require(try web.logIn("ann").cookie))"]
      #expect(try web.ask("GET", "/api/v1/shares", again).json["shares"]?.array?.isEmpty == true)
    }
  }

  /// Sessions, streams and links of a changed entry end.
  @Test func changedEntriesEndTheirSessionsStreamsAndLinks() async throws {
    let before = try AccessFixture.configuration(AccessFixture.settings())
    let changed = try AccessFixture.configuration(
      AccessFixture.settings().replacing("fleets = [\"taxi\"]", with: "fleets = [\"taxi\", \"other\"]"))
    try await AccessFixture.run(before, subjects: [SomeRoutes()]) { web in
      let ann = ["Cookie: \(try #require(try web.logIn("ann").cookie))"]
      let bob = ["Cookie: \(try #require(try web.logIn("bob").cookie))"]
      let stream = try RawClient(port: web.port)
      stream.send("GET /api/v1/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\(bob[0])\r\n\r\n")
      #expect(stream.waits(for: ": here", seconds: 20))
      web.control.use(changed)
      let answer = try stream.receive()
      #expect(answer.text.hasSuffix("event: bye\ndata: login-required\n\n"), "\(answer.text.suffix(80))")
      #expect(try web.ask("GET", "/api/v1/session", bob).code == "login-required")
      #expect(try web.ask("GET", "/api/v1/session", ann).status == 200)
      web.control.use(.none)
      #expect(try web.ask("GET", "/api/v1/session", ann).json["name"] == .string("local"))
    }
  }

  @Test func requestsBeyondTheRateAreRefused() async throws {
    let settings = AccessFixture.settings("[access]\nrequests_per_second = 2")
    try await AccessFixture.run(AccessFixture.configuration(settings), subjects: [SomeRoutes()]) { web in
      let client = try RawClient(port: web.port)
      let token = ["Authorization: Bearer \(AccessFixture.operateToken)"]
      var refused: RawClient.Answer?
      for _ in 0..<100 where refused == nil {
        let answer = try client.ask("GET", "/api/v1/vehicles", token)
        if answer.status != 200 { refused = answer }
      }
      #expect(
        refused?.status == 429 && refused?.code == "too-many-requests"
          && refused?.header("retry-after") == "1")
      // Other clients are not limited.
      let other = ["Authorization: Bearer \(AccessFixture.viewToken)"]
      #expect(try client.ask("GET", "/api/v1/vehicles", other).status == 200)
    }
  }
}
