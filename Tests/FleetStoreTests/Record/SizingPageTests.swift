import Foundation
import Testing

/// The page on sizing: what is worked out follows from what was measured.
@Suite struct SizingPageTests {
  private let page: String

  init() throws {
    let root = (0..<4).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
    page = try String(contentsOf: root.appending(path: "Config/sizing.md"), encoding: .utf8)
  }

  /// The cells of all rows.
  private var rows: [[String]] {
    page.split(separator: "\n").filter { $0.hasPrefix("|") }.map { line in
      line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
    }
  }

  private func figure(_ name: String) throws -> Double {
    let row = try #require(rows.first { $0.first?.hasPrefix(name) == true }, "\(name)")
    return try #require(Double(row[1]), "\(row)")
  }

  @Test func theExampleFollowsFromTheFigures() throws {
    let head = try #require(rows.firstIndex { $0.first == "vehicles" })
    let examples = rows[(head + 2)...].prefix { Double($0[0]) != nil }
    #expect(examples.count == 3)
    // Half of them at once, a message in 10 s each, machines at half of what was measured.
    let broker = try figure("messages/s of a mosquitto node to one recorder") / 2
    let recorder = try figure("messages/s of one recorder into") / 2
    let database = try figure("messages/s of one database") / 2
    let radio = try figure("kB a day of a car")
    let bytes = try figure("messages a day of a car") * figure("bytes of PostgreSQL's disk a message")
    // What comes by radio is stored, and more with it.
    let disk = radio * 1000 + bytes
    for example in examples {
      let numbers = try example.map { try #require(Double($0)) }
      let (vehicles, rate) = (numbers[0], numbers[0] / 2 / 10)
      #expect(numbers[1] == rate)
      #expect(numbers[2] == (rate / broker).rounded(.up))
      #expect(numbers[3] == (rate / recorder).rounded(.up))
      #expect(numbers[4] == (rate / database).rounded(.up))
      #expect(numbers[5] == (vehicles * disk / 1e9 * 10).rounded() / 10)
      #expect(numbers[5] >= numbers[6])
      #expect(numbers[6] == (vehicles * radio / 1e6 * 10).rounded() / 10)
    }
    // Of 90 days, in TB.
    for (vehicles, text) in [(100_000.0, "10.5 TB"), (1_000_000, "105 TB")] {
      let days = vehicles * disk * 90 / 1e12
      let said = try #require(Double(text.prefix { $0 != " " }))
      #expect(abs(days - said) <= 0.02 * said && page.contains(text))
    }
  }

  /// What presets cost a day is what their files say, which another test holds to the agent.
  @Test(arguments: [
    ("car", "car"), ("truck", "truck"), ("asset-tracker", "an asset tracker"),
    ("person", "person"), ("test-bench", "test bench"),
  ])
  func presetsAreThoseOfTheirFiles(name: String, said: String) throws {
    let root = (0..<4).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
    let preset = try String(
      contentsOf: root.appending(path: "Config/presets/\(name).toml"), encoding: .utf8)
    let value = Int(try figure("kB a day of \(said.hasPrefix("an ") ? said : "a " + said)"))
    #expect(preset.contains("data    \(value) kB"))
  }
}
