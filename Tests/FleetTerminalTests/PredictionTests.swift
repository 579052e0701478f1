import Fleet
import FleetFixtures
import FleetProgram
import JSON
import Spatial
import Telemetry
import Testing
import VehicleData

@testable import FleetTerminal

/// Positions of a vehicle between two of its bounded reports.
@Suite struct PredictionTests {
  private let place = Coordinate(latitude: 48, longitude: 11.5)

  /// A report that applies from `seconds` after noon; by default the vehicle drives east at 20 m/s.
  private func report(
    _ seconds: Double, seq: Int, east: Double = 20, delay: Double = 5, at coordinate: Coordinate? = nil,
    validity: Double? = nil, accuracy: Double? = 5
  ) -> String {
    let predictor = ReportPredictor(
      moment: Timestamp(nanoseconds: noon.advanced(bySeconds: seconds).nanoseconds),
      coordinate: coordinate ?? place, velocity: SIMD2(east, 0), bound: 10, delay: delay,
      validity: validity, growth: 100)
    var location = Location(timestamp: predictor.moment, coordinate: place)
    location.horizontalAccuracy = accuracy
    let message = LocationMessage(
      identity: MessageIdentity(epoch: "e", seq: UInt64(seq)), time: noon.advanced(bySeconds: seconds),
      location: PrivacyPolicy.unrestricted(location), report: predictor)
    return String(decoding: message.payload, as: UTF8.self)
  }

  private func online(_ roster: inout Roster, at seconds: Double) {
    roster.receive("status", statusJSON("online", at: seconds), at: seconds)
  }

  /// The plane of a prediction ends at the pole.
  @Test func noPositionBeyondThePole() {
    for (latitude, isPredicted) in [(89.8, true), (89.95, false), (-89.95, false)] {
      var roster = Roster()
      online(&roster, at: 0)
      let pole = Coordinate(latitude: latitude, longitude: 11.5)
      let predictor = ReportPredictor(
        moment: Timestamp(nanoseconds: noon.nanoseconds), coordinate: pole, velocity: SIMD2(0, 20), bound: 10,
        delay: 5)
      let message = LocationMessage(
        identity: MessageIdentity(epoch: "e", seq: 1), time: noon,
        location: PrivacyPolicy.unrestricted(Location(timestamp: predictor.moment, coordinate: pole)),
        report: predictor)
      roster.receive("location", String(decoding: message.payload, as: UTF8.self), at: 5)
      #expect((roster.van?.predictedPosition(at: moment(30)) != nil) == isPredicted, "\(latitude)")
    }
  }

  /// Returns the predicted distance in m east of `place` at a time.
  private func east(_ roster: Roster, at seconds: Double) -> Double? {
    guard let position = roster.van?.predictedPosition(at: moment(seconds)) else { return nil }
    #expect(position.bound == 10)
    return (LocalFrame(origin: place).offset(of: position.coordinate).x * 10).rounded() / 10
  }

  @Test func predictsBetweenReportsWithTheDelay() {
    var roster = Roster()
    online(&roster, at: 0)
    roster.receive("location", report(0, seq: 1), at: 5)
    // The position is shown with a delay of 5 s.
    #expect(east(roster, at: 5) == 0 && east(roster, at: 6) == 20 && east(roster, at: 60) == 1100)
    #expect(roster.van?.predictedPosition(at: moment(6))?.time == noon.advanced(bySeconds: 1))
    // A report that arrives early applies from its time.
    roster.receive("location", report(20, seq: 2, east: 0), at: 22)
    #expect(east(roster, at: 24.9) == 398 && east(roster, at: 25) == 0 && east(roster, at: 1000) == 0)
  }

  @Test func nothingIsPredictedBeforeTheFirstReportApplies() {
    var roster = Roster()
    online(&roster, at: 0)
    roster.receive("location", report(3, seq: 1), at: 4)
    #expect(east(roster, at: 4) == nil && east(roster, at: 8) == 0)
  }

  @Test func anOfflineVehicleIsNotPredicted() {
    var roster = Roster()
    roster.receive("location", report(0, seq: 1), at: 5)
    #expect(east(roster, at: 6) == nil)
    online(&roster, at: 6)
    #expect(east(roster, at: 7) == 40)
    roster.receive("status", statusJSON("offline", at: 0, will: true), at: 8)
    #expect(east(roster, at: 9) == nil)
  }

