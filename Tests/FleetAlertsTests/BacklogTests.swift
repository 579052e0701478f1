import Fleet
import FleetAlerts
import FleetFixtures
import JSON
import Spatial
import TestSupport
import Testing

/// Messages that arrive long after they were written, and positions that the broker has retained.
struct BacklogTests {
  private let day = 86_400.0
  private let fast = rule(.speed(above: 40, until: 38))
  private let slowToAlert = rule(.speed(above: 40, until: 38)) { $0.duration = 30 }

  private func region(_ event: String, at seconds: Double) -> String {
    #"{"time":"\#(wireTime(seconds))","region":"depot","event":"\#(event)","latitude":48.1,"longitude":11,"confidence":0.9}"#
  }

  // MARK: Backlogs

  @Test func alertsOfABacklogHaveTheTimesAndPositionsOfItsMessages() throws {
    var fleet = Subscriber(fast)
    _ = fleet.receive("status", statusJSON("online", at: 7200), at: 7200)
    var changes: [AlertChange] = []
    for (index, speed) in [50.0, 20, 50, 20].enumerated() {
      changes += fleet.locate(
        speed, at: Double(index) * 60, arriving: 7200 + Double(index) / 1000,
        latitude: 48 + Double(index) / 10)
    }
    #expect(changes.map(brief) == ["began 0", "ended 60", "began 120", "ended 180"])
    #expect(changes.map { $0.alert.place?.latitude } == [48, 48, 48.2, 48.2])
    let first = try #require(changes.first?.alert)
    let noticed = try #require(first.noticed)
    #expect(abs(noticed.seconds(since: moment(7200).time)) < 0.1)
    #expect(
      changes.prefix(2).map { AlertText.line(.init($0.alert, $0.transition)) } == [
        "speed: demo/van: speed 180 km/h, noticed 2 h later",
        "speed: demo/van: speed 180 km/h, ended, noticed 1 h later",
      ])
    let body = JSONWriter.object { AlertText.write(first, epoch: "e", to: &$0) }
    #expect(try JSONValue(parsing: body)["noticed"]?.string == noticed.rfc3339)
  }

  @Test func sustainedSpeedInABacklogRaisesOneAlert() {
    var fleet = Subscriber(slowToAlert)
    var changes: [AlertChange] = []
    for (index, speed) in [50.0, 51, 52, 50, 20].enumerated() {
      changes += fleet.locate(speed, at: Double(index) * 20, arriving: 7200)
    }
    #expect(changes.map(brief) == ["began 30", "ended 80"])
    // Too short.
    #expect(
      fleet.locate(50, at: 100, arriving: 7200).isEmpty && fleet.locate(20, at: 125, arriving: 7200).isEmpty)
    // After the last message of a backlog, time elapses here.
    #expect(fleet.locate(50, at: 200, arriving: 7201).isEmpty)
    #expect(fleet.engine.pass(to: 7230).isEmpty)
    #expect(fleet.engine.pass(to: 7231) == ["began 230"])
  }

  /// A backlog raises the alerts that its messages would have raised on time.
  @Test func aBacklogRaisesTheAlertsOfALiveVehicle() {
    var random = SplitMix.announced()
    for _ in 0..<200 {
      let rule = rule(.speed(above: 40, until: 30)) {
        $0.duration = Double(Int.random(in: 0...60, using: &random))
        $0.hold = Double(Int.random(in: 0...60, using: &random))
      }
      var (live, late) = (Subscriber(rule), Subscriber(rule))
      var (expected, found): ([AlertChange], [AlertChange]) = ([], [])
      var time = 0.0
      var samples: [(time: Double, speed: Double)] = []
      for _ in 0..<Int.random(in: 1...30, using: &random) {
        time += Double(Int.random(in: 1...50, using: &random))
        samples.append((time, random.uniform(20...50)))
      }
      samples += [(time + 100, 0), (time + 200, 0)]
      for (index, sample) in samples.enumerated() {
        let latitude = 48 + Double(index) / 1000
        expected += live.engine.advance(to: moment(sample.time))
        expected += live.locate(sample.speed, at: sample.time, arriving: sample.time, latitude: latitude)
        found += late.locate(
          sample.speed, at: sample.time, arriving: 9000 + Double(index) / 1000, latitude: latitude)
      }
      #expect(found.map(brief) == expected.map(brief), "\(rule) \(samples)")
      #expect(found.map(\.alert.place) == expected.map(\.alert.place))
    }
  }

  @Test func crossingsHaveTheirOwnTimeAndPosition() throws {
    var fleet = Subscriber(rule(.left(["depot"])))
    _ = fleet.locate(nil, at: 7199, arriving: 7200, latitude: 48.9)
    #expect(fleet.receive("region", region("enter", at: 0), at: 7200).isEmpty)
    let change = try #require(fleet.receive("region", region("exit", at: 100), at: 7200).first)
    #expect(brief(change) == "began 100" && change.alert.place?.latitude == 48.1)
  }

  @Test func anOlderStateDoesNotDelayATimer() {
    var engine = AlertEngine(rules: [rule(.left([])) { $0.duration = 600 }], at: moment(0))
    func state(_ isInside: Bool, of time: Double, at seconds: Double, isCrossing: Bool = false)
      -> VehicleFacts
    {
      facts(.regions, at: seconds, retained: !isCrossing) {
        ($0.inside, $0.outside) = isInside ? (["depot"], []) : ([], ["depot"])
        ($0.time, $0.isCrossing) = (moment(time).time, isCrossing)
      }
    }
    #expect(engine.report(state(true, of: 0, at: 0)).isEmpty)
    #expect(engine.report(state(false, of: 10, at: 10, isCrossing: true)).isEmpty)
    #expect(engine.report(state(false, of: -3600, at: 300)).isEmpty)
    #expect(engine.pass(to: 609).isEmpty && engine.pass(to: 611) == ["began 610"])
  }

  /// The current position is not the place of an event from hours ago. That of a current event is the last position, of any age.
  @Test func eventsOfABacklogDoNotHaveTheCurrentPosition() {
    var fleet = Subscriber(rule(.event([])))
    func motion(_ seconds: Double) -> String {
      #"{"time":"\#(wireTime(seconds))","event":"shake","phase":"began"}"#
    }
    func place(_ changes: [AlertChange]) -> Double? { changes.first?.alert.place?.latitude }
    _ = fleet.locate(0, at: 7200, arriving: 7200)
    let late = fleet.receive("motion", motion(100), at: 7201)
    #expect(late.map(brief) == ["happened 100"] && place(late) == nil)
    #expect(place(fleet.receive("motion", motion(7190), at: 7201.5)) == 48)
    #expect(place(fleet.receive("motion", motion(9000), at: 9000)) == 48)
    let failure = #"{"time":"\#(wireTime(200))","event":"failed"}"#
    #expect(place(fleet.receive("location/event", failure, at: 9001)) == nil)
  }

  /// The messages about an event contain the time of its start.
  @Test func anEventOfABacklogEndsAfterItsDuration() {
    func tow(_ seq: Int, _ members: String) -> String {
      let journal = #""series":"0c9a51f2d4e8b736","number":1,"epoch":"e","seq":\#(seq)"#
      return #"{"time":"\#(wireTime(100))","event":"tow","severity":"high",\#(journal),\#(members)}"#
    }
    for (members, end) in [(#""duration":60"#, "ended 160"), (#""ongoing":false"#, "ended 7201")] {
      var fleet = Subscriber(rule(.event(["tow"])))
      let start = fleet.receive("driving/event", tow(1, #""ongoing":true"#), at: 7200)
      #expect(start.map(brief) == ["began 100"])
      #expect(fleet.receive("driving/event", tow(2, members), at: 7201).map(brief) == [end])
    }
  }

  /// The times of a wrong clock, and of the future, are replaced by those of the arrival.
  @Test func wrongClocksDoNotChangeTheTimesOfAlerts() {
    for ahead in [-7200, 7200, -20 * 365 * 86_400] as [Double] {
      var fleet = Subscriber(fast)
      for arrival in [100.0, 140] {
        _ = fleet.receive("status", statusJSON("online", at: arrival + ahead, session: ahead), at: arrival)
      }
      #expect(fleet.locate(50, at: 150 + ahead, arriving: 150).map(brief) == ["began 150"], "\(ahead)")
      #expect(fleet.locate(20, at: 160 + ahead, arriving: 160).map(brief) == ["ended 160"], "\(ahead)")
    }
  }

  // MARK: Retained positions

  /// Status and position arrive in either order.
  @Test(arguments: ["online", "asleep", "offline", nil], [false, true])
  func anOldRetainedPositionRaisesNoAlert(state: String?, isFirst: Bool) {
    var fleet = Subscriber(fast, rule(.accuracy(above: 10, until: 8)))
    let old = locationJSON(48, at: -3 * day, speed: 50).dropLast() + #","horizontalAccuracy":100}"#
    var changes: [AlertChange] = []
    if isFirst { changes += fleet.receive("location", String(old), retained: true, at: 0) }
    if let state { changes += fleet.receive("status", statusJSON(state, at: -60), retained: true, at: 0) }
    if !isFirst { changes += fleet.receive("location", String(old), retained: true, at: 0) }
    changes += fleet.engine.advance(to: moment(1000))
    #expect(changes.isEmpty)
    // A current position does.
    _ = fleet.receive("status", statusJSON("online", at: 1001), at: 1001)
    #expect(fleet.locate(50, at: 1001, arriving: 1001).map(brief) == ["began 1001"])
  }

  @Test func aCurrentRetainedPositionRaisesAnAlert() {
    var fleet = Subscriber(fast)
    _ = fleet.receive("status", statusJSON("online", at: -60), retained: true, at: 0)
    #expect(fleet.locate(50, at: -10, arriving: 0, retained: true).map(brief) == ["began -10"])
  }

  /// An open alert ends if the retained position after a restart is not current any more.
  @Test func anOldRetainedPositionEndsAlerts() {
    let vague = rule(.accuracy(above: 10, until: 8))
    func restarted() -> Subscriber {
      var first = AlertEngine(rules: [fast, vague], at: moment(0))
      _ = first.observe(facts(.position, at: 0) { ($0.speed, $0.accuracy) = (50, 100) })
      var fleet = Subscriber(fast, vague)
      _ = fleet.engine.restore(
        entries: first.drainChanges().entries.compactMap { pair in pair.entry.map { (pair.key, $0) } },
        open: first.openAlerts, seen: [])
      return fleet
    }
    func old(_ accuracy: Double) -> String {
      String(locationJSON(48, at: 20, speed: 50).dropLast() + #","horizontalAccuracy":\#(accuracy)}"#)
    }
    for isFirst in [false, true] {
      var fleet = restarted()
      let status = { (fleet: inout Subscriber) in
        fleet.receive("status", statusJSON("online", at: 0), retained: true, at: 600)
      }
      var changes = isFirst ? [] : status(&fleet)
      changes += fleet.receive("location", old(5), retained: true, at: 600)
      if isFirst { changes += status(&fleet) }
      #expect(changes.map(brief) == ["ended 20", "ended 20"])
    }
    // The position still has a bad accuracy; its speed is unknown.
    var fleet = restarted()
    #expect(fleet.receive("location", old(50), retained: true, at: 600).map(\.alert.rule) == ["speed"])
    // The position is new; the status arrives after it.
    fleet = restarted()
    #expect(fleet.receive("location", old(5), retained: true, at: 25).isEmpty)
  }

  // MARK: Unknown speeds

  @Test(arguments: [false, true]) func theSpeedIsUnknownWithoutPosition(isLimited: Bool) {
    let rule = rule(.speed(above: 40, until: 38)) { $0.states = isLimited ? [.online] : [] }
    func failure(_ seconds: Double) -> String { #"{"time":"\#(wireTime(seconds))","event":"failed"}"# }
    for end in ["failed", "asleep", "offline"] {
      var fleet = Subscriber(rule)
      _ = fleet.receive("status", statusJSON("online", at: 0), at: 0)
      #expect(fleet.locate(50, at: 1, arriving: 1).map(brief) == ["began 1"])
      let changes =
        end == "failed"
        ? fleet.receive("location/event", failure(5), at: 6)
        : fleet.receive("status", statusJSON(end, at: 6), at: 6)
      #expect(changes.map(brief) == [end == "failed" ? "ended 5" : "ended 6"], "\(end)")
    }
    // The failure is from before the last position, but arrives after it.
    var fleet = Subscriber(rule)
    _ = fleet.locate(50, at: 100, arriving: 100)
    #expect(fleet.receive("location/event", failure(50), at: 101).isEmpty)
  }

  @Test func suspectPositionsHaveNoSpeedAndNoAccuracy() {
    var fleet = Subscriber(fast, rule(.accuracy(above: 10, until: 8)))
    _ = fleet.receive("status", statusJSON("online", at: 0), at: 0)
    let suspect =
      locationJSON(48, at: 1, speed: 50).dropLast() + #","horizontalAccuracy":100,"suspect":"jump"}"#
    #expect(fleet.receive("location", String(suspect), at: 1).isEmpty)
  }
}
