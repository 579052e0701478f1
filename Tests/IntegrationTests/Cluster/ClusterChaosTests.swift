import Foundation
import Platform
import TestSupport
import Testing

/// Three nodes of a broker, vehicles with MQTT, and recorders: while nodes are killed, paused or cut off, each number is stored exactly
/// once in each database. The long form (ODOGRAPH_FULL=1) has 2,000 vehicles and 15 minutes of faults.
@Suite(.serialized) struct ClusterChaosTests {
  @Test(.timeLimit(.minutes(Shared.isFullRun ? 60 : 15)), .needs(.rabbitMQ), .needs(.postgreSQL))
  func nothingIsLostAtRabbitMQ() async throws { try await Self.run(.rabbitMQ) }

  @Test(.timeLimit(.minutes(Shared.isFullRun ? 60 : 15)), .needs(.nats), .needs(.postgreSQL))
  func nothingIsLostAtNATS() async throws { try await Self.run(.nats) }

  /// A site with two brokers, which are bridged to a centre with the recorder.
  @Test(.timeLimit(.minutes(Shared.isFullRun ? 60 : 15)), .needs(.postgreSQL))
  func nothingIsLostAtASiteWithTwoMosquittos() async throws { try await Self.run(.mosquitto) }

  /// Description of a fault, its duration in s, and the actions that start and stop it.
  private struct Fault {
    var what: String
    var seconds: Double
    var begin: @Sendable () throws -> Void
    /// Lasts several seconds if a node restarts; vehicles publish meanwhile.
    var end: @Sendable () throws -> Void
  }

