import Fleet
import FleetFixtures
import Spatial
import Testing

@testable import FleetAlerts

/// Receivers and times of notices.
struct NoticePlanTests {
  private func alert(
    _ number: Int64, _ vehicle: VehicleKey = van, rule: String = "offline", ended: Bool = false
  )
    -> Alert
  {
    Alert(
      number: number, rule: rule, vehicle: vehicle, subject: "", severity: .warning, summary: "offline",
      began: noon, ended: ended ? noon : nil)
  }

  private func brief(_ notices: [Notice]) -> [[String]] {
    notices.map { $0.items.map { "\($0.alert.number) \($0.transition.rawValue)" } }
  }

  @Test func anOutageIsOneMessage() {
    var plan = NoticePlan(rules: [rule(.offline) { $0.group = 30 }], zone: .offset(0))
    for number in 1...1000 {
      plan.observe(
        .began(alert(Int64(number), VehicleKey(fleet: "demo", vehicle: "v\(number)"))),
        at: moment(Double(number) / 100))
    }
    #expect(plan.advance(to: moment(29)).isEmpty && plan.gathered.first?.items.count == 1000)
    let notices = plan.advance(to: moment(31))
    #expect(notices.count == 1 && notices[0].items.count == 1000 && plan.deadline == nil)
    #expect(AlertText.subject(notices[0]) == "offline: 1000 began, 1000 vehicles")
  }

  @Test func quietHoursDelayBeginningsAndDropAlertsThatEnded() throws {
    // Noon in UTC is 22:00 at UTC+10.
    let hours = try #require(QuietHours("22:00-06:00"))
    var plan = NoticePlan(rules: [rule(.offline) { $0.quiet = hours }], zone: .offset(36_000))
    plan.observe(.began(alert(1)), at: moment(0))
    plan.observe(.began(alert(2)), at: moment(1))
    plan.observe(.happened(alert(3, ended: true)), at: moment(2))
    plan.observe(.ended(alert(2, ended: true)), at: moment(3))
    #expect(plan.advance(to: moment(8 * 3600 - 1)).isEmpty)
    #expect(brief(plan.advance(to: moment(8 * 3600))) == [["1 began"], ["3 happened"]])
    plan.observe(.ended(alert(1, ended: true)), at: moment(11 * 3600))
    #expect(brief(plan.advance(to: moment(11 * 3600))) == [["1 ended"]])
    let written = plan.drainChanges()
    #expect(written.held == [1, 2, 3] && written.released == [2, 1, 3])
  }

  /// A tow that ended during the quiet hours is reported when they are over, except after a silence.
  @Test func eventsThatEndedDuringQuietHoursAreReported() throws {
    let hours = try #require(QuietHours("22:00-06:00"))
    let event = rule(.event(["tow"])) { ($0.name, $0.quiet) = ("tow", hours) }
    var plan = NoticePlan(rules: [event], zone: .offset(36_000))
    plan.observe(.began(alert(1, rule: "tow")), at: moment(0))
    plan.observe(.ended(alert(1, rule: "tow", ended: true)), at: moment(4))
    plan.observe(.began(alert(2, rule: "tow")), at: moment(5))
    #expect(plan.drainChanges().released.isEmpty)
    // Another start of the program.
    var other = NoticePlan(rules: [event], zone: .offset(36_000))
    other.restore(held: Array(plan.held.values), gathered: [], silences: [], at: moment(60))
    #expect(brief(other.advance(to: moment(8 * 3600))).flatMap(\.self).sorted() == ["1 happened", "2 began"])
    #expect(plan.advance(to: moment(8 * 3600 - 1)).isEmpty)
    #expect(brief(plan.advance(to: moment(8 * 3600))) == [["1 happened"], ["2 began"]])

    plan.silence([Silence(rule: "tow", until: moment(9 * 3600).time)], at: moment(8 * 3600 + 1))
    plan.observe(.began(alert(3, rule: "tow")), at: moment(8 * 3600 + 2))
    plan.observe(.ended(alert(3, rule: "tow", ended: true)), at: moment(8 * 3600 + 3))
    #expect(plan.advance(to: moment(10 * 3600)).isEmpty)
  }

  @Test func theLongestOfEqualSilencesApplies() {
    func until(_ seconds: Double, _ rule: String? = "a") -> Silence {
      Silence(rule: rule, until: moment(seconds).time)
    }
    let now = moment(10).time
    var silences = [until(60), until(5, "b")]
    for silence in [until(30), until(90), until(20, nil)] { silences = silences.adding(silence, at: now) }
    #expect(silences == [until(90), until(20, nil)])
  }

