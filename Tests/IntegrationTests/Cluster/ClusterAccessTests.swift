import Foundation
import TestSupport
import Testing

/// Access rules of the cluster kits: refused operations, each next to a similar permitted one.
@Suite(.serialized) struct ClusterAccessTests {
  @Test(.timeLimit(.minutes(10)), .needs(.rabbitMQ)) func rabbitMQAccessRules() async throws {
    let trial = try AccessTrial(.rabbitMQ)
    try await trial.expectAccessRules()
    // AMQP is for recorders only.
    for (member, status) in [("acme/van-1", Int32(69)), ("dashboard", 75)] {
      let run = try await OdographProcess.run(
        [
          "record", trial.state.file("fleet.sqlite"), "--from", trial.cluster.queueAddress(), "--queue",
          "odograph-q",
          "--count", "1", "--timeout", "5",
        ] + trial.cluster.options(of: member))
      #expect(run.status == status, "AMQP as \(member): \(run.output)")
    }
    // A session is a queue; a vehicle can use only the one with its own name.
    #expect(try await trial.hasSession("odographd-acme-van-1"))
    #expect(try await !trial.hasSession("odographd-acme-van-2"))
    #expect(try await !trial.readsAnothersSession())
    try await trial.expectReplacedKeyRefused()
  }

  @Test(.timeLimit(.minutes(10)), .needs(.nats)) func natsAccessRules() async throws {
    let trial = try AccessTrial(.nats)
    try await trial.expectAccessRules()
    // NATS' own protocol requires a user in addition to a certificate.
    let answer = try await trial.natsResponseWithoutUser()
    #expect(answer.contains("Authorization Violation"), "\(answer)")
    #expect(try await trial.hasSession("odographd-acme-van-1"))
    // With NATS, client IDs are not bound to users, as the kit's page states.
    #expect(try await trial.hasSession("odographd-acme-van-2"))
    #expect(try await !trial.readsAnothersSession())
    try await trial.expectReplacedKeyRefused()
  }

  /// Names that map to the same session are refused in any order.
  @Test(arguments: [
    (["acme/van-1", "acme-van/1"], false), (["acme/van", "acme/van-1", "acme-van/2"], true),
    (["acme/van-1", "acme/van-1", "dashboard"], true),
  ])
  func collidingNamesAreRefused(names: [String], isTaken: Bool) throws {
    let kit = ContractScript.repository + "/Config"
    let child = try ChildProcess(
      kit + "/clusters/rabbitmq/access.sh", [kit + "/mosquitto/odograph.acl"] + names)
    #expect((child.waitForExit() == 0) == isTaken, "\(child.output)")
    #expect(isTaken || child.output.contains("name one of them differently"), "\(child.output)")
  }
}

/// A cluster and mosquitto's clients with the identities of its members.
private final class AccessTrial {
  private static let members = ["acme/van-1", "acme/van-2", "dashboard", "dispatch", "registrar"]

  let cluster: ClusterFixture
  let state: TemporaryDirectory
  private let foreign: CertificateAuthority

  init(_ engine: ClusterFixture.Engine) throws {
    cluster = try ClusterFixture(
      engine, Self.members,
      extra: ["user registrar", "topic read odograph/v1/#", "topic write odograph/v1/#"])
    state = try TemporaryDirectory()
    foreign = try CertificateAuthority("Another")
  }

  private func run(_ program: String, _ identity: [String], _ words: [String]) async throws -> (
    status: Int32, said: String
  ) {
    let output = state.file("out-\(UInt32.random(in: 0 ... .max))")
    let child = try ChildProcess(
      "timeout",
      ["8", program, "-h", "localhost", "-p", "\(cluster.nodes[0].mqtt)", "-V", "mqttv311", "-q", "1"]
        + identity + words,
      output: output)
    try await eventually { !child.isRunning }
    return (child.waitForExit(), try OdographProcess.text(of: output))
  }

  private func identity(_ member: String) -> [String] {
    [
      "--cafile", cluster.authorityFile, "--cert", cluster.certificateFile(of: member), "--key",
      cluster.keyFile(of: member),
    ]
  }

  private func publishes(_ identity: [String], _ path: String = "acme/van-1/location") async throws -> Bool {
    let said = "tried-\(UInt32.random(in: 0 ... .max))"
    return try await hears(["odograph/v1/\(path)"], as: "dispatch", said, mark: path) {
      _ = try await self.run("mosquitto_pub", identity, ["-t", "odograph/v1/\(path)", "-m", said])
    }
  }

  /// Returns whether `member` receives a text that is published during `body`. A user who may write everything publishes marks before and
  /// after: the first shows that the listener is subscribed, the last that it has received everything. If none of the first marks arrives,
  /// because the broker refuses the subscription, the result is false.
  private func hears(
    _ filters: [String], as member: String, _ text: String, mark path: String,
    while body: () async throws -> Void
  ) async throws -> Bool {
    let output = state.file("out-\(UInt32.random(in: 0 ... .max))")
    let name = member.contains("/") ? "odographd-" + member.replacing("/", with: "-") : "odograph-listener"
    let listener = try ChildProcess(
      "mosquitto_sub",
      ["-h", "localhost", "-p", "\(cluster.nodes[0].mqtt)", "-V", "mqttv311", "-q", "1", "-i", name]
        + filters.flatMap { ["-t", $0] } + identity(member), output: output)
    defer { listener.kill() }
    func marked(_ mark: String, attempts: Int) async throws -> Bool {
      for _ in 0..<attempts {
        _ = try await run("mosquitto_pub", identity("registrar"), ["-t", "odograph/v1/\(path)", "-m", mark])
        try await Task.sleep(for: .milliseconds(300))
        if try OdographProcess.text(of: output).contains(mark) { return true }
      }
      return false
    }
    guard try await marked("begin", attempts: filters.count == 1 ? 100 : 6) else { return false }
    try await body()
    #expect(try await marked("end", attempts: 100))
    return try OdographProcess.text(of: output).contains(text)
  }