  /// An expired guarantee is shown as expired immediately, without a message, and omitted two minutes later.
  @Test func anExpiredGuaranteeIsShownAsExpired() {
    var roster = Roster()
    online(&roster, at: 0)
    roster.receive("location", report(0, seq: 1, validity: 30), at: 5)
    func shown(_ seconds: Double) -> VehicleRecord.ShownPosition? {
      roster.van?.shownPosition(at: moment(seconds))
    }
    func text(_ seconds: Double) -> String {
      var view = WatchView(size: TerminalSize(columns: 160, rows: 1), title: "")
      return WatchPrinter.table(of: roster, at: moment(seconds), &view, styles: false)
    }
    #expect(shown(34)?.bound == 10 && shown(34)?.isPromised == true)
    #expect(text(34).contains(" 15 m"))
    #expect(shown(37)?.bound == 210 && shown(37)?.isPromised == false && text(37).contains("~215 m"))
    let json = String(decoding: roster.van?.json(at: moment(37)) ?? [], as: UTF8.self)
    #expect(json.contains(#""bound":210,"promised":false,"radius":215"#))
    #expect(shown(154)?.bound != nil && shown(156)?.bound == nil)
    #expect(shown(156)?.coordinate.distance(to: place) ?? 99 < 1)
    // A repeated report with a shorter validity replaces the former one; a longer validity renews the guarantee.
    roster.receive("location", report(0, seq: 2, validity: 1), at: 6)
    #expect(shown(8)?.isPromised == false)
    roster.receive("location", report(4, seq: 3, validity: 100), at: 9)
    #expect(shown(9)?.isPromised == true && shown(9)?.bound == 10)
  }

  @Test func aLocationWithoutAPredictionEndsIt() {
    var roster = Roster()
    online(&roster, at: 0)
    roster.receive("location", report(0, seq: 1), at: 5)
    roster.receive("location", locationJSON(48, at: 9, epoch: "e", seq: 2), at: 9)
    #expect(east(roster, at: 10) == nil)
  }

  /// During the replay of an old drive the clock of the vehicle is that of the recording.
  @Test func aClockOfAnotherDayIsAccepted() {
    var roster = Roster()
    online(&roster, at: 0)
    let years = 3e7
    roster.receive("location", report(-years, seq: 1), at: 5)
    #expect(east(roster, at: 5) == 0 && east(roster, at: 8) == 60)
  }

  @Test func retainedReportsOfEarlierDaysAreNotPredicted() {
    var roster = Roster()
    online(&roster, at: 0)
    roster.receive("location", report(-3e7, seq: 1), retained: true, at: 0)
    #expect(east(roster, at: 1) == nil)
    roster.receive("location", report(-60, seq: 2), retained: true, at: 2)
    #expect(east(roster, at: 2) == 1140)
  }

  @Test func theTableShowsThePredictionAndItsBound() {
    var roster = Roster()
    online(&roster, at: 0)
    roster.receive("location", report(0, seq: 1), at: 5)
    var view = WatchView(size: TerminalSize(columns: 160, rows: 1), title: "")
    let text = WatchPrinter.table(of: roster, at: moment(5000), &view, styles: false)
    // 100 km further.
    #expect(text.contains("WITHIN") && text.contains(" 15 m") && text.contains("12.8"))
  }

  /// Table, details and JSON contain the bound plus the accuracy; the bound alone is not the vehicle's error.
  @Test(arguments: [(185.04, "195 m"), (925, "935 m"), (nil, nil)] as [(Double?, String?)])
  func theRadiusIncludesTheAccuracy(accuracy: Double?, within: String?) throws {
    var roster = Roster()
    online(&roster, at: 0)
    roster.receive("location", report(0, seq: 1, accuracy: accuracy), at: 5)
    // The accuracy is that of the report in effect, not that of the newest one.
    roster.receive("location", report(20, seq: 2, accuracy: 1), at: 22)
    let van = try #require(roster.van)
    let now = moment(24)
    let row = VehicleRow(record: van, now: now)
    #expect(row.text(.within, width: 7).plain == within ?? "–")
    let details = DetailPane(record: van, now: now).lines(columns: 100, rows: 30).map(\.plain).joined()
    #expect(details.contains(within.map { "within \($0)" } ?? "accuracy unknown"), "\(details)")
    let json = try JSONValue(parsing: van.json(at: now))
    #expect(json["radius"]?.double == accuracy.map { (10 + $0).rounded() })
    #expect(json["bound"]?.double == 10)
    // Without a prediction, the radius is the accuracy.
    roster.receive("status", statusJSON("offline", at: 0, will: true), at: 25)
    #expect(roster.van?.shownPosition(at: moment(26))?.radius == 1)
  }

  @Test func theLeastAccurateVehicleIsSortedFirst() throws {
    var roster = Roster()
    for (name, accuracy) in [("a", nil), ("b", 3), ("c", 925)] as [(String, Double?)] {
      roster.receive("status", statusJSON("online", at: 0), at: 0, vehicle: name)
      roster.receive("location", report(0, seq: 1, accuracy: accuracy), at: 5, vehicle: name)
    }
    let order = try VehicleOrder(parsing: "within")
    let places = order.sorted([0, 1, 2], of: roster.vehicles, at: moment(10))
    #expect(places.map { roster.vehicles[$0].key.vehicle } == ["c", "b", "a"])
  }

  @Test(arguments: [
    (0.0, "0.0 m"), (3.04, "3.0 m"), (12.4, "12 m"), (999.4, "999 m"), (3536, "3.5 km"), (250_000, "250 km"),
    (Double.nan, "–"),
  ])
  func distancesHaveTheirUnit(metres: Double, text: String) {
    #expect(QuantityText.distance(metres).hasPrefix(text))
  }
}
