import FleetWeb
import JSON
import Platform
import Testing

/// The table of refusals in `Config/serve.md`, row by row, against a server with all kinds of routes.
struct RefusalTableTests {
  private struct Row {
    var who: String
    var method: String
    var path: String
    var with: String
    var status: Int
    var code: String?

    init?(_ line: Substring) {
      let cells = line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast().map {
        $0.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed().map(String.init).joined()
      }
      guard cells.count == 4 else { return nil }
      let request = cells[1].filter { $0 != "`" }.split(separator: " ")
      let answer = cells[3].filter { $0 != "`" }.split(separator: " ")
      guard request.count == 2, let status = answer.first.flatMap({ Int($0) }) else { return nil }
      who = cells[0]
      (method, path) = (String(request[0]), String(request[1]))
      with = cells[2]
      self.status = status
      code = answer.count > 1 ? String(answer[1]) : nil
    }
  }

  private func rows() throws -> [Row] {
    let path = #filePath.split(separator: "/").dropLast(4).map { "/\($0)" }.joined() + "/Config/serve.md"
    let text = String(decoding: try #require(try AtomicFile.read(path)), as: UTF8.self)
    return text.split(separator: "\n").filter { $0.hasPrefix("|") }.compactMap(Row.init)
  }

  @Test func everyRowIsCorrect() async throws {
    let rows = try rows()
    #expect(rows.count > 30)
    let settings = try AccessFixture.configuration(AccessFixture.settings())
    try await AccessFixture.run(settings, subjects: [SomeRoutes()]) { web in
      for row in rows where row.who != "this machine" { try check(row, web) }
    }
    try await AccessFixture.run(.none, subjects: [SomeRoutes()]) { web in
      for row in rows where row.who == "this machine" { try check(row, web) }
    }
  }

  private func headers(of who: String, _ web: AccessFixture) throws -> [String] {
    switch who {
    case "no login", "this machine": return []
    case "screen": return ["Authorization: Bearer \(AccessFixture.viewToken)"]
    case "robot": return ["Authorization: Bearer \(AccessFixture.operateToken)"]
    case "ann", "ann, after the logout":
      let login = try web.logIn("ann")
      let headers = [
        "Cookie: \(try #require(login.cookie))", "X-CSRF-Token: \(try #require(login.json["csrf"]?.string))",
      ]
      if who != "ann" { #expect(try web.ask("DELETE", "/api/v1/session", headers).status == 204) }
      return headers
    case "a link":
      let share = try web.ask(
        "POST", "/api/v1/shares",
        ["Authorization: Bearer \(AccessFixture.operateToken)", "Content-Type: application/json"],
        body: "{\"fleet\":\"delivery\",\"vehicle\":\"van-1\",\"seconds\":3600}")
      let opened = try web.ask("GET", try #require(share.json["url"]?.string))
      let cookie = "Cookie: \(try #require(opened.cookie))"
      let session = try web.ask("GET", "/api/v1/session", [cookie])
      return [cookie, "X-CSRF-Token: \(try #require(session.json["csrf"]?.string))"]
    default:
      Issue.record("unknown client \(who)")
      return []
    }
  }

  private func check(_ row: Row, _ web: AccessFixture) throws {
    var headers = try headers(of: row.who, web)
    var host = "127.0.0.1"
    var body = row.method == "GET" ? nil : "{}"
    let with = row.with.filter { $0 != "`" }
    switch with {
    case "": break
    case "a body of 10 MB": body = String(repeating: "a", count: 10 << 20)
    case "no X-CSRF-Token": headers.removeAll { $0.hasPrefix("X-CSRF-Token") }
    case _ where with.hasPrefix("Host: "): host = String(with.dropFirst(6))
    default: headers.append(with)
    }
    let answer = try web.ask(row.method, row.path, headers, body: body, host: host)
    #expect(
      answer.status == row.status && (row.code == nil || answer.code == row.code),
      "\(row): \(answer.status) \(answer.text)")
    // No answer is HTML or repeats markup of the request.
    #expect(!answer.text.contains("<"))
  }
}
