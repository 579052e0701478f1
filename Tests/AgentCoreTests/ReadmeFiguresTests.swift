import Foundation
import Testing

/// The figures in README.md match the section of RESULTS.md that is linked on the same line.
@Suite struct ReadmeFiguresTests {
  private static func text(_ path: String) throws -> String {
    let root = (0..<3).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
    return try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  /// Returns the lines from a heading to the next one.
  private static func section(_ name: String, of results: String) -> String {
    let lines = results.split(separator: "\n")
    guard let start = lines.firstIndex(where: { $0.drop { $0 == "#" } == " \(name)" }) else { return "" }
    return lines[(start + 1)...].prefix { !$0.hasPrefix("#") }.joined(separator: "\n")
  }

  @Test func readmeFiguresAreInTheResults() throws {
    let results = try Self.text("Tests/Benchmarks/RESULTS.md")
    let lines = try Self.text("README.md").split(separator: "\n").compactMap {
      $0.wholeMatch(of: /- (.*) \(\[(.*)\]\(Tests\/Benchmarks\/RESULTS\.md\)\)/)
    }
    #expect(lines.count >= 4)
    for line in lines {
      let section = Self.section(String(line.2), of: results)
      #expect(!section.isEmpty, "no section \(line.2)")
      let measured = section.matches(of: /\d+(\.\d+)?/).compactMap { Double($0.0) }
      let figures = line.1.matches(of: /\d+\.(\d+)/)
      #expect(!figures.isEmpty, "\(line.0)")
      for figure in figures {
        let value = try #require(Double(figure.0))
        let half = 0.5 * pow(10, -Double(figure.1.count)) + 1e-9
        #expect(measured.contains { abs($0 - value) <= half }, "\(value) is not in \(line.2)")
      }
    }
  }
}
