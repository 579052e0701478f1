import Foundation
import Platform
import TestSupport

/// The recorders of a cluster in a test of what ends, and what they have stored. RabbitMQ: two that split a queue into PostgreSQL, and
/// one with a queue of its own into a file, all by AMQP. NATS has no shared subscription, and of several sessions that last it may
/// leave one without some messages (Config/clusters/nats): one recorder, by a session of MQTT, into PostgreSQL. So at the centre of a
/// site with two mosquittos.
final class ClusterRecorders {
  private(set) var processes: [RecordProcess]
  /// Whether one of them records into a file.
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

  /// Without the messages of `waitUntilListening`.
  private static let ofLoad = "WHERE fleet = 'demo'"

  /// Waits until the cluster keeps for each recorder what comes from now on: before there is a queue, or a subscription, it keeps
  /// nothing. Messages of another vehicle are published until each has one.
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
      // Those that split a queue have some of them each.
      return processes.allSatisfy { $0.received > 0 }
    }
  }

  /// How many messages there are of the load in the database and in the file.
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

  /// What `FleetLoad.query` gives, sorted.
  func rows() throws -> [[[String]]] {
    let rows = try database.query(
      FleetLoad.query("odograph.messages \(Self.ofLoad)") + " ORDER BY vehicle COLLATE \"C\"")
    guard hasFile else { return [rows] }
    let file = try SQLiteReader(path).rows(FleetLoad.query("messages \(Self.ofLoad)") + " ORDER BY vehicle")
    return [rows, file.map { $0.compactMap(\.self) }]
  }

  /// Messages that came to each recorder again, in all its lives, as far as it has said: once a second. Two that each have all
  /// find what the other has stored, too.
  var repetitions: [Int] { processes.map(\.repetitions) }
}

extension RecordProcess {
  /// What it has received in its last life, as far as it has said.
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
      // A process that was killed begins anew.
      if number("received") < received { (sum, life) = (sum + life, 0) }
      (received, life) = (number("received"), number("duplicates"))
    }
    return sum + life
  }
}

/// The longest time in which nothing was stored, of each store. For a report: no test depends on it.
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

  /// Seconds, of the database that two recorders fill and of the file.
  var gaps: (database: Double, file: Double) { longest }
}
