import Foundation
import Recordings
import Sensors
import SensorsGPSD
import Spatial
import TestSupport
import Testing

/// Recorded receiver logs played through a real gpsd.
@Suite(.serialized) struct GPSDReplayTests {
  /// Each fix of a recorded drive arrives through gpsd exactly once, in order, with unchanged coordinates.
  @Test(
    .timeLimit(.minutes(6)), .needs(.gpsd), .needs(.recordings("tracks")),
    arguments: ["munich_2025", "mtv_ublox_f9k_slim2025"])
  func driveArrivesComplete(track: String) throws {
    let drive = try (track == "munich_2025" ? DriveThroughGPSD.munich : DriveThroughGPSD.mountainView).get()
    var recorded: [PositionFix] = []
    var recording = try NMEARecording(path: drive.path)
    while case .position(let block)? = try recording.next() { recorded += block }
    // gpsd first has to learn which sentence ends an epoch: it reports the first epoch in two parts, of which the first may lack the time.
    var live = drive.listener.fixes
    if live.count > 1, live[0].time == nil || live[0].time == live[1].time { live.removeFirst() }
    #expect(live.map(\.time) == recorded.map(\.time))
    for (a, b) in zip(live, recorded) {
      let (a, b) = (try #require(a.coordinate), try #require(b.coordinate))
      #expect(abs(a.latitude - b.latitude) < 1e-7 && abs(a.longitude - b.longitude) < 1e-7)
    }
    for (a, b) in zip(live, live.dropFirst()) { #expect(a.timestamp <= b.timestamp) }
    #expect(drive.listener.states.first.map(Self.isActiveOrIdle) == true)
  }

  /// Values missing in gpsd's JSON are nil; reports without a fix have no position.
  @Test(
    .timeLimit(.minutes(6)), .needs(.gpsd), .needs(.recordings("gpsd-logs")),
    arguments: [
      "bundg_zeus_9", "haicom-305N", "humminbird-M37", "nl2008u", "quectel-eg25-g", "rst39", "sirf2",
      "ublox-neo-m8l",
    ])
  func fixesMatchGpsdReports(log: String) throws {
    let path = try Shared.file("data/gpsd-logs/\(log).log")
    var (listener, said) = (GPSDListener(), [[String: Any]]())
    // On a busy machine, gpsfake can start a gpsd that never gets its receiver. Then no client gets a report.
    for _ in 0..<3 where said.isEmpty && listener.fixes.isEmpty {
      listener = GPSDListener()
      // Repeated, because the shortest log ends before the first client has connected.
      let gpsd = try GPSDFixture(log: path, secondsPerSentence: 0.004, repeats: true)
      let pipe = try ChildProcess("gpspipe", ["-w", "127.0.0.1:\(gpsd.port)"])
      let source = try GPSDSource(GPSDAddress(port: gpsd.port))
      source.setDemand(always, for: .positioning)
      try source.start(listener.sink)
      _ = waitUntil(atMost: 60) { listener.fixes.count >= 400 }
      source.stop()
      pipe.terminate()
      gpsd.stop()
      said = Self.positionReports(pipe.output)
    }
    let fixes = listener.fixes
    #expect(!fixes.isEmpty, "\(listener.states), gpspipe: \(said.count) reports")
    for fix in fixes {
      if fix.mode == nil || fix.mode == .noFix {
        #expect(fix.coordinate == nil && fix.speed == nil && fix.altitudeMeanSeaLevel == nil)
      }
      #expect(fix.coordinate != Coordinate(latitude: 0, longitude: 0))
    }
    // Both clients receive the same reports, from different start times.
    let matches = Self.alignment(of: fixes, with: said)
    #expect(matches.count >= min(fixes.count, said.count) / 2)
    for (fix, report) in matches { Self.compare(fix, report) }
  }

  private static func isActiveOrIdle(_ state: SourceStatus.State) -> Bool {
    switch state {
    case .active, .idle: true
    default: false
    }
  }

  private static func positionReports(_ text: String) -> [[String: Any]] {
    text.split(separator: "\n").compactMap { line in
      guard line.contains("\"class\":\"TPV\""),
        let report = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      else { return nil }
      return report
    }
  }

  /// Pairs the source's fixes with the reports of the other client, at the shift with the longest match.
  private static func alignment(
    of fixes: [PositionFix], with reports: [[String: Any]]
  ) -> [(PositionFix, [String: Any])] {
    let ours = fixes.map(signature)
    let theirs = reports.map(signature)
    var best: (shift: Int, length: Int) = (0, 0)
    for shift in -200...200 {
      var length = 0
      for index in ours.indices where theirs.indices.contains(index + shift) {
        guard ours[index] == theirs[index + shift] else {
          length = 0
          break
        }
        length += 1
      }
      if length > best.length { best = (shift, length) }
    }
    return fixes.indices.compactMap { index in
      let other = index + best.shift
      return best.length > 0 && reports.indices.contains(other) ? (fixes[index], reports[other]) : nil
    }
  }

  private static func signature(_ fix: PositionFix) -> String {
    "\(fix.mode?.rawValue ?? 0) \(fix.time?.rfc3339 ?? "-")"
  }

  private static func signature(_ report: [String: Any]) -> String {
    let mode = report["mode"] as? Int ?? 0
    return "\(mode) \(report["time"] as? String ?? "-")"
  }

  private static func compare(_ fix: PositionFix, _ report: [String: Any]) {
    let hasFix = (report["mode"] as? Int ?? 0) >= 2
    func expectSame(_ value: Double?, _ key: String, _ comment: Comment) {
      let stated = hasFix ? (report[key] as? NSNumber)?.doubleValue : nil
      #expect((value == nil) == (stated == nil), comment)
      if let value, let stated { #expect(abs(value - stated) < 1e-9 * max(1, abs(stated)), comment) }
    }
    expectSame(fix.coordinate?.latitude, "lat", "lat of \(report)")
    expectSame(fix.coordinate?.longitude, "lon", "lon of \(report)")
    expectSame(fix.altitudeEllipsoidal, "altHAE", "altHAE of \(report)")
    expectSame(fix.altitudeMeanSeaLevel, "altMSL", "altMSL of \(report)")
    // Without a course, gpsd may have derived the speed from positions.
    if fix.speed != nil || report["track"] != nil { expectSame(fix.speed, "speed", "speed of \(report)") }
    expectSame(fix.course, "track", "track of \(report)")
    expectSame(fix.climb, "climb", "climb of \(report)")
    expectSame(fix.horizontalError, "eph", "eph of \(report)")
    expectSame(fix.verticalError, "epv", "epv of \(report)")
    expectSame(fix.speedError, "eps", "eps of \(report)")
    expectSame(fix.courseError, "epd", "epd of \(report)")
    #expect(fix.receiver == report["device"] as? String)
  }
}
