import Fleet
import FleetWeb
import HTTPTypes
import Platform
import Spatial
import Testing

struct AccessConfigurationTests {
  @Test func aFileIsRead() throws {
    let configuration = try AccessFixture.configuration(
      AccessFixture.settings(
        """
        expires = "2027-01-31"
        vehicles = ["taxi/t-1"]
        [access]
        hosts = ["Fleet.Example"]
        audit = "audit.log"
        session_idle = "2h"
        [proxy]
        header = "X-Remote-User"
        addresses = ["127.0.0.1", "10.0.0.0/8"]
        [users.eve]
        """))
    let ann = try #require(configuration.users["ann"])
    let bob = try #require(configuration.users["bob"])
    #expect(ann.role == .operate && ann.scope == Scope(fleets: ["delivery"]) && bob.role == .view)
    #expect(configuration.users["eve"]?.password == nil && configuration.users["eve"]?.scope == .all)
    let screen = try #require(configuration.tokens[SecretDigest(of: AccessFixture.viewToken)])
    #expect(screen.name == "screen" && screen.end?.rfc3339 == "2027-01-31T00:00:00.000Z")
    // The scope is one vehicle, without a fleet.
    #expect(screen.scope == Scope(fleets: [], vehicles: [VehicleKey(fleet: "taxi", vehicle: "t-1")]))
    #expect(configuration.hosts == ["fleet.example"] && configuration.sessionIdle == 7200)
    #expect(
      configuration.proxyHeader == HTTPField.Name("X-Remote-User") && configuration.proxyAddresses.count == 2)
    #expect(configuration.hasLogin && !AccessConfiguration.none.hasLogin)
  }

  /// Each mistake is reported with its position and a remedy.
  @Test(arguments: [
    ("[users.ann]\nrole = \"view\"", "serve.toml:1:1", "odograph access password ann"),
    ("[users.ann]\npassword = \"secret\"", "serve.toml:2:12", "yescrypt"),
    (
      "[users.ann]\npassword = \"\(AccessFixture.hash)\"\npassword_file = \"x\"", "serve.toml:3:17",
      "remove one"
    ),
    ("[users.ann]\npassword_file = \"/nonexistent\"", "serve.toml:2:17", "/nonexistent"),
    (
      "[users.ann]\npassword = \"\(AccessFixture.hash)\"\nrole = \"admin\"", "serve.toml:3:8",
      "available: view, operate"
    ),
    (
      "[users.ann]\npassword = \"\(AccessFixture.hash)\"\nvehicles = [\"x\"]", "serve.toml:3:12",
      "fleet/vehicle"
    ),
    ("[users.ann]\npasword = \"x\"", "serve.toml:2:1", "did you mean password?"),
    ("[tokens.t]\nsha256 = \"abc\"", "serve.toml:2:10", "odograph access token t"),
    ("[tokens.t]\nrole = \"view\"", "serve.toml:1:1", "odograph access token t"),
    ("[proxy]\nheader = \"X-Remote-User\"", "serve.toml:1:1", "127.0.0.1"),
    ("[proxy]\nheader = \"Cookie\"\naddresses = [\"::1\"]", "serve.toml:2:10", "X-Remote-User"),
    ("[proxy]\naddresses = [\"localhost\"]", "serve.toml:2:13", "10.0.0.0/8"),
    ("[access]\nhosts = [\"https://x\"]", "serve.toml:2:9", "scheme"),
    ("[access]\nsession_idle = \"long\"", "serve.toml:2:16", "90s"),
  ]) func mistakesHaveTheirPosition(_ text: String, _ place: String, _ remedy: String) throws {
    let error = #expect(throws: FleetError.self) { try AccessFixture.configuration(text) }
    let sentence = error?.description ?? ""
    #expect(
      sentence.contains(place) && sentence.contains(remedy) && error?.kind == .invalidInput, "\(sentence)")
  }

  @Test func equalTokensAreRefused() throws {
    let digest = SecretDigest(of: "x").hexadecimal
    let text = "[tokens.a]\nsha256 = \"\(digest)\"\n[tokens.b]\nsha256 = \"\(digest.uppercased())\""
    #expect(throws: FleetError.self) { try AccessFixture.configuration(text) }
  }

  @Test(arguments: ["127.0.0.1:8080", "[::1]:80", "localhost:0"]) func loopbackNeedsNoLogin(_ text: String)
    throws
  {
    try AccessConfiguration.none.check(listening: ListenAddress(parsing: text))
  }

  @Test(arguments: ["0.0.0.0:8080", "[::]:80", "192.168.0.1:80", "fleet.example:443"])
  func otherAddressesNeedALogin(_ text: String) throws {
    let address = try ListenAddress(parsing: text)
    let error = #expect(throws: FleetError.self) { try AccessConfiguration.none.check(listening: address) }
    #expect(error?.description.contains("odograph access password") == true && error?.kind == .invalidInput)
    try AccessFixture.configuration(AccessFixture.settings()).check(listening: address)
  }

  /// The access section of `Config/serve.toml` contains every key with the program's defaults.
  @Test func theExampleIsComplete() throws {
    let path = #filePath.split(separator: "/").dropLast(4).map { "/\($0)" }.joined() + "/Config/serve.toml"
    let text = String(decoding: try #require(try AtomicFile.read(path)), as: UTF8.self)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    let begin = try #require(lines.firstIndex(of: "# ---- Access ----"))
    let own = lines[begin...].dropFirst().prefix { !$0.hasPrefix("# ---- ") }
    let asItIs = try AccessFixture.configuration(own.joined(separator: "\n"))
    #expect(asItIs == .none)
    let full = own.map { line in
      let isCode = line.hasPrefix("# [") || line.split(separator: " ").dropFirst(2).first == "="
      return isCode && line.hasPrefix("# ") ? String(line.dropFirst(2)) : String(line)
    }
    let configuration = try AccessFixture.configuration(full.joined(separator: "\n"))
    #expect(
      configuration.users["ann"]?.scope.vehicles.count == 1 && configuration.users["ann"]?.role == .operate)
    #expect(configuration.tokens.count == 1 && configuration.proxyAddresses.count == 2)
    #expect(configuration.stateFolder == "/var/lib/odograph-serve" && configuration.auditFile != nil)
    for key in AccessConfiguration.keys { #expect(own.contains { $0.contains("\(key) = ") }, "\(key)") }
  }
}
