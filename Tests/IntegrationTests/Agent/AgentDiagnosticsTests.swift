import Foundation
import TestSupport
import Testing

/// What the agent says of itself: log lines, `check` and `sensors`.
@Suite struct AgentDiagnosticsTests {
  private func run(_ arguments: [String], _ environment: [String: String] = [:]) throws -> (
    Int32, [Substring]
  ) {
    let child = try ChildProcess(BuiltProduct.path("odographd"), arguments, environment: environment)
    #expect(waitUntil(atMost: 60) { !child.isRunning })
    return (child.terminate(), child.output.split(separator: "\n"))
  }

  private let simulation = [
    "run", "--print", "--set", "vehicle.id=v", "--set", "input.mode=simulation", "--set", "input.speed=0",
    "--set",
    "simulation.duration=1",
  ]

  @Test func logLinesCarryJournalPrioritiesUnderSystemd() throws {
    let (status, lines) = try run(simulation, ["JOURNAL_STREAM": "8:1234"])
    #expect(status == 0)
    let log = lines.filter { !$0.hasPrefix("{") }
    #expect(log.first?.hasPrefix("<6>started preset=car vehicle=default/v") == true, "\(log)")
  }

  @Test func logLinesCarryTimeAndLevelElsewhere() throws {
    let (status, lines) = try run(simulation, ["ODOGRAPH_LOG_LEVEL": "info", "JOURNAL_STREAM": ""])
    #expect(status == 0)
    #expect(lines.contains { $0.contains("Z info: started") || $0.hasPrefix("<6>started") })
    let (_, quiet) = try run(simulation + ["--set", "log.level=error"])
    #expect(quiet.allSatisfy { $0.hasPrefix("{") })
  }

  @Test func checkSaysWhatIsWellAndWhatIsNot() throws {
    let broker = try BrokerFixture()
    let store = broker.directory.file("outbox.sqlite")
    let common = ["check", "--set", "vehicle.id=v", "--set", "store.path=\(store)"]
    let well =
      common + ["--set", "mqtt.broker=127.0.0.1:\(broker.port)", "--set", "input.mode=simulation"]
    let (good, fine) = try run(well)
    #expect(good == 0, "\(fine)")
    #expect(fine.contains { $0.hasPrefix("ok       broker: 127.0.0.1:\(broker.port) accepts us") })
    let port: Int = try FreePort.next()
    let ill = common + ["--set", "mqtt.broker=127.0.0.1:\(port)", "--set", "gpsd.port=\(port)"]
    let (bad, findings) = try run(ill)
    #expect(bad == 2)
    for subject in ["gpsd", "broker"] {
      let line = try #require(findings.first { $0.hasPrefix("problem  \(subject):") })
      #expect(line.contains("127.0.0.1:\(port)") && line.contains(";"))
    }
  }

  /// On a new machine nothing is there: what the agent makes itself is no problem, and what it cannot make keeps it from working.
  @Test func foldersOfANewMachine() throws {
    let broker = try BrokerFixture()
    func arguments(_ command: String, _ folder: String) -> [String] {
      [
        "vehicle.id=v", "input.mode=simulation", "input.speed=0", "simulation.duration=1",
        "control.socket=none",
        "mqtt.broker=127.0.0.1:\(broker.port)", "store.path=\(folder)/outbox.sqlite",
        "remote.enabled=true", "remote.path=\(folder)/remote", "regions.state=\(folder)/regions.state",
      ].reduce([command]) { $0 + ["--set", $1] }
    }
    let new = broker.directory.file("new")
    let (status, findings) = try run(arguments("check", new))
    #expect(status == 0, "\(findings)")
    #expect(findings.contains("ok       store: \(new)/outbox.sqlite"))
    #expect(findings.contains("ok       remote: \(new)/remote"))
    #expect(!FileManager.default.fileExists(atPath: new), "the check has made it")
    let (end, log) = try run(arguments("run", new))
    #expect(end == 0 && FileManager.default.fileExists(atPath: "\(new)/remote"), "\(log)")

    let far = broker.directory.file("not/there")
    let (bad, problems) = try run(arguments("check", far))
    #expect(bad == 2)
    for (subject, folder, key) in [("store", far, "store.path"), ("remote", "\(far)/remote", "remote.path")] {
      let line =
        "problem  \(subject): \(folder): No such file or directory; create it for the agent's user, or set \(key)"
      #expect(problems.contains { $0 == line }, "\(problems)")
    }
    let (refusal, words) = try run(arguments("run", far))
    #expect(
      refusal == 1 && words.contains { $0.contains("make the folder \(far) (set store.path)") }, "\(words)")
  }

  @Test func sensorsSaysWhyNothingWasFound() throws {
    let port: Int = try FreePort.next()
    let (status, lines) = try run([
      "sensors", "--set", "vehicle.id=v", "--set", "gpsd.port=\(port)", "--set",
      "iio.contexts=ip:127.0.0.1:\(port)",
    ])
    #expect(status == 0)
    #expect(lines.contains { $0.contains("gpsd") && $0.contains("\(port)") })
    #expect(lines.contains { $0.contains("iio ip:127.0.0.1:\(port)") })
  }
}
