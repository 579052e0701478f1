import Foundation
import Platform
import TestSupport

/// Recorders of a cluster test and the messages that they have stored. RabbitMQ, all by AMQP: two recorders that share a queue and write
/// to PostgreSQL, and one with its own queue that writes to a file. NATS has no shared subscriptions and may omit messages for one of
/// several persistent sessions (Config/clusters/nats): one recorder with an MQTT session, into PostgreSQL. A site with two mosquitto
/// brokers has the same recorder at its centre.
final class ClusterRecorders {
  private(set) var processes: [RecordProcess]
  /// True if a recorder writes to a file.
  let hasFile: Bool
  let database: PostgreSQLFixture
  private let path: String
  private let reader: Locked<SQLiteReader?> = Locked(nil)
  private let state: TemporaryDirectory

  init(_ cluster: ClusterFixture) throws {
    let (database, state) = (try PostgreSQLFixture(), try TemporaryDirectory())
    (self.database, self.state) = (database, state)
    let path = state.file("fleet.sqlite")
    self.path = path
    func record(_ store: String, _ name: String, first: Int) -> RecordProcess {
      let session = [
        "--broker", cluster.fleetAddress(first: first), "--client-id", "odograph-recorder-\(first)",
      ]
      let from =
        switch cluster.engine {
        case .rabbitMQ:
          [
            "--from", cluster.queueAddress(first: first), "--queue",
            name.isEmpty ? "odograph-file" : "odograph-database",
          ]
        case .nats: session + ["--mqtt-v311"]
        case .mosquitto: session
        }
      return RecordProcess(into: store, ["--json"] + from + cluster.options(of: "dashboard"), state: state)
    }
    hasFile = cluster.engine == .rabbitMQ
    processes = [record(database.url, "database", first: 0)]
    if hasFile {
      processes += [record(database.url, "database", first: 1), record(path, "", first: 2)]
    }
  }

  func start() throws { for process in processes { try process.start() } }

  /// Excludes the messages of `waitUntilListening`.
  private static let ofLoad = "WHERE fleet = 'demo'"

  /// Waits until the cluster queues messages for each recorder: it stores none before a queue or a subscription exists. Messages of
  /// another vehicle are published until each recorder has received one.
  func waitUntilListening(at cluster: ClusterFixture) async throws {
    let node = cluster.order(0)[0]
    let options = [
      "-h", node.host, "-p", "\(node.mqtt)", "-V", "mqttv311", "-q", "1", "-t",
      "odograph/v1/probe/one/location",
      "--cafile", cluster.authorityFile, "--cert", cluster.certificateFile(of: "simulator"), "--key",
      cluster.keyFile(of: "simulator"),
    ]
    var number = 0
    try await eventually {
      number += 1
      let said = try await runTool("mosquitto_pub", options + ["-m", #"{"epoch":"probe","seq":\#(number)}"#])
      if !said.isEmpty { print("cluster: probe: \(said)") }
      try await Task.sleep(for: .milliseconds(500))
      // Recorders that share a queue receive some of the messages each.
      return processes.allSatisfy { $0.received > 0 }
    }
  }

  /// Numbers of stored messages of the load in the database and in the file.
  func stored() throws -> (database: Int, file: Int) {
    let database = try database.query("SELECT count(*) FROM odograph.messages \(Self.ofLoad)").first?.first
      .flatMap(
        Int.init)
    guard hasFile else { return (database ?? 0, database ?? 0) }
    let reader = try reader.withLock { reader in
      if reader == nil { reader = try SQLiteReader(path) }
      return reader
    }
    return (
      database ?? 0,
      try reader?.rows("SELECT count(*) FROM messages \(Self.ofLoad)").first?[0].flatMap(Int.init) ?? 0
    )
  }

  /// Results of `FleetLoad.query`, sorted by vehicle.
  func rows() throws -> [[[String]]] {
    let rows = try database.query(
      FleetLoad.query("odograph.messages \(Self.ofLoad)") + " ORDER BY vehicle COLLATE \"C\"")
    guard hasFile else { return [rows] }
    let file = try SQLiteReader(path).rows(FleetLoad.query("messages \(Self.ofLoad)") + " ORDER BY vehicle")
    return [rows, file.map { $0.compactMap(\.self) }]
  }

  /// Repeated messages per recorder, summed over its restarts, as printed once per second. Recorders that write the same messages to one
  /// database also count those that the other one has stored.
  var repetitions: [Int] { processes.map(\.repetitions) }
}

extension RecordProcess {
  /// Messages received since the last start, as printed once per second.
  fileprivate var received: Int {
    let last = output.split(separator: "\n").last { $0.hasPrefix("{\"received\":") }
    return last.flatMap { Int($0.dropFirst("{\"received\":".count).prefix { $0.isNumber }) } ?? 0
  }

  fileprivate var repetitions: Int {
    var (sum, life, received) = (0, 0, 0)
    for line in output.split(separator: "\n") where line.hasPrefix("{\"received\":") {
      func number(_ name: String) -> Int {
        guard let range = line.range(of: "\"\(name)\":") else { return 0 }
        return Int(line[range.upperBound...].prefix { $0.isNumber }) ?? 0
      }
      // A restarted process counts from 0.
      if number("received") < received { (sum, life) = (sum + life, 0) }
      (received, life) = (number("received"), number("duplicates"))
    }
    return sum + life
  }
}

/// Longest interval without a stored message, for each store. For the report only: no test depends on it.
final class DeliveryWatch {
  private var last: (count: Int, at: MonotonicTime)
  private var lastFile: (count: Int, at: MonotonicTime)
  private var longest: (database: Double, file: Double) = (0, 0)

  init(_ stored: (database: Int, file: Int)) {
    last = (stored.database, .now)
    lastFile = (stored.file, .now)
  }

  func saw(_ stored: (database: Int, file: Int)) {
    let now = MonotonicTime.now
    if stored.database > last.count {
      longest.database = max(longest.database, now.seconds(since: last.at))
      last = (stored.database, now)
    }
    if stored.file > lastFile.count {
      longest.file = max(longest.file, now.seconds(since: lastFile.at))
      lastFile = (stored.file, now)
    }
  }

  /// Intervals in s: of the database, which two recorders fill, and of the file.
  var gaps: (database: Double, file: Double) { longest }
}