  func expectAccessRules() async throws {
    let van = identity("acme/van-1")
    #expect(try await publishes(van), "a vehicle to its own topic")
    let stranger = try foreign.issue("stranger", commonName: "acme/van-1")
    for (what, identity) in [
      ("plain text", []), ("without a certificate", ["--cafile", cluster.authorityFile]),
      (
        "with another authority's certificate",
        ["--cafile", cluster.authorityFile, "--cert", stranger.certificateFile, "--key", stranger.keyFile]
      ),
    ] {
      #expect(try await !publishes(identity), "\(what)")
      #expect(try await run("mosquitto_pub", identity, ["-t", "x", "-m", "x"]).status != 0, "\(what)")
    }
    for path in [
      "acme/van-2/location", "acme/van-1/config/desired", "acme/van-1/command/locate",
      "acme/van-1/unheard-of",
    ] {
      #expect(try await !publishes(van, path), "a vehicle to \(path)")
    }
    for (filter, isGranted) in [
      ("odograph/v1/acme/van-1/config/desired", true), ("odograph/v1/acme/van-2/config/desired", false),
      ("odograph/v1/+/+/config/desired", false), ("odograph/v1/#", false),
    ] {
      let path = isGranted ? "acme/van-1/config/desired" : "acme/van-2/config/desired"
      let heard = try await hears(
        isGranted ? [filter] : [filter, "odograph/v1/acme/van-1/command/+"], as: "acme/van-1", "wanted",
        mark: isGranted ? path : "acme/van-1/command/locate"
      ) {
        _ = try await self.run(
          "mosquitto_pub", self.identity("dispatch"), ["-t", "odograph/v1/\(path)", "-m", "wanted"])
      }
      #expect(heard == isGranted, "a vehicle listens to \(filter)")
    }
  }

  /// Returns whether `acme/van-1` can use a persistent session with this client ID: whether a command published while it is disconnected
  /// is delivered later.
  func hasSession(_ name: String) async throws -> Bool {
    let session = ["-i", name, "-c", "-t", "odograph/v1/acme/van-1/command/+"]
    _ = try await run("mosquitto_sub", identity("acme/van-1"), session + ["-E"])
    _ = try await run(
      "mosquitto_pub", identity("dispatch"), ["-t", "odograph/v1/acme/van-1/command/locate", "-m", "waited"])
    return try await run("mosquitto_sub", identity("acme/van-1"), session + ["-C", "1", "-W", "5"]).said
      .contains("waited")
  }

  /// Returns whether a vehicle receives the queued messages of another vehicle's session by connecting with its client ID.
  func readsAnothersSession() async throws -> Bool {
    let name = "odographd-acme-van-2"
    let own = "odograph/v1/acme/van-2/command/+"
    _ = try await run("mosquitto_sub", identity("acme/van-2"), ["-i", name, "-c", "-t", own, "-E"])
    _ = try await run(
      "mosquitto_pub", identity("dispatch"),
      ["-t", "odograph/v1/acme/van-2/command/locate", "-m", "another's"])
    let words = ["-i", name, "-c", "-t", "odograph/v1/acme/van-1/command/+", "-W", "5"]
    return try await run("mosquitto_sub", identity("acme/van-1"), words).said.contains("another's")
  }

  /// The kit's procedure for a lost key: the old key is refused and its successor accepted; members that are no longer listed are refused.
  func expectReplacedKeyRefused() async throws {
    let old = ["crt", "key"].map { state.file("old.\($0)") }
    try FileManager.default.copyItem(atPath: cluster.certificateFile(of: "acme/van-1"), toPath: old[0])
    try FileManager.default.copyItem(atPath: cluster.keyFile(of: "acme/van-1"), toPath: old[1])
    try cluster.certify("replace", "acme/van-1")
    try cluster.access(Self.members.filter { $0 != "acme/van-2" })
    #expect(
      try await !publishes(["--cafile", cluster.authorityFile, "--cert", old[0], "--key", old[1]]),
      "a replaced key")
    #expect(try await publishes(identity("acme/van-1")), "its successor")
    #expect(
      try await !publishes(identity("acme/van-2"), "acme/van-2/location"), "a member that is no longer listed"
    )
  }

  /// Returns the answer of a node to a client of the NATS protocol without a user.
  func natsResponseWithoutUser() async throws -> String {
    try await runTool(
      "bash",
      [
        "-c",
        "exec 3<>/dev/tcp/127.0.0.1/\(cluster.nodes[0].own); printf 'CONNECT {\"verbose\":true}\\r\\nPING\\r\\n' >&3; timeout 5 cat <&3; true",
      ])
  }
}
