import Glibc
import Platform
import TestSupport
import Testing

/// Delivery and remote management of the running agent.
@Suite(.serialized) struct DeliveryLiveTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func agent(_ settings: [String: String]) throws -> ChildProcess {
    var all = [
      "vehicle.id": "t", "control.socket": "none", "store.path": directory.file("o.sqlite"),
      "regions.state": directory.file("st"), "remote.enabled": "true",
      "remote.path": directory.file("remote"),
    ]
    all.merge(settings) { $1 }
    return try ChildProcess(
      BuiltProduct.path("odographd"),
      ["run"] + all.sorted { $0.key < $1.key }.flatMap { ["--set", "\($0)=\($1)"] })
  }

  /// A FIFO in place of a state file neither hangs the agent nor blocks SIGTERM.
  @Test(
    .timeLimit(.minutes(2)),
    arguments: [
      "remote/regions.geojson", "remote/settings.json", "o.sqlite.odometer", "o.sqlite.odometer.copy",
      "o.sqlite.trips", "o.sqlite.recent", "o.sqlite", "st",
    ])
  func fifoInPlaceOfAStateFileDoesNotHangTheAgent(file: String) throws {
    mkdir(directory.file("remote"), 0o700)
    try #require(mkfifo(directory.file(file), 0o600) == 0)
    let agent = try agent([
      "input.mode": "simulation", "mqtt.broker": "mqtt://127.0.0.1:1",
    ])
    let path = directory.file(file)
    // Simulated input uses neither odometer nor trips of the vehicle.
    let expected = file.contains(".odometer") || file.hasSuffix(".trips") ? "started" : path
    _ = waitUntil(atMost: 20) { agent.output.contains(expected) || !agent.isRunning }
    #expect(agent.output.contains(expected), "\(agent.output.prefix(2000))")
    agent.signal(SIGTERM)
    let isDone = waitUntil(atMost: 20) { !agent.isRunning }
    #expect(isDone)
    print("\(file): exit status \(agent.exitStatus.map { "\($0)" } ?? "none")")
    if !isDone { agent.kill() }
    var status = stat()
    #expect(stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO)
  }

  /// Two brokers, each with a retained document that refers to the other. An earlier version made 292
  /// connections in 10 s.
  @Test(.timeLimit(.minutes(2)))
  func brokersThatReferToEachOtherAreNotAlternated() throws {
    let brokers = [try BrokerFixture(), try BrokerFixture()]
    let documents = [
      #"{"version":"5","settings":{"mqtt.broker":"mqtt://127.0.0.1:\#(brokers[1].port)"}}"#,
      #"{"version":"6","settings":{"status.interval":60}}"#,
    ]
    for (broker, document) in zip(brokers, documents) {
      let publisher = try ChildProcess(
        "mosquitto_pub",
        ["-p", "\(broker.port)", "-q", "1", "-r", "-t", "odograph/v1/f/t/config/desired", "-m", document])
      #expect(publisher.waitForExit() == 0)
    }
    let config = try directory.write(
      "a.toml",
      """
      [vehicle]
      id = "t"
      fleet = "f"
      [input]
      mode = "simulation"
      [mqtt]
      broker = "mqtt://127.0.0.1:\(brokers[0].port)"
      [store]
      path = "\(directory.file("o.sqlite"))"
      [regions]
      state = "\(directory.file("st"))"
      [control]
      socket = "none"
      [remote]
      enabled = true
      path = "\(directory.file("remote"))"
      keys = ["mqtt.broker", "status.interval"]
      """)
    let agent = try ChildProcess(BuiltProduct.path("odographd"), ["run", "--config", config])
    let refusal = "version 5 is older than 6"
    #expect(waitUntil(atMost: 60) { agent.output.contains(refusal) }, "\(agent.output.suffix(3000))")
    let connections = agent.output.split(separator: "\n").count { $0.contains("broker connected") }
    print("connections until the older document is refused: \(connections)")
    #expect(connections == 3)
    #expect(agent.terminate() == 0)
  }

  /// A setting of one burst a day must be confirmed by a second connection. Before, the connection that
  /// delivered it also confirmed it, and the vehicle was unreachable for a day.
  @Test(.timeLimit(.minutes(2)))
  func burstsAreConfirmedByTheNextConnection() throws {
    let broker = try BrokerFixture()
    let person = try Operator(broker)
    let agent = try ManagedAgent(
      broker,
      remote: """
        enabled = true
        rollback_after = 12
        keys = ["mqtt.link", "mqtt.burst_interval", "mqtt.burst_linger"]
        [simulation]
        scenario = "parked"
        """, directory: directory)
    #expect(waitUntil(atMost: 60) { person.state == "online" }, "\(agent.log)")
    func settings(_ interval: Int) -> String {
      #"{"settings":{"mqtt.link":"bursts","mqtt.burst_linger":0.2,"mqtt.burst_interval":\#(interval)}}"#
    }
    func hasEnded(_ state: String, after count: Int) -> Bool {
      person.reports.dropFirst(count).contains { $0["state"] as? String == state }
    }
    #expect(person.want(settings(86_400))?["state"] as? String == "trial", "\(agent.log)")
    #expect(waitUntil(atMost: 60) { hasEnded("rolledBack", after: 1) }, "\(agent.log)")
    let problem = problem(of: person.reports.last)
    #expect(problem.contains("no second connection within 12 s"), "\(problem)")
    #expect(waitUntil(atMost: 60) { person.state == "online" }, "\(agent.log)")
    let count = person.reports.count
    #expect(person.want(settings(5))?["state"] as? String == "trial", "\(agent.log)")
    #expect(waitUntil(atMost: 60) { hasEnded("applied", after: count) }, "\(agent.log)")
    #expect(!hasEnded("rolledBack", after: count))
    #expect(agent.child.terminate() == 0)
  }
}
