import Fleet
import FleetFixtures
import Testing

/// Vehicles whose clocks are wrong, and sequences across interruptions of the subscription.
@Suite struct VehicleClockTests {
  private func asleep(_ seconds: Double, next: Double) -> String {
    statusJSON("asleep", at: seconds, session: seconds).dropLast() + #","nextContact":"\#(wireTime(next))"}"#
  }

  /// A vehicle that sleeps for an hour is overdue after this hour, whatever its clock shows.
  @Test(arguments: [-7200, 0, 2 * 86_400, -20 * 365 * 86_400] as [Double])
  func theNextContactDoesNotDependOnTheClock(ahead: Double) {
    var roster = Roster()
    roster.receive("status", asleep(ahead, next: ahead + 3600), at: 0)
    #expect(roster.van?.nextContact == moment(3600).time)
    #expect(
      roster.van?.isOverdue(at: moment(3890)) == false && roster.van?.isOverdue(at: moment(3910)) == true)
    #expect(roster.van?.clockLag.map { $0.rounded() } == (ahead < 0 ? -ahead : nil))
    #expect(roster.van?.clockLead.map { $0.rounded() } == (ahead > 0 ? ahead : nil))
  }

  /// The time of arrival of a retained message has no meaning.
  @Test func aRetainedNextContactIsATimeOfTheVehicle() {
    var roster = Roster()
    roster.receive("status", asleep(-7200, next: -3600), retained: true, at: 0)
    #expect(roster.van?.nextContact == moment(-3600).time && roster.van?.clockLag == nil)
  }

  /// A backlog arrives faster than it was written; the statuses of a slow clock do not.
  @Test func aBacklogDoesNotShowASlowClock() {
    func status(_ seconds: Double) -> String { statusJSON("online", at: seconds, session: -9000) }
    var backlog = Roster()
    for index in 0..<100 {
      backlog.receive("status", status(Double(index) * 60 - 7200), at: Double(index) / 10)
      #expect(backlog.van?.clockLag == nil)
    }
    var slow = Roster()
    for arrival in [0.0, 29, 40, 100] {
      slow.receive("status", status(arrival - 7200), at: arrival)
      #expect(slow.van?.clockLag.map { $0.rounded() } == (arrival < 30 ? nil : 7200), "\(arrival)")
    }
    // The clock was set.
    slow.receive("status", status(130), at: 131)
    #expect(slow.van?.clockLag == nil)
  }

  @Test func wrongClocksAreNoDelays() {
    var roster = Roster()
    roster.receive("location", locationJSON(48, at: -2), at: 0, vehicle: "other")
    roster.receive("status", asleep(-7200, next: -3600), at: 0)
    roster.receive("location", locationJSON(48, at: -7200), at: 1)
    #expect(roster.delays.quantile(1).map { $0.rounded() } == 2)
    // A backlog is a delay.
    roster.receive("location", locationJSON(48, at: -5000), at: 2, vehicle: "third")
    #expect(roster.delays.quantile(1).map { $0.rounded() } == 5002)
  }

  @Test func missingMessagesRemainMissingAfterAnInterruption() {
    var roster = Roster()
    func receive(_ seq: Int) {
      roster.receive("location", locationJSON(48, at: Double(seq), epoch: "e", seq: seq), at: 5000)
    }
    receive(1)
    receive(10)
    #expect(roster.van?.missing == 8)
    roster.restartSequences()
    receive(100)
    #expect(roster.van?.missing == 8)
    receive(102)
    #expect(roster.van?.missing == 9)
    // Missing and excluded messages can arrive late.
    receive(5)
    receive(50)
    receive(101)
    #expect(roster.van?.missing == 7)
  }
}
