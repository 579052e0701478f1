import Foundation
import TestSupport
import Testing

/// The table of brokers in `Config/clusters/README.md`: each cell is tested with mosquitto's clients and the kit's broker, with MQTT 3.1.1
/// and the certificates of a vehicle and of the fleet's side, and must match the page.
@Suite(.serialized) struct BrokerTableTests {
  @Test(
    .timeLimit(.minutes(20)), .needs(.rabbitMQ), .needs(.nats),
    .enabled(if: Shared.isFullRun, "ODOGRAPH_FULL=1 runs it"))
  func tableMatchesTheBrokers() async throws {
    let members = ["acme/van-1", "acme/van-2", "dispatch"]
    var columns: [[String]] = []
    columns.append(try await BrokerTrial(mosquittoFor: members).cells())
    for engine in [ClusterFixture.Engine.rabbitMQ, .nats] {
      let cluster = try ClusterFixture(engine, members)
      columns.append(try await BrokerTrial(cluster).cells())
    }
    let page = try String(
      contentsOfFile: ContractScript.repository + "/Config/clusters/README.md", encoding: .utf8)
    for (index, name) in BrokerTrial.rows.enumerated() {
      let row = "| \(name) | " + columns.map { $0[index] }.joined(separator: " | ") + " |"
      #expect(page.contains(row), "Config/clusters/README.md lacks: \(row)")
    }
  }
}

/// Tests a broker; a cluster at its first and its last node.
private final class BrokerTrial {
  static let rows = [
    "MQTT 5", "retained, by exact topic", "retained, for a wildcard", "retained, at another node",
    "persistent session", "persistent session, at another node", "`$share` groups", "will",
    "message of 1,000,000 bytes", "message of 2,000,000 bytes", "a vehicle on another one's topics",
    "response to a refused publication", "a dot in a name",
  ]

  private let ports: [Int]
  private let authority: String
  private let files: (String) -> (certificate: String, key: String)
  private let state: TemporaryDirectory
  /// Keeps the broker and its certificates alive.
  private let owned: [AnyObject]

  init(_ cluster: ClusterFixture) throws {
    ports = cluster.nodes.map(\.mqtt)
    authority = cluster.authorityFile
    files = { (cluster.certificateFile(of: $0), cluster.keyFile(of: $0)) }
    state = try TemporaryDirectory()
    owned = [cluster]
  }

  /// Starts the kit's mosquitto with the paths of a test.
  init(mosquittoFor members: [String]) throws {
    let certificates = try CertificateAuthority()
    let identity = try certificates.issue("broker")
    let kit = ContractScript.repository + "/Config/mosquitto"
    let replaced = [
      "acl_file": kit + "/odograph.acl", "cafile": certificates.certificateFile,
      "certfile": identity.certificateFile, "keyfile": identity.keyFile, "persistence_location": "DIRECTORY/",
    ]
    let text = try String(contentsOfFile: kit + "/odograph.conf", encoding: .utf8)
    let lines = text.split(separator: "\n").filter { !$0.hasPrefix("#") }.compactMap { line -> String? in
      let word = String(line.prefix { $0 != " " })
      // The fixture configures the listener, and this authority has no revocation list.
      if word == "listener" || word == "crlfile" { return nil }
      return replaced[word].map { "\(word) \($0)" } ?? String(line)
    }
    let broker = try BrokerFixture(lines)
    ports = [Int(broker.port)]
    authority = certificates.certificateFile
    var own: [String: (certificate: String, key: String)] = [:]
    for member in members {
      let issued = try certificates.issue(member.replacing("/", with: "-"), commonName: member)
      own[member] = (issued.certificateFile, issued.keyFile)
    }
    files = { own[$0] ?? ("", "") }
    state = try TemporaryDirectory()
    owned = [broker, certificates]
  }

  private func options(_ member: String, _ node: Int, _ version: String = "mqttv311") -> [String] {
    let own = files(member)
    return [
      "-h", "localhost", "-p", "\(ports[node])", "-V", version, "--insecure", "--cafile", authority, "--cert",
      own.certificate, "--key", own.key, "-q", "1",
    ]
  }

  private func run(_ program: String, _ arguments: [String]) async throws -> (status: Int32, said: String) {
    let output = state.file("out-\(UInt32.random(in: 0 ... .max))")
    let child = try ChildProcess(program, arguments, output: output)
    try await eventually { !child.isRunning }
    return (child.waitForExit(), try OdographProcess.text(of: output))
  }

  /// A client ID that RabbitMQ's access list allows for the fleet's side.
  private var listener: [String] { ["-i", "odograph-listener-\(UInt32.random(in: 0 ... .max))"] }

