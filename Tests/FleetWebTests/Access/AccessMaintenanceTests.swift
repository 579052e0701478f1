import Fleet
import FleetProgram
import FleetWeb
import Glibc
import JSON
import Platform
import Spatial
import TestSupport
import Testing

/// State that outlives a request: files, restarts, reloads.
struct AccessMaintenanceTests {
  private let here = Address(bytes: [127, 0, 0, 1])

  private func control(_ folder: String, _ more: String = "") throws -> AccessControl {
    let settings = AccessFixture.settings("[access]\nstate = \"\(folder)\"") + more
    return try AccessControl(AccessFixture.configuration(settings), isAuditSaid: false)
  }

  @Test func sessionsAndLinksSurviveARestart() async throws {
    let folder = try TemporaryDirectory()
    let address = try ListenAddress(parsing: "127.0.0.1:0")
    let van = VehicleKey(fleet: "delivery", vehicle: "van-1")
    let first = try control(folder.path)
    let keeper = try AccessMaintenance(first, certificates: nil, file: nil, address: address)
    let ann = try await first.logIn(name: "ann", password: AccessFixture.password, from: here, replacing: nil)
    let bob = try await first.logIn(name: "bob", password: AccessFixture.password, from: here, replacing: nil)
    let out = try await first.logIn(name: "ann", password: AccessFixture.password, from: here, replacing: nil)
    first.logOut(out.identity)
    let link = try #require(first.share(van, by: ann.principal, seconds: 3600))
    let revoked = try #require(first.share(van, by: ann.principal, seconds: 3600))
    #expect(first.revoke(ShareTable.name(SecretDigest(of: revoked.secret)), by: ann.principal) != nil)
    keeper.stop()
    first.stop()
    let path = folder.file("access.json")
    var status = stat()
    #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
    let text = String(decoding: try AtomicFile.read(path) ?? [], as: UTF8.self)
    for secret in [ann.cookie, bob.cookie, link.secret, AccessFixture.hash, AccessFixture.password] {
      #expect(!text.contains(secret))
    }
    // The entry of bob has changed.
    let settings = AccessFixture.settings("[access]\nstate = \"\(folder.path)\"")
      .replacing("fleets = [\"taxi\"]", with: "fleets = [\"other\"]")
    let second = try AccessControl(AccessFixture.configuration(settings), isAuditSaid: false)
    let next = try AccessMaintenance(second, certificates: nil, file: nil, address: address)
    let now = UTCTime.now
    #expect(second.principal(of: ann.identity, at: now) == ann.principal)
    #expect(
      second.principal(of: bob.identity, at: now) == nil && second.principal(of: out.identity, at: now) == nil
    )
    #expect(second.enter(link.secret)?.vehicle == van && second.enter(revoked.secret) == nil)
    next.stop()
    second.stop()
  }

  /// A new machine has no folder yet; a file in its place is an error.
  @Test func theFolderIsCreated() throws {
    let folder = try TemporaryDirectory()
    let address = try ListenAddress(parsing: "127.0.0.1:0")
    let path = folder.file("new/state")
    let control = try control(path)
    defer { control.stop() }
    let keeper = try AccessMaintenance(control, certificates: nil, file: nil, address: address)
    keeper.stop()
    var status = stat()
    #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o700)
    #expect(try AtomicFile.read(path + "/access.json") != nil)
    try folder.write("file", "")
    let error = #expect(throws: FleetError.self) {
      _ = try AccessMaintenance(
        self.control(folder.file("file/state")), certificates: nil, file: nil, address: address)
    }
    #expect(error?.description.contains("file/state") == true, "\(String(describing: error))")
  }

  @Test func aDamagedFileIsReportedAtTheStart() throws {
    let folder = try TemporaryDirectory()
    try folder.write("access.json", "{\"sessions\":[")
    let control = try control(folder.path)
    defer { control.stop() }
    let address = try ListenAddress(parsing: "127.0.0.1:0")
    let error = #expect(throws: FleetError.self) {
      try AccessMaintenance(control, certificates: nil, file: nil, address: address)
    }
    #expect(error?.description.contains("delete it") == true)
  }

  /// Users and tokens are reloaded on request; a mistake in the file changes nothing.
  @Test func aReloadAppliesOnlyValidFiles() async throws {
    let folder = try TemporaryDirectory()
    let file = try folder.write("serve.toml", AccessFixture.settings())
    let address = try ListenAddress(parsing: "0.0.0.0:0")
    let control = try control(folder.path)
    let keeper = try AccessMaintenance(
      control, certificates: nil, file: SettingsFile(path: file), address: address)
    let bob = try await control.logIn(
      name: "bob", password: AccessFixture.password, from: here, replacing: nil)
    try folder.write(
      "serve.toml", AccessFixture.settings("[users.carl]\npassword = \"\(AccessFixture.hash)\""))
    keeper.reload()
    #expect(waitUntil { control.configuration.users["carl"] != nil })
    for mistake in ["[users.dora]\npassword = \"plain\"", "["] {
      try folder.write("serve.toml", AccessFixture.settings(mistake))
      keeper.reload()
    }
    // Without a login, every host could use the server.
    try folder.write("serve.toml", "")
    keeper.reload()
    try await Task.sleep(for: .milliseconds(300))
    #expect(control.configuration.users["carl"] != nil && control.configuration.users["dora"] == nil)
    #expect(control.principal(of: bob.identity, at: .now) != nil)
    try folder.write(
      "serve.toml", AccessFixture.settings().replacing("fleets = [\"taxi\"]", with: "fleets = []"))
    keeper.reload()
    #expect(waitUntil { control.principal(of: bob.identity, at: .now) == nil })
    keeper.stop()
    control.stop()
  }

  /// Changed settings that require a restart are reported, and a mistake anywhere in the file changes nothing.
  @Test func aReloadReportsSettingsThatRequireARestart() throws {
    let folder = try TemporaryDirectory()
    func write(_ more: String, _ access: String = "") throws -> String {
      try folder.write("serve.toml", AccessFixture.settings("[access]\n\(access)\n\(more)"))
    }
    let path = try write("[server]\nstreams = 100\n[map]")
    let control = try control(folder.path)
    let said = Locked<[String]>([])
    let keeper = try AccessMaintenance(
      control, certificates: nil, file: SettingsFile(path: path),
      address: ListenAddress(parsing: "127.0.0.1:0")
    ) { line in said.withLock { $0.append(line) } }
    let cases = [
      ("[map]\n[server]\n# The same.\nstreams = 100", "", nil),
      ("[server]\nstreams = 101", "", "[server] of "),
      ("[map]\nminimum_zoom = 1", "", "[server], [map] of "),
      ("[server]\nstreams = 100", "state = \"elsewhere\"", "state in [access] of "),
      ("[server]\nstreams = 100\n[tls]\nkey = \"other\"", "", "[tls] of "),
    ]
    for (more, access, named) in cases {
      said.withLock { $0 = [] }
      _ = try write(more, access)
      keeper.reload()
      #expect(waitUntil { said.withLock { $0.count } == (named == nil ? 1 : 2) }, "\(said.withLock { $0 })")
      let lines = said.withLock { $0 }
      #expect(lines.first?.hasPrefix("reloaded users and tokens") == true, "\(lines)")
      if let named { #expect(lines.last?.hasPrefix(named) == true, "\(lines)") }
    }
    for (mistake, told) in [
      ("[server]\nstream = 1", "did you mean streams?"), ("[sever]\nstreams = 1", "did you mean [server]?"),
      ("[map]\ntile = 1", "did you mean tiles?"), ("[tls]\nkeys = 1", "unknown key keys"),
      ("[rules.fast]\nwhen = \"speed\"\nabov = 1", "did you mean above?"),
    ] {
      said.withLock { $0 = [] }
      _ = try write(mistake, "requests_per_second = 7")
      keeper.reload()
      #expect(waitUntil { said.withLock { !$0.isEmpty } })
      let lines = said.withLock { $0 }
      #expect(lines.count == 1 && lines[0].hasPrefix("continues with") && lines[0].contains(told), "\(lines)")
      #expect(control.configuration.requestRate != 7)
    }
    keeper.stop()
    control.stop()
  }

  /// A folder that is not writable is reported once, and so is its recovery.
  @Test func aFullDiskIsReportedOnce() async throws {
    let folder = try TemporaryDirectory()
    let place = folder.file("state")
    #expect(mkdir(place, 0o700) == 0)
    let control = try control(place)
    let said = Locked<[String]>([])
    let keeper = try AccessMaintenance(
      control, certificates: nil, file: nil, address: ListenAddress(parsing: "127.0.0.1:0")
    ) { line in said.withLock { $0.append(line) } }
    #expect(rename(place, place + ".away") == 0)
    _ = try await control.logIn(name: "ann", password: AccessFixture.password, from: here, replacing: nil)
    #expect(waitUntil { said.withLock { !$0.isEmpty } })
    // Writing is retried every second.
    try await Task.sleep(for: .seconds(3))
    #expect(said.withLock { $0.count } == 1 && said.withLock { $0[0].contains("as soon as this is fixed") })
    #expect(rename(place + ".away", place) == 0)
    #expect(waitUntil { said.withLock { $0.last } == "sessions and links are stored again" })
    keeper.stop()
    control.stop()
    #expect(said.withLock { $0.count } == 2)
  }

  /// A logout and a revocation are stored before they are answered. On a disk that is full they take effect, but the client is
  /// informed that a restart would restore them.
  @Test func endsAreStoredBeforeTheAnswer() async throws {
    let folder = try TemporaryDirectory()
    let place = folder.file("state")
    let settings = AccessFixture.settings("[access]\nstate = \"\(place)\"")
    try await AccessFixture.run(try AccessFixture.configuration(settings)) { web in
      let keeper = try AccessMaintenance(
        web.control, certificates: nil, file: nil, address: ListenAddress(parsing: "127.0.0.1:0")
      ) { _ in }
      defer { keeper.stop() }
      func stores(_ secret: String) throws -> Bool {
        let text = String(decoding: try AtomicFile.read(place + "/access.json") ?? [], as: UTF8.self)
        return text.contains(SecretDigest(of: secret).hexadecimal)
      }
      func logIn() throws -> (cookie: String, headers: [String]) {
        let login = try web.logIn("ann")
        let cookie = try #require(login.cookie)
        let proof = try #require(login.json["csrf"]?.string)
        return (cookie, ["Cookie: \(cookie)", "X-CSRF-Token: \(proof)"])
      }
      func share(_ headers: [String]) throws -> (path: String, url: String) {
        let share = try web.ask(
          "POST", "/api/v1/shares", headers + ["Content-Type: application/json"],
          body: "{\"fleet\":\"delivery\",\"vehicle\":\"van-1\",\"seconds\":3600}")
        let id = try #require(share.json["id"]?.string)
        return ("/api/v1/shares/\(id)", try #require(share.json["url"]?.string))
      }
      func secret(_ text: String) -> String {
        text.split { $0 == "=" || $0 == "/" }.last.map(String.init) ?? text
      }

      let (other, ann) = (try logIn(), try logIn())
      let (first, second) = (try share(ann.headers), try share(ann.headers))
      let secrets = [other.cookie, first.url, ann.cookie, second.url].map(secret)
      #expect(try waitUntil { try secrets.allSatisfy(stores) })
      #expect(try web.ask("DELETE", first.path, ann.headers).status == 204)
      #expect(try !stores(secrets[1]))
      #expect(try web.ask("DELETE", "/api/v1/session", other.headers).status == 204)
      #expect(try !stores(secrets[0]))

      #expect(rename(place, place + ".away") == 0)
      let revoked = try web.ask("DELETE", second.path, ann.headers)
      #expect(revoked.status == 503 && revoked.code == "not-stored", "\(revoked.text)")
      #expect(revoked.text.contains("No such file or directory"), "\(revoked.text)")
      #expect(try web.ask("GET", second.url).status == 404)
      let loggedOut = try web.ask("DELETE", "/api/v1/session", ann.headers)
      #expect(loggedOut.status == 503 && loggedOut.code == "not-stored", "\(loggedOut.text)")
      #expect(loggedOut.header("set-cookie")?.contains("Max-Age=0") == true, "\(loggedOut.headers)")
      #expect(try web.ask("GET", "/api/v1/session", ann.headers).status == 401)
      #expect(rename(place + ".away", place) == 0)
      #expect(try waitUntil { try !stores(secrets[2]) && !stores(secrets[3]) })
    }
  }

  /// Each of two servers would restore what ended in the other one.
  @Test func aSecondServerCannotUseTheFolder() throws {
    let folder = try TemporaryDirectory()
    let address = try ListenAddress(parsing: "127.0.0.1:0")
    let (first, second) = (try control(folder.path), try control(folder.path))
    let keeper = try AccessMaintenance(first, certificates: nil, file: nil, address: address)
    let error = #expect(throws: FleetError.self) {
      try AccessMaintenance(second, certificates: nil, file: nil, address: address)
    }
    #expect(error?.description.contains("another odograph serve uses it") == true)
    keeper.stop()
    try AccessMaintenance(second, certificates: nil, file: nil, address: address).stop()
    first.stop()
    second.stop()
  }

  /// A session expires, and a link with its sessions, also if the clock is set.
  @Test func linksExpire() async throws {
    let folder = try TemporaryDirectory()
    let control = try control(folder.path)
    let ann = try await control.logIn(
      name: "ann", password: AccessFixture.password, from: here, replacing: nil)
    let link = try #require(
      control.share(VehicleKey(fleet: "delivery", vehicle: "van-1"), by: ann.principal, seconds: 60))
    let visit = try #require(control.enter(link.secret))
    #expect(control.end(of: visit.login.identity) == link.end)
    #expect(control.principal(of: visit.login.identity, at: link.end.advanced(bySeconds: -1e-6)) != nil)
    #expect(control.principal(of: visit.login.identity, at: link.end) == nil)
    #expect(control.principal(of: ann.identity, at: UTCTime.now.advanced(bySeconds: 13 * 3600)) == nil)
    control.stop()
  }
}
