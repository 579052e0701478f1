import Foundation
import MQTT
import Platform
import TestSupport
import Testing

/// Three nodes of RabbitMQ, vehicles by MQTT, recorders by AMQP: whatever ends, each number is in each database once.
@Suite(.serialized) struct ClusterChaosTests {
  @Test(.timeLimit(.minutes(30)), .needs(.rabbitMQ), .needs(.postgreSQL))
  func recordersAndNodesEndAndNothingIsLost() async throws {
    let cluster = try ClusterFixture(
      ["dashboard", "simulator"], extra: ["user simulator", "topic write odograph/v1/#"])
    let database = try PostgreSQLFixture()
    let state = try TemporaryDirectory()
    let path = state.file("fleet.sqlite")
    func record(_ store: String, _ queue: String, first: Int) -> RecordProcess {
      RecordProcess(
        into: store,
        ["--from", cluster.queueAddress(first: first), "--queue", queue] + cluster.options(of: "dashboard"),
        state: state)
    }
    // Two split one queue; the third has its own.
    let records = [
      record(database.url, "odograph-database", first: 0),
      record(database.url, "odograph-database", first: 1),
      record(path, "odograph-file", first: 2),
    ]
    for record in records { try record.start() }
    try await eventually {
      try cluster.control(1, "list_consumers", "--silent").components(separatedBy: "odograph-").count > 2
        * records.count
    }
    let reader = try SQLiteReader(path)
    func stored() throws -> (database: Int, file: Int) {
      (
        try database.query("SELECT count(*) FROM odograph.messages").first?.first.flatMap(Int.init) ?? 0,
        try reader.rows("SELECT count(*) FROM messages").first?[0].flatMap(Int.init) ?? 0
      )
    }
    let load = FleetLoad()
    try load.start(try Self.configuration(cluster))
    load.publish(1000)
    try await eventually { try stored() == (1000, 1000) }

    var report: [String] = []
    /// Vehicles go on while something happens; ends when all that they said then is in both databases.
    func during(_ what: String, seconds: Double, _ begin: () throws -> Void, _ end: () throws -> Void)
      async throws
    {
      let watch = DeliveryWatch()
      try begin()
      let over = SystemClock.monotonic + Int64(seconds * 1e9)
      while SystemClock.monotonic < over {
        load.publish(50)
        try await Task.sleep(for: .milliseconds(100))
        watch.saw(try stored())
      }
      try end()
      load.publish(500)
      try await eventually {
        let now = try stored()
        watch.saw(now)
        return load.isSettled && now.database >= load.published && now.file >= load.published
      }
      report.append("\(what): \(watch.gaps)")
    }

    let cycles = ChaosExtent.cycles(short: 1, full: 5)
    for _ in 0..<cycles {
      for index in records.indices {
        try await during(
          "recorder \(index + 1) killed", seconds: 2, { records[index].kill() },
          { try records[index].start() })
      }
      // In the short form one node is killed and another one stands still, for as long as is noticed.
      for node in 1...(Shared.isFullRun ? 3 : 1) {
        try await during(
          "node \(node) killed", seconds: 8, { try cluster.act("kill", node) },
          { try cluster.act("up", node) })
      }
      for node in Shared.isFullRun ? 1...3 : 2...2 {
        try await during(
          "node \(node) paused", seconds: Shared.isFullRun ? 30 : 12, { try cluster.act("pause", node) },
          { try cluster.act("resume", node) })
      }
    }
    for record in records { #expect(try await record.finish() == 143, "\(record.output)") }
    let rows = try database.query(FleetLoad.query("odograph.messages") + " ORDER BY vehicle COLLATE \"C\"")
    #expect(rows == load.expected)
    #expect(
      try reader.rows(FleetLoad.query("messages") + " ORDER BY vehicle").map { $0.compactMap(\.self) }
        == load.expected)
    let known = records.map { $0.numbers(before: " known before").reduce(0, +) }
    print(
      "cluster: \(load.published) messages, each in each database once; on the way again, by recorder: \(known)"
    )
    for line in report { print("cluster: \(line)") }
  }

  static func configuration(_ cluster: ClusterFixture) throws -> MQTTConfiguration {
    var configuration = MQTTConfiguration(
      brokers: cluster.nodes.map { .init(host: "localhost", port: $0.mqtt) }, clientID: "odograph-load")
    configuration.protocolVersion = .v311
    configuration.keepAlive = 5
    configuration.connectTimeout = 5
    configuration.backoffLimit = 2
    var tls = MQTTTLS(trust: .file(cluster.authorityFile))
    tls.identity = .init(
      certificateFile: cluster.certificateFile(of: "simulator"), keyFile: cluster.keyFile(of: "simulator"))
    configuration.tls = tls
    return configuration
  }
}

/// The longest time in which nothing was stored, of each database. For a report: no test depends on it.
private final class DeliveryWatch {
  private var last: (count: Int, at: Int64)
  private var lastFile: (count: Int, at: Int64)
  private var longest: (database: Int64, file: Int64) = (0, 0)

  init() {
    last = (0, SystemClock.monotonic)
    lastFile = last
  }

  func saw(_ stored: (database: Int, file: Int)) {
    let now = SystemClock.monotonic
    if stored.database > last.count {
      longest.database = max(longest.database, now - last.at)
      last = (stored.database, now)
    }
    if stored.file > lastFile.count {
      longest.file = max(longest.file, now - lastFile.at)
      lastFile = (stored.file, now)
    }
  }

  var gaps: String {
    let seconds = [longest.database, longest.file].map { String(format: "%.1f s", Double($0) * 1e-9) }
    return "longest without delivery \(seconds[0]) (two recorders), \(seconds[1]) (one)"
  }
}

extension RecordProcess {
  /// The numbers that stand right before a text in what it has said.
  fileprivate func numbers(before text: String) -> [Int] {
    output.components(separatedBy: text).dropLast().compactMap { part in
      Int(String(part.reversed().prefix { $0.isNumber }.reversed()))
    }
  }
}
