import Recordings
import Sensors
import Spatial
import TestSupport
import Testing

@Suite struct GPXRecordingTests {
  let scratch: ScratchFolder

  init() throws { scratch = try ScratchFolder() }

  private func recording(_ body: String) throws -> GPXRecording {
    try GPXRecording(
      path: scratch.write("<?xml version=\"1.0\"?>\n<gpx version=\"1.1\">\n\(body)\n</gpx>", to: "track.gpx"))
  }

  @Test func readsTheValuesOfPoints() throws {
    let fixes = try fixes(
      of: recording(
        """
        <wpt lat="1" lon="2"><name>A place</name></wpt>
        <trk><name>Drive &amp; back</name><trkseg>
        <trkpt lat="48.1" lon="11.5"><ele> 519.5 </ele><time>2025-06-02T04:54:07.250Z</time>
        <sat>9</sat><hdop>0.8</hdop>
        <extensions><x:TrackPointExtension><x:speed>12.5</x:speed><x:course>-10</x:course></x:TrackPointExtension>
        </extensions></trkpt>
        <trkpt lat="48.2" lon="11.6"><time>2025-06-02T04:54:09+00:00</time></trkpt>
        <trkpt lat="48.3" lon="11.7"><time>2025-06-02T04:54:10Z</time><fix>none</fix></trkpt>
        </trkseg></trk>
        """))
    #expect(fixes.count == 3)
    #expect(fixes[0].coordinate == Coordinate(latitude: 48.1, longitude: 11.5))
    #expect(fixes[0].altitudeMeanSeaLevel == 519.5 && fixes[0].altitudeEllipsoidal == nil)
    #expect(fixes[0].speed == 12.5 && fixes[0].course == 350)
    #expect(fixes[0].satellitesUsed == 9 && fixes[0].horizontalDilution == 0.8)
    #expect(fixes[0].time == UTCTime(rfc3339: "2025-06-02T04:54:07.250Z"))
    #expect(fixes[1].speed == nil && fixes[1].course == nil && fixes[1].altitudeMeanSeaLevel == nil)
    #expect(fixes[1].mode == .twoDimensional)
    #expect(fixes[2].mode == .noFix && fixes[2].coordinate == nil)
    #expect(fixes.map(\.timestamp.seconds) == [0, 1.75, 2.75])
  }

  @Test func pointsWithoutTimeComeOnceASecond() throws {
    let fixes = try fixes(of: recording("<rte><rtept lat='1' lon='2'/><rtept lat='3' lon='4'/></rte>"))
    #expect(fixes.map(\.timestamp.seconds) == [0, 1])
    #expect(fixes.map(\.time) == [nil, nil])
  }

  @Test func backwardTimesDoNotReverseTheTimeLine() throws {
    let point = { (time: String) in "<wpt lat='1' lon='2'><time>2025-06-02T04:54:\(time)Z</time></wpt>" }
    let fixes = try fixes(of: recording(point("10") + point("05") + point("11")))
    #expect(fixes.map(\.timestamp.seconds) == [0, 0, 1])
  }

  @Test(arguments: [
    ("<trk><trkseg>\n<trkpt lat='1'/></trkseg></trk>", 4),
    ("<trk><trkseg>\n<trkpt lat='91' lon='2'/></trkseg></trk>", 4),
    ("<trk><trkseg><trkpt lat='nan' lon='2'/></trkseg></trk>", 3),
    ("<trk><trkseg><trkpt lat='1' lon='2'><ele>high</ele></trkpt></trkseg></trk>", 3),
    ("<trk><trkseg><trkpt lat='1' lon='2'><time>noon</time></trkpt></trkseg></trk>", 3),
    ("<trk><trkseg><trkpt lat='1' lon='2'></trkseg></trk>", 3),
    (String(repeating: "<a>", count: 100), 3), ("<metadata/>", nil as Int?),
    ("&undefined;", 3),
  ])
  func brokenFilesNameTheLine(body: String, line: Int?) throws {
    let error = try #require(recordingError { try fixes(of: recording(body)) })
    #expect(error.line == line, "\(error)")
    #expect(error.file.hasSuffix("track.gpx"))
  }

  /// Unusable points between usable ones are skipped and counted.
  @Test(arguments: [
    ("<trkpt lat='1' lon='2'/>", "has no time"), ("<trkpt lat='1'/>", "lacks a numeric"),
    ("<trkpt lat='91' lon='2'/>", "91.0"), ("<trkpt lat='1' lon='2'><time>noon</time></trkpt>", "<time> is"),
    ("<trkpt lat='1' lon='2'><ele>high</ele><time>2025-06-02T04:54:12Z</time></trkpt>", "<ele> is"),
  ])
  func unusablePointsAreSkippedAndCounted(point: String, reason: String) throws {
    func timed(_ second: Int) -> String {
      "<trkpt lat='1' lon='2'><time>2025-06-02T04:54:\(second)Z</time></trkpt>"
    }
    for order in [[point, timed(10), timed(11)], [timed(10), point, timed(11), point]] {
      var recording = try recording("<trk><trkseg>" + order.joined() + "</trkseg></trk>")
      var times: [Double] = []
      while let event = try recording.next() { times.append(event.timestamp?.seconds ?? -1) }
      #expect(times == [0, 1])
      #expect(recording.skipped?.count == order.count - 2)
      #expect(recording.skipped?.first.contains(reason) == true, "\(String(describing: recording.skipped))")
    }
  }

  @Test(arguments: ["", "not XML", "<html></html>", "<gpx><trk>", "\u{0}\u{1}\u{2}"])
  func otherFilesAreErrors(text: String) throws {
    let path = try scratch.write(text, to: "other.gpx")
    #expect(throws: RecordingError.self) { _ = try fixes(of: GPXRecording(path: path)) }
  }

  /// Nested entities that expand exponentially are rejected, and do not fill the memory.
  @Test func expandingEntitiesAreRefused() throws {
    let entities = (1...12).map { level in
      "<!ENTITY e\(level) \"\(String(repeating: "&e\(level - 1);", count: 10))\">"
    }
    let text =
      "<!DOCTYPE gpx [<!ENTITY e0 \"0123456789\">\(entities.joined())]>"
      + "<gpx><wpt lat='1' lon='2'><name>&e12;</name></wpt></gpx>"
    let path = try scratch.write(text, to: "laughs.gpx")
    #expect(throws: RecordingError.self) { _ = try fixes(of: GPXRecording(path: path)) }
  }

  @Test func aTagWithoutEndIsRefused() throws {
    let path = try scratch.write(
      Array("<gpx a='".utf8) + [UInt8](repeating: 65, count: 3_000_000), to: "tag.gpx")
    #expect(throws: RecordingError.self) { _ = try fixes(of: GPXRecording(path: path)) }
  }

  @Test func demandIsMetOnTheRecordingsTimeLine() throws {
    let points = (10..<40).map { "<wpt lat='1' lon='2'><time>2025-06-02T04:54:\($0)Z</time></wpt>" }
    var recording = try self.recording(points.joined())
    recording.setDemand(.rate(hertz: 0.1, latency: .zero), for: .positioning)
    #expect(try fixes(of: recording).map(\.timestamp.seconds) == [0, 10, 20])
  }
}
