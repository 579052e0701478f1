import AgentCore
import Foundation
import Testing

/// Names of the events in the log.
@Suite struct LogEventTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  @Test func eachEventNameIsValidAndDocumentedOnce() throws {
    let page = try String(contentsOf: Self.root.appending(path: "Config/log-events.md"), encoding: .utf8)
    let documented = page.split(separator: "\n").compactMap { line in
      line.wholeMatch(of: /\| `([^`]+)` \| (debug|info|notice|warning|error) \| .+ \|/).map { String($0.1) }
    }
    #expect(documented == AgentEvent.allCases.map(\.rawValue))
    for event in AgentEvent.allCases {
      #expect(event.rawValue.wholeMatch(of: /[a-z]+(\.[a-z_]+)+/) != nil, "\(event)")
    }
  }

  /// Levels and fields in the documentation are the same as in the calls.
  @Test func eachLogLineHasTheDocumentedFields() throws {
    let page = try String(contentsOf: Self.root.appending(path: "Config/log-events.md"), encoding: .utf8)
    var documented: [String: (level: String, text: String)] = [:]
    for line in page.split(separator: "\n") {
      guard let row = line.wholeMatch(of: /\| `([^`]+)` \| ([a-z]+) \| (.+) \|/) else { continue }
      documented[String(row.1)] = (String(row.2), String(row.3))
    }
    let names = Dictionary(uniqueKeysWithValues: AgentEvent.allCases.map { ("\($0)", $0.rawValue) })
    let folder = Self.root.appending(path: "Sources/AgentCore")
    let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
    var checked = 0
    while let file = files?.nextObject() as? URL {
      guard file.pathExtension == "swift" else { continue }
      let text = try String(contentsOf: file, encoding: .utf8)
      for call in text.matches(of: /log\.(debug|info|notice|warning|error)\(\s*\.([a-zA-Z]+)/) {
        guard let name = names[String(call.2)], let row = documented[name] else { continue }
        #expect(row.level == call.1, "\(name): \(call.1) in \(file.lastPathComponent)")
        // Reads to the end of the call.
        var depth = 1
        let rest = text[call.range.upperBound...].prefix { character in
          if character == "(" { depth += 1 }
          if character == ")" { depth -= 1 }
          return depth > 0
        }
        guard let metadata = rest.range(of: "metadata:") else { continue }
        for value in rest[metadata.upperBound...].matches(of: /"([a-z_]+)":/) {
          #expect(row.text.contains("`\(value.1)`"), "\(name) does not document \(value.1)")
          checked += 1
        }
      }
    }
    #expect(checked > 40)
  }

  /// Each log message of the agent has an event name, and each event name is used.
  @Test func everyLogMessageHasAnEventName() throws {
    let folder = Self.root.appending(path: "Sources/AgentCore")
    var used: Set<String> = []
    let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
    while let file = files?.nextObject() as? URL {
      guard file.pathExtension == "swift" else { continue }
      let text = try String(contentsOf: file, encoding: .utf8)
      for call in text.matches(of: /log\.(debug|info|notice|warning|error)\(\s*([^\s,)]+)/) {
        let name = call.2
        #expect(name.hasPrefix(".") || name.hasSuffix(".event"), "\(file.lastPathComponent): \(call.0)")
        used.insert(String(name.dropFirst()))
      }
      // Events of the outbox's notices are in a table.
      if file.lastPathComponent == "AgentLog.swift" {
        for match in text.matches(of: /: \.([a-zA-Z]+)\n/) { used.insert(String(match.1)) }
      }
    }
    for event in AgentEvent.allCases { #expect(used.contains("\(event)"), "\(event) is not used") }
  }
}
