import AgentCore
import Foundation
import Settings
import Telemetry
import Testing

/// Figures in `Config/sizing.md`: those of presets match the presets, and computed ones follow from the others.
/// A failure prints the expected lines.
@Suite struct SizingPageTests {
  private let page: String

  init() throws {
    let root = (0..<3).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
    page = try String(contentsOf: root.appending(path: "Config/sizing.md"), encoding: .utf8)
  }

  /// Cells of all table rows.
  private var rows: [[String]] {
    page.split(separator: "\n").filter { $0.hasPrefix("|") }.map { line in
      line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
    }
  }

  private func figure(_ name: String) throws -> Double {
    let row = try #require(rows.first { $0.first?.hasPrefix(name) == true }, "\(name)")
    return try #require(Double(row[1]), "\(row)")
  }

  private func expectLine(_ line: String) {
    #expect(page.split(separator: "\n").contains(Substring(line)), "write:\n\(line)")
  }

  /// Data per day in kB from the head comment of the preset, which `DayEstimateTests` compares with the estimate.
  private static func kilobytes(_ preset: Preset) throws -> String {
    let words = preset.text.split(whereSeparator: \.isWhitespace)
    let index = try #require(words.firstIndex(of: "data"))
    #expect(words[index + 2] == "kB")
    return String(words[index + 1])
  }

  @Test(arguments: [
    (Preset.car, "a car, 2 h"), (.truck, "a truck, 9 h"), (.person, "a person, 1.5 h"),
    (.assetTracker, "an asset tracker, 0.5 h"), (.testBench, "a test bench, all day"),
  ])
  func presetDataMatchesItsFile(preset: Preset, vehicle: String) throws {
    let source =
      preset == .car
      ? "`odographd check --estimate` with `presets/car.toml`"
      : "the same with `presets/\(preset.rawValue).toml`"
    expectLine("| kB a day of \(vehicle) in motion | \(try Self.kilobytes(preset)) | \(source) |")
  }

  /// Compares figures rounded to hundreds, because the page gives orders of magnitude.
  @Test func carMessagesMatchTheEstimate() throws {
    let configuration = try AgentConfiguration(settings: ["vehicle.id=v", "preset=car"])
    let counted = try SimulatedDay.use(configuration, drivingHours: 2).counts.values.reduce(0, +)
    let rounded = Int((counted / 100).rounded() * 100)
    #expect(try figure("messages a day of a car") == Double(rounded), "write \(rounded)")
  }

  @Test func exampleFollowsFromTheFigures() throws {
    // Half of the vehicles drive simultaneously, each with a message every 4 s. Machines are planned for half
    // of the measured rate.
    let broker = try figure("messages/s of a mosquitto node to one recorder") / 2
    let recorder = try figure("messages/s of one recorder into") / 2
    let database = try figure("messages/s of one database") / 2
    let radio = try figure("kB a day of a car")
    let bytes = try figure("messages a day of a car") * figure("bytes of PostgreSQL's disk a message")
    // All transmitted data is stored, with overhead.
    let disk = radio * 1000 + bytes
    func nodes(_ rate: Double, _ each: Double) -> Int { Int((rate / each).rounded(.up)) }
    func decimal(_ value: Double) -> String { String(format: "%.1f", value) }
    for vehicles in [10_000.0, 100_000, 1_000_000] {
      let rate = vehicles / 2 / 4
      let cells = [
        "\(Int(vehicles))", "\(Int(rate))", "\(nodes(rate, broker))", "\(nodes(rate, recorder))",
        "\(nodes(rate, database))", decimal(vehicles * disk / 1e9), decimal(vehicles * radio / 1e6),
      ]
      expectLine("| " + cells.joined(separator: " | ") + " |")
    }
    func terabytes(_ vehicles: Double) -> String {
      let days = vehicles * disk * 90 / 1e12
      return days < 20 ? decimal(days) : "\(Int(days.rounded()))"
    }
    let text = "hundred thousand cars are \(terabytes(100_000)) TB, of a million \(terabytes(1_000_000)) TB."
    #expect(page.contains(text), "write: \(text)")
  }
}
