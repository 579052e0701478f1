import Foundation
import StoreAndForward
import Telemetry
import TestSupport
import Testing

/// A day of virtual time under all attacks simultaneously: invalid packets, refused topics, a certificate that
/// has expired for hours, a full disk, kills, damaged sectors at restarts, clock changes, a receiver that fails
/// temporarily, and a delayed IIO server. Other tests use the real libraries; here all decisions are made by
/// the agent's own code.
@Suite(.serialized) struct VirtualDayTests {
  /// Ten days with a fix every 2 s in the full run. Set ODOGRAPH_SEED to replay a day.
  @Test(.timeLimit(.minutes(60))) func acceptedMessagesSurviveADayOfFaults() throws {
    var seeds = SplitMix.announced()
    for number in 0..<(Shared.isFullRun ? 10 : 1) {
      let seed = ProcessInfo.processInfo.environment["ODOGRAPH_SEED"].flatMap { UInt64($0) } ?? seeds.next()
      var day = try AttackedDay(seed: seed, step: Shared.isFullRun ? 2 : 10)
      try day.pass(hours: 24)
      try day.finish()
      #expect(day.store.problems.isEmpty, "day \(number), \(seed): \(day.store.problems.prefix(3))")
      let lost = day.store.waiting.map { String(decoding: $0.payload, as: UTF8.self) }.sorted()
      if !lost.isEmpty {
        Issue.record(
          "day \(number), \(seed): \(lost.count) lost, from \(lost[0])\n\(day.store.history.joined(separator: "\n"))"
        )
      }
      print(day.summary)
      #expect(day.store.accepted > 1000)
      #expect(
        day.counts.values.allSatisfy { $0 > 0 } && day.counts.count == AttackedDay.Attack.allCases.count)
      #expect(day.vehicle.clockSteps > 0 && day.vehicle.receiverLosses > 0)
      #expect(day.broker.violations > 0 && day.broker.refusals > 0)
      #expect(day.store.destroyed < day.store.accepted / 10)
    }
  }
}

/// A day with attacks.
struct AttackedDay {
  enum Attack: CaseIterable { case unreachable, hostile, refusedTopics, fullDisk, kill, damage }

  private(set) var vehicle: AttackedVehicle
  let store: AttackedStore
  private(set) var broker = AttackedBroker()
  private(set) var counts: [Attack: Int] = [:]
  /// End time of each lasting attack.
  private var ends: [Attack: Double] = [:]
  private var random: SplitMix
  private var formats: MessageFormats
  private var now = 0.0
  private let step: Double

  /// - Parameter step: seconds between two fixes.
  init(seed: UInt64, step: Double) throws {
    random = SplitMix(seed: seed)
    self.step = step
    vehicle = try AttackedVehicle()
    store = try AttackedStore()
    formats = MessageFormats(
      topics: try TopicScheme(root: "odograph/v1", fleet: "test", vehicle: "van"))
  }

  var summary: String {
    let attacks = Attack.allCases.map { "\($0) \(counts[$0] ?? 0)" }.joined(separator: ", ")
    return "\(store.accepted) accepted, \(store.arrivals) arrived, \(store.destroyed) destroyed; \(attacks), "
      + "\(broker.violations) protocol violations, \(broker.refusals) refusals, \(vehicle.clockSteps) clock steps, "
      + "\(vehicle.receiverLosses) losses of the receiver"
  }

  mutating func pass(hours: Double) throws {
    // Each attack occurs about eight times a day.
    let pause = 86_400 / step / 8
    while now < hours * 3600 {
      now += step
      for attack in Attack.allCases where random.uniform(0...1) < 1 / pause { try begin(attack) }
      for (attack, end) in ends where end <= now { try self.end(attack) }
      let (messages, isNewEpoch) = vehicle.advance(to: now, using: &random)
      if isNewEpoch { store.outbox.beginEpoch() }
      store.accept(messages.flatMap { formats.encode($0) }.filter { $0.lane != nil })
      broker.serve(store, isHostile: ends[.hostile] != nil, using: &random)
    }
  }

  private mutating func begin(_ attack: Attack) throws {
    counts[attack, default: 0] += 1
    switch attack {
    case .unreachable:
      ends[attack] = now + random.uniform(60...7200)
      broker.isReachable = false
    case .hostile: ends[attack] = now + random.uniform(600...7200)
    case .refusedTopics:
      ends[attack] = now + random.uniform(60...3600)
      broker.refused = ["location", Bool.random(using: &random) ? "region" : "status"]
    case .fullDisk:
      ends[attack] = now + random.uniform(60...1800)
      try store.fillDisk()
    case .kill:
      try store.kill()
      try restart()
    case .damage:
      try store.damage(using: &random)
      try restart()
    }
  }

  private mutating func restart() throws {
    ends[.fullDisk] = nil
    broker.disconnect(store)
    try vehicle.restart(at: now)
  }

  private mutating func end(_ attack: Attack) throws {
    ends[attack] = nil
    switch attack {
    case .unreachable:
      broker.isReachable = true
      broker.disconnect(store)
    case .refusedTopics:
      broker.refused = []
      broker.disconnect(store)
    case .fullDisk: try store.emptyDisk()
    case .hostile, .kill, .damage: break
    }
  }

  /// Ends all attacks and delivers all waiting records.
  mutating func finish() throws {
    try store.emptyDisk()
    (broker.isReachable, broker.refused) = (true, [])
    broker.disconnect(store)
    var turns = 0
    while store.outbox.status.records > 0, turns < 20_000 {
      broker.serve(store, isHostile: false, using: &random)
      turns += 1
    }
  }
}
