import Fleet
import FleetFixtures
import FleetProgram
import JSON
import Testing

@testable import FleetTerminal

@Suite struct WatchColumnTests {
  /// Two vehicles with a status (one with few fields), and one without.
  private func fleet() -> Roster {
    var roster = Roster()
    let rest =
      #""version":"1.10.0","temperature":41.2,"battery":{"level":0.87,"voltage":12.4,"charging":true},"#
      + #""counters":{"queue.records":1234},"energy":{"total":12345,"receiver":{"seconds":9,"joules":12345}}"#
    report(
      #""version":"1.9.0","battery":{"voltage":11.96},"counters":{"queue.records":0}"#, of: "van-2", &roster)
    report(rest, of: "van-10", &roster)
    roster.receive("location", locationJSON(48, at: 0), at: 0, vehicle: "van-1")
    roster.receive(
      "region",
      #"{"time":"\#(wireTime(4))","event":"enter","region":"depot","latitude":48.16,"longitude":11.5}"#,
      at: 4, vehicle: "van-10")
    return roster
  }

  private func report(_ members: String, of vehicle: String, _ roster: inout Roster) {
    let status = statusJSON("online", at: 0, epoch: "e", seq: 1).dropLast()
    roster.receive("status", status + "," + members + "}", at: 0, vehicle: vehicle)
  }

  private func screen(_ columns: Int, _ change: (inout WatchView) -> Void) -> [String] {
    var view = WatchView(size: TerminalSize(columns: columns, rows: 8), title: "b")
    change(&view)
    let snapshot = view.snapshot(of: fleet(), at: moment(10))
    return view.frame(of: snapshot, at: moment(10), rates: .init(), trouble: nil).lines
  }

  @Test func columnsByChoice() throws {
    let chosen = try WatchColumn.columns(parsing: "battery, backlog,temperature,energy,version,region")
    let lines = screen(100) { $0.chosenColumns = chosen }
    #expect(
      lines[1...4].joined(separator: "\n") == """
        VEHICLE ▲   BATTERY   BACKLOG    TEMP    ENERGY  VERSION    REGION
        van-1             –         –       –         –  –          –
        van-2        12.0 V         0       –         –  1.9.0      –
        van-10       87 % +      1234   41 °C   12.3 kJ  1.10.0     depot
        """)
    // A narrow terminal shows the first columns.
    #expect(screen(40) { $0.chosenColumns = chosen }[1].split(separator: " ").last == "TEMP")
    #expect(try WatchColumn.columns(parsing: "speed,vehicle") == [.speed, .vehicle])
  }

