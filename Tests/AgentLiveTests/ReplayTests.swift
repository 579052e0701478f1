import TestSupport
import Testing

/// Recordings that the agent replays without pauses.
@Suite struct ReplayTests {
  /// A truncated sentence or a point without time is skipped; the log contains the number of skipped inputs.
  @Test(.timeLimit(.minutes(1)), arguments: ["nmea", "gpx"]) func skippedInputIsLogged(form: String) throws {
    let directory = try TemporaryDirectory()
    let path = try directory.write("drive.\(form)", form == "gpx" ? Self.points : Self.sentences)
    let agent = try AgentProcess(
      ["input.mode": "replay", "input.speed": "0", "replay.position": path],
      print: true)
    #expect(agent.child.waitForExit() == 0, "\(agent.log)")
    let line = agent.log.split(separator: "\n").first { $0.contains("event=source.input_skipped") }
    #expect(line?.contains(" count=1 ") == true, "\(agent.log)")
    #expect(agent.messages.count { $0.kind == "location" } == 5, "\(agent.messages.map(\.kind))")
  }

  private static let points: String = {
    let points = (0..<6).map { second in
      let time = second == 3 ? "" : "<time>2026-11-21T08:00:0\(second)Z</time>"
      return #"<trkpt lat="48.1" lon="11.500\#(second)">\#(time)</trkpt>"#
    }
    return #"<gpx version="1.1" creator="t"><trk><trkseg>"# + points.joined() + "</trkseg></trk></gpx>"
  }()

  private static let sentences: String = {
    let lines = (0..<6).map { second in
      let body =
        "GPRMC,08000\(second).00,A,4806.0000,N,01130.0\(["000", "081", "162", "243", "324", "405"][second]),E,19.4,90.0,211126,,,A"
      let sum = body.utf8.reduce(0) { $0 ^ $1 }
      let digits = String(sum, radix: 16, uppercase: true)
      let whole = "$\(body)*\(digits.count < 2 ? "0" : "")\(digits)"
      return second == 3 ? String(whole.prefix(30)) : whole
    }
    return lines.joined(separator: "\r\n") + "\r\n"
  }()
}
