import Foundation
import TestSupport
import Testing

/// `odographd init` after the installation of the agent.
@Suite struct InitTests {
  private let directory: TemporaryDirectory
  private var path: String { directory.file("odograph.toml") }

  init() throws { directory = try TemporaryDirectory() }

  private func start(_ arguments: [String], environment: [String: String] = [:]) throws -> ChildProcess {
    let child = try ChildProcess(
      BuiltProduct.path("odographd"), ["init", "--config", path] + arguments, environment: environment)
    child.waitForExit()
    return child
  }

  private static let bench = ["--preset", "test-bench", "--vehicle", "v", "--broker", "mqtt://127.0.0.1:1"]

  private func written() throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

  @Test(.timeLimit(.minutes(3))) func writesAShortFileThatTheAgentAccepts() throws {
    let broker = try BrokerFixture()
    let child = try start([
      "--preset", "truck", "--vehicle", "t \"7\"\\", "--fleet", "delivery", "--broker",
      "mqtt://127.0.0.1:\(broker.port)",
    ])
    #expect(child.exitStatus == 0, "\(child.output)")
    let lines = try written().split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count <= 20, "\(lines)")
    #expect(lines.contains("preset = \"truck\"") && lines.contains("id = \"t \\\"7\\\"\\\\\""))
    for part in [
      "written: \(path)\n", "ok       configuration: vehicle delivery/t \"7\"\\, preset truck\n",
      "ok       broker: ", "\nnext:", "odographd run --print --config \(path)",
      "odograph watch --broker mqtt://127.0.0.1:\(broker.port) --fleet delivery",
    ] {
      #expect(child.output.contains(part), "\(part) in \(child.output)")
    }
    let check = try ChildProcess(BuiltProduct.path("odographd"), ["check", "--estimate", "--config", path])
    #expect(check.waitForExit() == 0 && check.output.contains("error   50 m"), "\(check.output)")
  }

  /// Relative file names are written as absolute paths, and the broker's user, password file and CA file are written.
  @Test(.timeLimit(.minutes(3))) func writesTheAccessToTheBroker() throws {
    let folder = directory.file("secret")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try Data("secret\n".utf8).write(to: URL(fileURLWithPath: folder + "/password"))
    let made = try ChildProcess(
      "/usr/bin/env",
      [
        "-C", folder, BuiltProduct.path("odographd"), "init", "--config", path, "--preset", "test-bench",
        "--vehicle",
        "v", "--broker", "mqtts://default/v@localhost:1", "--password-file", "password", "--ca",
        "/etc/ca.crt",
      ])
    #expect(made.waitForExit() == 0, "\(made.output)")
    #expect(
      try written().contains(
        """
        [mqtt]
        broker = "mqtts://localhost:1"
        user = "default/v"
        password_file = "\(folder)/password"
        ca_file = "/etc/ca.crt"

        """), "\(made.output)")
    #expect(
      made.output.contains(" --user … --password-file … --ca /etc/ca.crt --fleet default"), "\(made.output)")
    let twice = try start(Self.bench.dropLast() + ["mqtt://u@h", "--user", "w", "--force"])
    #expect(
      twice.exitStatus == 64 && twice.output.contains("--user: --broker names a user"), "\(twice.output)")
    let plain = try start(Self.bench + ["--ca", "ca.crt", "--force"])
    #expect(plain.exitStatus == 64 && plain.output.contains("write mqtts://"), "\(plain.output)")
  }

  /// Detected devices are written to the file; missing ones are reported with a remedy.
  @Test(.timeLimit(.minutes(3))) func findsConnectedDevices() throws {
    let log = try directory.write("a.nmea", GPSDFixture.sentence("GPTXT,01,01,02,none"))
    let gpsd = try GPSDFixture(log: log, repeats: true)
    defer { gpsd.stop() }
    let arguments = ["--preset", "car", "--vehicle", "v", "--broker", "mqtt://127.0.0.1:1"]
    let child = try start(
      arguments,
      environment: ["ODOGRAPH_GPSD_PORT": "\(gpsd.port)", "ODOGRAPH_IIO_CONTEXTS": "ip:127.0.0.1:1"])
    #expect(child.exitStatus == 0, "\(child.output)")
    #expect(child.output.contains(" gpsd: gpsd "), "\(child.output)")
    let missing = child.output.split(separator: "\n").first { $0.contains("iio ip:127.0.0.1:1: ") }
    #expect(missing?.hasPrefix("warning ") == true && missing?.contains("; ") == true, "\(child.output)")
    let text = try written()
    #expect(
      text.contains(" gpsd: gpsd ") && text.contains("\n#   warning  iio ip:127.0.0.1:1"),
      "\(text)")
  }

  @Test(arguments: ["--preset", "--vehicle", "--broker"])
  func missingOptionIsAnErrorWithoutATerminal(option: String) throws {
    let index = try #require(Self.bench.firstIndex(of: option))
    var arguments = Self.bench
    arguments.removeSubrange(index...index + 1)
    let child = try start(arguments)
    #expect(
      child.exitStatus == 64 && child.output.hasPrefix("odographd: \(option) is missing"), "\(child.output)")
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test(arguments: [
    ("--preset", "trcuk", "\"trcuk\" is not one of \"car\", \"truck\", "),
    ("--preset", "trcuk", "did you mean \"truck\"?"), ("--vehicle", "a/b", "must not hold \"/\""),
    ("--vehicle", "", "is empty"), ("--fleet", "", "is empty"), ("--fleet", "a+", "must not hold"),
    ("--broker", "http://h", "\"http://h\" is not mqtt://HOST"),
    ("--broker", "mqtt://u:p@h", "(--password-file, password_file)"), ("--user", "", "is empty"),
    ("--password-file", "", "is empty"),
  ])
  func invalidValueNamesItsOption(option: String, value: String, problem: String) throws {
    let child = try start(Self.bench + [option, value])
    #expect(child.exitStatus == 64, "\(child.output)")
    #expect(child.output.hasPrefix("odographd: \(option): ") || option == "--fleet", "\(child.output)")
    #expect(child.output.contains(problem), "\(child.output)")
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test(.timeLimit(.minutes(3))) func existingFileIsReplacedWithForceOnly() throws {
    for text in [
      "[vehicle]\nid = \"mine\"\n", "nonsense", "[vehicle]\nid = \"\"\n[mqtt]\nbroker = \"mqtt://b\"\n",
    ] {
      try directory.write("odograph.toml", text)
      let child = try start(Self.bench)
      #expect(child.exitStatus == 1 && child.output.contains("already exists; --force"), "\(child.output)")
      #expect(try written() == text)
    }
    #expect(try start(Self.bench + ["--force"]).exitStatus == 0)
    #expect(try written().contains("test-bench"))
  }

  /// The configuration file of the package lacks a vehicle ID, and the agent reports how to set it. `init` replaces this file without
  /// `--force`.
  @Test(.timeLimit(.minutes(3))) func installedFileIsReplaced() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let installed = try String(
      contentsOf: root.appending(path: "Deploy/debian/odograph.toml"), encoding: .utf8)
    try directory.write("odograph.toml", installed)
    for command in [["check"], ["run"]] {
      let child = try ChildProcess(BuiltProduct.path("odographd"), command + ["--config", path])
      #expect(child.waitForExit() == 78, "\(child.output)")
      #expect(child.output.contains("key vehicle.id: is empty") && child.output.contains("odographd init"))
    }
    #expect(try start(Self.bench).exitStatus == 0)
  }

  @Test(.timeLimit(.minutes(3))) func asksOnATerminal() async throws {
    let terminal = try await Terminal(
      columns: 120, rows: 60,
      command: "'\(BuiltProduct.path("odographd"))' init --config '\(path)'; echo status=$?")
    func waits(for text: String) async throws {
      for _ in 0..<300 where try await !terminal.text().contains(text) {
        try await Task.sleep(for: .milliseconds(100))
      }
      let shown = try await terminal.text()
      #expect(shown.contains(text), "\(shown)")
    }
    try await waits(for: "Vehicle's id")
    try await terminal.type("a/b", "Enter")
    try await waits(for: "must not hold \"/\"")
    try await terminal.type("van-1", "Enter")
    try await waits(for: "[mqtt://127.0.0.1:1883]:")
    try await terminal.type("mqtt://127.0.0.1:1", "Enter")
    try await waits(for: "  3  asset-tracker  ")
    try await terminal.type("5", "Enter")
    try await waits(for: "status=0")
    let text = try written()
    #expect(text.contains("id = \"van-1\"") && text.contains("preset = \"test-bench\""), "\(text)")
  }
}
