import Foundation
import TestSupport
import Testing

/// The tables of `Config/clusters/README.md`: each row is run with the kit's three nodes and an agent as the vehicle, and must match the
/// page. At a site with two mosquitto brokers, the vehicle uses one of them and the fleet's side the centre. RabbitMQ and NATS run for
/// minutes each, with ODOGRAPH_FULL=1 only.
@Suite(.serialized) struct ClusterTableTests {
  @Test(
    .timeLimit(.minutes(20)), .needs(.rabbitMQ), .enabled(if: Shared.isFullRun, "ODOGRAPH_FULL=1 runs it"))
  func tableMatchesRabbitMQ() async throws {
    try await fillIn(.rabbitMQ, section: "## RabbitMQ 3.10")
  }

  @Test(.timeLimit(.minutes(20)), .needs(.nats), .enabled(if: Shared.isFullRun, "ODOGRAPH_FULL=1 runs it"))
  func tableMatchesNATS() async throws {
    try await fillIn(.nats, section: "## NATS 2.9")
  }

  @Test(.timeLimit(.minutes(20))) func tableMatchesMosquitto() async throws {
    try await fillIn(.mosquitto, section: "## mosquitto 2.0")
  }

  private func fillIn(_ engine: ClusterFixture.Engine, section: String) async throws {
    var table = try ClusterTable(engine)
    defer { table.agent.kill() }
    try await table.fillInListeners()
    try await table.fillInAgent()
    try await table.fillInSamples()
    try await table.fillInServer()
    try await table.fillInRecorders()
    try await table.fillInJournals()
    try await table.fillInCommands()
    try await table.fillInConfig()
    try await table.fillInRegions()
    try await table.fillInBeacons()
    try await table.fillInCheck()
    // A stopped vehicle has published its farewell and does not publish during the following commands.
    table.agent.terminate()
    try await table.fillInWatch()
    try await table.fillInReplay()
    try await table.fillInForget()
    // Last, because a simulated vehicle does not answer commands.
    try await table.fillInSimulation()
    try table.compare(section: section)
  }

  /// Each command of both programs has a row in each table, or is listed among those that use no broker.
  @Test(.timeLimit(.minutes(6))) func everyCommandHasARow() async throws {
    let page = try String(contentsOfFile: ClusterTable.page, encoding: .utf8)
    var sections = page.components(separatedBy: "\n## ")
    sections.removeAll { section in
      !["mosquitto 2.0", "RabbitMQ 3.10", "NATS 2.9"].contains { section.hasPrefix($0) }
    }
    try #require(sections.count == 3)
    let without = try #require(page.firstRange(of: "\nCommands that use no broker: ")).upperBound
    let line = page[without...].prefix { $0 != "\n" }
    var commands: [String] = []
    for program in ["odograph", "odographd"] {
      let dump = try await runTool(BuiltProduct.path(program), ["--experimental-dump-help"])
      commands += try JSONDecoder().decode(CommandTree.self, from: Data(dump.utf8)).command.leaves
    }
    #expect(commands.count > 40)
    for command in commands where !line.contains("`\(command)`") {
      for section in sections {
        #expect(
          section.contains("\n| `\(command)` |"), "\(section.prefix(14)) has no line of `\(command)`")
      }
    }
  }
}

/// A program's commands, as ArgumentParser prints them.
private struct CommandTree: Decodable {
  struct Command: Decodable {
    var commandName: String
    var subcommands: [Command]?

    /// The executable commands at and below this one, with their full names.
    var leaves: [String] {
      let own = (subcommands ?? []).filter { $0.commandName != "help" }
      return own.isEmpty ? [commandName] : own.flatMap(\.leaves).map { "\(commandName) \($0)" }
    }
  }

  var command: Command
}

/// Three nodes with an agent, and the results of the commands.
struct ClusterTable {
  static let page = ContractScript.repository + "/Config/clusters/README.md"

  let cluster: ClusterFixture
  let state: TemporaryDirectory
  let agent: ChildProcess
  /// Broker options of the fleet's side and of a vehicle.
  private let at: [String]
  let atVehicle: [String]
  /// Settings of the agent as command-line options.
  let settings: [String]
  private var rows: [String] = []

  let fleet = ["--fleet", "acme"]
  let named = ["--fleet", "acme", "--vehicle", "van-1"]
  var isRabbitMQ: Bool { cluster.engine == .rabbitMQ }
  /// The recording of `fillInRecorders`.
  var recording: [String] { ["--recording", state.file("a.sqlite")] }

