import Foundation
import TestSupport
import Testing

/// The table of `Config/clusters/README.md`: each line is run against three nodes of RabbitMQ, and stands there as it came out.
@Suite(.serialized) struct ClusterTableTests {
  @Test(.timeLimit(.minutes(20)), .needs(.rabbitMQ)) func theTableSaysWhatWorks() async throws {
    let cluster = try ClusterFixture(["acme/van-1", "dispatch"])
    let state = try TemporaryDirectory()
    let node = try #require(cluster.nodes.first)
    let at = ["--broker", "mqtts://localhost:\(node.mqtt)", "--mqtt-v311"] + cluster.options(of: "dispatch")
    let named = ["--fleet", "acme", "--vehicle", "van-1"]
    func odograph(_ words: String..., with more: [String]) async throws -> OdographProcess.Result {
      try await OdographProcess.run(words + more)
    }
    var rows: [String] = []
    func row(_ program: String, _ works: String, _ note: String, _ holds: Bool, _ said: String) {
      #expect(holds, "\(program): \(said)")
      rows.append(note.isEmpty ? "| `\(program)` | \(works) | |" : "| `\(program)` | \(works) | \(note) |")
    }

    let log = state.file("agent.out")
    let settings = [
      "attitude.enabled=false", "input.mode=simulation", "status.interval=5", "vehicle.fleet=acme",
      "vehicle.id=van-1",
      "mqtt.broker=mqtts://localhost:\(node.mqtt)", "mqtt.protocol=3.1.1",
      "mqtt.ca_file=\(cluster.authorityFile)",
      "mqtt.certificate_file=\(cluster.certificateFile(of: "acme/van-1"))",
      "mqtt.key_file=\(cluster.keyFile(of: "acme/van-1"))", "remote.enabled=true",
      "store.path=\(state.file("outbox.sqlite"))",
    ]
    let agent = try ChildProcess(
      BuiltProduct.path("odographd"), ["run"] + settings.flatMap { ["--set", $0] }, output: log)
    defer { agent.kill() }
    let first = try await odograph("tail", "--kind", "location", "--count", "1", "--timeout", "120", with: at)
    row(
      "odographd run", "yes", "`mqtt.protocol = \"3.1.1\"`", first.status == 0,
      try OdographProcess.text(of: log))
    let tail = try await odograph("tail", "--count", "2", "--timeout", "120", with: at)
    row(
      "odograph tail", "yes", "", tail.status == 0 && tail.output.contains("odograph/v1/acme/van-1/"),
      tail.output)
    let stats = try await odograph("stats", "--count", "2", "--timeout", "120", with: at)
    row("odograph stats", "yes", "", stats.status == 0 && stats.output.contains("van-1"), stats.output)

    let recorded = try await odograph(
      "record", state.file("a.sqlite"), "--client-id", "odograph-a", "--count", "2", "--timeout", "120",
      with: at)
    row("odograph record", "yes", "one recorder", recorded.status == 0, recorded.output)
    let shared = try await odograph(
      "record", state.file("b.sqlite"), "--client-id", "odograph-b", "--share", "g", "--count", "1",
      "--timeout", "8", with: at)
    row(
      "odograph record --share", "no", "the plugin has no shared subscriptions; use `--from`",
      shared.status != 0,
      shared.output)
    let queued = try await odograph(
      "record", state.file("c.sqlite"), "--from", cluster.queueAddress(first: 1), "--queue", "odograph-c",
      "--count", "2",
      "--timeout", "120", with: cluster.options(of: "dispatch"))
    row("odograph record --from", "yes", "any number of recorders", queued.status == 0, queued.output)

    let names = "without, it says that vehicles have to be named"
    let config = try await odograph("config", "show", with: at + named)
    let allConfig = try await odograph("config", "show", with: at)
    row(
      "odograph config", "with `--fleet` and `--vehicle`", names,
      config.status == 0 && allConfig.status == 69 && allConfig.output.contains("name --fleet and --vehicle"),
      config.output + allConfig.output)
    let command = try await odograph("command", "locate", with: at + named)
    let allCommand = try await odograph("command", "locate", "--fleet", "acme", with: at)
    row(
      "odograph command", "with `--fleet` and `--vehicle`", names,
      command.status == 0 && allCommand.status == 69
        && allCommand.output.contains("name --fleet and --vehicle"),
      command.output + allCommand.output)
    let regions = try await odograph("regions", "list", with: at + named)
    let allRegions = try await odograph("regions", "list", with: at)
    row(
      "odograph regions list", "with `--fleet` and `--vehicle`",
      "without, nothing is found, and it says why that may be",
      regions.status == 0 && allRegions.output.contains("or hands it out by exact topics only"),
      regions.output + allRegions.output)
    let check = try await odograph("check", "--fleet", "acme", with: at)
    row(
      "odograph check", "yes", "it warns that what is kept may be handed out by exact topics only",
      check.status == 0 && check.output.contains("RabbitMQ"), check.output)

    // A vehicle that has gone has left its last words at the node, and nobody speaks over them.
    agent.terminate()
    let watch = try await odograph("watch", "--once", with: at)
    row(
      "odograph watch", "from the next message on",
      "what was said before is not handed out for wildcards, and it says so",
      watch.status == 0 && watch.output.contains("whether the broker hands out what it keeps"), watch.output)

    let page = try String(
      contentsOfFile: ContractScript.repository + "/Config/clusters/README.md", encoding: .utf8)
    for row in rows { #expect(page.contains(row), "Config/clusters/README.md lacks: \(row)") }
    #expect(page.components(separatedBy: "| `odograph").count - 1 == rows.count)
  }
}
