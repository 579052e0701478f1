import Fleet
import FleetFixtures
import FleetProgram
import FleetTerminal
import Foundation
import JSON
import Spatial
import Telemetry
import TestSupport
import Testing
import VehicleData

@Suite struct RosterTests {
  struct Step: Sendable {
    var latitude: Double
    var at: Double
    var epoch: String?
    var seq: Int?
    var retained = false
    var outcome: Roster.Outcome
  }

  struct Case: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var steps: [Step]
    var shown: Double
  }

  static let orders: [Case] = [
    Case(
      testDescription: "numbers take precedence over times",
      steps: [
        Step(latitude: 1, at: 100, epoch: "a", seq: 1, outcome: .applied),
        Step(latitude: 2, at: 50, epoch: "a", seq: 2, outcome: .applied),
        Step(latitude: 1, at: 100, epoch: "a", seq: 1, outcome: .outdated),
        Step(latitude: 2, at: 50, epoch: "a", seq: 2, outcome: .duplicate),
      ], shown: 2),
    Case(
      testDescription: "a retained message never replaces a newer one",
      steps: [
        Step(latitude: 5, at: 100, epoch: "a", seq: 5, outcome: .applied),
        Step(latitude: 4, at: 90, epoch: "a", seq: 4, retained: true, outcome: .outdated),
        Step(latitude: 5, at: 100, epoch: "a", seq: 5, retained: true, outcome: .duplicate),
      ], shown: 5),
    Case(
      testDescription: "a newer retained message applies: it was missed while disconnected",
      steps: [
        Step(latitude: 5, at: 100, epoch: "a", seq: 5, outcome: .applied),
        Step(latitude: 9, at: 200, epoch: "a", seq: 9, retained: true, outcome: .applied),
      ], shown: 9),
    Case(
      testDescription: "a new epoch is a new store, even when its clock is behind",
      steps: [
        Step(latitude: 1, at: 100, epoch: "a", seq: 900, outcome: .applied),
        Step(latitude: 2, at: -5000, epoch: "b", seq: 1, outcome: .applied),
        Step(latitude: 1, at: 101, epoch: "a", seq: 901, outcome: .outdated),
        Step(latitude: 3, at: -4999, epoch: "b", seq: 2, outcome: .applied),
      ], shown: 3),
    Case(
      testDescription: "a unit that was exchanged comes back; late messages of the other one change nothing",
      steps: [
        Step(latitude: 1, at: 100, epoch: "a", seq: 900, outcome: .applied),
        Step(latitude: 2, at: 101, epoch: "b", seq: 1, outcome: .applied),
        Step(latitude: 1, at: 100.5, epoch: "a", seq: 901, outcome: .outdated),
        Step(latitude: 4, at: 102.5, epoch: "a", seq: 902, retained: true, outcome: .outdated),
        Step(latitude: 5, at: 103.5, epoch: "a", seq: 903, outcome: .applied),
        Step(latitude: 6, at: 104.5, epoch: "a", seq: 904, outcome: .applied),
        Step(latitude: 2, at: 102, epoch: "b", seq: 2, outcome: .outdated),
        Step(latitude: 7, at: 106.5, epoch: "b", seq: 3, outcome: .applied),
      ], shown: 7),
    Case(
      testDescription: "a retained message of an old epoch is outdated by its time",
      steps: [
        Step(latitude: 2, at: 100, epoch: "b", seq: 1, outcome: .applied),
        Step(latitude: 1, at: 50, epoch: "a", seq: 900, retained: true, outcome: .outdated),
      ], shown: 2),
    Case(
      testDescription: "without numbers, times determine the order",
      steps: [
        Step(latitude: 1, at: 100, outcome: .applied),
        Step(latitude: 2, at: 90, outcome: .outdated),
        Step(latitude: 1, at: 100, outcome: .duplicate),
        Step(latitude: 3, at: 110, outcome: .applied),
      ], shown: 3),
    Case(
      testDescription: "a clock that is years ahead does not freeze a vehicle",
      steps: [
        Step(latitude: 1, at: 3e8, outcome: .applied),
        Step(latitude: 2, at: 100, outcome: .applied),
        Step(latitude: 1, at: 3e8, retained: true, outcome: .outdated),
      ], shown: 2),
  ]

  @Test(arguments: orders) func ordersLocations(_ table: Case) throws {
    var roster = Roster()
    for (place, step) in table.steps.enumerated() {
      let json = locationJSON(step.latitude, at: step.at, epoch: step.epoch, seq: step.seq)
      let outcome = roster.receive("location", json, retained: step.retained, at: 100 + Double(place))
      #expect(outcome == step.outcome, "step \(place)")
    }
    #expect(roster.van?.location?.message.location.coordinate.latitude == table.shown)
  }

  @Test func aLiveHeadingIsNewerDespiteAClockThatWasSetBack() {
    var roster = Roster()
    func heading(_ degrees: Int, _ seconds: Double) -> String {
      #"{"time":"\#(wireTime(seconds))","magneticHeading":\#(degrees)}"#
    }
    roster.receive("heading", heading(10, 100), at: 100)
    #expect(roster.receive("heading", heading(20, 40), at: 101) == .applied)
    #expect(roster.receive("heading", heading(20, 40), at: 101) == .duplicate)
    #expect(roster.receive("heading", heading(5, 30), retained: true, at: 102) == .outdated)
    #expect(roster.van?.heading?.message.magneticHeading == 20)
  }

  // MARK: States and wills

  @Test func followsTheStatus() {
    var roster = Roster()
    roster.receive("location", locationJSON(1, at: 0), at: 0)
    #expect(roster.van?.state == .unknown)
    for (seq, state) in ["online", "asleep", "online", "offline"].enumerated() {
      roster.receive("status", statusJSON(state, at: Double(seq), epoch: "a", seq: seq), at: Double(seq))
      #expect(roster.van?.state.rawValue == state)
      #expect(roster.van?.event?.message.summary == state)
    }
  }

  @Test func aSleepingVehicleIsOverdueAfterItsNextContact() {
    var roster = Roster()
    let asleep = statusJSON("asleep", at: 0, epoch: "a", seq: 1)
    roster.receive(
      "status", asleep.dropLast() + #","nextContact":"\#(wireTime(600))"}"#, at: 0)
    #expect(roster.van?.nextContact == moment(600).time)
    #expect(roster.van?.isOverdue(at: moment(890)) == false)
    #expect(roster.van?.isOverdue(at: moment(901)) == true)
    roster.receive("status", statusJSON("online", at: 700, epoch: "a", seq: 2), at: 700)
    #expect(roster.van?.nextContact == nil && roster.van?.isOverdue(at: moment(2000)) == false)
    roster.receive("status", statusJSON("asleep", at: 710, epoch: "a", seq: 3), at: 710)
    #expect(roster.van?.nextContact == nil && roster.van?.isOverdue(at: moment(99_000)) == false)
  }

  /// After a reconnect the last known location is published first, followed by earlier ones.
  @Test func historyAfterTheLastKnownLocationChangesNothing() {
    var roster = Roster()
    roster.receive("location", locationJSON(48, at: 0, epoch: "a", seq: 1), at: 0)
    roster.receive("location", locationJSON(49, at: 90, epoch: "a", seq: 90), at: 100)
    for seq in 2..<90 {
      let message = locationJSON(48 + Double(seq) / 100, at: Double(seq), epoch: "a", seq: seq)
      #expect(roster.receive("location", message, at: 100) == .outdated)
    }
    #expect(roster.van?.location?.message.location.coordinate.latitude == 49)
    #expect(
      roster.receive("location", locationJSON(49.1, at: 101, epoch: "a", seq: 91), at: 101) == .applied)
  }

  @Test func aWillOfTheSessionMeansLost() {
    var roster = Roster()
    roster.receive("status", statusJSON("online", at: 10, session: 5, epoch: "a", seq: 1), at: 10)
    // The time of the will is before the message that it follows.
    #expect(
      roster.receive("status", statusJSON("offline", at: 5, session: 5, will: true), at: 90) == .applied)
    #expect(roster.van?.state == .offline)
    #expect(roster.van?.event?.message.summary == "lost")
    #expect(roster.van?.lastHeard == moment(10))
    #expect(
      roster.receive("status", statusJSON("offline", at: 5, session: 5, will: true), at: 91) == .duplicate)
  }

  @Test func aWillOfAnEarlierSessionIsIgnored() {
    var roster = Roster()
    roster.receive("status", statusJSON("online", at: 10, session: 5, epoch: "a", seq: 1), at: 10)
    roster.receive("status", statusJSON("online", at: 60, session: 60, epoch: "a", seq: 2), at: 60)
    #expect(
      roster.receive("status", statusJSON("offline", at: 5, session: 5, will: true), at: 65) == .outdated)
    #expect(roster.van?.state == .online)
  }

  /// The clock was set back by ten days while the vehicle was disconnected: numbers take precedence over times.
  @Test func aSessionWithAnEarlierStartByAWrongClockIsAccepted() {
    var roster = Roster()
    let earlier = -864_000.0
    roster.receive("status", statusJSON("online", at: 10, session: 5, epoch: "a", seq: 1), at: 10)
    roster.receive("status", statusJSON("offline", at: 5, session: 5, will: true), at: 20)
    roster.receive(
      "status", statusJSON("online", at: earlier, session: earlier, epoch: "a", seq: 2), at: 30)
    #expect(roster.van?.state == .online)
    // With a wrong clock, a repeated will of the old session cannot be distinguished, so it applies.
    #expect(
      roster.receive("status", statusJSON("offline", at: earlier, session: earlier, will: true), at: 40)
        == .applied)
    #expect(roster.van?.state == .offline)
  }

  @Test func aVehicleIsOnlineAgainAfterItsWill() {
    var roster = Roster()
    roster.receive("status", statusJSON("offline", at: 5, session: 5, will: true), retained: true, at: 50)
    #expect(roster.van?.state == .offline)
    #expect(roster.van?.lastHeard == nil)
    #expect(
      roster.receive("status", statusJSON("online", at: 60, session: 60, epoch: "a", seq: 3), at: 60)
        == .applied)
    #expect(roster.van?.state == .online)
    // A delayed status from before the will changes nothing.
    #expect(roster.receive("status", statusJSON("offline", at: 7, session: 5), at: 61) == .outdated)
    #expect(roster.van?.state == .online)
  }

  // MARK: Stale and live

  @Test func aRetainedPositionIsStaleUntilALiveOneArrives() {
    var roster = Roster()
    roster.receive("status", statusJSON("online", at: -60), retained: true, at: 0)
    roster.receive("location", locationJSON(1, at: -60, epoch: "a", seq: 1), retained: true, at: 0)
    #expect(roster.van?.isLocationStale(at: moment(0)) == true)
    #expect(roster.van?.age(at: moment(30)) == 90)
    roster.receive("location", locationJSON(2, at: 31, epoch: "a", seq: 2), at: 32)
    #expect(roster.van?.isLocationStale(at: moment(40)) == false)
    #expect(roster.van?.age(at: moment(40)) == 8)
    roster.receive("status", statusJSON("offline", at: -60, session: 0, will: true), at: 50)
    #expect(roster.van?.isLocationStale(at: moment(51)) == true)
  }

  /// `watch --once` reads retained messages only: a position whose guarantee is valid, or that is recent, has a speed.
  @Test func aStoredPositionThatIsStillValidIsNotStale() {
    var roster = Roster()
    roster.receive("status", statusJSON("online", at: -60), retained: true, at: 0)
    roster.receive("location", locationJSON(1, at: -5, epoch: "a", seq: 1), retained: true, at: 0)
    #expect(roster.van?.isLocationStale(at: moment(0)) == false)
    #expect(roster.van?.isLocationStale(at: moment(26)) == true)
    let promise =
      #""predict":{"velocityEast":0,"velocityNorth":0,"bound":10,"delay":5,"validity":180,"growth":2}"#
    roster.receive(
      "location",
      #"{"time":"\#(wireTime(-100))","latitude":48,"longitude":11.5,"speed":0,\#(promise),"epoch":"a","seq":2}"#,
      retained: true, at: 1)
    #expect(roster.van?.isLocationStale(at: moment(1)) == false)
    #expect(roster.van?.isLocationStale(at: moment(100)) == true)
    roster.receive("status", statusJSON("offline", at: 2), at: 2)
    #expect(roster.van?.isLocationStale(at: moment(2)) == true)
  }

  /// The age of a position does not depend on when the server was started.
  @Test func aPositionIsStaleAfterItsGuaranteeHoweverItArrived() throws {
    for isRetained in [false, true] {
      var roster = Roster()
      roster.receive("status", statusJSON("online", at: 0), retained: isRetained, at: 0)
      let promise =
        #""predict":{"velocityEast":0,"velocityNorth":0,"bound":10,"delay":5,"validity":60,"growth":2}"#
      roster.receive(
        "location",
        #"{"time":"\#(wireTime(-5))","latitude":48,"longitude":11.5,"speed":14,\#(promise),"epoch":"a","seq":2}"#,
        retained: isRetained, at: 0)
      let van = try #require(roster.van)
      #expect(!van.isLocationStale(at: moment(59.9)) && van.isLocationStale(at: moment(60.1)))
      #expect(van.isLocationStale(at: moment(10_000)))
      let change = try #require(van.nextStaleChange(after: moment(1)))
      #expect(abs(change.seconds(since: moment(60).time)) < 0.01)
      #expect(van.nextStaleChange(after: moment(61)) == nil)
    }
  }

  @Test(arguments: [false, true]) func positionsOfASleepingVehicleBecomeStale(isRetained: Bool) throws {
    var roster = Roster()
    roster.receive("location", locationJSON(1, at: 0, epoch: "a", seq: 1), retained: isRetained, at: 0)
    roster.receive("status", statusJSON("asleep", at: 0, epoch: "a", seq: 2), retained: isRetained, at: 0)
    let van = try #require(roster.van)
    #expect(!van.isLocationStale(at: moment(29)) && van.isLocationStale(at: moment(31)))
    #expect(van.nextStaleChange(after: moment(1)) == moment(30).time)
    // Awake again, it is silent because it does not move.
    roster.receive("location", locationJSON(1, at: 60, epoch: "a", seq: 3), at: 60)
    roster.receive("status", statusJSON("online", at: 60, epoch: "a", seq: 4), at: 60)
    #expect(roster.van?.isLocationStale(at: moment(600)) == false)
  }

  @Test func aPositionIsStaleAfterAFailureUntilTheNext() {
    var roster = Roster()
    roster.receive("status", statusJSON("online", at: 0), at: 0)
    roster.receive("location", locationJSON(1, at: 0, epoch: "a", seq: 1), at: 0)
    roster.receive(
      "location/event",
      #"{"time":"\#(wireTime(10))","event":"failed","error":"positionUnknown","epoch":"a","seq":2}"#, at: 10)
    #expect(roster.van?.isLocationStale(at: moment(11)) == true)
    roster.receive("location", locationJSON(1, at: 20, epoch: "a", seq: 3), at: 20)
    #expect(roster.van?.isLocationStale(at: moment(21)) == false)
    // A guarantee remains valid until its end, also after a failure.
    let promise =
      #""predict":{"velocityEast":0,"velocityNorth":0,"bound":10,"delay":0,"validity":60,"growth":2}"#
    roster.receive(
      "location",
      #"{"time":"\#(wireTime(30))","latitude":48,"longitude":11.5,\#(promise),"epoch":"a","seq":4}"#, at: 30)
    roster.receive(
      "location/event",
      #"{"time":"\#(wireTime(40))","event":"failed","error":"positionUnknown","epoch":"a","seq":5}"#, at: 40)
    #expect(roster.van?.isLocationStale(at: moment(80)) == false)
    #expect(roster.van?.isLocationStale(at: moment(91)) == true)
  }

  /// A clock that is first two minutes and then two hours ahead, and is then set back: the position moves by this machine's clock.
  @Test func aWrongClockDoesNotStopAVehicle() throws {
    var roster = Roster()
    roster.receive("status", statusJSON("online", at: 0), at: 0)
    func report(_ latitude: Double, at seconds: Double, seq: Int) -> String {
      let promise =
        #""predict":{"velocityEast":0,"velocityNorth":10,"bound":10,"delay":5,"validity":60,"growth":2}"#
      return
        #"{"time":"\#(wireTime(seconds))","latitude":\#(latitude),"longitude":11.5,\#(promise),"epoch":"a","seq":\#(seq)}"#
    }
    for (number, ahead) in [120.0, 7200, 0].enumerated() {
      let (now, latitude) = (Double(number) * 100, 48 + Double(number))
      roster.receive("location", report(latitude, at: now + ahead - 5, seq: number + 2), at: now)
      let shown = try #require(roster.van?.predictedPosition(at: moment(now + 30)), "\(ahead)")
      #expect(shown.isPromised)
      let driven = Coordinate(latitude: latitude, longitude: 11.5).distance(to: shown.coordinate)
      #expect(abs(driven - 300) < 1, "\(ahead): \(driven)")
      #expect(roster.van?.promisedReports.last?.coordinate.latitude == latitude)
      #expect(roster.van?.isLocationStale(at: moment(now + 30)) == false)
      #expect(abs((roster.van?.clockLead ?? 0) - (ahead == 0 ? 0 : ahead - 5)) < 0.001, "\(ahead)")
      #expect(roster.van?.isLocationStale(at: moment(now + 90)) == true)
    }
  }

  @Test func ageDependsOnThisMachinesClockOnly() {
    var roster = Roster()
    roster.receive("location", locationJSON(1, at: -1e7, epoch: "a", seq: 1), at: 0)
    #expect(roster.van?.age(at: moment(3)) == 3)
  }

  // MARK: Events, counters, bounds

  @Test func theLastEventIsStored() {
    var roster = Roster()
    let enter =
      #"{"event":"enter","region":"depot","time":"\#(wireTime(1))","latitude":48,"longitude":11,"epoch":"a","seq":4}"#
    #expect(roster.receive("region", enter, at: 1) == .applied)
    #expect(roster.receive("region", enter, at: 2) == .duplicate)
    #expect(roster.van?.event?.message.summary == "enter depot")
    #expect(roster.receive("motion", #"{"time":"\#(wireTime(3))","event":"dance"}"#, at: 3) == .applied)
    #expect(roster.van?.event?.message.summary == "dance")
  }

  @Test(arguments: [
    ("odograph/v1/demo/van/location", "{", "malformed"),
    ("odograph/v1/demo/van/location", "\u{0}", "malformed"),
    ("odograph/v1/demo/van/location", #"{"latitude":1}"#, "malformed"),
    ("odograph/v1/demo/van/status", #"{"state":"flying"}"#, "malformed"),
    ("odograph/v1/demo/van/attitude", #"{"time":"2026-11-21T12:00:00Z","frame":"x"}"#, "malformed"),
    ("odograph/v1/demo/van/region", #"{"event":7}"#, "malformed"),
    ("odograph/v1/demo/van/region", #"{"event":"enter","time":"2026-11-21T12:00:00Z"}"#, "malformed"),
    ("odograph/v1/demo/van/location", "", "ignored"), ("odograph/v1/demo/van/track", "{}", "ignored"),
    ("odograph/v1/demo/van/regions/desired", "{}", "ignored"), ("other/topic", "{}", "ignored"),
    ("", "", "ignored"), ("odograph/v1//van/status", "{}", "ignored"),
  ])
  func unusableMessagesAreCounted(topic: String, payload: String, outcome: String) {
    var roster = Roster()
    let result = roster.apply(topic: topic, payload: Array(payload.utf8), retained: false, at: moment(0))
    #expect("\(result)".hasPrefix(outcome))
    #expect(roster.counters.malformed + roster.counters.ignored == 1)
    #expect(roster.counters.messages == 1)
    // The vehicle is listed although its message is unreadable.
    #expect(roster.vehicles.map(\.unreadable) == (outcome == "malformed" ? [1] : []))
  }

  /// The examples of messages with a sequence number in the schemas, by topic.
  private static func numberedExamples() throws -> [String: JSONValue] {
    let folder = URL(fileURLWithPath: "\(ContractScript.repository)/Config/schemas")
    var examples: [String: JSONValue] = [:]
    for file in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
    where file.pathExtension == "json" {
      let schema = try JSONValue(parsing: Array(Data(contentsOf: file)))
      guard schema["properties"]?["epoch"] != nil else { continue }
      let topic = file.deletingPathExtension().lastPathComponent.replacing("-", with: "/")
      examples[topic] = try #require(schema["examples"]?.array?.first)
    }
    return examples
  }

  /// Messages that the roster does not display or cannot read are not missing.
  @Test func everyNumberedMessageIsCounted() throws {
    let examples = try Self.numberedExamples()
    #expect(examples.count >= 15 && examples[TopicScheme.configReported] != nil)
    let unreadable = JSONValue.object(["time": .string(wireTime(1)), "event": .integer(7)])
    for (path, example) in examples.flatMap({ [($0.key, $0.value), ($0.key, unreadable)] }) {
      guard case .object(var members) = example else { continue }
      (members["epoch"], members["seq"]) = (.string("e"), .integer(2))
      var (roster, statistics) = (Roster(), StreamStatistics())
      for (topic, json) in [
        ("location", locationJSON(48, at: 0, epoch: "e", seq: 1)), (path, JSONValue.object(members).text),
        ("location", locationJSON(48, at: 2, epoch: "e", seq: 3)),
      ] {
        roster.receive(topic, json, at: 1)
        statistics.add(
          topic: "odograph/v1/demo/van/\(topic)", payload: Array(json.utf8), retained: false, at: moment(1))
      }
      #expect(roster.van?.missing == 0 && statistics.missing == 0, "\(path): \(members)")
    }
    var roster = Roster()
    for seq in [1, 3] { roster.receive("location", locationJSON(48, at: 0, epoch: "e", seq: seq), at: 0) }
    #expect(roster.van?.missing == 1)
  }

  @Test func statesOfRegionsAreOrdered() {
    var roster = Roster()
    func states(_ seq: Int, _ state: String) -> String {
      #"{"time":"\#(wireTime(0))","count":1,"regions":[{"region":"depot","state":"\#(state)"}],"epoch":"e","seq":\#(seq)}"#
    }
    #expect(roster.receive("regions/state", states(2, "inside"), at: 0) == .applied)
    #expect(roster.receive("regions/state", states(2, "inside"), retained: true, at: 1) == .duplicate)
    #expect(roster.receive("regions/state", states(1, "outside"), retained: true, at: 1) == .outdated)
    #expect(roster.van?.insideRegions == ["depot"])
    #expect(roster.receive("regions/state", states(3, "outside"), at: 2) == .applied)
    #expect(roster.van?.insideRegions == [])
  }

  @Test func hasACapacityOfVehicles() {
    var roster = Roster(capacity: 3)
    for index in 0..<10 {
      roster.receive("location", locationJSON(1, at: 0), at: 0, vehicle: "v\(index)")
    }
    #expect(roster.vehicles.count == 3)
    #expect(roster.counters.refused == 7)
  }

  @Test func measuresDelaysOfLiveMessagesOnly() {
    var roster = Roster()
    for (seq, delay) in [0.1, 0.2, 0.3, 0.4, 2.0].enumerated() {
      roster.receive(
        "location", locationJSON(1, at: Double(seq), epoch: "a", seq: seq), at: Double(seq) + delay)
    }
    roster.receive("location", locationJSON(1, at: 5, epoch: "a", seq: 9), retained: true, at: 90)
    roster.receive("status", statusJSON("offline", at: 0, will: true), at: 90)
    #expect(abs((roster.delays.quantile(0.5) ?? 0) - 0.3) < 1e-9)
    #expect(abs((roster.delays.quantile(1) ?? 0) - 2) < 1e-9)
  }

  @Test func randomMessagesNeverTrap() {
    let seed = UInt64.random(in: 0 ... .max)
    print("seed \(seed)")
    var generator = SplitMix(seed: seed)
    var roster = Roster(capacity: 50)
    let seeds = [
      statusJSON("online", at: 1, epoch: "a", seq: 1), statusJSON("offline", at: 1, will: true),
      locationJSON(1, at: 1, epoch: "a", seq: 1, speed: 3, course: 4),
      #"{"time":"2026-11-21T12:00:00Z","magneticHeading":1e308}"#,
      #"{"time":"1678-01-01T00:00:00Z","latitude":-90,"longitude":180,"epoch":"","seq":9223372036854775807}"#,
      #"{"time":"2261-12-31T23:59:60Z","frame":"xTrueNorthZVertical","quaternion":[0,0,0,0]}"#,
      #"{"event":"\u0000\u001b[2J"}"#, "[[[[[[[[", "1e999", "\"\\ud800\"",
    ]
    let kinds = MessageKind.allCases.map(\.rawValue) + ["regions/desired", "", "\u{301}", "x"]
    for _ in 0..<5000 {
      var payload = Array((seeds.randomElement(using: &generator) ?? "").utf8)
      for _ in 0..<Int.random(in: 0...3, using: &generator) where !payload.isEmpty {
        let place = Int.random(in: payload.indices, using: &generator)
        switch Int.random(in: 0..<3, using: &generator) {
        case 0: payload[place] = UInt8.random(in: 0...255, using: &generator)
        case 1: payload.remove(at: place)
        default: payload.insert(UInt8.random(in: 0...255, using: &generator), at: place)
        }
      }
      let vehicle = String(Int.random(in: 0..<80, using: &generator))
      let topic = "odograph/v1/f/\(vehicle)/\(kinds.randomElement(using: &generator) ?? "")"
      roster.apply(
        topic: topic, payload: payload, retained: Bool.random(using: &generator),
        at: moment(Double.random(in: -1e9...1e9, using: &generator)))
    }
    var view = WatchView(size: TerminalSize(columns: 200, rows: 60), title: "t")
    let snapshot = view.snapshot(of: roster, at: moment(0))
    let frame = view.frame(of: snapshot, at: moment(0), rates: .init(), trouble: nil)
    #expect(
      frame.lines.joined().unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F..<0xA0).contains($0.value) }
    )
  }
}
