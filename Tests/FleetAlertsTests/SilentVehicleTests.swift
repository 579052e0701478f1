import Fleet
import FleetAlerts
import FleetFixtures
import Spatial
import TestSupport
import Testing

/// Vehicles without messages, in virtual time.
struct SilentVehicleTests {
  private let hour = 3600.0
  private let silent = rule(.silent) { $0.duration = 6 * 3600 }

  private func asleep(until contact: Double, at seconds: Double) -> String {
    statusJSON("asleep", at: seconds).dropLast() + #","nextContact":"\#(wireTime(contact))"}"#
  }

  @Test func eachMessageRestartsTheTime() throws {
    var fleet = Subscriber(silent)
    #expect(fleet.receive("status", statusJSON("online", at: 0), at: 0).isEmpty)
    #expect(fleet.locate(0, at: 5 * hour, arriving: 5 * hour).isEmpty)
    let heading = #"{"time":"\#(wireTime(10 * hour))","magneticHeading":10}"#
    #expect(fleet.receive("heading", heading, at: 10 * hour).isEmpty)
    #expect(fleet.engine.pass(to: 16 * hour - 1).isEmpty)
    let changes = fleet.engine.advance(to: moment(17 * hour))
    let alert = try #require(changes.first?.alert)
    #expect(changes.map(brief) == ["began 57600"])
    #expect(alert.summary == "no message for 6 h" && alert.value == 6 * hour)
    #expect(alert.place?.latitude == 48)
    #expect(fleet.engine.pass(to: 40 * hour).isEmpty)
    #expect(fleet.locate(0, at: 41 * hour, arriving: 41 * hour).map(brief) == ["ended 147600"])
    #expect(fleet.engine.pass(to: 48 * hour) == ["began 169200"])
  }

  @Test(arguments: VehicleState.allCases) func theStateDoesNotMatter(state: VehicleState) {
    var engine = AlertEngine(rules: [silent], at: moment(0))
    #expect(engine.report(facts(.status, at: 0, state: state)).isEmpty)
    #expect(engine.pass(to: 6 * hour) == ["began 21600"])
  }

