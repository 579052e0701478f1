import Fleet
import FleetAlerts
import FleetFixtures
import Foundation
import Platform
import SQLite
import Spatial
import Telemetry
import TestSupport
import Testing

/// Changes of rules, receivers and vehicles: each beginning and each end is sent once, to the same receivers.
@Suite(.timeLimit(.minutes(3))) struct AlertServiceChangesTests {
  private let fixture: AlertServiceFixture
  private let low = rule(.battery(below: 0.2, until: 0.3)) {
    $0.name = "low"
    $0.severity = .critical
    $0.receivers = ["ops"]
  }
  private let renamed = rule(.battery(below: 0.2, until: 0.3)) { $0.name = "battery-low" }

  init() throws { fixture = try AlertServiceFixture() }

  @Test func theEndGoesToTheReceiversOfTheBeginning() throws {
    let receivers = [try fixture.receiver("ops"), try fixture.receiver("desk")]
    let first = try fixture.service([low], receivers)
    first.observe(fixture.low(0.1))
    #expect(waitUntil { fixture.received("ops") == ["1:began critical"] })
    first.stop()
    let second = try fixture.service([renamed], receivers)
    #expect(waitUntil { fixture.received("ops") == ["1:began critical", "1:ended critical rule"] })
    // The renamed rule raises a new alert for all receivers.
    second.observe(fixture.low(0.1, retained: true))
    #expect(waitUntil { fixture.received("desk") == ["2:began warning"] })
    second.stop()
    #expect(fixture.received("ops").count == 3)
  }

  /// An alert that began within `group` and was not sent before the restart is sent with its beginning and its end.
  @Test func gatheredAlertsAreSentAfterTheirRuleIsRemoved() throws {
    let receivers = [try fixture.receiver("ops"), try fixture.receiver("desk")]
    var grouped = low
    grouped.group = 600
    let first = try fixture.service([grouped], receivers)
    first.observe(fixture.low(0.1))
    #expect(waitUntil { !first.state.open.isEmpty })
    first.stop()
    let second = try fixture.service([], receivers)
    #expect(waitUntil { fixture.received("ops") == ["1:began critical", "1:ended critical rule"] })
    second.stop()
    #expect(fixture.received("desk").isEmpty)
  }

  /// A renamed receiver counts as another one: the end goes to the receivers of the rule.
  @Test func theEndGoesToTheReceiversOfTheRuleIfAllFormerOnesAreRemoved() throws {
    let ops = try fixture.receiver("ops")
    let first = try fixture.service([low], [ops])
    first.observe(fixture.low(0.1))
    #expect(waitUntil { fixture.received("ops") == ["1:began critical"] })
    first.stop()
    var pager = ops
    pager.name = "pager"
    var rule = low
    rule.receivers = ["pager"]
    let second = try fixture.service([rule], [pager])
    second.observe(fixture.low(0.9, retained: true))
    #expect(waitUntil { fixture.received("ops") == ["1:began critical", "1:ended critical"] })
    second.stop()
  }

  /// A file of the previous version has no receivers of alerts: ends go to all.
  @Test func aFileOfThePreviousVersionIsMigrated() throws {
    let path = fixture.directory.file("alerts.sqlite")
    do {
      let database = try Database(path: path, access: .create)
      #expect(try database.migrate(Array(AlertSchema.steps.prefix(1))))
      try database.execute("INSERT INTO meta VALUES ('epoch', '00000000000000aa')")
      for rule in ["low", "gone"] {
        try database.execute(
          """
          INSERT INTO alerts (rule, fleet, vehicle, subject, severity, summary, began)
          VALUES ('\(rule)', 'demo', 'van', '', 'critical', 'battery at 10 %', 0)
          """)
      }
      try database.execute(
        "INSERT INTO entries VALUES ('low', 'demo', 'van', '', 1, 0, 1, 0.1, NULL, NULL, NULL, 0)")
    }
    #expect(throws: FleetError.self) { _ = try AlertStore(path: path, isReader: true) }
    let receivers = [try fixture.receiver("ops"), try fixture.receiver("desk")]
    let service = try fixture.service([low], receivers)
    #expect(waitUntil { fixture.received("desk") == ["2:ended critical rule"] })
    #expect(waitUntil { fixture.received("ops") == ["2:ended critical rule"] })
    service.observe(fixture.low(0.9, retained: true))
    #expect(waitUntil { fixture.received("ops").last == "1:ended critical" })
    service.stop()
    #expect(fixture.received("desk").count == 1)
  }

  /// Ended alerts are deleted `keep` after their end was noticed, not after the time of an old event.
  @Test func alertsOfOldEventsAreStored() throws {
    var settings = fixture.settings([rule(.event([]))], [])
    (settings.keep, settings.giveUpAfter) = (86_400, 1)
    func started() throws -> AlertService {
      let service = AlertService(settings) { _ in }
      try service.start()
      return service
    }
    var late = VehicleFacts(key: van, topic: .event, at: .now)
    let time = late.at.time.advanced(bySeconds: -40 * 86_400)
    late.event = .init(name: "tow", summary: "tow", time: time, key: "s:1")
    let first = try started()
    first.observe(late)
    #expect(waitUntil { first.state.ended.count == 1 })
    first.stop()
    let store = try AlertStore(path: settings.store, isReader: true)
    // One alert of an earlier version, and one that was noticed long ago.
    for noticed in ["NULL", "\(time.nanoseconds)"] {
      try store.database.execute(
        """
        INSERT INTO alerts (rule, fleet, vehicle, subject, severity, summary, began, ended, noticed)
        VALUES ('event', 'demo', 'van', '', 'info', 'tow', 0, 0, \(noticed))
        """)
    }
    #expect(try store.alerts(where: "1").count == 3)
    let second = try started()
    #expect(waitUntil { (try? store.alerts(where: "number > 1").isEmpty) == true })
    second.stop()
    let left = try store.alerts(where: "1").map(\.alert)
    #expect(left.count == 1 && left.first?.began == time && left.first?.noticed != nil)
  }

  /// The first alert after a start has a position although no rule is about positions, and the receiver gets the remedy.
  @Test func placeAndRemedyReachTheReceiver() throws {
    var low = rule(.battery(below: 0.2, until: 0.3))
    low.duration = 0.5
    let service = try fixture.service([low, rule(.event(["failed"]))], [try fixture.receiver("ops")])
    var roster = Roster()
    let status = statusJSON("online", at: 0).dropLast() + #","battery":{"level":0.1}}"#
    roster.receive("status", String(status), retained: true, at: 0)
    let first = try #require(roster.van)
    service.observe(
      .message(.status(try #require(first.status?.message))), isRetained: true, of: first, at: .now)
    roster.receive("location", locationJSON(48.5, at: 0), retained: true, at: 0)
    let second = try #require(roster.van)
    service.observe(
      .message(.location(try #require(second.location?.message))), isRetained: true, of: second, at: .now)
    #expect(waitUntil { fixture.received("ops") == ["1:began warning"] })
    var failure = VehicleFacts(key: van, topic: .event, at: .now)
    failure.event = VehicleFacts.Event(name: "failed", summary: "location failed: no fix", key: "e:1")
    failure.event?.remedy = "check the antenna"
    service.observe(failure)
    #expect(waitUntil { fixture.received("ops").count == 2 })
    service.stop()
    let text = try String(contentsOfFile: fixture.directory.file("ops"), encoding: .utf8)
    #expect(text.contains("48.5") && text.contains("check the antenna"), "\(text)")
    let store = try AlertStore(path: fixture.directory.file("alerts.sqlite"), isReader: true)
    #expect(try store.alerts(where: "1").map { $0.alert.remedy } == [nil, "check the antenna"])
  }

  @Test func rulesAndReceiversAreReplacedAtRunTime() throws {
    let ops = try fixture.receiver("ops")
    let desk = try fixture.receiver("desk")
    let queue = rule(.queue(above: 100, until: 50))
    let service = try fixture.service([low, queue], [ops])
    service.observe(fixture.low(0.1))
    var full = fixture.low(0.1)
    full.queue = 500
    service.observe(full)
    #expect(waitUntil { fixture.received("ops") == ["1:began critical", "2:began warning"] })
    var again = queue
    again.receivers = ["desk"]
    service.reload(fixture.settings([renamed, again], [ops, desk]))
    #expect(waitUntil { fixture.received("ops").last == "1:ended critical rule" })
    #expect(service.settings.rules.map(\.name) == ["battery-low", "queue"])
    // Alerts of an unchanged rule continue: the beginning is not repeated, the end goes to the same receivers.
    service.observe(full)
    full.queue = 1
    service.observe(full)
    #expect(waitUntil { fixture.received("ops").contains("2:ended warning") })
    #expect(waitUntil { fixture.received("desk") == ["3:began warning"] })
    // A removed receiver gets no further messages.
    service.reload(fixture.settings([renamed], [desk]))
    service.observe(fixture.low(0.9))
    #expect(waitUntil { fixture.received("desk") == ["3:began warning", "3:ended warning"] })
    service.stop()
    #expect(!fixture.received("ops").contains("3:ended warning"))
  }

  @Test func anEndByAnOperatorIsSentOnceAcrossARestart() throws {
    let ops = try fixture.receiver("ops")
    let service = try fixture.service([low], [ops])
    for number in 1...3 {
      service.observe(fixture.low(0.1, VehicleKey(fleet: "demo", vehicle: "v\(number)")))
    }
    #expect(waitUntil { fixture.received("ops").count == 3 })
    let path = service.settings.store
    // Through the database, as the command does.
    try AlertStore(path: path, isReader: true).requestEnds([1])
    #expect(waitUntil { fixture.received("ops").contains("1:ended critical operator") })
    service.end(2)
    #expect(waitUntil { fixture.received("ops").contains("2:ended critical operator") })
    service.stop()
    #expect(
      fixture.logged.withLock { $0.count { $0.contains("was ended by an operator: low: demo/v") } } == 2)
    // While the service is stopped.
    try AlertStore(path: path, isReader: true).requestEnds([1, 2, 3])
    for _ in 0..<2 {
      let next = try fixture.service([low], [ops])
      #expect(waitUntil { fixture.received("ops").count == 6 && next.state.open.isEmpty })
      // A condition that persists raises no new alert.
      for number in 1...3 {
        next.observe(fixture.low(0.1, VehicleKey(fleet: "demo", vehicle: "v\(number)"), retained: true))
      }
      next.stop()
    }
    #expect(
      fixture.received("ops").count == 6 && fixture.received("ops").contains("3:ended critical operator"))
  }

  @Test func aRemovedVehicleEndsItsAlerts() throws {
    let ops = try fixture.receiver("ops")
    let service = try fixture.service([low], [ops])
    service.observe(fixture.low(0.1))
    service.observe(removalOf: van, at: .now)
    #expect(waitUntil { fixture.received("ops") == ["1:began critical", "1:ended critical forgotten"] })
    service.stop()
    let store = try AlertStore(path: service.settings.store, isReader: true)
    #expect(try store.entries(at: .now).isEmpty)
  }
}
