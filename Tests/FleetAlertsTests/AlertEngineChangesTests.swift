import Fleet
import FleetAlerts
import FleetFixtures
import Spatial
import Testing

/// Changes of rules, removed vehicles, and alerts that an operator ends.
struct AlertEngineChangesTests {
  private func engine(_ rules: AlertRule...) -> AlertEngine { AlertEngine(rules: rules, at: moment(0)) }

  /// Changes with their reasons, e.g. `ended 5 rule`.
  private func described(_ changes: [AlertChange]) -> [String] {
    changes.map { brief($0) + ($0.alert.reason.map { " \($0.rawValue)" } ?? "") }
  }

  @Test func alertsOfRemovedRulesEnd() {
    let low = rule(.battery(below: 0.2, until: 0.3))
    var engine = engine(low, rule(.offline) { $0.duration = 60 })
    _ = engine.observe(battery(0.1, at: 1))
    _ = engine.observe(facts(.status, at: 2, state: .offline) { $0.battery = 0.1 })
    let renamed = rule(.battery(below: 0.2, until: 0.3)) { $0.name = "low" }
    #expect(
      described(engine.use([renamed, rule(.offline) { $0.duration = 60 }], at: moment(5))) == ["ended 5 rule"]
    )
    // The offline rule is unchanged: its timer continues.
    #expect(engine.pass(to: 62) == ["began 62"])
    #expect(engine.report(battery(0.1, at: 63)) == ["began 63", "ended 63"])
    #expect(engine.openAlerts.map(\.rule) == ["low"])
  }

  @Test func aRuleOfTheSameNameAndAnotherKindIsANewRule() {
    let former = rule(.battery(below: 0.2, until: 0.3)) { $0.name = "a" }
    var running = engine(former)
    _ = running.observe(battery(0.1, at: 1))
    let entries = running.drainChanges().entries.compactMap { pair in pair.entry.map { (pair.key, $0) } }
    let next = rule(.speed(above: 10, until: 9)) { $0.name = "a" }
    var restarted = engine(next)
    let lost = restarted.restore(
      entries: entries, open: running.openAlerts, seen: [], kinds: ["a": .battery])
    #expect(lost.map(\.reason) == [.rule])
    #expect(described(running.use([next], at: moment(3))) == ["ended 3 rule"])
    // A changed limit of the same kind applies from the next message.
    var other = engine(former)
    _ = other.observe(battery(0.1, at: 1))
    let lower = rule(.battery(below: 0.05, until: 0.08)) { $0.name = "a" }
    #expect(other.use([lower], at: moment(2)).isEmpty)
    #expect(other.report(battery(0.1, at: 3)) == ["ended 3"])
  }

  @Test func alertsOfARemovedRegionEnd() {
    func crossing(_ region: String, at seconds: Double) -> VehicleFacts {
      facts(.regions, at: seconds) { ($0.inside, $0.isCrossing) = ([region], true) }
    }
    var engine = engine(rule(.entered(["a", "b"])))
    #expect(
      engine.report(crossing("a", at: 1)) == ["began 1"] && engine.report(crossing("b", at: 2)) == ["began 2"]
    )
    let entries = engine.drainChanges().entries.compactMap { pair in pair.entry.map { (pair.key, $0) } }
    var restarted = AlertEngine(rules: [rule(.entered(["b"]))], at: moment(3))
    #expect(restarted.restore(entries: entries, open: engine.openAlerts, seen: []).map(\.subject) == ["a"])
    #expect(described(engine.use([rule(.entered(["b"]))], at: moment(3))) == ["ended 3 rule"])
    #expect(engine.openAlerts.map(\.subject) == ["b"])
  }

  @Test func theEndOfAnOngoingEventIsProcessedAfterTheRuleChanged() {
    func towing(_ isOngoing: Bool, at seconds: Double) -> VehicleFacts {
      facts(.event, at: seconds) {
        $0.event = .init(name: "tow", summary: "tow (high)", key: "s:7", isOngoing: isOngoing)
      }
    }
    var engine = engine(rule(.event(["tow"])))
    #expect(engine.report(towing(true, at: 1)) == ["began 1"])
    #expect(engine.use([rule(.event(["kerb"]))], at: moment(2)).isEmpty)
    #expect(engine.report(towing(false, at: 3)) == ["ended 3"])
  }

  @Test func aShorterDurationAppliesImmediately() {
    var engine = engine(rule(.offline) { $0.duration = 600 })
    _ = engine.observe(facts(.status, at: 0, state: .offline))
    let short = rule(.offline) { $0.duration = 60 }
    #expect(described(engine.use([short], at: moment(100))) == ["began 60"])
    // Timers are suspended while the broker is unreachable.
    var paused = self.engine(rule(.offline) { $0.duration = 600 })
    _ = paused.observe(facts(.status, at: 0, state: .offline))
    paused.isPaused = true
    #expect(paused.use([short], at: moment(100)).isEmpty)
    paused.isPaused = false
    #expect(paused.pass(to: 101) == ["began 60"])
  }

  @Test func aRemovedVehicleLosesItsState() {
    let other = VehicleKey(fleet: "demo", vehicle: "other")
    var engine = engine(
      rule(.offline), rule(.battery(below: 0.2, until: 0.3)) { $0.hold = 60 }, rule(.event([])))
    for key in [van, other] {
      _ = engine.observe(facts(.status, at: 1, of: key, state: .offline) { $0.battery = 0.1 })
    }
    let event = facts(.event, at: 2) {
      $0.event = .init(name: "tow", summary: "tow", key: "s:1", isOngoing: true)
    }
    _ = engine.observe(event)
    #expect(engine.openAlerts.count == 5)
    let removal = VehicleFacts(key: van, topic: .removal, at: moment(5), state: .unknown)
    #expect(
      Set(described(engine.observe(removal))) == ["ended 5 forgotten"] && engine.openAlerts.count == 2
        && engine.openAlerts.allSatisfy { $0.vehicle == other })
    #expect(
      engine.entryCount == 2 && engine.drainChanges().seen.contains { $0.vehicle == van && $0.keys.isEmpty })
    #expect(engine.observe(removal).isEmpty)
    // A later message adds the vehicle again.
    #expect(engine.report(facts(.status, at: 6, state: .offline)) == ["began 6"])
  }

  @Test func anAlertEndedByAnOperatorIsNotRepeatedUntilItsConditionClears() {
    var engine = engine(rule(.battery(below: 0.2, until: 0.3)))
    _ = engine.observe(battery(0.1, at: 1))
    #expect(described(engine.end(byHand: 1, at: moment(2))) == ["ended 2 operator"])
    #expect(engine.end(byHand: 1, at: moment(3)).isEmpty && engine.end(byHand: 9, at: moment(3)).isEmpty)
    #expect(engine.report(battery(0.1, at: 4)).isEmpty)
    // The same applies after a restart.
    let entries = engine.drainChanges().entries.compactMap { pair in pair.entry.map { (pair.key, $0) } }
    var restarted = AlertEngine(
      rules: [rule(.battery(below: 0.2, until: 0.3))], at: moment(5), nextNumber: engine.nextNumber)
    _ = restarted.restore(entries: entries, open: [], seen: [])
    #expect(restarted.report(battery(0.1, at: 6, retained: true)).isEmpty)
    #expect(
      restarted.report(battery(0.5, at: 7)).isEmpty && restarted.report(battery(0.1, at: 8)) == ["began 8"])
  }
}
