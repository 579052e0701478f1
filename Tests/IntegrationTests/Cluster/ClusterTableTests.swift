import Foundation
import TestSupport
import Testing

/// The tables of `Config/clusters/README.md`: each line is run against three nodes, and stands there as it came out.
@Suite(.serialized) struct ClusterTableTests {
  @Test(.timeLimit(.minutes(20)), .needs(.rabbitMQ)) func theTableSaysWhatWorksWithRabbitMQ() async throws {
    var table = try ClusterTable(.rabbitMQ)
    defer { table.agent.kill() }
    try await table.fillInListeners()
    try await table.fillInAgent()
    try await table.fillInServer("yes", "live from the next message on; the past from `--recording`")
    try await table.fillInRecorders(note: "the plugin has no shared subscriptions; use `--from`")
    let queue = [
      "record", table.state.file("c.sqlite"), "--from", table.cluster.queueAddress(first: 1), "--queue",
      "odograph-c", "--count", "2", "--timeout", "120",
    ]
    let queued = try await OdographProcess.run(queue + table.cluster.options(of: "dispatch"))
    table.row("odograph record --from", "yes", "any number of recorders", queued.status == 0, queued.output)

    let (named, fleet) = (["--fleet", "acme", "--vehicle", "van-1"], ["--fleet", "acme"])
    let names = "without, it says that vehicles have to be named"
    let config = try await table.odograph(["config", "show"] + named)
    let allConfig = try await table.odograph(["config", "show"])
    table.row(
      "odograph config", "with `--fleet` and `--vehicle`", names,
      config.status == 0 && allConfig.status == 69 && allConfig.output.contains("name --fleet and --vehicle"),
      config.output + allConfig.output)
    try await table.fillInConfigFromARecording()
    let command = try await table.odograph(["command", "locate"] + named)
    let allCommand = try await table.odograph(["command", "locate"] + fleet)
    table.row(
      "odograph command", "with `--fleet` and `--vehicle`", names,
      command.status == 0 && allCommand.status == 69
        && allCommand.output.contains("name --fleet and --vehicle"),
      command.output + allCommand.output)
    let regions = try await table.odograph(["regions", "list"] + named)
    let allRegions = try await table.odograph(["regions", "list"])
    table.row(
      "odograph regions list", "with `--fleet` and `--vehicle`",
      "without, nothing is found, and it says why that may be",
      regions.status == 0 && allRegions.output.contains("or hands it out by exact topics only"),
      regions.output + allRegions.output)
    try await table.fillInRegionsFromARecording()
    let check = try await table.odograph(["check"] + fleet)
    table.row(
      "odograph check", "yes", "it warns that what is kept may be handed out by exact topics only",
      check.status == 0 && check.output.contains("RabbitMQ"), check.output)

    // A vehicle that has gone has left its last words at the node, and nobody speaks over them.
    table.agent.terminate()
    let watch = try await table.odograph(["watch", "--once"])
    table.row(
      "odograph watch", "from the next message on",
      "what was said before is not handed out for wildcards, and it says so",
      watch.status == 0 && watch.output.contains("whether the broker hands out what it keeps"), watch.output)
    try await table.fillInWatchFromARecording()
    // Last: what it simulates is a vehicle that answers nobody.
    try await table.fillInSimulation()
    try table.compare(section: "## RabbitMQ 3.10")
  }

