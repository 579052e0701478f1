import Foundation
import TestSupport
import Testing

/// Diagnostics of the agent: log lines, `check` and `sensors`.
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

  @Test func checkReportsSuccessAndProblems() throws {
    let broker = try BrokerFixture()
    let store = broker.directory.file("outbox.sqlite")
    let common = ["check", "--set", "vehicle.id=v", "--set", "store.path=\(store)"]
    let well =
      common + ["--set", "mqtt.broker=127.0.0.1:\(broker.port)", "--set", "input.mode=simulation"]
    let (good, fine) = try run(well)
    #expect(good == 0, "\(fine)")
    #expect(fine.contains { $0.hasPrefix("ok       broker: 127.0.0.1:\(broker.port) accepts the login") })
    let port: Int = try FreePort.next()
    let ill = common + ["--set", "mqtt.broker=127.0.0.1:\(port)", "--set", "gpsd.port=\(port)"]
    let (bad, findings) = try run(ill)
    #expect(bad == 2)
    for subject in ["gpsd", "broker"] {
      let line = try #require(findings.first { $0.hasPrefix("problem  \(subject):") })
      #expect(line.contains("127.0.0.1:\(port)") && line.contains(";"))
    }
  }

  @Test func checkReportsSettingsWithoutEffect() throws {
    let folder = try TemporaryDirectory()
    func warnings(_ text: String, _ settings: String...) throws -> [Substring] {
      let file = try folder.write(
        "odograph.toml", "[vehicle]\nid = \"v\"\n[input]\nmode = \"simulation\"\n" + text)
      let port: Int = try FreePort.next()
      return try run(
        ["check", "--config", file, "--set", "mqtt.broker=127.0.0.1:\(port)"]
          + settings.flatMap { ["--set", $0] }
      ).1.filter { $0.contains("has no effect while") }
    }
    let filter = "[location]\ndistance_filter = 50\n"
    #expect(try warnings(filter).isEmpty)
    #expect(try warnings(filter, "location.reporting=bounded").isEmpty)
    let lines = try warnings(filter, "location.reporting=significant")
    let line = try #require(lines.first)
    #expect(lines.count == 1 && line.hasPrefix("warning  location.distance_filter: "))
    #expect(line.contains(#"location.reporting is "significant""#) && line.contains("odograph.toml:6:"))
    #expect(line.contains(#"set location.reporting = "distance""#))
    #expect(try warnings(filter, "location.reporting=distance").isEmpty)
    #expect(try warnings("[location]\ndistance_filter = 0\n").isEmpty)
    let bound = try warnings("", "location.reporting=distance", "location.error_bound=50")
    #expect(bound.count == 1 && bound.allSatisfy { $0.contains("location.error_bound") })
    let late = try warnings("", "iio.latency=5")
    #expect(
      late.count == 1 && late.allSatisfy { $0.contains("navigation.enabled") && $0.contains("iio.latency") })
    for setting in ["navigation.enabled=false", "location.activity=pedestrian"] {
      #expect(try warnings("", "iio.latency=5", setting).isEmpty)
    }
  }

  /// `sensors` works without a vehicle ID, which is not configured yet on a new system.
  @Test func sensorsNeedsNoVehicleID() throws {
    let (status, lines) = try run(
      ["sensors", "--set", "gpsd.enabled=false", "--set", "iio.contexts=local:"],
      ["XDG_CONFIG_HOME": "/nonexistent", "HOME": "/nonexistent"])
    #expect(status == 0 && !lines.contains { $0.contains("vehicle.id") }, "\(lines)")
    #expect(!lines.contains { $0.contains("local::") }, "\(lines)")
  }

  /// An unreachable IIO context yields a single warning with all outputs that depend on it.
  @Test func missingSensorUnitIsOneWarning() throws {
    let port: Int = try FreePort.next()
    let (_, lines) = try run(
      [
        "vehicle.id=v", "gpsd.port=\(port)", "iio.contexts=ip:127.0.0.1:\(port)",
        "mqtt.broker=127.0.0.1:\(port)",
      ].reduce(["check"]) { $0 + ["--set", $1] })
    let warnings = lines.filter { $0.hasPrefix("warning") }
    #expect(warnings.count == 1, "\(warnings)")
    let outputs =
      "; unavailable without inertial sensors: attitude, heading, trueHeading, impact, activity, "
      + "positions without sky (navigation.enabled), harshBraking, harshAcceleration, harshCornering, swerve, kerb, "
      + "pothole (events.kinds), tilt (events.kinds), disconnection at rest (mqtt.link); or set iio.enabled = false"
    #expect(warnings.first?.hasSuffix(outputs) == true, "\(warnings)")
    let (_, others) = try run(
      ["vehicle.id=v", "gpsd.port=\(port)", "iio.enabled=false", "mqtt.broker=127.0.0.1:\(port)"]
        .reduce(["check"]) { $0 + ["--set", $1] })
    #expect(
      others.filter { $0.hasSuffix("unavailable: no inertial sensor; attach one") }.count == 1, "\(others)"
    )
  }

  /// With `store.path` set, all other state is placed in the folder of the store.
  @Test func allStateFollowsTheStorePath() throws {
    let broker = try BrokerFixture()
    let regions = try broker.directory.write(
      "yard.geojson",
      #"{"type":"FeatureCollection","features":[{"type":"Feature","id":"yard","properties":{"radius":100},"#
        + #""geometry":{"type":"Point","coordinates":[11.57,48.13]}}]}"#)
    let state = broker.directory.file("state")
    let (status, lines) = try run(
      [
        "input.mode=simulation", "input.speed=0", "simulation.duration=5", "vehicle.id=v",
        "control.socket=none", "remote.enabled=true", "regions.path=\(regions)",
        "mqtt.broker=127.0.0.1:\(broker.port)", "store.path=\(broker.directory.file("outbox.sqlite"))",
      ].reduce(["run"]) { $0 + ["--set", $1] }, ["STATE_DIRECTORY": state])
    #expect(status == 0, "\(lines)")
    // No file is written to the default state folder, which may belong to another agent.
    let kept = try FileManager.default.contentsOfDirectory(atPath: broker.directory.path)
    #expect(kept.contains("remote") && !kept.contains("regions.state"), "\(kept)")
    #expect(!FileManager.default.fileExists(atPath: state))
  }

  /// `check` also tests folders outside the store's folder: a missing recorder folder is a problem, a missing folder for metrics or the
  /// control socket only a warning.
  @Test func foldersOutsideTheStore() throws {
    let directory = try TemporaryDirectory()
    let port: Int = try FreePort.next()
    func check(_ folder: String) throws -> [Substring] {
      try run(
        [
          "vehicle.id=v", "input.mode=simulation", "mqtt.broker=127.0.0.1:\(port)",
          "store.path=\(directory.file("outbox.sqlite"))", "recorder.enabled=true",
          "recorder.path=\(folder)/history", "metrics.file=\(folder)/odograph.prom",
          "control.socket=\(folder)/socket",
        ].reduce(["check"]) { $0 + ["--set", $1] }
      ).1
    }
    let missing = directory.file("missing")
    let lines = try check(missing)
    for start in [
      "warning  recorder.path: \(missing): No such file or directory; ",
      "warning  metrics.file: \(missing): No such file or directory; ",
      "warning  control.socket: \(missing): No such file or directory; ",
    ] {
      #expect(lines.contains { $0.hasPrefix(start) }, "\(lines)")
    }
    try FileManager.default.createDirectory(atPath: missing, withIntermediateDirectories: false)
    let good = try check(missing)
    #expect(!good.contains { $0.contains(" recorder.path: ") || $0.contains(" metrics.file: ") }, "\(good)")
  }

  /// On a new machine, a missing folder that the agent can create is no problem. A folder that it cannot create is a problem, and the
  /// agent does not start.
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
    #expect(!FileManager.default.fileExists(atPath: new), "check created the folder")
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

  @Test func sensorsReportsWhyNothingWasFound() throws {
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
