import Fleet
import FleetAlerts
import FleetFixtures
import Spatial
import Telemetry
import Testing

/// Each condition separately, in virtual time.
struct AlertEngineTests {
  private func engine(_ rules: AlertRule...) -> AlertEngine { AlertEngine(rules: rules, at: moment(0)) }

  /// Speeds are in km/h, shares in percent.
  @Test func summariesHaveReadableUnits() {
    #expect(rule(.speed(above: 30, until: 27)).summary(36.42, subject: "") == "speed 131 km/h")
    #expect(rule(.speed(above: 30, until: 27)).summary(nil, subject: "") == "too fast")
    #expect(rule(.battery(below: 0.2, until: 0.3)).summary(0.142, subject: "") == "battery at 14 %")
  }

  @Test func offlineForAWhileIsAnAlertAndBackEndsIt() {
    var engine = engine(rule(.offline) { $0.duration = 600 })
    #expect(engine.report(facts(.status, at: 10, state: .offline)).isEmpty)
    #expect(engine.pass(to: 609).isEmpty)
    #expect(engine.pass(to: 700) == ["began 610"])
    #expect(engine.report(facts(.status, at: 800, state: .online)) == ["ended 800"])
    // The vehicle reconnects within the duration: no alert.
    #expect(engine.report(facts(.status, at: 900, state: .offline)).isEmpty)
    #expect(engine.report(facts(.status, at: 1000, state: .online)).isEmpty)
    #expect(engine.pass(to: 9000).isEmpty)
  }

  /// After a start, the retained status of a vehicle arrives before its retained position.
  @Test func anAlertHasThePositionThatArrivesAfterTheStatus() {
    var engine = engine(rule(.battery(below: 0.2, until: 0.3)) { $0.duration = 60 })
    let place = Coordinate(latitude: 48, longitude: 11)
    #expect(engine.report(battery(0.1, at: 0, retained: true)).isEmpty)
    #expect(engine.report(facts(.position, at: 1, retained: true) { $0.place = place }).isEmpty)
    #expect(engine.pass(to: 61) == ["began 60"])
    #expect(engine.openAlerts.first?.place == place)
  }