  @Test(.timeLimit(.minutes(20)), .needs(.nats)) func theTableSaysWhatWorksWithNATS() async throws {
    var table = try ClusterTable(.nats)
    defer { table.agent.kill() }
    try await table.fillInListeners()
    try await table.fillInAgent()
    try await table.fillInServer("yes", "")
    try await table.fillInRecorders(note: "there are no shared subscriptions")
    let config = try await table.odograph(["config", "show"])
    table.row(
      "odograph config", "yes", "", config.status == 0 && config.output.contains("acme/van-1"), config.output)
    try await table.fillInConfigFromARecording()
    let command = try await table.odograph(["command", "locate", "--fleet", "acme"])
    table.row(
      "odograph command", "yes", "", command.status == 0 && command.output.contains("van-1"), command.output)
    let regions = try await table.odograph(["regions", "list"])
    table.row(
      "odograph regions list", "yes", "", regions.status == 0 && regions.output.contains("acme/van-1"),
      regions.output)
    try await table.fillInRegionsFromARecording()
    let check = try await table.odograph(["check", "--fleet", "acme"])
    table.row("odograph check", "yes", "", check.status == 0, check.output)
    table.agent.terminate()
    let watch = try await table.odograph(["watch", "--once"])
    table.row(
      "odograph watch", "yes", "", watch.status == 0 && watch.output.contains("van-1"), watch.output)
    try await table.fillInWatchFromARecording()
    // Last: what it simulates is a vehicle that answers nobody.
    try await table.fillInSimulation()
    try table.compare(section: "## NATS 2.9")
  }
}

/// Three nodes with an agent, and what came out of the commands that were tried on them.
private struct ClusterTable {
  let cluster: ClusterFixture
  let state: TemporaryDirectory
  let agent: ChildProcess
  private let at: [String]
  private var rows: [String] = []
  /// What `fillInRecorders` has recorded.
  private var recording: [String] { ["--recording", state.file("a.sqlite")] }

  init(_ engine: ClusterFixture.Engine) throws {
    cluster = try ClusterFixture(engine, ["acme/van-1", "acme/sim-1", "dispatch"])
    state = try TemporaryDirectory()
    let node = try #require(cluster.nodes.first)
    at = ["--broker", "mqtts://localhost:\(node.mqtt)", "--mqtt-v311"] + cluster.options(of: "dispatch")
    let settings = [
      "input.mode=simulation", "status.interval=5", "trace.enabled=true", "vehicle.fleet=acme",
      "vehicle.id=van-1",
      "mqtt.broker=mqtts://localhost:\(node.mqtt)", "mqtt.protocol=3.1.1",
      "mqtt.ca_file=\(cluster.authorityFile)",
      "mqtt.certificate_file=\(cluster.certificateFile(of: "acme/van-1"))",
      "mqtt.key_file=\(cluster.keyFile(of: "acme/van-1"))", "remote.enabled=true",
      "store.path=\(state.file("outbox.sqlite"))", "control.socket=\(state.file("agent.sock"))",
    ]
    agent = try ChildProcess(
      BuiltProduct.path("odographd"), ["run"] + settings.flatMap { ["--set", $0] },
      output: state.file("agent.out"))
  }

  func odograph(_ words: [String]) async throws -> OdographProcess.Result {
    try await OdographProcess.run(words + at)
  }

  mutating func row(_ program: String, _ works: String, _ note: String, _ holds: Bool, _ said: String) {
    #expect(holds, "\(program): \(said)")
    rows.append(note.isEmpty ? "| `\(program)` | \(works) | |" : "| `\(program)` | \(works) | \(note) |")
  }

  mutating func fillInListeners() async throws {
    let first = try await odograph(["tail", "--kind", "location", "--count", "1", "--timeout", "120"])
    row(
      "odographd run", "yes", "`mqtt.protocol = \"3.1.1\"`", first.status == 0,
      try OdographProcess.text(of: state.file("agent.out")))
    let tail = try await odograph(["tail", "--count", "2", "--timeout", "120"])
    row(
      "odograph tail", "yes", "", tail.status == 0 && tail.output.contains("odograph/v1/acme/van-1/"),
      tail.output)
    let stats = try await odograph(["stats", "--count", "2", "--timeout", "120"])
    row("odograph stats", "yes", "", stats.status == 0 && stats.output.contains("van-1"), stats.output)
  }

  /// What is asked of the agent, on its machine and from afar.
  mutating func fillInAgent() async throws {
    let status = try await runAgent(["status", "--socket", state.file("agent.sock"), "--json"])
    row("odographd status", "yes", "", status.contains("van-1"), status)
    let trace = try await odograph([
      "trace", "request", "van-1", "--fleet", "acme", "--before", "1", "--after", "1",
    ])
    row(
      "odograph trace request", "yes", "`trace.enabled = true`", trace.status == 0, trace.output)
  }

