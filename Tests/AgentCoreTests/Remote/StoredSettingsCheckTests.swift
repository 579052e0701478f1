import AgentCore
import Foundation
import Settings
import TestSupport
import Testing

/// Report of `odographd check` on stored remote settings.
@Suite struct StoredSettingsCheckTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func findings(limit: Int) throws -> [Finding] {
    let text = """
      [vehicle]
      id = "v"
      [mqtt]
      broker = "mqtt://127.0.0.1:1"
      backoff_limit = \(limit)
      [store]
      path = "\(directory.file("outbox.sqlite"))"
      [remote]
      enabled = true
      path = "\(directory.path)"
      keys = ["mqtt.backoff_base"]
      """
    let layers = ConfigurationLayers(
      flags: ConfigurationLayer(), environment: ConfigurationLayer(),
      file: try ConfigurationLayer(toml: text, name: "test.toml"), fileName: "test.toml")
    var check = EnvironmentCheck(try layers.configuration(), layers: layers)
    return check.run(sources: []).filter { $0.subject == "mqtt.backoff_base" }
  }

  @Test func settingThatTheConfigurationContradictsIsReported() throws {
    var memory = RemoteMemory()
    memory.settings.values = ["mqtt.backoff_base": .number(300)]
    let stored = String(decoding: memory.encoded, as: UTF8.self)
    let path = try directory.write("settings.json", stored)
    #expect(try findings(limit: 600).isEmpty)
    let finding = try #require(try findings(limit: 10).first)
    #expect(finding.severity == .warning)
    #expect(finding.line.contains("the stored remote setting is not in effect"), "\(finding.line)")
    #expect(finding.line.contains("odograph config set --unset mqtt.backoff_base"))
    // The check changes no state.
    #expect(try String(contentsOfFile: path, encoding: .utf8) == stored)
  }
}