  private func publish(
    _ path: String, _ words: [String], by member: String = "acme/van-1", node: Int = 0,
    version: String = "mqttv311"
  ) async throws -> (status: Int32, said: String) {
    // mosquitto_pub reconnects forever if the broker closes the connection, hence the timeout.
    try await run(
      "timeout",
      ["6", "mosquitto_pub"] + options(member, node, version) + ["-t", "odograph/v1/" + path] + words)
  }

  /// Returns what the fleet's side receives within 5 s.
  private func hears(_ filter: String, _ words: [String], node: Int = 0) async throws -> String {
    try await run(
      "mosquitto_sub",
      options("dispatch", node) + (words.contains("-i") ? [] : listener) + ["-t", filter, "-F", "%r %l"]
        + words
        + ["-W", "5"]
    ).said
  }

  /// Returns what the fleet's side receives of a publish while it is subscribed.
  private func hears(_ filter: String, while publish: () async throws -> Void) async throws -> String {
    let output = state.file("out-\(UInt32.random(in: 0 ... .max))")
    let listener = try ChildProcess(
      "mosquitto_sub", options("dispatch", 0) + self.listener + ["-t", filter, "-F", "%r %l", "-W", "8"],
      output: output)
    try await Task.sleep(for: .seconds(2))
    try await publish()
    try await eventually { !listener.isRunning }
    return try OdographProcess.text(of: output)
  }

  func cells() async throws -> [String] {
    var cells: [String] = []
    func cell(_ holds: Bool, _ yes: String = "yes", _ no: String = "no") { cells.append(holds ? yes : no) }
    let van = "acme/van-1/"
    cell(try await publish(van + "motion", ["-m", "five"], version: "mqttv5").status == 0)
    _ = try await publish(van + "status", ["-r", "-m", "kept"])
    cell(try await hears("odograph/v1/acme/van-1/status", ["-C", "1"]).contains("1 4"))
    cell(try await hears("odograph/v1/+/+/status", ["-C", "1"]).contains("1 4"))
    let other = ports.count - 1
    let elsewhere = try await hears("odograph/v1/acme/van-1/status", ["-C", "1"], node: other).contains("1 4")
    cells.append(ports.count == 1 ? "–" : elsewhere ? "yes" : "no")
    for node in Set([0, other]).sorted() {
      let session = ["-c", "-i", "odograph-session-\(node)"]
      let filter = "odograph/v1/+/+/location"
      _ = try await hears(filter, session + ["-E"])
      _ = try await publish(van + "location", ["-m", "while away"])
      cell(try await hears(filter, session + ["-C", "1"], node: node).contains(" 10"))
    }
    if ports.count == 1 { cells.append("–") }
    cell(
      try await hears("$share/group/odograph/v1/+/+/location") {
        _ = try await publish(van + "location", ["-m", "shared"])
      }.contains("0 6"))
    let will = try await hears("odograph/v1/acme/van-1/status") {
      let client = try ChildProcess(
        "mosquitto_sub",
        options("acme/van-1", 0) + [
          "-i", "odographd-acme-van-1", "-t", "odograph/v1/acme/van-1/config/desired", "--will-topic",
          "odograph/v1/acme/van-1/status", "--will-payload", "it is gone", "--will-qos", "1",
        ])
      try await Task.sleep(for: .seconds(1))
      client.kill()
    }
    cell(will.contains("0 10"))
    for size in [1_000_000, 2_000_000] {
      let large = try state.write("large-\(size)", String(repeating: "x", count: size))
      let heard = try await hears("odograph/v1/acme/van-1/track") {
        _ = try await publish(van + "track", ["-f", large])
      }
      cell(heard.contains("0 \(size)"), "yes", "refused")
    }
    var refused = ""
    let forged = try await hears("odograph/v1/acme/van-2/location") {
      let answer = try await publish("acme/van-2/location", ["-m", "forged"])
      refused = answer.status == 0 && answer.said.isEmpty ? "acknowledged and dropped" : "the connection ends"
    }
    cell(forged.contains("0 6"), "taken", "refused")
    cells.append(refused)
    // Published by a user who may write to all vehicles, to a vehicle that the access list does not name.
    let dotted = try await run(
      "timeout",
      ["6", "mosquitto_pub"] + options("dispatch", 0) + [
        "-r", "-t", "odograph/v1/acme/van.9/config/desired", "-m", "dotted",
      ])
    let kept = try await hears("odograph/v1/acme/van.9/config/desired", ["-C", "1"])
    cell(dotted.status == 0 && kept.contains("1 6"))
    return cells
  }
}
