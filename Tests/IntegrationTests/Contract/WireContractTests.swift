import Foundation
import Telemetry
import TestSupport
import Testing

/// What the agent says against `Config/schemas` and `Config/asyncapi.yaml`, in validators that are none of ours: issue 5,
/// point 7.
@Suite(.serialized) struct WireContractTests {
  /// A day of driving, some hundred thousand messages.
  @Test(.timeLimit(.minutes(15))) func everyMessageOfADayValidates() throws {
    let agent = try AgentProcess(
      [
        "input.mode": "simulation", "input.speed": "0", "simulation.duration": "86400",
        "simulation.start": "2026-11-21T00:00:00Z", "iio.rate": "4", "heading.interval": "10",
        "attitude.interval": "10", "motion.events": "shake,impact,orientation,activity",
        "log.level": "warning",
      ], print: true)
    #expect(agent.child.waitForExit() == 0, "\(agent.log)")
    let validator = try ContractScript.start("validate.py", stdin: agent.directory.file("lines"))
    #expect(validator.waitForExit() == 0, "\(validator.output)")
    var counts: [String: Int] = [:]
    for line in validator.output.split(separator: "\n") {
      let fields = line.split(separator: ",")
      if fields.count == 2, let count = Int(fields[1]) { counts[String(fields[0])] = count }
    }
    print("validated \(counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" })")
    #expect(counts["location"] ?? 0 > 10_000)
    #expect(counts["status"] ?? 0 > 1000)
    for kind in ["heading", "attitude", "motion"] { #expect(counts[kind] ?? 0 > 0, "\(kind)") }
  }

  @Test(.timeLimit(.minutes(1))) func theAsyncAPIDocumentIsWholeAndNamesEveryTopic() throws {
    let check = try ContractScript.start("asyncapi.py")
    #expect(check.waitForExit() == 0, "\(check.output)")
    let paths = Set(check.output.split(separator: "\n").map(String.init))
    for kind in MessageKind.allCases { #expect(paths.contains(kind.rawValue), "\(kind)") }
  }

  /// A message that `Telemetry` defines must have a schema of its name.
  @Test func everyMessageTypeHasASchema() throws {
    let folder = URL(fileURLWithPath: ContractScript.repository)
    let schemas = try Set(
      FileManager.default.contentsOfDirectory(atPath: folder.appending(path: "Config/schemas").path))
    let sources = FileManager.default.enumerator(
      at: folder.appending(path: "Sources/Telemetry"), includingPropertiesForKeys: nil)
    var found = 0
    while let file = sources?.nextObject() as? URL {
      // The other profiles' formats are defined elsewhere.
      guard file.pathExtension == "swift", !file.path.contains("/OwnTracks/") else { continue }
      let text = try String(contentsOf: file, encoding: .utf8)
      for match in text.matches(of: /(?:struct|enum|class) (\w+)Message\b/) where match.1 != "Wire" {
        found += 1
        // ConfigReported is config-reported.
        let name = match.1.replacing(/([a-z])([A-Z])/) { "\($0.1)-\($0.2)" }.lowercased()
        #expect(schemas.contains("\(name).json"), "\(match.1)Message has no Config/schemas/\(name).json")
      }
    }
    #expect(found >= 6)
    for kind in MessageKind.allCases { #expect(schemas.contains("\(kind.rawValue).json"), "\(kind)") }
  }
}
