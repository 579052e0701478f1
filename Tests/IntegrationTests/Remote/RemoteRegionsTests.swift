import Foundation
import TestSupport
import Testing

/// Regions requested remotely, through a real broker.
@Suite(.serialized) struct RemoteRegionsTests {
  private static let depot =
    #"{"type":"Feature","id":"depot","geometry":{"type":"Point","coordinates":[11.5,48.1]},"#
    + #""properties":{"radius":200}}"#
  private static let yard =
    #"{"type":"Feature","id":"yard","geometry":{"type":"Polygon","coordinates":"#
    + #"[[[11,48],[11.1,48],[11.1,48.1],[11,48]]]},"properties":{}}"#
  private static let broken =
    #"{"type":"Feature","id":"broken","geometry":{"type":"Point","coordinates":[11,98]},"#
    + #""properties":{"radius":9}}"#

  private func collection(_ features: String...) -> String {
    #"{"type":"FeatureCollection","version":"r1","features":[\#(features.joined(separator: ","))]}"#
  }

  @Test(.timeLimit(.minutes(4))) func regionsAreMonitoredRefusedRestoredAndReset() throws {
    let (broker, directory) = (try BrokerFixture(), try TemporaryDirectory())
    let controller = try Operator(broker)
    let agent = try ManagedAgent(broker, remote: "enabled = true", directory: directory)
    #expect(waitUntil(atMost: 60) { controller.state == "online" }, "\(agent.log)")
    func reports() -> [[String: Any]] {
      controller.received(Operator.vehicle + "regions/reported").map(\.json)
    }
    func want(_ document: String) -> [String: Any]? {
      let before = reports().count
      controller.send("regions/desired", document, retain: true)
      waitUntil(atMost: 60) { reports().count > before }
      return reports().dropFirst(before).first
    }

    let some = want(collection(Self.depot, Self.broken, Self.yard))
    #expect(some?["state"] as? String == "applied" && some?["version"] as? String == "r1", "\(agent.log)")
    #expect(some?["accepted"] as? [String] == ["depot", "yard"])
    let refused = some?["refused"] as? [[String: Any]]
    #expect(refused?.count == 1 && refused?.first?["region"] as? String == "broken")
    #expect(refused?.first?["index"] as? Int == 1)
    #expect((refused?.first?["reason"] as? String)?.contains("has invalid coordinates") == true)

    for (document, expected) in [
      ("{", "line 1"), (#"{"type":"Feature"}"#, "must be \"FeatureCollection\""),
      (collection(Self.broken), "no feature is a region"),
      (String(repeating: " ", count: 1_100_000), "more than 1048576 bytes"),
    ] {
      let report = want(document)
      #expect(report?["state"] as? String == "refused")
      #expect(problem(of: report).contains(expected), "\(report ?? [:])")
    }

    // The next run monitors the accepted regions and does not evaluate the retained document again. A report without acknowledgement at
    // the kill is repeated with its original number.
    func numbers() -> Set<Int> { Set(reports().compactMap { $0["seq"] as? Int }) }
    let count = numbers().count
    agent.child.kill()
    #expect(waitUntil(atMost: 60) { controller.state == "offline" })
    let again = try ManagedAgent(broker, remote: "enabled = true", directory: directory)
    #expect(waitUntil(atMost: 60) { controller.state == "online" }, "\(again.log)")
    #expect(again.log.contains("remote regions watched regions=2"), "\(again.log)")
    #expect(numbers().count == count)

    let reset = controller.command("reset-regions")
    #expect((reset?["result"] as? [String: Any])?["regions"] as? Int == 2, "\(again.log)")
    let forgotten = controller.command("forget-regions")
    #expect((forgotten?["result"] as? [String: Any])?["regions"] as? Int == 0, "\(again.log)")
    #expect(want("")?["accepted"] as? [String] == [])
    again.child.terminate()
  }

  /// After its session has expired, a vehicle receives its retained documents again: the report on a refused document remains.
  @Test(.timeLimit(.minutes(4))) func refusalRemainsAfterASessionHasExpired() throws {
    let (broker, directory) = (try BrokerFixture(), try TemporaryDirectory())
    let controller = try Operator(broker)
    let first = try ManagedAgent(broker, remote: "enabled = true", directory: directory, sessionExpiry: 1)
    #expect(waitUntil(atMost: 60) { controller.state == "online" }, "\(first.log)")
    let applied = controller.want(#"{"version":"v1","settings":{"status.interval":77}}"#)
    #expect(applied?["state"] as? String == "applied")
    // After 10 s, the connection has confirmed the settings.
    sleep(12)
    let refused = controller.want(#"{"version":"v2","settings":{"status.nonsense":1}}"#)
    #expect(refused?["state"] as? String == "refused")
    #expect(first.child.terminate() == 0)
    #expect(waitUntil(atMost: 60) { controller.state == "offline" })
    // Longer than the session expiry.
    sleep(3)

    let again = try ManagedAgent(broker, remote: "enabled = true", directory: directory, sessionExpiry: 1)
    #expect(waitUntil(atMost: 60) { controller.state == "online" }, "\(again.log)")
    waitUntil(atMost: 14) { controller.reports.last?["version"] as? String != "v2" }
    #expect(controller.reports.last?["version"] as? String == "v2", "\(controller.reports)")
    #expect(again.child.terminate() == 0)
  }

  /// A broker that lost its sessions and retained messages receives the reports on settings and regions again.
  @Test(.timeLimit(.minutes(4))) func reportsReturnToABrokerThatLostThem() throws {
    let (broker, directory) = (try BrokerFixture(), try TemporaryDirectory())
    let controller = try Operator(broker)
    let agent = try ManagedAgent(broker, remote: "enabled = true", directory: directory)
    #expect(waitUntil(atMost: 60) { controller.state == "online" }, "\(agent.log)")
    func regions() -> [[String: Any]] {
      controller.received(Operator.vehicle + "regions/reported").map(\.json)
    }
    #expect(controller.want(#"{"settings":{"status.interval":77}}"#)?["state"] as? String == "applied")
    controller.send("regions/desired", collection(Self.depot, Self.yard), retain: true)
    #expect(waitUntil(atMost: 60) { regions().last?["accepted"] as? [String] == ["depot", "yard"] })

    let (reports, before) = (controller.reports.count, regions().count)
    broker.kill()
    try broker.start()
    #expect(
      waitUntil(atMost: 120) { controller.reports.count > reports && regions().count > before },
      "\(agent.log)")
    let settings = controller.reports.last?["settings"] as? [String: Any]
    #expect(settings?["status.interval"] as? Double == 77, "\(controller.reports)")
    #expect(regions().last?["accepted"] as? [String] == ["depot", "yard"])
    agent.child.terminate()
  }

  @Test(.timeLimit(.minutes(3))) func ownTracksSetsAndListsItsWaypoints() throws {
    let (broker, directory) = (try BrokerFixture(), try TemporaryDirectory())
    let controller = try Operator(broker)
    let lines = directory.file("owntracks")
    let reader = try ChildProcess(
      "mosquitto_sub",
      [
        "-v", "-p", "\(broker.port)", "-t", "owntracks/test/van/waypoints", "-t",
        "owntracks/test/van/waypoint",
      ],
      output: lines)
    func heard(_ line: String) -> Int {
      ((try? String(contentsOfFile: lines, encoding: .utf8)) ?? "").split(separator: "\n").count {
        $0.hasPrefix("owntracks/test/van/\(line)")
      }
    }
    let agent = try ManagedAgent(
      broker, remote: "enabled = true", directory: directory, profile: #"["native", "owntracks"]"#)
    #expect(waitUntil(atMost: 60) { controller.state == "online" }, "\(agent.log)")
    func give(_ command: String) throws {
      _ = try ChildProcess(
        "mosquitto_pub", ["-p", "\(broker.port)", "-q", "1", "-t", "owntracks/test/van/cmd", "-m", command]
      ).waitForExit()
    }
    func watched() -> [String]? {
      controller.received(Operator.vehicle + "regions/reported").last?.json["accepted"] as? [String]
    }
    let waypoint =
      #"{"_type":"waypoint","desc":"Home","lat":48.1,"lon":11.5,"rad":80,"tst":1700000000,"rid":"h"}"#
    let list = #"{"_type":"waypoints","waypoints":[\#(waypoint)]}"#
    try give(#"{"_type":"cmd","action":"setWaypoints","waypoints":\#(list)}"#)
    #expect(waitUntil(atMost: 60) { watched() == ["h"] }, "\(agent.log)")
    #expect(
      try waitUntil(atMost: 60) {
        try give(#"{"_type":"cmd","action":"waypoints"}"#)
        return heard(#"waypoints {"_type":"waypoints","_creator":"odographd","waypoints":[\#(waypoint)]}"#)
          > 0
      }, "\(agent.log)")
    // A new waypoint is published on its own; an unchanged one is not published again.
    let other = waypoint.replacing("\"h\"", with: "\"w\"")
    try give(
      #"{"_type":"cmd","action":"setWaypoints","waypoints":{"_type":"waypoints","waypoints":[\#(waypoint),\#(other)]}}"#
    )
    #expect(waitUntil(atMost: 60) { heard("waypoint \(other)") == 1 }, "\(agent.log)")
    #expect(heard("waypoint \(waypoint)") == 1 && heard("waypoint ") == 2)
    try give(#"{"_type":"cmd","action":"clearWaypoints"}"#)
    #expect(waitUntil(atMost: 60) { watched() == [] }, "\(agent.log)")
    agent.child.terminate()
    reader.terminate()
  }
}
