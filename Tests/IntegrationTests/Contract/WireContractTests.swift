import Foundation
import Telemetry
import TestSupport
import Testing

/// Messages of the agent, validated with third-party validators against `Config/schemas` and `Config/asyncapi.yaml`.
@Suite(.serialized) struct WireContractTests {
  /// A day of driving with several hundred thousand messages. An unoptimized build needs minutes for a day of inertial samples; without
  /// ODOGRAPH_FULL=1 they are limited to an hour.
  @Test(.timeLimit(.minutes(20))) func everyMessageOfADayValidates() throws {
    let isFull = Shared.isFullRun
    let inertial = [
      "iio.rate": "4", "heading.interval": "10", "attitude.interval": "10",
      "motion.events": "shake,impact,orientation,activity",
    ]
    let still = ["heading.enabled": "false", "attitude.enabled": "false", "motion.events": ""]
    let day = try validated(seconds: 86_400, isFull ? inertial : still)
    #expect(day["location"] ?? 0 > 10_000)
    #expect(day["status"] ?? 0 > 1000)
    #expect(day["status.energy"] == day["status"])
    #expect(day["region"] ?? 0 > 1)
    let moving = isFull ? day : try validated(seconds: 3600, inertial)
    for kind in ["heading", "attitude", "motion"] { #expect(moving[kind] ?? 0 > 0, "\(kind)") }
  }

  /// Validates all messages of a simulated drive. Returns the number of messages per kind.
  private func validated(seconds: Int, _ settings: [String: String]) throws -> [String: Int] {
    let drive = [
      "input.mode": "simulation", "input.speed": "0", "simulation.duration": "\(seconds)",
      "simulation.start": "2026-11-21T00:00:00Z", "log.level": "warning",
    ]
    let directory = try TemporaryDirectory()
    let regions = ["regions.path": try RegionsOnRoute(in: directory).path]
    let agent = try AgentProcess(drive.merging(settings) { $1 }.merging(regions) { $1 }, print: true)
    #expect(agent.child.waitForExit() == 0, "\(agent.log)")
    let validator = try ContractScript.start("validate.py", stdin: agent.directory.file("lines"))
    #expect(validator.waitForExit() == 0, "\(validator.output)")
    let counts = ContractScript.counts(validator.output)
    print("validated \(seconds) s: \(counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" })")
    return counts
  }

  @Test(.timeLimit(.minutes(1))) func asyncAPIDocumentHasEveryTopic() throws {
    let check = try ContractScript.start("asyncapi.py")
    #expect(check.waitForExit() == 0, "\(check.output)")
    let paths = Set(check.output.split(separator: "\n").map(String.init))
    for kind in MessageKind.allCases { #expect(paths.contains(kind.rawValue), "\(kind)") }
  }

  /// Each message type in `Telemetry` has a schema with the corresponding name.
  @Test func everyMessageTypeHasASchema() throws {
    let folder = URL(fileURLWithPath: ContractScript.repository)
    let schemas = try Set(
      FileManager.default.contentsOfDirectory(atPath: folder.appending(path: "Config/schemas").path))
    let sources = FileManager.default.enumerator(
      at: folder.appending(path: "Sources/Telemetry"), includingPropertiesForKeys: nil)
    var found = 0
    while let file = sources?.nextObject() as? URL {
      // Formats of the other profiles are not part of these schemas.
      guard file.pathExtension == "swift", !file.path.contains("/OwnTracks/") else { continue }
      let text = try String(contentsOf: file, encoding: .utf8)
      for match in text.matches(of: /(?:struct|enum|class) (\w+)Message\b/)
      where match.1 != "Vehicle" {
        found += 1
        // For example, `ConfigReported` becomes `config-reported`.
        let name = match.1.replacing(/([a-z])([A-Z])/) { "\($0.1)-\($0.2)" }.lowercased()
        #expect(schemas.contains("\(name).json"), "\(match.1)Message has no Config/schemas/\(name).json")
      }
    }
    #expect(found >= 6)
    for kind in MessageKind.allCases {
      let name = kind.rawValue.replacing("/", with: "-")
      #expect(schemas.contains("\(name).json"), "\(kind)")
    }
  }
}
