import Fleet
import FleetFixtures
import FleetProgram
import FleetTerminal
import JSON
import Spatial
import Telemetry
import Testing

@Suite struct WatchPaneTests {
  /// Two vehicles that drive, with a status, a region and gaps; van-1 has an attitude, a heading and events.
  private func fleet() -> Roster {
    var roster = Roster()
    for (index, vehicle) in ["van-1", "van-2"].enumerated() {
      roster.receive(
        "status",
        #"{"state":"online","time":"\#(wireTime(0))","sessionStart":"\#(wireTime(0))","version":"1.0","uptime":3700,"#
          + #""battery":{"level":0.83,"charging":true,"voltage":12.6},"storage":{"free":1500000000,"total":9000000000},"#
          + #""counters":{"fixes":120},"epoch":"a","seq":1}"#, at: 0, vehicle: vehicle)
      for step in 0..<40 {
        let latitude = 48.1 + 0.0004 * Double(step)
        let longitude = 11.5 + 0.02 * Double(index) + 0.0002 * Double(step)
        roster.receive(
          "location",
          locationJSON(
            latitude, at: Double(step), epoch: "a", seq: step + (step > 20 ? 5 : 2), speed: 13.9, course: 20,
            longitude: longitude), at: Double(step), vehicle: vehicle)
      }
      roster.receive(
        "regions/reported",
        #"{"time":"\#(wireTime(39))","state":"applied","accepted":["depot"],"refused":[]}"#, at: 39,
        vehicle: vehicle)
      roster.receive(
        "regions/desired",
        #"{"type":"FeatureCollection","features":[{"type":"Feature","id":"depot","properties":{"radius":300},"#
          + #""geometry":{"type":"Point","coordinates":[11.505,48.105]}}]}"#, at: 40, vehicle: vehicle)
    }
    roster.receive(
      "region",
      #"{"time":"\#(wireTime(41))","event":"enter","region":"depot","latitude":48.1,"longitude":11.5,"confidence":0.9}"#,
      at: 41, vehicle: "van-1")
    roster.receive(
      "motion", #"{"time":"\#(wireTime(43))","event":"impact","side":"front","peak":3}"#, at: 43,
      vehicle: "van-1")
    roster.receive(
      "heading", #"{"time":"\#(wireTime(44))","magneticHeading":20,"trueHeading":23.6}"#, at: 44,
      vehicle: "van-1")
    roster.receive(
      "attitude",
      #"{"time":"\#(wireTime(44))","frame":"xTrueNorthZVertical","quaternion":[0.99,0.02,-0.03,0.12]}"#,
      at: 44,
      vehicle: "van-1")
    return roster
  }

  private func screen(
    _ columns: Int, _ rows: Int, _ keys: [Key], roster: Roster? = nil
  ) -> [String] {
    var view = WatchView(size: TerminalSize(columns: columns, rows: rows), title: "broker:1883")
    let roster = roster ?? fleet()
    for key in keys {
      _ = view.handle(key)
      _ = view.snapshot(of: roster, at: moment(45))
    }
    let snapshot = view.snapshot(of: roster, at: moment(45))
    return view.frame(
      of: snapshot, at: moment(45), rates: Rates(messages: 2, bytes: 400), trouble: nil
    ).lines
  }

  /// Floor and barometric height have a line of their own.
  @Test func theLevelOfAGarageIsShown() throws {
    var roster = fleet()
    func line() -> String? {
      screen(120, 30, [.enter], roster: roster).first { $0.contains("height  ") }
    }
    #expect(line() == nil)
    roster.receive(
      "altitude",
      #"{"time":"\#(wireTime(44))","relativeAltitude":-5.7,"pressure":95371.4,"altitude":508.2,"accuracy":2.3,"precision":0.2,"altitudeSource":"barometric","floor":{"level":-2,"confidence":0.93,"height":-5.7,"heightAccuracy":0.8},"epoch":"a","seq":90}"#,
      at: 44, vehicle: "van-1")
    let shown = try #require(line())
    #expect(
      shown.contains("level -2 (93 %)") && shown.contains("508.2 ±2.3 m") && shown.contains("953.7 hPa"),
      "\(shown)")
  }

  @Test func theOdometerIsShownWithThePosition() throws {
    var roster = fleet()
    roster.receive(
      "location",
      #"{"time":"\#(wireTime(44))","latitude":48.1,"longitude":11.5,"odometer":48213406,"odometerEstimated":1280,"epoch":"a","seq":90}"#,
      at: 44, vehicle: "van-1")
    let shown = screen(120, 30, [.enter], roster: roster)
    #expect(shown.contains { $0.contains("odometer 48213.4 km, 1.3 km of it estimated") }, "\(shown)")
  }

  private func regionLine(_ roster: Roster) -> String? {
    screen(100, 30, [.enter], roster: roster).first { $0.contains("regions  ") }
      .map { String($0.drop { $0 != "r" }.split(separator: "╳")[0]) }
  }

  /// The states of regions are those that the vehicle reported; without a report they are unknown.
  @Test func detailsShowTheReportedStatesOfRegions() {
    var roster = Roster()
    roster.receive(
      "status", #"{"state":"online","time":"\#(wireTime(0))","sessionStart":"\#(wireTime(0))"}"#, at: 0)
    roster.receive(
      "regions/reported", #"{"time":"\#(wireTime(0))","state":"applied","accepted":["depot"],"refused":[]}"#,
      at: 0)
    roster.receive(
      "regions/desired",
      #"{"type":"FeatureCollection","features":[{"type":"Feature","id":"depot","properties":{"radius":300},"#
        + #""geometry":{"type":"Point","coordinates":[11.505,48.105]}}]}"#, at: 0)
    #expect(regionLine(roster)?.contains("not reported") == true, "\(regionLine(roster) ?? "-")")
    func report(_ state: String, _ seq: Int, _ rest: String = "") {
      roster.receive(
        "regions/state",
        #"{"time":"\#(wireTime(1))","count":2,"regions":[{"region":"depot","state":"\#(state)"\#(rest)},"#
          + #"{"region":"yard","state":"\#(state == "inside" ? "outside" : state)"}],"epoch":"a","seq":\#(seq)}"#,
        retained: true, at: 1)
    }
    report("unknown", 3)
    #expect(regionLine(roster)?.contains("not known yet") == true, "\(regionLine(roster) ?? "-")")
    report("inside", 5, #","since":"\#(wireTime(-75))""#)
    #expect(regionLine(roster)?.contains("inside depot for 2 min") == true, "\(regionLine(roster) ?? "-")")
    #expect(regionLine(roster)?.contains("(watches 2)") == true)
    // A late message changes nothing.
    report("outside", 4)
    #expect(regionLine(roster)?.contains("inside depot") == true)
    report("outside", 6)
    #expect(regionLine(roster)?.contains("outside") == true)
    // An event arrives before the next list.
    roster.receive(
      "region",
      #"{"time":"\#(wireTime(2))","event":"enter","region":"yard","latitude":48.1,"longitude":11.5,"epoch":"a","seq":7}"#,
      at: 2)
    #expect(regionLine(roster)?.contains("inside yard") == true)
  }

  @Test func detailsShowAllFields() {
    let text = screen(80, 24, [.down, .enter]).joined(separator: "\n")
    for part in [
      "demo/van-1  ● online", "position  48.11560   11.50780", "50.0 km/h  course ↑  20°  heading ↗  24°",
      "attitude  roll -3.7°  pitch 1.9°  yaw 13.9°", "energy    83 %  12.6 V  charging",
      "storage   1.5 GB free",
      "queue     3 missing  fixes 120", "regions   inside depot  (watches 1)", "  2 s     impact",
      "  4 s     enter depot",
    ] { #expect(text.contains(part), "\(part) in\n\(text)") }
    // The compass rose with its needle.
    #expect(
      text.contains("N") && text.contains("⠤")
        || text.unicodeScalars.contains { (0x2800...0x28FF).contains($0.value) })
    #expect(text.contains("3 missing") && screen(80, 24, [.down, .enter]).count == 24)
  }

  /// Vehicle signals with their paths; control characters are not printed.
  @Test func detailsShowVehicleSignals() {
    var roster = fleet()
    roster.receive(
      "vehicle",
      #"{"time":"\#(wireTime(44))","signals":{"Vehicle.Speed":{"value":52.31,"time":"\#(wireTime(44))"},"#
        + #""Vehicle.IsMoving":{"value":true,"time":"\#(wireTime(44))"},"#
        + #""Vehicle.LowVoltageSystemState":{"value":"O\u001b[2JN","time":"\#(wireTime(44))"}},"epoch":"a","seq":90}"#,
      at: 44, vehicle: "van-1")
    let text = screen(100, 30, [.down, .enter], roster: roster).joined(separator: "\n")
    for part in ["bus ", "Vehicle.IsMoving yes", "Vehicle.Speed 52.3"] {
      #expect(text.contains(part), "\(part) in\n\(text)")
    }
    #expect(!text.contains("\u{1b}[2J"))
  }

  /// The state of navigation, and the source of the position.
  @Test func detailsShowNavigation() {
    func text(_ navigation: String) -> String {
      var roster = fleet()
      roster.receive(
        "status",
        #"{"time":"\#(wireTime(44))","state":"online","navigation":\#(navigation),"epoch":"a","seq":91}"#,
        at: 44,
        vehicle: "van-1")
      return screen(100, 30, [.down, .enter], roster: roster).joined(separator: "\n")
    }
    let aligned = text(
      #"{"state":"aligned","positionSource":"inertial","sinceFix":42,"heading":91.5,"headingAccuracy":0.4,"mountingAccuracy":0.3}"#
    )
    for part in ["inertial  aligned", "mounting ±0.3°", "±0.4°", "no receiver for 42 s"] {
      #expect(aligned.contains(part), "\(part) in\n\(aligned)")
    }
    let waiting = text(#"{"state":"waiting","reason":"the vehicle has not moved"}"#)
    #expect(waiting.contains("waiting") && waiting.contains("the vehicle has not moved"))
  }

  @Test func detailsShowCoarseAndContradictedPositions() {
    func text(_ members: String) -> String {
      var roster = fleet()
      roster.receive(
        "location",
        #"{"time":"\#(wireTime(44))","latitude":48.1,"longitude":11.5,"horizontalAccuracy":60,\#(members),"epoch":"a","seq":92}"#,
        at: 44, vehicle: "van-1")
      return screen(140, 30, [.down, .enter], roster: roster).joined(separator: "\n")
    }
    #expect(text(#""positionSource":"coarse""#).contains("access points or cells"))
    let contradicted = text(#""positionSource":"gnss","contradictsBeacons":true"#)
    #expect(contradicted.contains("contradicts access points and cells"), "\(contradicted)")
    let suspect = text(#""positionSource":"gnss","suspect":"velocity""#)
    #expect(suspect.contains("suspect: the position drifts"), "\(suspect)")
  }

  /// A failure and its remedy until the next location, and instructions for a calibration.
  @Test func detailsShowFailuresPausesAndTheCompass() {
    var roster = fleet()
    roster.receive(
      "heading",
      #"{"time":"\#(wireTime(44.5))","magneticHeading":20,"magneticField":[20,0,43],"calibration":"low","#
        + #""calibrationWanted":true,"calibrationInstruction":"drive a circle"}"#, at: 44.5, vehicle: "van-1")
    roster.receive(
      "location/event",
      #"{"time":"\#(wireTime(44))","event":"failed","error":"positionUnknown","reason":"no fix","remedy":"look up","#
        + #""epoch":"a","seq":90}"#, at: 44, vehicle: "van-1")
    func text() -> String { screen(100, 30, [.down, .enter], roster: roster).joined(separator: "\n") }
    for part in [
      "updates   no fix  look up", "compass   47.4 µT  calibration low", "calibration wanted: drive a circle",
      "location failed: no fix",
    ] { #expect(text().contains(part), "\(part) in\n\(text())") }
    roster.receive(
      "location/event",
      #"{"time":"\#(wireTime(44.2))","event":"paused","reason":"the device stands","epoch":"a","seq":91}"#,
      at: 44.2, vehicle: "van-1")
    #expect(text().contains("updates   paused  the device stands") && text().contains("location paused"))
    roster.receive(
      "location", locationJSON(48.2, at: 44.4, epoch: "a", seq: 93), at: 44.4, vehicle: "van-1")
    #expect(!text().contains("updates "))
  }

  /// The details are complete and have a compass rose, with and without the map beside them.
  @Test(arguments: [(80, 24), (90, 30), (100, 24), (120, 40)], [[], [Key.character("m")]])
  func detailsAreComplete(size: (Int, Int), keys: [Key]) {
    let lines = screen(size.0, size.1, [.down, .enter] + keys)
    let text = lines.dropLast().joined(separator: "\n")
    for part in [
      "demo/van-1", "● online", "heard 1 s ago", "up 1 h", "48.11560   11.50780", "50.0 km/h",
      "course ↑  20°",
      "heading ↗  24°", "roll -3.7°", "pitch 1.9°", "yaw 13.9°", "83 %", "charging", "1.5 GB free",
      "3 missing", "inside depot", "(watches 1)", "impact", "enter depot",
    ] { #expect(text.contains(part), "\(part) in\n\(text)") }
    #expect(!text.contains("…"))
    for sign in ["N", "W", "E", "S"] { #expect(text.contains(sign)) }
    #expect(text.contains("W⢨") && text.contains("E"))
    #expect(text.contains("┤") == !keys.isEmpty)
  }

  /// Lines that do not fit are counted, and can be scrolled to.
  @Test func detailsScroll() {
    let short = screen(40, 10, [.down, .enter])
    #expect(short[8].hasPrefix("… ") && short[8].hasSuffix("lines more: J, back: K"))
    let end = screen(40, 10, [.down, .enter] + Array(repeating: .character("J"), count: 40))
    // The oldest event is last.
    #expect(end[7].contains("enter depot") && end[8].contains("online"), "\(end)")
    #expect(!end.joined().contains("demo/van-1"))
    let back = screen(
      40, 10,
      [.down, .enter] + Array(repeating: .character("J"), count: 40)
        + Array(repeating: .character("K"), count: 40))
    #expect(back == short)
  }

  /// Unreadable messages are counted in the footer and in the vehicle's details, also retained ones.
  @Test(arguments: [(40, 10), (80, 24), (120, 40)])
  func unreadableMessagesAreCounted(columns: Int, rows: Int) throws {
    var roster = Roster()
    roster.receive("location", #"{"time":5}"#, retained: true, at: 0, vehicle: "van-9")
    roster.receive("status", "\u{7}", at: 0, vehicle: "van-9")
    let lines = screen(columns, rows, [.enter], roster: roster)
    #expect(lines.last?.contains("2 unreadable") == true, "\(lines)")
    #expect(lines.dropLast().joined().contains("queue     2 unreadable"), "\(lines)")
    let record = try #require(roster.vehicles.first)
    let json = try JSONValue(parsing: record.json(at: moment(1)))
    #expect(json["unreadable"]?.integer == 2 && json["vehicle"]?.string == "van-9")
  }

  @Test func longNamesAreWrapped() {
    var text = WrappedText { $0 == 0 ? 20 : 12 }
    let parts = ["abcdefghijklmnopqrstuvwxyz", "one two three four", "漢字漢字漢字漢字"].map { StyledText($0) }
    text.append(StyledText("name"), indent: 6, parts: parts)
    #expect(text.lines.allSatisfy { $0.width <= 20 } && text.lines.dropFirst().allSatisfy { $0.width <= 12 })
    let plain = text.lines.map(\.plain).joined(separator: "").filter { $0 != " " }
    #expect(plain == "nameabcdefghijklmnopqrstuvwxyzonetwothreefour漢字漢字漢字漢字")
  }

  @Test func theSelectionFollowsTheVehicle() {
    let chosen = screen(80, 24, [.down, .down, .enter]).joined(separator: "\n")
    #expect(chosen.contains("demo/van-2  ●"))
    let reversed = screen(80, 24, [.down, .down, .enter, .character("r")]).joined(separator: "\n")
    #expect(reversed.contains("demo/van-2  ●"))
    let back = screen(80, 24, [.down, .enter, .escape, .escape])
    #expect(!back.joined().contains("position  ") && back[23].contains("q quit"))
  }

  @Test func theMapShowsTracksRegionsNamesAndScale() {
    let lines = screen(100, 30, [.character("m")])
    let text = lines.joined(separator: "\n")
    #expect(text.contains("├") && text.contains(" km") || text.contains(" m\n"))
    #expect(text.contains("van-1") && text.contains("van-2") && text.contains("depot"))
    let dots = text.unicodeScalars.filter { (0x2801...0x28FF).contains($0.value) }.count
    #expect(dots > 20)
    // Zoomed in on the selected vehicle, the other one is outside.
    let near = screen(100, 30, [.down, .character("m")] + Array(repeating: .character("+"), count: 4))
    #expect(near.dropFirst(10).joined().contains("◆") && !near.dropFirst(10).joined().contains("van-2"))
  }

  /// Every size is drawn, also without vehicles.
  @Test func neverTrapsOnASize() {
    let keys: [[Key]] = [
      [.character("m")], [.enter], [.down, .enter, .character("m")],
      [.character("m"), .character("-"), .character("-")],
      [.down, .character("m")] + Array(repeating: .character("+"), count: 30),
    ]
    let (full, empty) = (fleet(), Roster())
    for columns in stride(from: 1, to: 140, by: 7) {
      for rows in stride(from: 1, to: 40, by: 3) {
        for keys in keys {
          #expect(screen(columns, rows, keys, roster: full).count == rows)
          #expect(screen(columns, rows, keys, roster: empty).count == rows)
        }
      }
    }
  }

  @Test func hostilePositionsAreDrawnOrOmitted() {
    var roster = Roster()
    for (index, place) in [(90.0, 180.0), (-90, -180), (0, 179.9999), (0, -179.9999), (89.99999, 0)]
      .enumerated()
    {
      roster.receive(
        "location", locationJSON(place.0, at: 0, longitude: place.1), at: 0,
        vehicle: "\u{1B}[2J\(index)\u{202E}")
    }
    roster.receive(
      "regions/reported",
      #"{"time":"\#(wireTime(0))","state":"applied","accepted":["\u001b]0;x\u0007","1","2",7]}"#, at: 0)
    roster.receive(
      "regions/desired",
      #"{"features":[{"id":"\u001b]0;x\u0007","geometry":{"type":"Polygon","coordinates":[[[0,0],[1e300,1],[181,2],[3,3],[4,4],[5,-5]]]}},"#
        + #"{"geometry":{"type":"Point","coordinates":[1,1]},"properties":{"radius":1e300}},{"geometry":7},7]}"#,
      at: 0)
    for keys in [[Key.character("m")], [.down, .enter, .character("m")]] {
      let text = screen(100, 30, keys, roster: roster).joined()
      #expect(!text.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x202E })
    }
  }

  @Test func theTrailIsSimplifiedAndBounded() {
    var trail = Trail()
    for step in 0..<1000 { trail.append(Coordinate(latitude: 48 + Double(step) * 1e-5, longitude: 11)) }
    #expect(trail.coordinates.count == Trail.capacity)
    let places = trail.coordinates
    for (a, b) in zip(places, places.dropFirst()) { #expect(a.distance(to: b) > 4.9) }
    #expect(abs((places.last?.latitude ?? 0) - 48.00999) < 1e-4)
    trail.append(Coordinate(latitude: .nan, longitude: 0))
    #expect(trail.coordinates.count == Trail.capacity)
  }

  /// Keys that arrive faster than the screen is drawn all have an effect.
  @Test func keysTypedTogether() {
    var view = WatchView(size: .usual, title: "")
    for key in [Key.down, .down, .enter] { _ = view.handle(key) }
    #expect(view.snapshot(of: fleet(), at: moment(45)).selected?.key.vehicle == "van-2")
    for key in [Key.up, .up, .up] { _ = view.handle(key) }
    #expect(view.snapshot(of: fleet(), at: moment(45)).selected?.key.vehicle == "van-1")
  }

  @Test func sortKeysOfTheCommandLine() {
    #expect(throws: FleetError.self) { try VehicleOrder(parsing: "colour") }
    #expect(throws: Never.self) { try VehicleOrder(parsing: "-age") }
  }
}
