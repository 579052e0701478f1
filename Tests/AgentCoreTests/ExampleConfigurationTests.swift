import AgentCore
import Foundation
import Testing

/// Commented-out examples in `Config/odograph.toml`, for keys without a default, are valid when uncommented.
@Suite struct ExampleConfigurationTests {
  /// Consecutive lines `# key = value` of one table, which belong together, for example a certificate and its key.
  struct Example: CustomTestStringConvertible, Sendable {
    var table: String
    var line: Int
    var keys: [String]
    var testDescription: String { "line \(line), \(table)" }
  }

  static let examples: [Example] = {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let text = (try? String(contentsOf: root.appending(path: "Config/odograph.toml"), encoding: .utf8)) ?? ""
    var examples: [Example] = []
    var table = ""
    var isRunning = false
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      if line.hasPrefix("[") { table = String(line) }
      let isKey = line.wholeMatch(of: /# [a-z_]+ = .*/) != nil
      if isKey, isRunning {
        examples[examples.count - 1].keys.append(String(line.dropFirst(2)))
      } else if isKey {
        examples.append(Example(table: table, line: index + 1, keys: [String(line.dropFirst(2))]))
      }
      isRunning = isKey
    }
    return examples
  }()

  @Test func examplesExist() { #expect(Self.examples.count > 10) }

  @Test(arguments: examples) func commentedOutExamplesAreValid(_ example: Example) throws {
    // Settings required by the example: the name of the vehicle, and TLS for files of credentials.
    let needed = example.table == "[vehicle]" ? "" : "[vehicle]\nid = \"v\"\n"
    let usesTLS = example.keys.contains {
      $0.contains("_file") || $0.hasPrefix("alpn") || $0.hasPrefix("psk")
    }
    let named = example.keys.contains { $0.hasPrefix("broker") }
    let broker = usesTLS && !named ? "broker = \"mqtts://h\"\n" : ""
    let mode = example.keys.contains { $0.hasPrefix("place") } ? "mode = \"simulation\"\n" : ""
    let user = example.keys.contains { $0.hasPrefix("password_file") } ? "user = \"v\"\n" : ""
    // The file of private zones must exist, because it is read with the configuration.
    let folder = FileManager.default.temporaryDirectory
    let places = folder.appending(path: "odograph-\(UUID()).geojson")
    try #"{"type": "FeatureCollection", "features": []}"#.write(to: places, atomically: true, encoding: .utf8)
    defer { try? FileManager.default.removeItem(at: places) }
    let keys = example.keys.joined(separator: "\n")
      .replacing("/etc/odographd/private.geojson", with: places.path)
    let text = needed + example.table + "\n" + broker + mode + user + keys
    let file = folder.appending(path: "odograph-\(UUID()).toml")
    try text.write(to: file, atomically: true, encoding: .utf8)
    defer { try? FileManager.default.removeItem(at: file) }
    do {
      _ = try ConfigurationLayers(file: file.path, environment: [:], assignments: []).configuration()
    } catch {
      Issue.record("line \(example.line): \(error)\n\(text)")
    }
  }
}