  @Test func aSilenceAppliesToItsVehiclesAndRules() {
    var plan = NoticePlan(rules: [rule(.offline)], zone: .offset(0))
    let other = VehicleKey(fleet: "demo", vehicle: "other")
    plan.silence([Silence(fleet: "demo", vehicle: "van", until: moment(60).time)], at: moment(0))
    plan.observe(.began(alert(1)), at: moment(1))
    plan.observe(.began(alert(2, other)), at: moment(1))
    plan.observe(.happened(alert(3, ended: true)), at: moment(1))
    #expect(brief(plan.advance(to: moment(2))) == [["2 began"]])
    #expect(brief(plan.advance(to: moment(61))) == [["1 began"]])
    plan.silence([Silence(until: moment(900).time)], at: moment(70))
    plan.observe(.began(alert(4)), at: moment(71))
    #expect(plan.advance(to: moment(72)).isEmpty)
    // An operator ends the silence.
    plan.silence([], at: moment(80))
    #expect(brief(plan.advance(to: moment(80))) == [["4 began"]])
  }

  @Test func hoursOfTheDayAreParsed() throws {
    let night = try #require(QuietHours("22:00-06:00"))
    #expect(night.remaining(at: moment(0).time, in: .offset(0)) == nil)
    #expect(night.remaining(at: moment(0).time, in: .offset(10 * 3600)) == 28_800.0)
    #expect(night.remaining(at: moment(0).time, in: .offset(-6 * 3600)) == nil)
    #expect(night.remaining(at: moment(0).time, in: .offset(-6 * 3600 - 60)) == 60)
    let noon = try #require(QuietHours("12:00-24:00"))
    #expect(noon.remaining(at: moment(0).time, in: .offset(0)) == 43_200.0)
    for text in ["", "22-6", "25:00-06:00", "22:00", "22:00-22:00", "22:60-06:00", "a-b", "24:30-01:00"] {
      #expect(QuietHours(text) == nil, "\(text)")
    }
    #expect(LocalTime(parsing: "+05:30") == .offset(19_800) && LocalTime(parsing: "UTC") == .offset(0))
    #expect(LocalTime(parsing: "../etc/passwd") == nil && LocalTime(parsing: "Europe/Nowhere") == nil)
  }
}

/// Clock changes and restarts.
struct NoticePlanClockTests {
  private func alert(_ number: Int64) -> Alert {
    Alert(
      number: number, rule: "offline", vehicle: van, subject: "", severity: .warning, summary: "offline",
      began: noon)
  }

  private func described(_ notices: [Notice]) -> [String] {
    notices.flatMap { $0.items.map { "\($0.alert.number) \($0.transition.rawValue)" } }
  }

  /// The hour skipped by daylight saving time, or a clock that is set, delays a notice by at most a minute.
  @Test func quietHoursEndByLocalTime() throws {
    // It is 22:00 local time, and quiet until 06:00.
    let hours = try #require(QuietHours("22:00-06:00"))
    var plan = NoticePlan(rules: [rule(.offline) { $0.quiet = hours }], zone: .offset(36_000))
    plan.observe(.began(alert(1)), at: moment(0))
    #expect(plan.advance(to: moment(3600)).isEmpty)
    // The clock skips an hour: it is 06:00 after seven hours.
    var early = moment(7 * 3600)
    early.time = moment(8 * 3600).time
    var deadline = plan.deadline
    #expect(deadline.map { $0.seconds(since: moment(3600).timestamp) < 61 } == true)
    #expect(described(plan.advance(to: early)) == ["1 began"])
    // The clock repeats an hour: nothing is sent in it.
    var other = NoticePlan(rules: [rule(.offline) { $0.quiet = hours }], zone: .offset(36_000))
    other.observe(.began(alert(1)), at: moment(0))
    var late = moment(8 * 3600)
    late.time = moment(7 * 3600).time
    #expect(other.advance(to: late).isEmpty)
    deadline = other.deadline
    #expect(deadline != nil)
  }

  /// Alerts that ended while the program was stopped are not sent. Their ends arrive some seconds after the start.
  @Test func alertsThatEndedDuringAStopAreNotSent() {
    var plan = NoticePlan(rules: [rule(.offline)], zone: .offset(0))
    plan.restore(held: [alert(1), alert(2)], gathered: [], silences: [], at: moment(0))
    #expect(plan.advance(to: moment(1)).isEmpty)
    var ended = alert(1)
    ended.ended = moment(2).time
    plan.observe(.ended(ended), at: moment(2))
    #expect(described(plan.advance(to: moment(10))) == ["2 began"])
  }

  /// An alert that began within a window is sent before its end, also if the rule has changed since.
  @Test func gatheredBeginningsAreSentFirst() {
    var plan = NoticePlan(rules: [rule(.offline) { $0.group = 10 }], zone: .offset(0))
    plan.observe(.began(alert(1)), at: moment(0))
    plan.use([rule(.offline)], zone: .offset(0), at: moment(1))
    var ended = alert(1)
    ended.ended = moment(2).time
    plan.observe(.ended(ended), at: moment(2))
    #expect(plan.advance(to: moment(2)).isEmpty)
    #expect(described(plan.advance(to: moment(10))) == ["1 began", "1 ended"])
    plan.observe(.began(alert(2)), at: moment(11))
    #expect(described(plan.advance(to: moment(11))) == ["2 began"])
  }
}
