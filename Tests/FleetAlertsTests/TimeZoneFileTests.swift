import FleetAlerts
import Foundation
import Simulation
import Spatial
import TestSupport
import Testing

@Suite struct TimeZoneFileTests {
  /// Foundation has an independent implementation.
  @Test(arguments: [
    "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Pacific/Kiritimati",
    "America/St_Johns", "Europe/Dublin", "Pacific/Auckland", "UTC",
  ]) func agreesWithFoundation(name: String) throws {
    let (zone, reference) = (
      try #require(TimeZoneFile(named: name)), try #require(TimeZone(identifier: name))
    )
    var random = SeededGenerator.announced()
    for _ in 0..<5000 {
      // 1990 to 2036.
      let time = Int64.random(in: 631_152_000..<2_082_758_400, using: &random)
      let wanted = reference.secondsFromGMT(for: Date(timeIntervalSince1970: Double(time)))
      #expect(zone.offset(at: time) == wanted, "\(name) \(time)")
    }
  }

  /// After the last entry of the file, the rule in its footer applies: 30 March 2098 is the last Sunday of that month.
  @Test func appliesTheRuleOfTheFooter() throws {
    let zone = try #require(TimeZoneFile(named: "Europe/Berlin"))
    let change = try #require(UTCTime(rfc3339: "2098-03-30T01:00:00Z")).nanoseconds / 1_000_000_000
    #expect(zone.offset(at: change - 1) == 3600 && zone.offset(at: change) == 7200)
  }

  @Test(arguments: [
    ("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", 39_600, 37_800), ("EST5EDT,M3.2.0,M11.1.0", -18_000, -14_400),
    ("<-03>3", -10_800, -10_800), ("IST-2IDT,M3.4.4/26,M10.5.0", 7200, 10_800),
    ("AAA3BBB,J60/0,J300", -10_800, -7200),
  ]) func readsRules(text: String, january: Int, july: Int) throws {
    let rule = try #require(SummerTimeRule(text))
    #expect(rule.offset(at: 1_768_435_200) == january && rule.offset(at: 1_784_073_600) == july)
  }

  @Test func refusesDamagedFiles() throws {
    for text in ["", "CET", "CET-1CEST,M13.1.0,M1.1.0", "CET-1CEST,M3.5.0", "1", "CET-1CEST,M3.5.0,M10.5.0x"]
    {
      #expect(SummerTimeRule(text) == nil, "\(text)")
    }
    let bytes = try [UInt8](Data(contentsOf: URL(filePath: "/usr/share/zoneinfo/Europe/Berlin")))
    var random = SeededGenerator.announced()
    for _ in 0..<2000 {
      var damaged = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random)))
      for _ in 0..<3 where !damaged.isEmpty {
        damaged[Int.random(in: damaged.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      _ = TimeZoneFile(bytes: damaged)?.offset(at: 1_768_435_200)
    }
    for name in ["../etc/passwd", "/etc/passwd", "", "Europe/Nowhere", "Europe"] {
      #expect(TimeZoneFile(named: name) == nil, "\(name)")
    }
  }
}
