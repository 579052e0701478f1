import Foundation
import Platform
import TestSupport
import Testing

/// Three nodes of an engine, vehicles by MQTT, recorders as the engine has them: whatever ends, stands still or is cut off, each
/// number is in each database once. The long form (ODOGRAPH_FULL=1) has 2,000 vehicles and a quarter of an hour of faults.
@Suite(.serialized) struct ClusterChaosTests {
  @Test(.timeLimit(.minutes(Shared.isFullRun ? 60 : 15)), .needs(.rabbitMQ), .needs(.postgreSQL))
  func nothingIsLostAtRabbitMQ() async throws { try await Self.run(.rabbitMQ) }

  @Test(.timeLimit(.minutes(Shared.isFullRun ? 60 : 15)), .needs(.nats), .needs(.postgreSQL))
  func nothingIsLostAtNATS() async throws { try await Self.run(.nats) }

  /// What happens, for how many seconds, and how it begins and ends.
  private struct Fault {
    var what: String
    var seconds: Double
    var begin: () throws -> Void
    var end: () throws -> Void
  }

  private static func run(_ engine: ClusterFixture.Engine) async throws {
    let isFull = Shared.isFullRun
    let isApart = ClusterFixture.hasNamespaces
    if !isApart {
      print("cluster: skipped: no node is cut off, as this user may make no network namespaces (root may)")
    }
    let cluster = try ClusterFixture(
      engine, ["dashboard", "simulator"], extra: ["user simulator", "topic write odograph/v1/#"],
      isApart: isApart)
    let recorders = try ClusterRecorders(cluster)
    try recorders.start()
    try await recorders.waitUntilListening(at: cluster)
    let load =
      isFull ? ClusterLoad(vehicles: 2000, connections: 20) : ClusterLoad(vehicles: 200, connections: 4)
    // Messages a second: of 2,000 vehicles each reports every ten seconds.
    let rate = 200
    try load.start(cluster)
    load.publish(1000)
    try await eventually { try recorders.stored() == (1000, 1000) }

    let begin = SystemClock.monotonic
    func isOver() -> Bool { isFull && SystemClock.monotonic - begin > 900 * 1_000_000_000 }
    var rounds = 0
    repeat {
      for fault in faults(cluster, recorders, isFull: isFull) where !isOver() {
        try await outlast(fault, load, recorders, rate: rate)
      }
      rounds += 1
    } while isFull && !isOver()

    let seconds = Int(Double(SystemClock.monotonic - begin) * 1e-9)
    for process in recorders.processes {
      #expect(try await process.finish() == 143, "\(process.output.suffix(2000))")
    }
    let rows = try recorders.rows()
    let expected = load.expected
    for store in rows { #expect(store == expected) }
    print(
      "cluster: \(engine.rawValue): \(load.published) messages of \(expected.count) vehicles in \(seconds) s, \(rounds) rounds of faults; "
        + "each in each database once: \(rows.allSatisfy { $0 == expected }); came again, by recorder: \(recorders.repetitions)"
    )
  }

  /// All that happens in a round. In the short form one node is killed, another one stands still, and the third is cut off.
  private static func faults(
    _ cluster: ClusterFixture, _ recorders: ClusterRecorders, isFull: Bool
  ) -> [Fault] {
    var faults = recorders.processes.enumerated().map { index, process in
      Fault(
        what: "recorder \(index + 1) killed", seconds: isFull ? 5 : 2, begin: process.kill, end: process.start
      )
    }
    for node in isFull ? 1...3 : 1...1 {
      faults.append(
        Fault(
          what: "node \(node) killed", seconds: isFull ? 15 : 8, begin: { try cluster.act("kill", node) },
          end: { try cluster.act("up", node) }))
    }
    for node in isFull ? 1...3 : 2...2 {
      faults.append(
        Fault(
          what: "node \(node) paused", seconds: isFull ? 30 : 12, begin: { try cluster.act("pause", node) },
          end: { try cluster.act("resume", node) }))
    }
    guard cluster.canCut else { return faults }
    for node in isFull ? 1...3 : 3...3 {
      faults.append(
        Fault(
          what: "node \(node) cut off", seconds: isFull ? 30 : 12, begin: { try cluster.act("cut", node) },
          end: { try cluster.act("join", node) }))
    }
    return faults
  }

  /// Vehicles go on while something happens; ends when all that they said then is in both databases.
  private static func outlast(
    _ fault: Fault, _ load: ClusterLoad, _ recorders: ClusterRecorders, rate: Int
  ) async throws {
    let before = recorders.repetitions
    let watch = DeliveryWatch(try recorders.stored())
    let begin = SystemClock.monotonic
    try fault.begin()
    var allowed = 0
    while case let seconds = Double(SystemClock.monotonic - begin) * 1e-9, seconds < fault.seconds {
      let due = Int(seconds * Double(rate))
      load.publish(due - allowed)
      allowed = due
      try await Task.sleep(for: .milliseconds(250))
      watch.saw(try recorders.stored())
    }
    let ended = SystemClock.monotonic
    try fault.end()
    load.publish(rate)
    try await eventually {
      let now = try recorders.stored()
      watch.saw(now)
      try await Task.sleep(for: .milliseconds(100))
      return load.isSettled && now.database >= load.published && now.file >= load.published
    }
    let after = Double(SystemClock.monotonic - ended) * 1e-9
    let again = zip(recorders.repetitions, before).map { $0 - $1 }
    let texts = [watch.gaps.database, watch.gaps.file, after].map { String(format: "%.1f s", $0) }
    print(
      "cluster: \(fault.what): longest without delivery \(texts[0]) (two recorders), \(texts[1]) (one); "
        + "all there \(texts[2]) after its end; came again, by recorder: \(again)")
  }
}
