import Recordings
import Sensors
import SensorsGPSD
import Spatial
import TestSupport
import Testing

@Suite struct GPSDLogRecordingTests {
  let scratch: ScratchFolder

  init() throws { scratch = try ScratchFolder() }

  private func fixes(_ text: String) throws -> [PositionFix] { try read(text).fixes }

  private func read(_ text: String) throws -> (fixes: [PositionFix], skipped: SkippedInput?) {
    var recording = try GPSDLogRecording(path: scratch.write(text, to: "log.json"))
    var fixes: [PositionFix] = []
    while let event = try recording.next() {
      if case .position(let block) = event { fixes += block }
    }
    return (fixes, recording.skipped)
  }

  private func tpv(_ time: String, _ rest: String = "") -> String {
    #"{"class":"TPV","device":"/dev/a","mode":3,"time":"2025-06-02T04:54:\#(time)Z","lat":1.5,"lon":2.5\#(rest)}"#
      + "\r\n"
  }

  @Test func oneFixForEachPositionReport() throws {
    let sky = #"{"class":"SKY","device":"/dev/a","hdop":0.9,"satellites":[{"PRN":1,"used":true}]}"# + "\n"
    let fixes = try fixes(
      #"{"class":"VERSION","release":"3.22"}"# + "\n$GPGGA,raw*00\n" + tpv("01.000") + sky + tpv("02.000")
        + #"{"class":"TPV","mode":1}"# + "\n" + tpv("01.500"))
    #expect(fixes.count == 4)
    #expect(fixes.map(\.timestamp.seconds) == [0, 1, 1, 1])
    #expect(fixes.map(\.satellitesUsed) == [nil, 1, nil, 1])
    #expect(fixes.map(\.mode) == [.threeDimensional, .threeDimensional, .noFix, .threeDimensional])
    #expect(fixes[3].time == UTCTime(rfc3339: "2025-06-02T04:54:01.500Z"))
    #expect(fixes[2].coordinate == nil && fixes[2].time == nil)
  }

  @Test(arguments: ["{\"class\":\"TPV\",\"mode\":3\n", "{\"class\":\"TPV\",\"mode\":}\n", "{\"lat\":1}\n"])
  func aDamagedReportIsSkippedWithItsLine(text: String) throws {
    for text in [tpv("01.000") + text + tpv("02.000"), tpv("01.000") + text] {
      let (fixes, skipped) = try read(text)
      #expect(fixes.count == (text.hasSuffix(tpv("02.000")) ? 2 : 1))
      #expect(
        skipped?.count == 1 && skipped?.first.contains("log.json:2:") == true,
        "\(String(describing: skipped))")
    }
  }

  /// As Python's `json.dumps` writes reports, also indented, sorted and in an array.
  @Test(arguments: ["line", "sorted", "indented", "array"])
  func whiteSpaceAndOrderDoNotMatter(form: String) throws {
    let members = [
      "\"class\": \"TPV\"", "\"device\": \"/dev/a b\"", "\"lat\": 1.5", "\"lon\": 2.5", "\"mode\": 3",
      "\"time\": \"2025-06-02T04:54:01.000Z\"",
    ]
    let report: String =
      switch form {
      case "sorted": "{" + members.reversed().joined(separator: ", ") + "}\n"
      case "line": "{ " + members.joined(separator: ", ") + " }\n"
      default: "  {\n    " + members.joined(separator: ",\n    ") + "\n  }"
      }
    let text =
      form == "array"
      ? "[\n\(report),\n\(report)\n]\n" : form == "indented" ? "\(report)\n\(report)\n" : report + report
    let (fixes, skipped) = try read("\u{FEFF}" + text)
    #expect(fixes.count == 2 && skipped == nil, "\(String(describing: skipped))")
    #expect(fixes.allSatisfy { $0.coordinate == Coordinate(latitude: 1.5, longitude: 2.5) && $0.time != nil })
  }

  @Test func oneOfSeveralReceiversIsReplayed() throws {
    var text = ""
    for second in 10..<40 {
      text += second < 20 ? tpv("\(second).000") : ""
      text += tpv("\(second).500").replacing("/dev/a", with: "/dev/b")
    }
    let fixes = try fixes(text)
    // The last report of the first receiver is that of second 19.
    #expect(
      fixes.map(\.receiver) == Array(repeating: "/dev/a", count: 10) + Array(repeating: "/dev/b", count: 16))
    #expect(abs(fixes[10].timestamp.seconds - 14.5) < 1e-9)
  }

  /// The second receiver reports each epoch 1.2 s after its time.
  @Test func aLateReceiverDoesNotDisturbTheFirst() throws {
    let text = (10..<50).map { second in
      tpv("\(second).000") + tpv("\(second - 1).000").replacing("/dev/a", with: "/dev/b")
    }
    let fixes = try fixes(text.joined())
    #expect(fixes.map { $0.timestamp.seconds.rounded() } == (0..<40).map(Double.init))
    #expect(fixes.allSatisfy { $0.receiver == "/dev/a" })
  }

  @Test func aTruncatedLastReportIsIgnored() throws {
    #expect(try fixes(tpv("01.000") + "{\"class\":\"TPV\",\"mo").count == 1)
  }

  @Test(arguments: [
    "", "$GPGGA,1*00\n", "prose\n", "{\"class\":\"VERSION\",\"release\":\"3.22\"}\n",
    "{\"class\":\"TPV\",\"mode\":1}\n",
  ])
  func aFileWithoutAPositionIsAnError(text: String) {
    #expect(throws: RecordingError.self) { _ = try fixes(text) }
  }

  @Test(
    .needs(.recordings("gpsd-logs")),
    arguments: ["bundg_zeus_9", "haicom-305N", "humminbird-M37", "nl2008u", "ublox-neo-m8l"])
  func gpsdsOwnExpectedReportsAreRead(log: String) throws {
    var recording = try GPSDLogRecording(path: Shared.file("data/gpsd-logs/\(log).log.chk"))
    var count = 0
    while let event = try recording.next() {
      guard case .position(let block) = event else { continue }
      for fix in block {
        count += 1
        if fix.mode == nil || fix.mode == .noFix { #expect(fix.coordinate == nil) }
        #expect(fix.coordinate?.isValid ?? true)
        #expect(fix.coordinate != Coordinate(latitude: 0, longitude: 0))
      }
    }
    #expect(count > 0)
  }
}