  private func runAgent(_ words: [String]) async throws -> String {
    try await runTool(BuiltProduct.path("odographd"), words)
  }

  /// A vehicle of `simulate` has the rights of any other.
  mutating func fillInSimulation() async throws {
    let simulated = try await OdographProcess.run(
      ["simulate", "--fleet", "acme", "--vehicles", "1", "--seconds", "6", "--json"]
        + at.prefix(3) + cluster.options(of: "acme/sim-1"))
    row(
      "odograph simulate", "one vehicle", "each has a certificate of its own", simulated.status == 0,
      simulated.output)
  }

  mutating func fillInServer(_ works: String, _ note: String) async throws {
    let log = state.file("serve.out")
    let server = try OdographProcess.start(["serve", "--listen", "127.0.0.1:0"] + at, output: log)
    defer { server.kill() }
    var port: Int?
    try await eventually {
      let said = try OdographProcess.text(of: log).firstMatch(
        of: /the page is at http:\/\/127\.0\.0\.1:(\d+)\//)
      port = said.flatMap { Int($0.1) }
      return port != nil || !server.isRunning
    }
    let said = try OdographProcess.text(of: log)
    let own = try #require(port, "\(said)")
    try await eventually {
      try await onThread { try HTTPConnection(port: own).ask("GET", "/api/v1/vehicles").text }.contains(
        "van-1")
    }
    row("odograph serve", works, note, true, "")
  }

  mutating func fillInRecorders(note: String) async throws {
    // Enough for a position to be among them.
    let recorded = try await odograph([
      "record", state.file("a.sqlite"), "--client-id", "odograph-a", "--count", "12", "--timeout", "120",
    ])
    row("odograph record", "yes", "one recorder", recorded.status == 0, recorded.output)
    let shared = try await odograph([
      "record", state.file("b.sqlite"), "--client-id", "odograph-b", "--share", "g", "--count", "1",
      "--timeout", "8",
    ])
    row("odograph record --share", "no", note, shared.status != 0, shared.output)
  }

  mutating func fillInConfigFromARecording() async throws {
    // What was wanted after the recording ended is the broker's word.
    let set = try await odograph(
      ["config", "set", "location.distance_filter=25", "--fleet", "acme"] + recording)
    let config = try await odograph(["config", "show", "--fleet", "acme"] + recording)
    row(
      "odograph config --recording", "yes", "the recording names the vehicles",
      set.status == 0 && config.status == 0 && config.output.contains("acme/van-1  applied")
        && config.output.contains("location.distance_filter = 25"), set.output + config.output)
  }

  mutating func fillInRegionsFromARecording() async throws {
    let regions = try await odograph(["regions", "list", "--fleet", "acme"] + recording)
    row(
      "odograph regions list --recording", "yes", "the recording names the vehicles",
      regions.status == 0 && regions.output.contains("acme/van-1"), regions.output)
  }

  mutating func fillInWatchFromARecording() async throws {
    let watch = try await odograph(["watch", "--once"] + recording)
    row(
      "odograph watch --recording", "yes", "the last words of each vehicle, until it is heard",
      watch.status == 0 && watch.output.contains("van-1"), watch.output)
  }

  /// Holds the page's section to what came out.
  func compare(section heading: String) throws {
    let page = try String(
      contentsOfFile: ContractScript.repository + "/Config/clusters/README.md", encoding: .utf8)
    let begin = try #require(page.range(of: "\n" + heading), "there is no section \(heading)")
    let rest = page[begin.upperBound...]
    let section = rest[..<(rest.range(of: "\n## ")?.lowerBound ?? rest.endIndex)]
    for row in rows { #expect(section.contains(row), "Config/clusters/README.md lacks: \(row)") }
    #expect(section.components(separatedBy: "| `odograph").count - 1 == rows.count)
  }
}