  @Test func errorsOfColumnsListAllAndTheNearest() {
    for (text, part) in [
      ("batery", "did you mean battery?"), ("speed,,", "column \"\""), ("Speed", "did you mean speed?"),
      ("zzzzzzzzzz", "column \"zzzzzzzzzz\": --columns accepts a comma-separated list of vehicle, state"),
    ] {
      let error = #expect(throws: FleetError.self) { try WatchColumn.columns(parsing: text) }
      let message = error?.description ?? ""
      #expect(
        message.contains(part) && message.contains(WatchColumn.names.joined(separator: ", ")), "\(message)")
    }
  }

  @Test func sortedByFieldsOfTheStatus() throws {
    for (name, mark, names) in [
      ("version", "▲", ["van-2", "van-10", "van-1"]), ("-version", "▼", ["van-10", "van-2", "van-1"]),
      ("backlog", "▼", ["van-10", "van-2", "van-1"]), ("-backlog", "▼", ["van-10", "van-2", "van-1"]),
      ("+backlog", "▲", ["van-2", "van-10", "van-1"]), ("+version", "▲", ["van-2", "van-10", "van-1"]),
      ("region", "▲", ["van-10", "van-1", "van-2"]), ("temperature", "▼", ["van-10", "van-1", "van-2"]),
      ("vehicle", "▲", ["van-1", "van-2", "van-10"]), ("-vehicle", "▼", ["van-10", "van-2", "van-1"]),
    ] {
      let order = try VehicleOrder(parsing: name)
      let lines = screen(100) {
        $0.chosenColumns = [.vehicle, .version, .backlog, .region, .temperature]
        $0.order = order
      }
      #expect(lines[2...4].map { String($0.prefix { $0 != " " }) } == names, "\(name) \(lines)")
      #expect(lines[1].contains(mark), "\(name) \(lines[1])")
    }
    #expect(throws: FleetError.self) { try VehicleOrder(parsing: "sped") }
  }

  /// The mark shows the direction of the values, for every column and direction.
  @Test func theMarkShowsTheDirection() throws {
    var roster = Roster()
    for (number, speed) in zip(1..., [3.0, 9, 6]) {
      roster.receive("location", locationJSON(48 + speed, at: 0, speed: speed), at: 0, vehicle: "v\(number)")
    }
    for criterion in [VehicleOrder.Criterion.column(.speed), .column(.position)] {
      for isReversed in [false, true] {
        let order = VehicleOrder(criterion: criterion, isReversed: isReversed)
        let speeds = order.sorted([0, 1, 2], of: roster.vehicles, at: moment(1)).map { [3.0, 9, 6][$0] }
        #expect(speeds == (order.mark == "▲" ? [3, 6, 9] : [9, 6, 3]))
      }
    }
  }

  @Test func columnsAreChosenWithKeys() {
    var view = WatchView(size: TerminalSize(columns: 100, rows: 24), title: "b")
    func text() -> String {
      let snapshot = view.snapshot(of: fleet(), at: moment(10))
      return view.frame(of: snapshot, at: moment(10), rates: .init(), trouble: nil).lines.joined(
        separator: "\n")
    }
    #expect(!text().contains("BATTERY"))
    _ = view.handle(.character("c"))
    #expect(
      text().contains("[x] speed") && text().contains("[ ] battery") && text().contains("[!] ") == false)
    for _ in 0..<10 { _ = view.handle(.down) }
    _ = view.handle(.enter)
    // The following columns do not fit any more.
    #expect(
      text().contains("[x] battery") && text().contains("[!] event       the screen is too small"),
      "\(text())"
    )
    _ = view.handle(.escape)
    #expect(text().contains("BATTERY") && text().contains("12.0 V") && !text().contains("EVENT"), "\(text())")
    // The name cannot be hidden; zero restores the default columns.
    for key in [Key.character("c"), .enter, .character("q")] { _ = view.handle(key) }
    #expect(text().contains("VEHICLE"))
    for key in [Key.character("c"), .character("0"), .character("c")] { _ = view.handle(key) }
    #expect(text().contains("COURSE") && !text().contains("BATTERY"))
  }

  @Test func silentVehicles() throws {
    var roster = fleet()
    roster.receive("status", statusJSON("online", at: 700, epoch: "e", seq: 2), at: 700, vehicle: "van-2")
    var view = WatchView(size: TerminalSize(columns: 100, rows: 10), title: "b")
    func names() -> [String] { view.snapshot(of: roster, at: moment(720)).visible.map(\.key.vehicle) }
    view.filter.silence = try DurationText.seconds(parsing: "10m", of: "--silent")
    #expect(names() == ["van-1", "van-10"])
    let snapshot = view.snapshot(of: roster, at: moment(720))
    let foot = view.frame(of: snapshot, at: moment(720), rates: .init(), trouble: nil).lines[9]
    #expect(foot.contains("1–2 of 2 silent for 10 min"), "\(foot)")
    var seen: [Int] = []
    for _ in 0..<5 {
      _ = view.handle(.character("n"))
      seen.append(names().count)
    }
    // Silent for an hour, a day, any time, a minute, ten minutes.
    #expect(seen == [0, 0, 3, 2, 2])
    _ = view.handle(.escape)
    #expect(names().count == 3 && view.filter == VehicleFilter())
  }

  @Test(arguments: [
    ("90s", 90.0), ("10m", 600), ("10min", 600), ("2h", 7200), ("3d", 259_200), ("1.5h", 5400), ("45", 45),
  ])
  func times(text: String, seconds: Double) throws {
    #expect(try DurationText.seconds(parsing: text, of: "--silent") == seconds)
  }

  @Test(arguments: ["", "m", "0", "-5m", "1e3", "nan", "inf", "5 weeks", "0x10", "4000d", "1.2.3s", "٣m"])
  func noTimes(text: String) {
    let error = #expect(throws: FleetError.self) { try DurationText.seconds(parsing: text, of: "--silent") }
    #expect(error?.description.contains("must be a time as in 90s, 10m, 2h or 3d") == true)
  }

  /// The help explains each sign and each title, on screens of every size.
  @Test(arguments: [(40, 10), (80, 24), (20, 6), (120, 50)])
  func everythingOnTheScreenIsExplained(columns: Int, rows: Int) {
    var view = WatchView(size: TerminalSize(columns: columns, rows: rows), title: "b")
    let roster = fleet()
    _ = view.snapshot(of: roster, at: moment(10))
    let shown = view.columns
    var pages: [String] = []
    repeat {
      _ = view.handle(.character("?"))
      let snapshot = view.snapshot(of: roster, at: moment(10))
      let frame = view.frame(of: snapshot, at: moment(10), rates: .init(), trouble: nil)
      pages.append(frame.lines.joined(separator: "\n"))
    } while view.helpPage != nil && pages.count < 40
    #expect(pages.count > 2 && pages.count < 40)
    #expect(WatchColumn.allCases.allSatisfy { $0.explanation.count <= 56 })
    let lines = pages.joined(separator: "\n").split(separator: "\n").filter { !$0.contains("any ") }
    let words = lines.joined(separator: " ").split { " │".contains($0) }.joined(separator: " ")
    for part in shown.map(\.explanation) + [
      "no status received yet", "not reported", "rise, or fall",
    ] {
      #expect(words.contains(part), "\(part) at \(columns)x\(rows):\n\(words)")
    }
    #expect(pages[pages.count - 1].contains("VEHICLE"))
    _ = view.handle(.character("?"))
    _ = view.handle(.escape)
    #expect(view.helpPage == nil)
  }

  /// A suspect position is marked, and its speed and course are not shown.
  @Test func aSuspectPositionIsMarked() throws {
    var roster = Roster()
    let text = locationJSON(48.5, at: 1, epoch: "e", seq: 1, speed: 55, course: 90).dropLast()
    roster.receive("status", statusJSON("online", at: 0), at: 0)
    roster.receive("location", text + #","suspect":"velocity"}"#, at: 1)
    let record = try #require(roster[VehicleKey(fleet: "demo", vehicle: "van")])
    let row = VehicleRow(record: record, now: moment(2))
    #expect(row.text(.position, width: 30).plain.hasPrefix("?48.5"))
    #expect(row.text(.speed, width: 10).plain == "–" && row.text(.course, width: 10).plain == "–")
    #expect(record.trail.coordinates.isEmpty)
  }

  /// A coarse position has the mark of uncertain values, and its source in JSON.
  @Test func aCoarsePositionIsNotShownAsAFix() throws {
    var roster = Roster()
    let text = locationJSON(48.5, at: 1, epoch: "e", seq: 1).dropLast()
    roster.receive("location", text + #","positionSource":"coarse","horizontalAccuracy":420}"#, at: 1)
    let record = try #require(roster[VehicleKey(fleet: "demo", vehicle: "van")])
    let json = try JSONValue(parsing: record.json(at: moment(2)))
    #expect(json["positionSource"]?.string == "coarse" && json["horizontalAccuracy"]?.double == 420)
    let row = VehicleRow(record: record, now: moment(2))
    #expect(row.text(.position, width: 30).plain.hasPrefix("~48.5"))
    #expect(record.trail.coordinates.isEmpty)
  }

  @Test func jsonHasTheValuesOfTheColumns() throws {
    let record = try #require(fleet()[VehicleKey(fleet: "demo", vehicle: "van-10")])
    let json = try JSONValue(parsing: record.json(at: moment(10)))
    #expect(
      json["battery"]?.double == 0.87 && json["backlog"]?.integer == 1234 && json["energy"]?.double == 12_345)
    #expect(json["version"]?.string == "1.10.0" && json["temperature"]?.double == 41.2)
    #expect(json["regions"]?.array?.compactMap(\.string) == ["depot"] && json["charging"]?.bool == true)
  }
}
