import Foundation
import TestSupport
import Testing

/// The tables of `Config/clusters/README.md`: each line is run against the kit's three nodes, with an agent as the vehicle, and stands
/// there as it came out. At a site with two mosquittos the vehicle is at one of them and the fleet's side at the centre. The two others take
/// minutes each: ODOGRAPH_FULL=1 runs them.
@Suite(.serialized) struct ClusterTableTests {
  @Test(
    .timeLimit(.minutes(20)), .needs(.rabbitMQ), .enabled(if: Shared.isFullRun, "ODOGRAPH_FULL=1 runs it"))
  func theTableSaysWhatWorksWithRabbitMQ() async throws {
    try await fillIn(.rabbitMQ, section: "## RabbitMQ 3.10")
  }

  @Test(.timeLimit(.minutes(20)), .needs(.nats), .enabled(if: Shared.isFullRun, "ODOGRAPH_FULL=1 runs it"))
  func theTableSaysWhatWorksWithNATS() async throws {
    try await fillIn(.nats, section: "## NATS 2.9")
  }

  @Test(.timeLimit(.minutes(20))) func theTableSaysWhatWorksWithMosquitto() async throws {
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
    // A vehicle that has gone has left its last words, and nobody speaks over them.
    table.agent.terminate()
    try await table.fillInWatch()
    try await table.fillInReplay()
    try await table.fillInForget()
    // Last: what it simulates is a vehicle that answers nobody.
    try await table.fillInSimulation()
    try table.compare(section: section)
  }

  /// Each command of both programs has a line in each table, or is among those that use no broker.
  @Test(.timeLimit(.minutes(6))) func everyCommandHasALine() async throws {
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

/// What ArgumentParser says of a program.
private struct CommandTree: Decodable {
  struct Command: Decodable {
    var commandName: String
    var subcommands: [Command]?

    /// The commands at and below this one that do something, in full.
    var leaves: [String] {
      let own = (subcommands ?? []).filter { $0.commandName != "help" }
      return own.isEmpty ? [commandName] : own.flatMap(\.leaves).map { "\(commandName) \($0)" }
    }
  }

  var command: Command
}

/// Three nodes with an agent, and what came out of the commands that were tried on them.
struct ClusterTable {
  static let page = ContractScript.repository + "/Config/clusters/README.md"

  let cluster: ClusterFixture
  let state: TemporaryDirectory
  let agent: ChildProcess
  /// Where the fleet's side is, and a vehicle, and who they are.
  private let at: [String]
  let atVehicle: [String]
  /// The agent's.
  let settings: [String]
  private var rows: [String] = []

  let fleet = ["--fleet", "acme"]
  let named = ["--fleet", "acme", "--vehicle", "van-1"]
  var isRabbitMQ: Bool { cluster.engine == .rabbitMQ }
  /// What `fillInRecorders` has recorded.
  var recording: [String] { ["--recording", state.file("a.sqlite")] }

  init(_ engine: ClusterFixture.Engine) throws {
    // Who retires vehicles takes back what they have said, which nobody of the kit's list may.
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

  /// A command of the fleet's side.
  func odograph(_ words: [String], by member: String = "dispatch") async throws -> OdographProcess.Result {
    try await OdographProcess.run(words + at + cluster.options(of: member))
  }

  /// A command with the rights of a vehicle.
  func odograph(_ words: [String], as vehicle: String) async throws -> OdographProcess.Result {
    try await OdographProcess.run(words + atVehicle + cluster.options(of: vehicle))
  }

  /// A command of the fleet's side that goes on while the body runs; what it has said when it has ended.
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

  /// Publishes as the vehicle does, by another implementation than ours.
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

  /// Of what works, with nothing to know.
  mutating func row(_ program: String, _ holds: Bool, _ said: String) { row(program, "yes", "", holds, said) }

  /// Holds the page's section to what came out.
  func compare(section heading: String) throws {
    let page = try String(contentsOfFile: Self.page, encoding: .utf8)
    let begin = try #require(page.range(of: "\n" + heading), "there is no section \(heading)")
    let rest = page[begin.upperBound...]
    let section = rest[..<(rest.range(of: "\n## ")?.lowerBound ?? rest.endIndex)]
    for row in rows { #expect(section.contains(row), "Config/clusters/README.md lacks: \(row)") }
    #expect(section.components(separatedBy: "\n| `odograph").count - 1 == rows.count)
  }
}
