import Fleet
import FleetFixtures
import FleetWeb
import JSON
import Simulation
import Spatial
import TestSupport
import Testing

@Suite struct SummaryTableTests {
  private func json(_ entry: SummaryTable.Entry) throws -> JSONValue { try JSONValue(parsing: entry.json) }

  @Test func summariesContainTheLatestState() throws {
    var roster = Roster()
    var table = SummaryTable()
    roster.receive("status", statusJSON("online", at: 0), at: 0)
    roster.receive("location", locationJSON(48.1, at: 1, speed: 12.5, course: 90), at: 1.5)
    table.update(from: roster, at: moment(2))
    let entry = try #require(table.entries.first)
    let summary = try json(entry)
    #expect(summary["fleet"]?.string == "demo" && summary["vehicle"]?.string == "van")
    #expect(summary["state"]?.string == "online" && summary["revision"]?.integer == 1)
    #expect(summary["heard"]?.string == wireTime(1.5))
    let position = try #require(summary["position"])
    #expect(position["latitude"]?.double == 48.1 && position["longitude"]?.double == 11.5)
    #expect(position["speed"]?.double == 12.5 && position["course"]?.double == 90)
    #expect(position["time"]?.string == wireTime(1) && position["stale"] == nil)
    #expect(entry.coordinate == Coordinate(latitude: 48.1, longitude: 11.5))
    for absent in ["heading", "battery", "queue", "missing", "inside", "trip", "overdue", "prediction"] {
      #expect(summary[absent] == nil)
    }
  }

