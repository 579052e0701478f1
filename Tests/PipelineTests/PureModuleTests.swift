import Foundation
import Testing

/// That the pipeline does no I/O is compiled, not promised. `Deploy/pure.sh` looks at the symbols as well.
@Suite struct PureModuleTests {
  @Test func pipelineImportsNoModuleWithIO() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let sources = root.appending(path: "Sources/Pipeline")
    let names = try FileManager.default.subpathsOfDirectory(atPath: sources.path)
      .filter { $0.hasSuffix(".swift") }
    #expect(names.count >= 10)
    let pure: Set<String> = [
      "DequeModule", "JSON", "Motion", "Navigation", "Positioning", "Sensors", "Spatial", "Telemetry",
      "Traces",
    ]
    for name in names {
      let text = try String(contentsOf: sources.appending(path: name), encoding: .utf8)
      let imports = text.split(separator: "\n").filter { line in
        line.split(separator: " ").prefix(3).contains("import") && !line.hasPrefix("/")
      }.compactMap { $0.split(separator: " ").last.map(String.init) }
      #expect(Set(imports).isSubset(of: pure), "\(name)")
    }
  }
}