  private static func run(_ engine: ClusterFixture.Engine) async throws {
    let isFull = Shared.isFullRun
    let isApart = ClusterFixture.hasNamespaces
    if !isApart {
      print("cluster: skipped: no node is cut off, as this user may make no network namespaces (root may)")
    }
    let cluster = try ClusterFixture(
      engine, ["dashboard", "simulator"], extra: ["user simulator", "topic write odograph/v1/#"],
      fleets: ["demo", "probe"], isApart: isApart)
    let recorders = try ClusterRecorders(cluster)
    try recorders.start()
    try await recorders.waitUntilListening(at: cluster)
    let load =
      isFull ? ClusterLoad(vehicles: 2000, connections: 20) : ClusterLoad(vehicles: 200, connections: 4)
    // Messages per second: 2,000 vehicles with a report every 10 s each.
    let rate = 200
    try load.start(cluster)
    load.publish(1000)
    try await eventually { try recorders.stored() == (1000, 1000) }

    let begin = MonotonicTime.now
    func isOver() -> Bool { isFull && begin.secondsElapsed > 900 }
    var (rounds, outlasted) = (0, 0)
    repeat {
      let faults = faults(cluster, recorders, isFull: isFull)
      for fault in faults where !isOver() {
        try await outlast(fault, load, recorders, rate: rate)
        outlasted += 1
      }
      rounds = outlasted / faults.count
    } while isFull && !isOver()

    let seconds = Int(begin.secondsElapsed)
    for process in recorders.processes {
      #expect(try await process.finish() == 143, "\(process.output.suffix(2000))")
    }
    let rows = try recorders.rows()
    let expected = load.expected
    for store in rows { #expect(store == expected) }
    print(
      "cluster: \(engine.rawValue): \(load.published) messages of \(expected.count) vehicles in \(seconds) s, \(outlasted) faults, \(rounds) whole rounds; "
        + "each in each database once: \(rows.allSatisfy { $0 == expected }); came again, by recorder: \(recorders.repetitions)"
    )
  }

  /// Returns a fault of a node, with the script's commands that start and stop it.
  private static func fault(
    _ cluster: ClusterFixture, _ what: String, _ node: Int, _ seconds: Double, _ begin: [String],
    _ end: [String]
  ) -> Fault {
    Fault(
      what: "node \(node) \(what)", seconds: seconds,
      begin: { for word in begin { try cluster.act(word, node) } },
      end: { for word in end { try cluster.act(word, node) } })
  }

  /// Faults of a round at a site with two brokers. A killed mosquitto loses acknowledged messages that it has not written to disk yet,
  /// which no consumer can compensate. It is therefore killed after it has saved its state, while no messages are in transit.
  private static func faultsOfASite(_ cluster: ClusterFixture, isFull: Bool) -> [Fault] {
    var faults: [Fault] = []
    for node in [1, 2, 3] where isFull || node != 2 {
      faults.append(fault(cluster, "killed", node, isFull ? 15 : 4, ["save", "kill"], ["up"]))
    }
    for node in [1, 2, 3] where isFull || node == 2 {
      faults.append(fault(cluster, "paused", node, isFull ? 30 : 8, ["pause"], ["resume"]))
    }
    guard cluster.canCut else { return faults }
    for node in isFull ? [1, 2] : [1] {
      faults.append(
        Fault(
          what: "node \(node) without its line to the centre", seconds: isFull ? 30 : 8,
          begin: { try cluster.act("line", node, "down") }, end: { try cluster.act("line", node, "up") }))
    }
    if isFull {
      for node in [1, 2, 3] { faults.append(fault(cluster, "cut off", node, 30, ["cut"], ["join"])) }
    }
    guard (try? cluster.act("loss", 2, "0")) != nil else {
      print("cluster: skipped: nothing is lost on the line, as this kernel has no netem")
      return faults
    }
    for node in isFull ? [1, 2] : [2] {
      faults.append(
        Fault(
          what: "node \(node) loses 10 % of what it sends", seconds: isFull ? 30 : 8,
          begin: { try cluster.act("loss", node, "10") }, end: { try cluster.act("loss", node, "0") }))
    }
    return faults
  }

  /// Faults of a round. In the short form, one node is killed, another one is paused, and the third is cut off.
  private static func faults(
    _ cluster: ClusterFixture, _ recorders: ClusterRecorders, isFull: Bool
  ) -> [Fault] {
    var faults = recorders.processes.enumerated().map { index, process in
      Fault(
        what: "recorder \(index + 1) killed", seconds: isFull ? 5 : 2, begin: process.kill, end: process.start
      )
    }
    if cluster.engine == .mosquitto { return faults + faultsOfASite(cluster, isFull: isFull) }
    for node in isFull ? 1...3 : 1...1 {
      faults.append(fault(cluster, "killed", node, isFull ? 15 : 8, ["kill"], ["up"]))
    }
    for node in isFull ? 1...3 : 2...2 {
      faults.append(fault(cluster, "paused", node, isFull ? 30 : 12, ["pause"], ["resume"]))
    }
    guard cluster.canCut else { return faults }
    for node in isFull ? 1...3 : 3...3 {
      faults.append(fault(cluster, "cut off", node, isFull ? 30 : 12, ["cut"], ["join"]))
    }
    return faults
  }

  /// Publishes during a fault; returns when all published messages are in both databases.
  private static func outlast(
    _ fault: Fault, _ load: ClusterLoad, _ recorders: ClusterRecorders, rate: Int
  ) async throws {
    let before = recorders.repetitions
    let watch = DeliveryWatch(try recorders.stored())
    let begin = MonotonicTime.now
    try fault.begin()
    var allowed = 0
    func publishWhile(_ shouldContinue: (Double) -> Bool) async throws {
      while case let seconds = begin.secondsElapsed, shouldContinue(seconds) {
        let due = Int(seconds * Double(rate))
        load.publish(due - allowed)
        allowed = due
        try await Task.sleep(for: .milliseconds(250))
        watch.saw(try recorders.stored())
      }
    }
    try await publishWhile { $0 < fault.seconds }
    let hasEnded = Locked(false)
    async let ending: Void = onThread {
      defer { hasEnded.withLock { $0 = true } }
      try fault.end()
    }
    try await publishWhile { _ in !hasEnded.withLock { $0 } }
    try await ending
    let ended = MonotonicTime.now
    load.publish(rate)
    try await eventually {
      let now = try recorders.stored()
      watch.saw(now)
      try await Task.sleep(for: .milliseconds(100))
      return load.isSettled && now.database >= load.published && now.file >= load.published
    }
    let after = ended.secondsElapsed
    let again = zip(recorders.repetitions, before).map { $0 - $1 }
    let texts = [watch.gaps.database, watch.gaps.file, after].map { String(format: "%.1f s", $0) }
    let gaps = recorders.hasFile ? "\(texts[0]) (two recorders), \(texts[1]) (one)" : texts[0]
    print(
      "cluster: \(fault.what): longest without delivery \(gaps); "
        + "all there \(texts[2]) after its end; came again, by recorder: \(again)")
  }
}
