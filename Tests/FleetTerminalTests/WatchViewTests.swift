import Fleet
import FleetFixtures
import FleetProgram
import FleetTerminal
import Spatial
import Testing

@Suite struct WatchViewTests {
  /// Two vehicles that drive, one asleep, one offline, and one with a malicious name.
  private func fleet() -> Roster {
    var roster = Roster()
    roster.receive("status", statusJSON("online", at: 0, epoch: "a", seq: 1), at: 0, vehicle: "van-1")
    roster.receive(
      "region",
      #"{"time":"\#(wireTime(4))","event":"enter","region":"depot","latitude":48.16,"longitude":11.5}"#,
      at: 4,
      vehicle: "van-1")
    roster.receive(
      "location", locationJSON(48.1635068, at: 8, epoch: "a", seq: 2, speed: 13.25, course: 43.2), at: 8,
      vehicle: "van-1")
    roster.receive(
      "heading", #"{"time":"\#(wireTime(9))","magneticHeading":39.8,"trueHeading":43.6}"#, at: 9,
      vehicle: "van-1")
    roster.receive(
      "attitude",
      #"{"time":"\#(wireTime(9))","frame":"xTrueNorthZVertical","quaternion":[0.99,0.02,-0.03,0.12]}"#, at: 9,
      vehicle: "van-1")
    roster.receive(
      "status", statusJSON("asleep", at: -600, epoch: "b", seq: 1), retained: true, at: 0, vehicle: "van-2")
    roster.receive(
      "location", locationJSON(-33.86, at: -700, epoch: "b", seq: 2, speed: 3, longitude: 151.209),
      retained: true,
      at: 0, vehicle: "van-2")
    roster.receive("status", statusJSON("online", at: 0), at: 0, vehicle: "漢字 truck")
    roster.receive("status", statusJSON("offline", at: 0, will: true), at: 2, vehicle: "漢字 truck")
    roster.receive(
      "location", locationJSON(1, at: 0, speed: 33.4, course: 359.7, longitude: 2), at: 1,
      vehicle: "\u{1B}[31mevil\u{202E}")
    return roster
  }

  private func screen(
    _ columns: Int, _ rows: Int, _ roster: Roster? = nil, trouble: String? = nil,
    _ change: (inout WatchView) -> Void = { _ in }
  ) -> [String] {
    var view = WatchView(size: TerminalSize(columns: columns, rows: rows), title: "broker:1883")
    change(&view)
    let snapshot = view.snapshot(of: roster ?? fleet(), at: moment(10))
    let rates = Rates(messages: 142.4, bytes: 31_240)
    return view.frame(of: snapshot, at: moment(10), rates: rates, trouble: trouble).lines
  }

  @Test func at124By8() {
    expect(
      screen(124, 8),
      """
      odograph  broker:1883  fleet demo                               4 vehicles  ● 1 online  ◐ 1 asleep  ○ 1 offline  · 1 unknown
      VEHICLE ▲   STATE       HEARD               POSITION   WITHIN      SPEED  COURSE  HEADING  REGION        LAST EVENT
      �[31mevil�  · unknown     9 s     1.00000    2.00000        –   120 km/h  ↑   0°        –  –             –
      van-1       ● online      1 s    48.16351   11.50000        –  47.7 km/h  ↗  43°   ↗  44°  depot         enter depot 6 s
      van-2       ◐ asleep   10 min  ~-33.86000  151.20900  ~11 min          –       –        –  –             –
      漢字 truck  ○ offline    10 s                      –        –          –       –        –  –             lost 8 s

      142 msg/s  31.2 kB/s  delay 0 ms, 95 % 1.0 s                   ? keys  q quit  / filter  s sort  r reverse  ⏎ details  m map
      """)
  }

  @Test func at80By24() {
    expect(
      screen(80, 24),
      """
      odograph  broker:1883  fleet demo                 4 vehicles  ● 1  ◐ 1  ○ 1  · 1
      VEHICLE ▲   STATE       HEARD               POSITION      SPEED  COURSE  HEADING
      �[31mevil�  · unknown     9 s     1.00000    2.00000   120 km/h  ↑   0°        –
      van-1       ● online      1 s    48.16351   11.50000  47.7 km/h  ↗  43°   ↗  44°
      van-2       ◐ asleep   10 min  ~-33.86000  151.20900          –       –        –
      漢字 truck  ○ offline    10 s                      –          –       –        –

















      142 msg/s  31.2 kB/s  delay 0 ms, 95 % 1.0 s    ? keys  q quit  ⏎ details  m map
      """)
  }

  @Test func at40By6() {
    expect(
      screen(40, 6),
      """
      odograph  broker:1883  fleet demo
      VEHICLE ▲   STATE       HEARD      SPEED
      �[31mevil�  · unknown     9 s   120 km/h
      van-1       ● online      1 s  47.7 km/h
      van-2       ◐ asleep   10 min          –
      1–3 of 4  142 msg/s       ? keys  q quit
      """)
  }

  @Test func at20By5() {
    expect(
      screen(20, 5),
      """
      odograph  broker:18…
      VEHICLE ▲    HEARD
      �[31mevil�     9 s
      van-1          1 s
            ? keys  q quit
      """)
  }

  @Test func at3By3() {
    expect(
      screen(3, 3),
      """
      od…
      VE▲
      �[…
      """)
  }