  /// The broker publishes a will after a lost connection.
  @Test func aWillIsNoMessageOfTheVehicle() {
    var fleet = Subscriber(silent)
    #expect(fleet.receive("status", statusJSON("online", at: 0), at: 0).isEmpty)
    #expect(fleet.receive("status", statusJSON("offline", at: 0, will: true), at: 5 * hour).isEmpty)
    #expect(fleet.engine.pass(to: 7 * hour) == ["began 21600"])
    #expect(
      fleet.receive("status", statusJSON("online", at: 8 * hour, session: 8 * hour), at: 8 * hour).count == 1)
    #expect(fleet.engine.openAlerts.isEmpty)
  }

  /// A contact may be five minutes late, as for `offline`.
  @Test func aSleepingVehicleIsNotSilentBeforeItsContact() throws {
    var fleet = Subscriber(silent)
    #expect(fleet.receive("status", asleep(until: 24 * hour, at: 0), at: 0).isEmpty)
    #expect(fleet.engine.pass(to: 24 * hour + 299).isEmpty)
    let changes = fleet.engine.advance(to: moment(24 * hour + 300))
    #expect(changes.map(brief) == ["began 86700"])
    #expect(changes.first?.alert.summary == "no message for 24 h")
    // The next contact is within the duration of the rule.
    #expect(
      fleet.receive("status", asleep(until: 26 * hour, at: 25 * hour), at: 25 * hour).map(brief) == [
        "ended 90000"
      ])
    #expect(fleet.engine.pass(to: 31 * hour - 1).isEmpty)
    #expect(fleet.engine.pass(to: 31 * hour) == ["began 111600"])
  }

  // MARK: Starts and lost connections

  @Test func afterAStartTheTimeOfTheRetainedMessageCounts() {
    var recent = Subscriber(silent)
    #expect(recent.receive("status", statusJSON("online", at: -5 * hour), retained: true, at: 0).isEmpty)
    #expect(recent.engine.pass(to: hour - 1).isEmpty && recent.engine.pass(to: hour) == ["began 3600"])
    // The newest message counts, in any order of arrival.
    for isFirst in [true, false] {
      var both = Subscriber(silent)
      if isFirst { #expect(both.locate(0, at: -hour, arriving: 0, retained: true).isEmpty) }
      #expect(both.receive("status", statusJSON("online", at: -7 * hour), retained: true, at: 0).isEmpty)
      if !isFirst { #expect(both.locate(0, at: -hour, arriving: 1, retained: true).isEmpty) }
      #expect(both.engine.pass(to: 5 * hour) == ["began 18000"])
    }
    var old = Subscriber(silent)
    #expect(old.receive("status", statusJSON("offline", at: -50 * hour), retained: true, at: 0).isEmpty)
    let changes = old.engine.advance(to: moment(5))
    #expect(changes.map(brief) == ["began -158400"])
    #expect(
      changes.map { AlertText.line(.init($0.alert, $0.transition)) } == [
        "silent: demo/van: no message for 6 h, noticed 44 h later"
      ])
  }

  /// The time of a message from a clock that is wrong is no time of a message.
  @Test(arguments: [3600.0, -400 * 86_400.0]) func timesOfAWrongClockAreIgnored(time: Double) {
    var fleet = Subscriber(silent)
    #expect(fleet.receive("status", statusJSON("online", at: time), retained: true, at: 0).isEmpty)
    #expect(fleet.engine.pass(to: 6 * hour - 1).isEmpty)
    #expect(fleet.engine.pass(to: 6 * hour) == ["began 21600"])
  }

  /// Messages arrived at the broker while this program had no connection.
  @Test func silenceIsNotAssumedForTheTimeWithoutAConnection() {
    for (written, expected) in [(9.9, []), (1, ["began 25200"])] {
      var fleet = Subscriber(silent)
      #expect(fleet.receive("status", statusJSON("online", at: 0), at: 0).isEmpty)
      fleet.engine.isPaused = true
      #expect(fleet.engine.pass(to: 10 * hour).isEmpty)
      let status = statusJSON("online", at: written * hour)
      #expect(fleet.receive("status", status, retained: true, at: 10 * hour).isEmpty)
      fleet.engine.isPaused = false
      #expect(fleet.engine.pass(to: 10 * hour + 5) == expected)
    }
  }

  /// An alert that is open before a restart remains open if the vehicle is still silent, and ends otherwise.
  @Test func alertsContinueAfterARestart() throws {
    var fleet = Subscriber(silent)
    _ = fleet.receive("status", statusJSON("online", at: 0), at: 0)
    #expect(fleet.engine.pass(to: 7 * hour) == ["began 21600"])
    let entries = fleet.engine.drainChanges().entries.compactMap { pair in pair.entry.map { (pair.key, $0) } }
    #expect(entries.count == 1)
    for (written, expected) in [(0.0, []), (hour, []), (20 * hour, ["ended 72000"])] {
      var next = Subscriber(silent)
      next.engine = AlertEngine(rules: [silent], at: moment(24 * hour), nextNumber: 2)
      #expect(next.engine.restore(entries: entries, open: fleet.engine.openAlerts, seen: []).isEmpty)
      let changes = next.receive("status", statusJSON("online", at: written), retained: true, at: 24 * hour)
      #expect(changes.map(brief) == expected)
      #expect(next.engine.pass(to: 25 * hour).isEmpty)
    }
  }

  /// Messages arrive many times a second. Only alerts are stored.
  @Test func messagesCauseNoWritesToTheStore() {
    var engine = AlertEngine(rules: [silent], at: moment(0))
    for second in 0..<100 { _ = engine.report(facts(.contact, at: Double(second))) }
    #expect(engine.drainChanges().entries.isEmpty)
    #expect(engine.pass(to: 7 * hour).count == 1)
    #expect(engine.drainChanges().entries.map { $0.entry?.alert } == [1])
    #expect(engine.report(facts(.contact, at: 8 * hour)).count == 1)
    // The end deletes the stored condition.
    #expect(engine.drainChanges().entries.map { $0.entry == nil } == [true])
  }

  // MARK: Requests and rules

  @Test func anAlertThatAnOperatorHasEndedReturnsAfterAMessage() {
    var engine = AlertEngine(rules: [silent], at: moment(0))
    #expect(engine.report(facts(.status, at: 0)).isEmpty)
    #expect(engine.pass(to: 6 * hour) == ["began 21600"])
    #expect(engine.end(byHand: 1, at: moment(7 * hour)).map(\.alert.reason) == [.byHand])
    #expect(engine.report(facts(.status, at: 8 * hour, retained: true)).isEmpty)
    #expect(engine.pass(to: 50 * hour).isEmpty)
    #expect(engine.report(facts(.status, at: 51 * hour)).isEmpty)
    #expect(engine.pass(to: 60 * hour) == ["began 205200"])
  }

  @Test func aChangedDurationApplies() {
    var engine = AlertEngine(rules: [silent], at: moment(0))
    #expect(engine.report(facts(.status, at: 0)).isEmpty)
    let shorter = rule(.silent) { $0.duration = 3600 }
    #expect(engine.use([shorter], at: moment(2 * hour)).map(brief) == ["began 3600"])
  }
}