  init(_ engine: ClusterFixture.Engine) throws {
    // `forget` deletes retained messages of vehicles, which no member of the kit's access list may do.
    cluster = try ClusterFixture(
      engine, ["acme/van-1", "acme/sim-1", "dispatch", "registrar"],
      extra: ["user registrar", "topic read odograph/v1/#", "topic write odograph/v1/#"])
    state = try TemporaryDirectory()
    let node = try #require(cluster.nodes.first)
    let version = engine == .mosquitto ? [] : ["--mqtt-v311"]
    at =
      ["--broker", engine == .mosquitto ? cluster.fleetAddress() : "mqtts://localhost:\(node.mqtt)"] + version
    atVehicle = ["--broker", "mqtts://localhost:\(node.mqtt)"] + version
    let settings = [
      "input.mode=simulation", "status.interval=5", "trace.enabled=true", "recorder.enabled=true",
      "radio.modem=true", "beacons.receive=true", "vehicle.fleet=acme", "vehicle.id=van-1",
      "mqtt.broker=mqtts://localhost:\(node.mqtt)", "mqtt.ca_file=\(cluster.authorityFile)",
      "mqtt.certificate_file=\(cluster.certificateFile(of: "acme/van-1"))",
      "mqtt.key_file=\(cluster.keyFile(of: "acme/van-1"))", "remote.enabled=true",
      "store.path=\(state.file("outbox.sqlite"))", "control.socket=\(state.file("agent.sock"))",
    ]
    let protocolVersion = engine == .mosquitto ? [] : ["mqtt.protocol=3.1.1"]
    self.settings = (settings + protocolVersion).flatMap { ["--set", $0] }
    agent = try ChildProcess(
      BuiltProduct.path("odographd"), ["run"] + self.settings,
      output: state.file("agent.out"))
  }

  /// Runs a command of the fleet's side.
  func odograph(_ words: [String], by member: String = "dispatch") async throws -> OdographProcess.Result {
    try await OdographProcess.run(words + at + cluster.options(of: member))
  }

  /// Runs a command with the rights of a vehicle.
  func odograph(_ words: [String], as vehicle: String) async throws -> OdographProcess.Result {
    try await OdographProcess.run(words + atVehicle + cluster.options(of: vehicle))
  }

  /// Runs a command of the fleet's side during `body`; returns its output after its exit.
  func odograph(
    _ words: [String], while body: () async throws -> Void
  ) async throws -> OdographProcess.Result {
    let log = state.file("out-\(UInt32.random(in: 0 ... .max))")
    let child = try OdographProcess.start(words + at + cluster.options(of: "dispatch"), output: log)
    defer { child.kill() }
    try await body()
    try await eventually { !child.isRunning }
    return OdographProcess.Result(status: child.waitForExit(), output: try OdographProcess.text(of: log))
  }

  /// Starts a server of the fleet's side.
  func start(_ words: [String], log: String) throws -> ChildProcess {
    try OdographProcess.start(words + at + cluster.options(of: "dispatch"), output: log)
  }

  /// Publishes a message of the vehicle with mosquitto_pub.
  func publish(_ path: String, _ payload: String) async throws {
    let node = cluster.nodes[0]
    let said = try await runTool(
      "mosquitto_pub",
      [
        "-h", "localhost", "-p", "\(node.mqtt)", "-V", "mqttv311", "-q", "1", "-t",
        "odograph/v1/acme/van-1/\(path)", "-m", payload, "--cafile", cluster.authorityFile, "--cert",
        cluster.certificateFile(of: "acme/van-1"), "--key", cluster.keyFile(of: "acme/van-1"),
      ])
    #expect(said.isEmpty, "\(said)")
  }

  mutating func row(_ program: String, _ works: String, _ remark: String, _ holds: Bool, _ said: String) {
    #expect(holds, "\(program): \(said)")
    rows.append(remark.isEmpty ? "| `\(program)` | \(works) | |" : "| `\(program)` | \(works) | \(remark) |")
  }

  /// Adds a row for a command that works without restrictions.
  mutating func row(_ program: String, _ holds: Bool, _ said: String) { row(program, "yes", "", holds, said) }

  /// Compares the page's section with the results.
  func compare(section heading: String) throws {
    let page = try String(contentsOfFile: Self.page, encoding: .utf8)
    let begin = try #require(page.range(of: "\n" + heading), "there is no section \(heading)")
    let rest = page[begin.upperBound...]
    let section = rest[..<(rest.range(of: "\n## ")?.lowerBound ?? rest.endIndex)]
    for row in rows { #expect(section.contains(row), "Config/clusters/README.md lacks: \(row)") }
    #expect(section.components(separatedBy: "\n| `odograph").count - 1 == rows.count)
  }
}