  @Test func summariesOfFailuresHaveTheRemedyAndEndAtAWord() throws {
    let reason =
      "localhost:2947 has had no report from a receiver for 60 s, "
      + String(repeating: "and waits ", count: 20)
    let message = LocationEventMessage(
      time: noon, event: .failed, error: "positionUnknown", reason: reason, remedy: "check its cable")
    let facts = try #require(
      VehicleFacts(.locationEvent(message), isRetained: false, of: VehicleRecord(key: van), at: moment(0)))
    #expect(facts.event?.remedy == "check its cable")
    let summary = try #require(facts.event?.summary)
    #expect(
      summary.hasPrefix("location failed: localhost:2947 has had no report from a receiver for 60 s, and"))
    #expect(
      summary.count <= 160 && (summary.hasSuffix(" and…") || summary.hasSuffix(" waits…")), "\(summary)")
    var engine = engine(rule(.event([])))
    let change = try #require(engine.observe(facts).first)
    #expect(change.alert.remedy == "check its cable")
  }

  @Test func aSleepingVehicleIsOfflineOnceOverdue() {
    var engine = engine(rule(.offline) { $0.duration = 60 })
    #expect(engine.report(facts(.status, at: 0, state: .asleep) { $0.overdue = 1000 }).isEmpty)
    #expect(engine.pass(to: 1059).isEmpty)
    #expect(engine.pass(to: 1100) == ["began 1060"])
    #expect(engine.report(facts(.status, at: 1200, state: .asleep) { $0.overdue = 5000 }) == ["ended 1200"])
  }

  @Test func aLevelBetweenTheLimitsChangesNothing() {
    var engine = engine(rule(.battery(below: 0.2, until: 0.3)))
    #expect(engine.report(battery(0.25, at: 1)).isEmpty)
    #expect(engine.report(battery(0.19, at: 2)) == ["began 2"])
    #expect(engine.report(battery(0.29, at: 3)).isEmpty)
    #expect(engine.report(battery(0.3, at: 4)) == ["ended 4"])
    #expect(engine.report(battery(0.2, at: 5)).isEmpty)
    // A status without a level changes nothing.
    #expect(engine.report(facts(.status, at: 6)).isEmpty)
  }

  /// The last speed before a vehicle went offline does not count.
  @Test func theSpeedOfAnOfflineVehicleIsUnknown() {
    var engine = engine(rule(.speed(above: 30, until: 27)) { $0.duration = 10 })
    func speed(_ state: VehicleState, at seconds: Double) -> VehicleFacts {
      facts(.position, at: seconds) { ($0.speed, $0.state) = (50, state) }
    }
    func status(_ state: VehicleState, at seconds: Double) -> VehicleFacts {
      facts(.status, at: seconds) { $0.state = state }
    }
    #expect(engine.report(speed(.online, at: 0)).isEmpty && engine.report(status(.offline, at: 1)).isEmpty)
    #expect(engine.report(speed(.offline, at: 2)).isEmpty && engine.report(status(.offline, at: 60)).isEmpty)
    #expect(engine.report(speed(.online, at: 70)).isEmpty)
    #expect(engine.report(speed(.online, at: 80)) == ["began 80"])
    #expect(engine.report(status(.online, at: 81)).isEmpty)
    #expect(engine.report(status(.offline, at: 90)) == ["ended 90"])
  }

  @Test func anAlertEndsOnlyAfterItsHold() {
    var engine = engine(rule(.speed(above: 30, until: 27)) { $0.hold = 20 })
    func speed(_ value: Double, at seconds: Double) -> VehicleFacts {
      facts(.position, at: seconds) { $0.speed = value }
    }
    #expect(engine.report(speed(31, at: 1)) == ["began 1"])
    #expect(engine.report(speed(20, at: 10)).isEmpty)
    #expect(engine.report(speed(40, at: 20)).isEmpty)
    #expect(engine.report(speed(20, at: 30)).isEmpty)
    #expect(engine.pass(to: 60) == ["ended 50"])
  }

  @Test func aShrinkingQueueRaisesNoAlert() {
    var engine = engine(rule(.queue(above: 100, until: 50)) { $0.duration = 60 })
    func queue(_ value: Double, at seconds: Double) -> VehicleFacts {
      facts(.status, at: seconds) { $0.queue = value }
    }
    #expect(engine.report(queue(500, at: 0)).isEmpty)
    #expect(engine.report(queue(400, at: 50)).isEmpty)
    #expect(engine.pass(to: 100).isEmpty)
    #expect(engine.report(queue(450, at: 110)).isEmpty)
    #expect(engine.report(queue(450, at: 150)).isEmpty)
    #expect(engine.pass(to: 200) == ["began 170"])
    #expect(engine.report(queue(51, at: 210)).isEmpty)
    #expect(engine.report(queue(50, at: 220)) == ["ended 220"])
  }

  @Test func aLostPositionExceedsEveryAccuracyLimit() {
    var engine = engine(rule(.accuracy(above: 100, until: 80)))
    #expect(engine.report(facts(.position, at: 1) { $0.accuracy = 100 }).isEmpty)
    let changes = engine.observe(facts(.event, at: 2) { $0.accuracy = .infinity })
    #expect(changes.map(brief) == ["began 2"] && changes[0].alert.summary == "no position")
    #expect(changes[0].alert.value == nil)
    #expect(engine.report(facts(.position, at: 3) { $0.accuracy = 5 }) == ["ended 3"])
  }

  @Test func crossingsRaiseAlertsAndStatesDoNot() {
    var engine = engine(rule(.entered(["depot"])), rule(.left([])))
    func state(inside: [String], outside: [String], at seconds: Double) -> VehicleFacts {
      facts(.regions, at: seconds, retained: true) { ($0.inside, $0.outside) = (inside, outside) }
    }
    #expect(engine.report(state(inside: ["depot"], outside: ["yard"], at: 1)).isEmpty)
    let left = facts(.regions, at: 2) { ($0.outside, $0.isCrossing) = (["depot"], true) }
    let changes = engine.observe(left)
    #expect(changes.map(brief) == ["began 2"] && changes[0].alert.summary == "left depot")
    let entered = facts(.regions, at: 3) { ($0.inside, $0.isCrossing) = (["depot"], true) }
    #expect(engine.report(entered) == ["began 3", "ended 3"])
    // Entry to a region that no earlier message contained: neither rule matches it.
    let yard = facts(.regions, at: 4) { ($0.inside, $0.isCrossing) = (["mill"], true) }
    #expect(engine.report(yard).isEmpty)
  }

  @Test func alertsEndWithTheirRegion() {
    var engine = engine(rule(.left([])), rule(.entered([])))
    func watching(_ inside: [String], _ outside: [String], at seconds: Double, all: Bool = true)
      -> VehicleFacts
    {
      facts(.regions, at: seconds, retained: true) {
        ($0.inside, $0.outside) = (inside, outside)
        if all { $0.watched = Set(inside + outside) }
      }
    }
    #expect(engine.report(watching(["a", "b"], [], at: 0)).isEmpty)
    #expect(
      engine.report(facts(.regions, at: 1) { ($0.outside, $0.isCrossing) = (["a"], true) }) == ["began 1"])
    // The list is incomplete: the region may still exist.
    #expect(engine.report(watching(["b"], [], at: 2, all: false)).isEmpty)
    #expect(engine.report(watching(["b"], [], at: 3)) == ["ended 3"])
    #expect(engine.openAlerts.isEmpty)
    // The region is new again: its first state is not a crossing.
    #expect(engine.report(watching(["b"], ["a"], at: 4)).isEmpty)
  }

  @Test func eachOfManyRegionsRaisesAlerts() {
    var engine = engine(rule(.entered([])))
    for number in 0..<(3 * AlertEngine.subjectsPerVehicle) {
      let time = Double(2 * number)
      let name = "region \(number)"
      #expect(
        engine.report(facts(.regions, at: time) { ($0.inside, $0.isCrossing) = ([name], true) })
          == ["began \(2 * number)"])
      #expect(
        engine.report(facts(.regions, at: time + 1) { ($0.outside, $0.isCrossing) = ([name], true) })
          == ["ended \(2 * number + 1)"])
    }
    #expect(engine.refused == 0)
    // With an open alert for every region, further alerts are refused and counted.
    for number in 0...AlertEngine.subjectsPerVehicle {
      _ = engine.report(
        facts(.regions, at: 1000) { ($0.inside, $0.isCrossing) = (["other \(number)"], true) })
    }
    #expect(engine.openAlerts.count == AlertEngine.subjectsPerVehicle && engine.refused == 1)
  }

  @Test func aRepeatedEventIsReportedOnce() {
    var engine = engine(rule(.event(["harshBraking"])), rule(.trace([])))
    let braking = facts(.event, at: 1) {
      $0.event = .init(name: "harshBraking", summary: "harshBraking (high)", key: "s:1")
    }
    #expect(engine.report(braking) == ["happened 1"])
    #expect(engine.report(braking).isEmpty)
    #expect(
      engine.report(facts(.event, at: 2) { $0.event = .init(name: "kerb", summary: "", key: "s:2") }).isEmpty)
    let trace = facts(.trace, at: 3) {
      $0.event = .init(name: "impact", summary: "trace 1 of impact", key: "trace:s:1")
    }
    #expect(engine.report(trace) == ["happened 3"] && engine.report(trace).isEmpty)
    #expect(engine.openAlerts.isEmpty)
  }

  @Test func anOngoingEventEndsWithTheSameNumber() {
    var engine = engine(rule(.event([])))
    func towing(_ isOngoing: Bool, at seconds: Double) -> VehicleFacts {
      facts(.event, at: seconds) {
        $0.event = .init(name: "tow", summary: "tow (high)", key: "s:7", isOngoing: isOngoing)
      }
    }
    #expect(engine.report(towing(true, at: 1)) == ["began 1"])
    #expect(engine.report(towing(true, at: 2)).isEmpty)
    #expect(engine.report(towing(false, at: 3)) == ["ended 3"])
    #expect(engine.report(towing(false, at: 4)).isEmpty)
  }

  @Test func aRuleAppliesToItsVehiclesOnly() {
    var engine = engine(
      rule(.battery(below: 0.2, until: 0.2)) {
        $0.fleets = ["demo"]
        $0.states = [.online]
      })
    let other = VehicleKey(fleet: "other", vehicle: "van")
    #expect(engine.report(battery(0.1, at: 1, of: other)).isEmpty)
    #expect(engine.report(facts(.status, at: 2, state: .asleep) { $0.battery = 0.1 }).isEmpty)
    #expect(engine.report(battery(0.1, at: 3)) == ["began 3"])
    // Reports in another state change nothing.
    #expect(engine.report(facts(.status, at: 4, state: .asleep) { $0.battery = 0.9 }).isEmpty)
    #expect(engine.report(battery(0.9, at: 5)) == ["ended 5"])
  }

  @Test func restoredTimersWaitForAReportOfTheVehicle() {
    let offline = rule(.offline) { $0.duration = 60 }
    var first = engine(offline)
    _ = first.observe(facts(.status, at: 0, state: .offline))
    let written = first.drainChanges().entries.compactMap { pair in pair.entry.map { (pair.key, $0) } }
    var second = engine(offline)
    #expect(second.restore(entries: written, open: [], seen: []).isEmpty)
    // The vehicle may have reconnected while the program was stopped.
    #expect(second.pass(to: 500).isEmpty)
    var third = second
    #expect(second.report(facts(.status, at: 600, state: .online, retained: true)).isEmpty)
    #expect(third.report(facts(.status, at: 600, state: .offline, retained: true)) == ["began 60"])
  }

  @Test func timersAreSuspendedWhilePaused() {
    var engine = engine(rule(.offline) { $0.duration = 60 })
    _ = engine.observe(facts(.status, at: 0, state: .offline))
    engine.isPaused = true
    #expect(engine.pass(to: 100).isEmpty)
    #expect(engine.report(facts(.status, at: 101, state: .online, retained: true)).isEmpty)
    engine.isPaused = false
    #expect(engine.pass(to: 900).isEmpty)
  }

  @Test func anOpenAlertOfARemovedRuleEnds() {
    var first = engine(rule(.battery(below: 0.2, until: 0.3)))
    _ = first.observe(battery(0.1, at: 1))
    let written = first.drainChanges().entries.compactMap { pair in pair.entry.map { (pair.key, $0) } }
    var second = engine(rule(.offline))
    let ended = second.restore(entries: written, open: first.openAlerts, seen: [])
    #expect(ended.count == 1 && ended[0].ended != nil && second.openAlerts.isEmpty)
  }
}
