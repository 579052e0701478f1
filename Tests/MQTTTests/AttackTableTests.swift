import Foundation
import Testing

/// Checks the table of attacks in the documentation.
@Suite struct AttackTableTests {
  @Test func everyNamedTestExists() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let page = try String(
      contentsOf: root.appending(path: "Sources/MQTT/Documentation.docc/Attacks.md"), encoding: .utf8)
    let rows = page.split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst(2)
    #expect(rows.count > 15)
    var tests = ""
    let files = FileManager.default.enumerator(
      at: root.appending(path: "Tests"), includingPropertiesForKeys: nil)
    while let file = files?.nextObject() as? URL {
      if file.lastPathComponent == ".build" || file.lastPathComponent == "Benchmarks" {
        files?.skipDescendants()
      } else if file.pathExtension == "swift" {
        tests += try String(contentsOf: file, encoding: .utf8)
      }
    }
    for row in rows {
      let named = row.split(separator: "|").last?.matches(of: /`([A-Za-z0-9]+)`/).map(\.1) ?? []
      #expect(!named.isEmpty, "\(row)")
      for name in named { #expect(tests.contains("func \(name)("), "\(name)") }
    }
  }
}
