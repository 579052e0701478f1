import Fleet
import FleetWeb
import Glibc
import JSON
import Platform
import Spatial
import TestSupport
import Testing

struct AuditTests {
  private func lines(_ path: String) throws -> [JSONValue] {
    try (AtomicFile.read(path) ?? []).split(separator: UInt8(ascii: "\n")).map {
      try JSONValue(parsing: Array($0))
    }
  }

  @Test func anEntryIsOneLine() throws {
    let entry = AuditEntry(
      action: "login", who: "a\nb\u{1b}[31m<script>\"", from: "10.0.0.1", vehicles: ["f/v\r\n"],
      outcome: "done",
      detail: String(repeating: "x", count: 1000))
    let line = entry.line(at: UTCTime(nanoseconds: 0))
    #expect(!line.utf8.contains { $0 < 0x20 })
    let json = try JSONValue(parsing: Array(line.utf8))
    #expect(json["who"] == .string("a\nb\u{1b}[31m<script>\"") && json["detail"]?.string?.count == 200)
    #expect(json["time"] == .string("1970-01-01T00:00:00.000Z"))
  }

  @Test func theFileCanBeMovedAway() throws {
    let folder = try TemporaryDirectory()
    let path = folder.file("audit.log")
    let log = try AuditLog(path: path, report: nil)
    func record(_ who: String, until file: String, has count: Int) throws {
      log.record(AuditEntry(action: "login", who: who, from: "::1", outcome: "done"))
      while (try lines(file)).count < count { usleep(1000) }
    }
    try record("a", until: path, has: 1)
    try record("b", until: path, has: 2)
    var status = stat()
    #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
    rename(path, path + ".1")
    try record("c", until: path, has: 1)
    log.stop()
    #expect(try lines(path + ".1").map { $0["who"]?.string } == ["a", "b"])
    #expect(try lines(path).map { $0["who"]?.string } == ["c"])
  }

  /// While the file is not writable, each line is printed once, immediately; afterwards the file has all of them in order.
  @Test func linesArePrintedWhileTheDiskIsFull() throws {
    let folder = try TemporaryDirectory()
    let (place, path) = (folder.file("logs"), folder.file("logs/audit.log"))
    #expect(mkdir(place, 0o700) == 0)
    let said = Locked<[String]>([])
    let log = try AuditLog(path: path) { line in said.withLock { $0.append(line) } }
    func record(_ who: String) {
      log.record(AuditEntry(action: "login", who: who, from: "::1", outcome: "done"))
    }
    func names(_ lines: [String]) throws -> [String?] {
      try lines.map { try JSONValue(parsing: Array($0.utf8))["who"]?.string }
    }
    record("a")
    while try AtomicFile.read(path)?.isEmpty != false { usleep(1000) }
    #expect(rename(path, path + ".old") == 0 && rename(place, place + ".away") == 0)
    var expected = ["a"]
    for who in ["b", "c", "d"] {
      record(who)
      expected.append(who)
      #expect(waitUntil { said.withLock { $0.count } >= expected.count })
    }
    #expect(try names(said.withLock { $0 }) == expected)
    #expect(rename(place + ".away", place) == 0)
    record("e")
    // The last attempt to write is at the end.
    log.stop()
    #expect(try names(said.withLock { $0 }) == expected + ["e"])
    #expect(try lines(path).map { $0["who"]?.string } == ["b", "c", "d", "e"])
  }

  /// Lines that are not in the file at the end were printed.
  @Test func unwrittenLinesArePrintedAtTheEnd() throws {
    let folder = try TemporaryDirectory()
    let place = folder.file("logs")
    #expect(mkdir(place, 0o700) == 0)
    let said = Locked(0)
    let log = try AuditLog(path: place + "/audit.log") { _ in said.withLock { $0 += 1 } }
    #expect(unlink(place + "/audit.log") == 0 && rmdir(place) == 0)
    for number in 0..<1000 {
      log.record(AuditEntry(action: "login", who: "\(number)", from: "::1", outcome: "done"))
    }
    log.stop()
    #expect(said.withLock { $0 } == 1000)
  }

  @Test func aFileThatIsNotWritableIsAnErrorAtTheStart() throws {
    #expect(throws: SystemError.self) { try AuditLog(path: "/nonexistent/audit.log") }
  }

  /// Each change of a vehicle, login and logout is logged, without secrets.
  @Test func everyChangeIsLogged() async throws {
    let folder = try TemporaryDirectory()
    let path = folder.file("audit.log")
    let settings = AccessFixture.settings("[access]\naudit = \"\(path)\"")
    try await AccessFixture.run(AccessFixture.configuration(settings), subjects: [SomeRoutes()]) { web in
      let command = "/api/v1/vehicles/delivery/van-1/commands"
      let robot = ["Authorization: Bearer \(AccessFixture.operateToken)"]
      _ = try web.ask("POST", command, robot, body: "{}")
      _ = try web.ask("POST", "/api/v1/vehicles/taxi/t-1/commands", robot, body: "{}")
      _ = try web.ask("POST", command, ["Authorization: Bearer \(AccessFixture.viewToken)"], body: "{}")
      _ = try web.logIn("ann", "not the password")
      let login = try web.logIn("ann")
      let cookie = try #require(login.cookie)
      let csrf = try #require(login.json["csrf"]?.string)
      _ = try web.ask("GET", "/api/v1/vehicles", ["Cookie: \(cookie)"])
      _ = try web.ask("POST", command, ["Cookie: \(cookie)"], body: "{}")
      let share = try web.ask(
        "POST", "/api/v1/shares", robot + ["Content-Type: application/json"],
        body: "{\"fleet\":\"delivery\",\"vehicle\":\"van-1\",\"seconds\":60}")
      let url = try #require(share.json["url"]?.string)
      let opened = try web.ask("GET", url)
      _ = try web.ask("DELETE", "/api/v1/session", ["Cookie: \(cookie)", "X-CSRF-Token: \(csrf)"])
      while try lines(path).count < 9 { usleep(1000) }
      let told = try lines(path).map {
        [$0["action"]?.string, $0["who"]?.string, $0["outcome"]?.string].compactMap { $0 }
      }
      let link = try #require(share.json["id"]?.string)
      #expect(
        told == [
          ["POST \(command)", "token robot", "done"],
          ["POST /api/v1/vehicles/taxi/t-1/commands", "token robot", "not-found"],
          ["POST \(command)", "token screen", "role-too-low"], ["login", "ann", "login-wrong"],
          ["login", "ann", "done"],
          ["POST \(command)", "ann", "csrf-token"], ["POST /api/v1/shares", "token robot", "done"],
          ["link", "link \(link)", "done"], ["logout", "ann", "done"],
        ])
      let first = try lines(path)[0]
      #expect(first["detail"] == .string("locate") && first["from"] == .string("127.0.0.1"))
      #expect(first["vehicles"] == .array([.string("delivery/van-1")]) && first["status"] == .integer(200))
      let text = String(decoding: try AtomicFile.read(path) ?? [], as: UTF8.self)
      let secrets = [
        AccessFixture.operateToken, AccessFixture.viewToken, AccessFixture.hash, AccessFixture.password,
        "not the password", csrf,
        String(cookie.dropFirst("odograph=".count)), String(url.dropFirst(3)), opened.cookie ?? "?",
      ]
      for secret in secrets { #expect(!text.contains(secret), "\(secret)") }
    }
  }
}