  @Test func sortedBySpeed() {
    expect(
      screen(100, 5) { $0.order.criterion = .column(.speed) },
      """
      odograph  broker:1883  fleet demo       4 vehicles  ● 1 online  ◐ 1 asleep  ○ 1 offline  · 1 unknown
      VEHICLE     STATE       HEARD               POSITION    SPEED ▼  COURSE  HEADING  LAST EVENT
      �[31mevil�  · unknown     9 s     1.00000    2.00000   120 km/h  ↑   0°        –  –
      van-1       ● online      1 s    48.16351   11.50000  47.7 km/h  ↗  43°   ↗  44°  enter depot 6 s
      1–2 of 4  142 msg/s  31.2 kB/s  delay 0 ms, 95 % 1.0 s    ? keys  q quit  / filter  ⏎ details  m map
      """)
  }

  @Test func sortedByAgeReversed() {
    expect(
      screen(100, 5) { $0.order = VehicleOrder(criterion: .column(.age), isReversed: true) },
      """
      odograph  broker:1883  fleet demo       4 vehicles  ● 1 online  ◐ 1 asleep  ○ 1 offline  · 1 unknown
      VEHICLE     STATE      HEARD▼               POSITION      SPEED  COURSE  HEADING  LAST EVENT
      van-2       ◐ asleep   10 min  ~-33.86000  151.20900          –       –        –  –
      漢字 truck  ○ offline    10 s                      –          –       –        –  lost 8 s
      1–2 of 4  142 msg/s  31.2 kB/s  delay 0 ms, 95 % 1.0 s    ? keys  q quit  / filter  ⏎ details  m map
      """)
  }

  @Test func filteringWhileTyping() {
    expect(
      screen(100, 5) { press([.character("/"), .character("V"), .character("a")], in: &$0) },
      """
      odograph  broker:1883  fleet demo       4 vehicles  ● 1 online  ◐ 1 asleep  ○ 1 offline  · 1 unknown
      VEHICLE ▲  STATE       HEARD               POSITION      SPEED  COURSE  HEADING  LAST EVENT
      van-1      ● online      1 s    48.16351   11.50000  47.7 km/h  ↗  43°   ↗  44°  enter depot 6 s
      van-2      ◐ asleep   10 min  ~-33.86000  151.20900          –       –        –  –
      filter: Va   2 of 4                                                            enter keep  esc clear
      """)
  }

  @Test func nothingMatches() {
    expect(
      screen(100, 5) { press([.character("/"), .character("z"), .enter], in: &$0) },
      """
      odograph  broker:1883  fleet demo       4 vehicles  ● 1 online  ◐ 1 asleep  ○ 1 offline  · 1 unknown
      VEHICLE ▲  STATE       HEARD               POSITION      SPEED  COURSE  HEADING  LAST EVENT
      no vehicle matches the filter

      none of 0 like "z"  142 msg/s  31.2 kB/s  delay 0 ms, 95 % 1.0 s    ? keys  q quit  ⏎ details  m map
      """)
  }

  @Test func noVehiclesYet() {
    expect(
      screen(100, 6, Roster()),
      """
      odograph  broker:1883                                                         0 vehicles  ● 0 online
      VEHICLE ▲  STATE       HEARD               POSITION      SPEED  COURSE  HEADING  LAST EVENT
      waiting for the first vehicle


      142 msg/s  31.2 kB/s                   ? keys  q quit  / filter  s sort  r reverse  ⏎ details  m map
      """)
  }

  @Test func noConnection() {
    expect(
      screen(100, 5, trouble: "not connected: refused"),
      """
      odograph  broker:1883  fleet demo       4 vehicles  ● 1 online  ◐ 1 asleep  ○ 1 offline  · 1 unknown
      VEHICLE ▲   STATE       HEARD               POSITION      SPEED  COURSE  HEADING  LAST EVENT
      �[31mevil�  · unknown     9 s     1.00000    2.00000   120 km/h  ↑   0°        –  –
      van-1       ● online      1 s    48.16351   11.50000  47.7 km/h  ↗  43°   ↗  44°  enter depot 6 s
      not connected: refused                 ? keys  q quit  / filter  s sort  r reverse  ⏎ details  m map
      """)
  }

  @Test func scrolledToTheEnd() {
    expect(
      screen(100, 5) { _ = $0.handle(.end) },
      """
      odograph  broker:1883  fleet demo       4 vehicles  ● 1 online  ◐ 1 asleep  ○ 1 offline  · 1 unknown
      VEHICLE ▲   STATE       HEARD               POSITION      SPEED  COURSE  HEADING  LAST EVENT
      van-2       ◐ asleep   10 min  ~-33.86000  151.20900          –       –        –  –
      漢字 truck  ○ offline    10 s                      –          –       –        –  lost 8 s
      3–4 of 4  142 msg/s  31.2 kB/s  delay 0 ms, 95 % 1.0 s    ? keys  q quit  / filter  ⏎ details  m map
      """)
  }

  /// Every size is drawn.
  @Test func neverTrapsOnASize() {
    for columns in 1...130 {
      for rows in 1...8 { #expect(screen(columns, rows).count == rows) }
    }
  }

  private func press(_ keys: [Key], in view: inout WatchView) {
    for key in keys { _ = view.handle(key) }
  }

  private func expect(_ lines: [String], _ picture: String, at location: SourceLocation = #_sourceLocation) {
    #expect(lines.joined(separator: "\n") == picture, sourceLocation: location)
  }
}
