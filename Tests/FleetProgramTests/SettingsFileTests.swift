import Fleet
import FleetProgram
import Testing

struct SettingsFileTests {
  private let text = """
    [server]
    listen = "127.0.0.1:8080"
    limit = 3
    [users.ann]
    role = "view"
    silence = "10m"
    file = "ann.hash"
    [users.bob]
    role = "none"
    share = 0.5
    """

  private enum Role: String, CaseIterable { case view, operate }

  @Test func valuesAreRead() throws {
    let file = try SettingsFile(text: text, path: "/etc/serve.toml")
    try file.check(tables: ["server", "users"])
    let server = try file.table("server", keys: ["listen", "limit"])
    #expect(try server.text("listen") == "127.0.0.1:8080")
    #expect(try server.integer("limit", in: 1...5) == 3)
    let users = try file.tables(in: "users", keys: ["role", "silence", "file", "share"])
    #expect(users.map(\.name) == ["ann", "bob"])
    #expect(try users[0].word("role") == Role.view)
    #expect(try users[0].duration("silence") == 600)
    #expect(try users[0].file("file") == "/etc/ann.hash")
    #expect(try users[1].number("share", in: 0...1) == 0.5)
    #expect(try users[1].texts("silence") == nil)
  }

  /// Table: base folders of relative paths, for files that are read and files that are written.
  @Test(
    arguments: [
      ("serve.toml", [:], "a/b", "a/b"), ("/srv/x/serve.toml", [:], "/srv/x/a/b", "/srv/x/a/b"),
      // A shell has no variables of the service manager.
      ("/etc/odograph/serve.toml", [:], "/etc/odograph/a/b", "/var/lib/odograph-serve/a/b"),
      // The service uses a copy of the file.
      (
        "/run/odograph-serve/serve.toml",
        ["ODOGRAPH_CONFIG_DIRECTORY": "/etc/odograph", "STATE_DIRECTORY": "/var/lib/odograph-serve"],
        "/etc/odograph/a/b", "/var/lib/odograph-serve/a/b"
      ),
      (
        "/run/odograph-serve/serve.toml", ["ODOGRAPH_CONFIG_DIRECTORY": "/etc/odograph"], "/etc/odograph/a/b",
        "/var/lib/odograph-serve/a/b"
      ),
      ("/srv/serve.toml", ["STATE_DIRECTORY": "/var/lib/x:/var/lib/y"], "/srv/a/b", "/var/lib/x/a/b"),
    ] as [(String, [String: String], String, String)]) func relativePathsHaveTheirBaseFolders(
      _ path: String, _ variables: [String: String], _ read: String, _ written: String
    ) throws
  {
    let text = "[server]\nfile = \"a/b\"\nwhole = \"/c\""
    let file = try SettingsFile(text: text, path: path) { variables[$0] }
    let table = try file.table("server", keys: ["file", "whole"])
    #expect(try table.file("file") == read && table.stateFile("file") == written)
    #expect(file.stateFile("a/b") == written)
    #expect(try table.file("whole") == "/c" && table.stateFile("whole") == "/c")
    #expect(try table.file("none") == nil && table.stateFile("none") == nil)
  }

  @Test func changedSettingsAreNamed() throws {
    let file = try SettingsFile(text: text, path: "serve.toml")
    let paths = [["server"], ["users", "ann"], ["users", "bob", "role"], ["none"]]
    for (old, new, names) in [
      ("[server]", "# More.\n[server]", []), ("limit = 3", "limit = 4", ["[server]"]),
      ("limit = 3", "", ["[server]"]), ("role = \"view\"", "role = \"none\"", ["ann in [users]"]),
      ("role = \"none\"", "role = \"view\"", ["role in [users.bob]"]), ("share = 0.5", "share = 1", []),
    ] {
      let other = try SettingsFile(text: text.replacing(old, with: new), path: "serve.toml")
      #expect(other.changes(from: file, of: paths) == names)
    }
  }

  private func problem(_ body: (SettingsFile) throws -> Void) throws -> String {
    let file = try SettingsFile(text: text, path: "serve.toml")
    do {
      try body(file)
      return ""
    } catch let error as FleetError { return error.description }
  }

  @Test func errorsHaveTheirPositions() throws {
    #expect(
      try problem { try $0.check(tables: ["servers", "users"]) }
        == "cannot use serve.toml:1:2: unknown table server; did you mean [servers]?")
    #expect(
      try problem { _ = try $0.table("server", keys: ["listen", "limits"]) }
        == "cannot use serve.toml:3:1: unknown key limit in [server]; did you mean limits?")
    #expect(
      try problem { file in
        let users = try file.tables(in: "users", keys: ["role", "silence", "file", "share"])
        let _: Role? = try users[1].word("role")
      } == "cannot use serve.toml:9:8: key role: \"none\" is unknown; available: view, operate")
    let misspelt = try SettingsFile(text: "[ann]\nrole = \"opperate\"", path: "serve.toml")
    let error = try #require(throws: FleetError.self) {
      let _: Role? = try misspelt.table("ann", keys: ["role"]).word("role")
    }
    #expect(
      error.description
        == "cannot use serve.toml:2:8: key role: \"opperate\" is unknown; did you mean \"operate\"?")
    #expect(
      try problem { file in
        _ = try file.table("server", keys: ["listen", "limit"]).integer("limit", in: 4...5)
      } == "cannot use serve.toml:3:9: key limit: must be an integer from 4 to 5")
    #expect(throws: FleetError.self) { try SettingsFile(text: "[a", path: "serve.toml") }
  }
}
