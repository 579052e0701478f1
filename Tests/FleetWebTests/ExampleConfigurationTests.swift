import Fleet
import FleetAlerts
import FleetProgram
import FleetWeb
import Platform
import TestSupport
import Testing

/// The keys in `Config/serve.toml` that are not commented out have their default values, except for rules.
struct ExampleConfigurationTests {
  private static let tables = ["server", "map", "access", "alerts"]

  /// Returns the example, and the example without the keys of `tables`.
  private func texts() throws -> (example: String, bare: String, removed: [String]) {
    let example = String(
      decoding: try #require(try AtomicFile.read("\(ContractScript.repository)/Config/serve.toml")),
      as: UTF8.self)
    var table = ""
    var removed: [String] = []
    let bare = example.split(separator: "\n", omittingEmptySubsequences: false).filter { line in
      if line.hasPrefix("[") { table = String(line.dropFirst().prefix { $0 != "]" }) }
      guard Self.tables.contains(table), !line.hasPrefix("#"), line.contains(" = ") else { return true }
      removed.append("\(table).\(line.prefix { $0 != " " })")
      return false
    }
    return (example, bare.joined(separator: "\n"), removed)
  }

  @Test func keysOfTheExampleHaveTheirDefaults() throws {
    let (example, bare, removed) = try texts()
    #expect(
      removed == [
        "server.listen", "server.plain", "server.streams", "server.connections", "server.vehicles",
        "access.hosts",
        "access.session_idle",
        "access.session_longest", "access.requests_per_second", "alerts.time_zone", "alerts.group",
        "alerts.give_up_after", "alerts.keep",
      ])
    let folder = try TemporaryDirectory()
    func read(_ text: String) throws -> (ServeConfiguration, AccessConfiguration, AlertSettings?) {
      let path = try folder.write("serve.toml", text)
      let configuration = try ServeConfiguration(.init(file: path))
      let file = try SettingsFile(path: path)
      return (configuration, try AccessConfiguration(file), try AlertSettings(file))
    }
    let (said, unsaid) = (try read(example), try read(bare))
    #expect(said.0.address == unsaid.0.address && said.0.streams == unsaid.0.streams)
    #expect(said.0.capacity == unsaid.0.capacity)
    #expect(said.0.connections == unsaid.0.connections && said.0.map == unsaid.0.map)
    #expect(!said.0.allowsPlain && !unsaid.0.allowsPlain)
    #expect(said.0.recording == nil && !said.0.records && said.0.keep == nil && said.0.leaflet == nil)
    #expect(said.1 == unsaid.1 && said.2 == unsaid.2 && said.2 != nil)
    // An empty file has the same defaults.
    let empty = try read("")
    #expect(said.0.address == empty.0.address && said.0.streams == empty.0.streams && said.1 == empty.1)
  }

  /// Keys that require another one are reported with their position, unless the option of the command line lacks it.
  @Test func dependentKeysAreReportedWithTheirPosition() throws {
    let folder = try TemporaryDirectory()
    func cause(
      _ text: String, _ change: (inout ServeConfiguration.Overrides) -> Void = { _ in }
    ) throws -> String? {
      var overrides = ServeConfiguration.Overrides(
        file: try folder.write("serve.toml", "[server]\n" + text))
      change(&overrides)
      do throws(FleetError) { _ = try ServeConfiguration(overrides) } catch { return error.cause }
      return nil
    }
    #expect(try cause("recording = \"a\"\nkeep = \"90d\"") == "key keep: requires record = true")
    #expect(try cause("record = true") == "key record: requires recording")
    #expect(try cause("record = true") { $0.recording = "a" } == nil)
    #expect(try cause("keep = \"90d\"\nrecording = \"a\"") { $0.records = true } == nil)
    #expect(try cause("recording = \"a\"") { $0.keep = "90d" }?.contains("requires --record") == true)
    let error = #expect(throws: FleetError.self) {
      try ServeConfiguration(
        .init(file: folder.write("serve.toml", "[server]\nrecording = \"a\"\nkeep = \"90d\"")))
    }
    #expect(error?.object.contains("serve.toml:3:") == true, "\(String(describing: error))")
  }

  /// The rules of the example are not defaults: an empty file has none.
  @Test func rulesAreSamples() throws {
    let folder = try TemporaryDirectory()
    let settings = try AlertSettings(SettingsFile(path: try folder.write("serve.toml", texts().example)))
    #expect((settings?.rules.count ?? 0) > 5 && settings?.receivers.isEmpty == true)
    #expect(try AlertSettings(SettingsFile(path: try folder.write("empty.toml", ""))) == nil)
  }
}