  @Test func suspectPositionsAreMarked() throws {
    var roster = Roster()
    var table = SummaryTable()
    let location = locationJSON(48.1, at: 1, speed: 55).dropLast()
    roster.receive("location", location + #","suspect":"velocity"}"#, at: 1)
    table.update(from: roster, at: moment(2))
    #expect(try json(try #require(table.entries.first))["position"]?["suspect"]?.string == "velocity")
    roster.receive("location", locationJSON(48.1, at: 3, speed: 5), at: 3)
    table.update(from: roster, at: moment(4))
    #expect(try json(try #require(table.entries.first))["position"]?["suspect"] == nil)
  }

  /// Previous reports that are still in effect are included: clients need them for predictions without another request.
  @Test func predictionsIncludeReportsStillInEffect() throws {
    var roster = Roster()
    var table = SummaryTable()
    func report(_ seconds: Double, seq: Int, east: Double) -> String {
      let predict =
        #""predict":{"velocityEast":\#(east),"velocityNorth":0,"bound":10,"delay":5,"validity":30,"growth":2}"#
      return
        #"{"time":"\#(wireTime(seconds))","latitude":48,"longitude":11.5,"horizontalAccuracy":4,"#
        + #"\#(predict),"epoch":"e","seq":\#(seq)}"#
    }
    func prediction(at seconds: Double) throws -> JSONValue? {
      table.update(from: roster, at: moment(seconds))
      return try json(try #require(table.entries.first))["prediction"]
    }
    roster.receive("status", statusJSON("online", at: 0), at: 0)
    roster.receive("location", report(0, seq: 1, east: 20), at: 5)
    #expect(try prediction(at: 5)?["before"] == nil)
    roster.receive("location", report(20, seq: 2, east: 7), at: 22)
    let early = try prediction(at: 22)
    #expect(early?["velocityEast"]?.double == 7 && early?["delay"]?.double == 5)
    let before = try #require(early?["before"]?.array)
    #expect(before.count == 1 && before[0]["time"]?.string == wireTime(0))
    #expect(before[0]["velocityEast"]?.double == 20 && before[0]["validity"]?.double == 30)
    #expect(before[0]["accuracy"]?.double == 4)
    // Each report removes those that no later moment needs.
    roster.receive("location", report(40, seq: 3, east: 0), at: 45)
    #expect(try prediction(at: 45)?["before"] == nil)
    // An offline vehicle has no prediction.
    roster.receive("status", statusJSON("offline", at: 50), at: 50)
    #expect(try prediction(at: 50) == nil)
  }

  /// `position.now` applies to the moment at which a summary is sent, and is omitted without a prediction.
  @Test func predictedPositionIsOfTheMomentOfSending() throws {
    var roster = Roster()
    var table = SummaryTable()
    let predict =
      #""predict":{"velocityEast":0,"velocityNorth":20,"bound":10,"delay":5,"validity":30,"growth":2}"#
    func now(_ seconds: Double, as principal: Principal = .local) throws -> JSONValue? {
      table.update(from: roster, at: moment(seconds))
      let entry = try #require(table.entries.first)
      let summary = try JSONValue(parsing: entry.json(for: principal, at: moment(seconds)))
      // The rest is as in the stored summary.
      #expect(summary["revision"] == (try json(entry))["revision"] && summary["state"]?.string != nil)
      let details = try #require(roster.vehicles.first).details(
        revision: 1, at: moment(seconds), forLink: principal.isLink)
      #expect(try JSONValue(parsing: details)["position"]?["now"] == summary["position"]?["now"])
      let place = summary["position"]?["now"]?["latitude"]?.double
      #expect(
        entry.predicted(at: moment(seconds)).map { abs($0.coordinate.latitude - (place ?? 0)) < 1e-6 } ?? true
      )
      return summary["position"]?["now"]
    }
    let scope = Scope(fleets: [], vehicles: [VehicleKey(fleet: "demo", vehicle: "van")])
    let link = Principal(name: "link", role: .view, scope: scope, isLink: true)
    roster.receive("location", locationJSON(48, at: 0, epoch: "e", seq: 1), at: 0)
    #expect(try now(1) == nil, "without a prediction")
    roster.receive(
      "location",
      #"{"time":"\#(wireTime(2))","latitude":48,"longitude":11.5,"horizontalAccuracy":185.04,"#
        + #"\#(predict),"epoch":"e","seq":2}"#, at: 7)
    #expect(try now(7) == nil, "of unknown state")
    roster.receive("status", statusJSON("online", at: 0), at: 7)
    #expect(try now(6) == nil, "before the report is in effect")
    for (seconds, radius) in [(7.0, 195.0), (12, 195.0), (37, 195.0), (47, 215.0)] {
      let found = try #require(try now(seconds), "\(seconds)")
      let metres = ((found["latitude"]?.double ?? 0) - 48) * 111_195
      #expect(abs(metres - 20 * (seconds - 7)) < 2, "\(seconds): \(metres)")
      #expect(found["radius"]?.double == radius && found["time"]?.string == wireTime(seconds - 5))
      #expect(found["expired"]?.bool == (seconds > 37 ? true : nil))
    }
    #expect(try now(20, as: link)?["latitude"] == now(20)?["latitude"])
    #expect(try now(158) == nil, "two minutes after the end of the prediction")
    // Without a stated accuracy, the distance of the vehicle is unknown.
    roster.receive(
      "location",
      #"{"time":"\#(wireTime(15))","latitude":48,"longitude":11.5,\#(predict),"epoch":"e","seq":3}"#, at: 20)
    let unknown = try #require(try now(21))
    #expect(unknown["latitude"] != nil && unknown["radius"] == nil)
    roster.receive("status", statusJSON("offline", at: 20), at: 20)
    #expect(try now(21) == nil, "of an offline vehicle")
  }

  /// The messages of a replayed recording have old times, so their arrival times are included.
  @Test func messagesOfAnotherClockHaveTheirArrivalTime() throws {
    var roster = Roster()
    var table = SummaryTable()
    roster.receive("location", locationJSON(48.1, at: 1), at: 200_000)
    roster.receive("location", locationJSON(48.1, at: 200_000), at: 200_001, vehicle: "bus")
    table.update(from: roster, at: moment(200_002))
    #expect(
      try table.entries.map { try json($0)["position"]?["received"]?.string } == [wireTime(200_000), nil])
  }

  /// A retained position is stale, the state of its vehicle is unknown, and the last contact is the time of the message.
  @Test func retainedPositionsAreStale() throws {
    var roster = Roster()
    var table = SummaryTable()
    roster.receive("location", locationJSON(48.1, at: -3600), retained: true, at: 0)
    table.update(from: roster, at: moment(1))
    let summary = try json(try #require(table.entries.first))
    #expect(summary["position"]?["stale"]?.bool == true && summary["state"]?.string == "unknown")
    #expect(summary["heard"]?.string == wireTime(-3600))
  }

  @Test func unchangedSummariesAreWrittenOnce() throws {
    var roster = Roster()
    var table = SummaryTable()
    roster.receive("location", locationJSON(48.1, at: 1), at: 1)
    roster.receive("location", locationJSON(48.2, at: 1), at: 1, vehicle: "bus")
    table.update(from: roster, at: moment(2))
    #expect(table.revision == 2)
    table.update(from: roster, at: moment(3))
    #expect(table.revision == 2)
    roster.receive("location", locationJSON(48.3, at: 4), at: 4, vehicle: "bus")
    table.update(from: roster, at: moment(5))
    #expect(table.revision == 3 && table.entries.map(\.revision) == [1, 3])
  }

  /// A vehicle becomes overdue by time, without a message.
  @Test func timeMakesAVehicleOverdue() throws {
    var roster = Roster()
    var table = SummaryTable()
    roster.receive(
      "status",
      #"{"state":"asleep","time":"\#(wireTime(0))","sessionStart":"\#(wireTime(0))","nextContact":"\#(wireTime(600))"}"#,
      at: 0)
    table.update(from: roster, at: moment(1))
    #expect(try json(table.entries[0])["overdue"] == nil)
    table.update(from: roster, at: moment(899))
    #expect(table.revision == 1)
    table.update(from: roster, at: moment(901))
    #expect(try json(table.entries[0])["overdue"]?.bool == true && table.revision == 2)
    table.update(from: roster, at: moment(2000))
    #expect(table.revision == 2)
  }

  /// Missing messages are a fault for 15 minutes; afterwards only their number is reported.
  @Test func timeEndsAGap() throws {
    var roster = Roster()
    var table = SummaryTable()
    roster.receive("location", locationJSON(48.1, at: 0, epoch: "e", seq: 1), at: 0)
    roster.receive("location", locationJSON(48.2, at: 1, epoch: "e", seq: 4), at: 1)
    table.update(from: roster, at: moment(2))
    #expect(try json(table.entries[0])["gap"]?.bool == true)
    table.update(from: roster, at: moment(899))
    #expect(table.revision == 1)
    table.update(from: roster, at: moment(902))
    let later = try json(table.entries[0])
    #expect(later["gap"] == nil && later["missing"]?.integer == 2)
  }

  /// Numbers that were published while the server was not connected are not missing.
  @Test func aReconnectionRestartsTheSequences() throws {
    var roster = Roster()
    roster.receive("location", locationJSON(48.1, at: 0, epoch: "e", seq: 1), at: 0)
    roster.restartSequences()
    roster.receive("location", locationJSON(48.2, at: 60, epoch: "e", seq: 40), at: 60)
    #expect(roster.vehicles[0].missing == 0 && !roster.vehicles[0].hasRecentGap(at: moment(61)))
    roster.receive("location", locationJSON(48.3, at: 61, epoch: "e", seq: 42), at: 61)
    #expect(roster.vehicles[0].missing == 1 && roster.vehicles[0].hasRecentGap(at: moment(62)))
    roster.restartSequences()
    roster.receive("location", locationJSON(48.4, at: 63, epoch: "e", seq: 90), at: 63)
    #expect(roster.vehicles[0].missing == 1)
  }

  /// From any revision on, the changes are exactly those vehicles whose revision is above it, each once.
  @Test func changesSinceAnyRevision() {
    var random = SeededGenerator.announced()
    var roster = Roster()
    var table = SummaryTable()
    var time = 0.0
    for _ in 0..<300 {
      for _ in 0..<Int(random.next() % 20) {
        time += 0.01
        let name = "v\(random.next() % 40)"
        roster.receive("location", locationJSON(40 + time / 1000, at: time), at: time, vehicle: name)
      }
      table.update(from: roster, at: moment(time))
      let from = random.next() % (table.revision + 2)
      var told: [Int] = []
      table.forEachChange(since: from) { told.append($0) }
      let expected = table.entries.indices.filter { table.entries[$0].revision > from }
      #expect(told.sorted() == expected, "from \(from) of \(table.revision), seed \(random.seed)")
    }
    #expect(table.revision > 2000)
  }
}
