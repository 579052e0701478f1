import Foundation
import Testing

@testable import AgentCore

/// The names by which log messages are searched for.
@Suite struct LogEventTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  @Test func eachNameIsGoodAndDocumentedOnce() throws {
    let page = try String(contentsOf: Self.root.appending(path: "Config/log-events.md"), encoding: .utf8)
    let documented = page.split(separator: "\n").compactMap { line in
      line.wholeMatch(of: /\| `([^`]+)` \| (debug|info|notice|warning|error) \| .+ \|/).map { String($0.1) }
    }
    #expect(documented == AgentEvent.allCases.map(\.rawValue))
    for event in AgentEvent.allCases {
      #expect(event.rawValue.wholeMatch(of: /[a-z]+(\.[a-z_]+)+/) != nil, "\(event)")
    }
  }

  /// Every message of the agent has a name, and every name has a message.
  @Test func noMessageIsWithoutAName() throws {
    let folder = Self.root.appending(path: "Sources/AgentCore")
    var used: Set<String> = []
    let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
    while let file = files?.nextObject() as? URL {
      guard file.pathExtension == "swift" else { continue }
      let text = try String(contentsOf: file, encoding: .utf8)
      for call in text.matches(of: /log\.(debug|info|notice|warning|error)\(\s*([^\s,)]+)/) {
        let name = call.2
        #expect(name.hasPrefix(".") || name == "$0.event", "\(file.lastPathComponent): \(call.0)")
        used.insert(String(name.dropFirst()))
      }
      // The outbox's notices have theirs from a table.
      if file.lastPathComponent == "AgentLog.swift" {
        for match in text.matches(of: /: \.([a-zA-Z]+)\n/) { used.insert(String(match.1)) }
      }
    }
    for event in AgentEvent.allCases { #expect(used.contains("\(event)"), "\(event) is not used") }
  }
}
