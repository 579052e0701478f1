import Foundation
import TestSupport
import Testing

/// Simulated positions of an agent: a fixed position, a track or none, selected while the agent runs.
@Suite(.serialized, .timeLimit(.minutes(3))) struct SimulatedLocationTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func gpx(_ points: String) -> String {
    "<gpx version=\"1.1\" creator=\"test\" xmlns=\"http://www.topografix.com/GPX/1/1\">\(points)</gpx>"
  }

  /// Runs an agent without a broker until its input ends.
  private func printed(_ settings: [String: String]) throws -> (
    status: Int32, messages: [Message], log: String
  ) {
    let agent = try AgentProcess(settings.merging(["input.speed": "0"]) { a, _ in a }, print: true)
    let status = agent.child.waitForExit()
    return (status, agent.messages, agent.log)
  }

  @Test func aFixedPlaceIsReportedAndMarked() throws {
    let run = try printed([
      "input.mode": "simulation", "input.place": "[48.1372, 11.5756]", "simulation.duration": "30",
    ])
    #expect(run.status == 0, "\(run.log)")
    let locations = run.messages.filter { $0.kind == "location" }
    #expect(!locations.isEmpty, "\(run.log)")
    #expect(locations.allSatisfy { $0.latitude == 48.1372 && $0.longitude == 11.5756 })
    #expect(locations.allSatisfy { $0.payload["source"] as? String == "simulated place" })
  }

  @Test func aPlaceRequiresSimulatedInput() throws {
    let run = try printed(["input.place": "48,11"])
    #expect(run.status == 78 && run.log.contains("set input.mode = \"simulation\""), "\(run.log)")
    let range = try printed(["input.mode": "simulation", "input.place": "[91, 11]"])
    #expect(range.status == 78 && range.log.contains("[latitude, longitude] in degrees"), "\(range.log)")
  }

  /// Input ends with the samples if there are no positions, no receiver, or only a single waypoint.
  @Test(arguments: ["", "none", "place.gpx"]) func inputEndsWithTheSamples(position: String) throws {
    try directory.write("place.gpx", gpx("<wpt lat=\"47.5\" lon=\"8.5\"><name>Home</name></wpt>"))
    let rows = (0..<1000).map { "\(Double($0) / 50),0,0,9.81,0,0,0" }.joined(separator: "\n")
    var settings = [
      "input.mode": "replay",
      "replay.sensors": try directory.write("a.csv", "t,ax,ay,az,gx,gy,gz\n" + rows + "\n"),
    ]
    if !position.isEmpty {
      settings["replay.position"] = position == "none" ? position : directory.file(position)
    }
    for speed in ["0", "20"] {
      let run = try printed(settings.merging(["input.speed": speed]) { $1 })
      #expect(run.status == 0 && run.log.contains("event=agent.stopped"), "\(run.log)")
      let last = run.messages.last
      #expect(last?.kind == "status" && last?.state == "offline", "\(run.log)")
      let locations = run.messages.filter { $0.kind == "location" }
      #expect(locations.isEmpty == (position != "place.gpx"))
      #expect(locations.allSatisfy { $0.latitude == 47.5 && $0.longitude == 8.5 })
    }
  }

  @Test func locationIsSelectedAtRunTime() throws {
    let broker = try BrokerFixture()
    let person = try Operator(broker)
    let points = (0..<60).map { "<trkpt lat=\"\(52.5 + Double($0) * 1e-4)\" lon=\"13.4\"></trkpt>" }.joined()
    try directory.write("berlin.gpx", gpx("<trk><trkseg>\(points)</trkseg></trk>"))
    let agent = try AgentProcess([
      "input.mode": "simulation", "input.place": "[48.1372, 11.5756]", "input.speed": "5",
      "simulation.tracks": directory.path, "remote.enabled": "true",
      "location.distance_filter": "0", "mqtt.broker": "mqtt://127.0.0.1:\(broker.port)",
    ])
    func locations() -> [[String: Any]] { person.received(Operator.vehicle + "location").map(\.json) }
    func arrives(at latitude: Double) -> Bool {
      waitUntil(atMost: 40) {
        (locations().last?["latitude"] as? Double).map { abs($0 - latitude) < 0.01 } == true
      }
    }
    func select(_ arguments: String) -> String? {
      person.command("simulate-location", arguments)?["state"] as? String
    }
    #expect(arrives(at: 48.1372), "\(agent.log)")
    #expect(select(#"{"latitude":47.3769,"longitude":8.5417}"#) == "done")
    #expect(arrives(at: 47.3769), "\(agent.log)")
    #expect(select(#"{"track":"berlin.gpx"}"#) == "done")
    #expect(arrives(at: 52.5), "\(agent.log)")
    #expect(waitUntil(atMost: 40) { locations().last?["latitude"] as? Double ?? 0 > 52.504 })
    #expect(select(#"{"none":true}"#) == "done")
    #expect(select(#"{"clear":true}"#) == "done")
    #expect(arrives(at: 48.1372), "\(agent.log)")
    for (arguments, expected) in [
      (#"{"track":"../berlin.gpx"}"#, "refused"), (#"{"track":"missing.gpx"}"#, "failed"), ("{}", "refused"),
      (#"{"latitude":48}"#, "refused"), (#"{"latitude":48,"longitude":11,"none":true}"#, "refused"),
    ] { #expect(select(arguments) == expected, "\(arguments)") }

    // A track that is damaged after its first points is rejected, and the positions are unchanged.
    try directory.write("damaged.gpx", gpx("<trk><trkseg>\(points)<trkpt lat=\"1\""))
    let answer = person.command("simulate-location", #"{"track":"damaged.gpx"}"#)
    #expect(answer?["state"] as? String == "failed")
    #expect((answer?["problem"] as? String)?.contains("damaged.gpx") == true, "\(answer ?? [:])")
    let count = locations().count
    #expect(waitUntil(atMost: 40) { locations().count > count + 3 }, "\(agent.log)")
    #expect(locations().suffix(3).allSatisfy { abs(($0["latitude"] as? Double ?? 0) - 48.1372) < 0.01 })
    #expect(agent.child.terminate() == 0)
  }

  /// Locations as simulated by Xcode: waypoints with times, and uniform motion between them.
  @Test func positionsBetweenWayPointsAreInterpolated() throws {
    func point(_ latitude: Double, _ time: String) -> String {
      "<wpt lat=\"\(latitude)\" lon=\"8.5\"><time>2026-11-27T10:\(time)Z</time></wpt>"
    }
    let points = [point(47.5, "00:00"), point(47.51, "01:00"), point(47.51, "01:30"), point(47.5, "02:00")]
    let path = try directory.write("way.gpx", gpx(points.joined()))
    let run = try printed([
      "input.mode": "replay", "replay.position": path, "location.reporting": "distance",
      "location.distance_filter": "0",
    ])
    #expect(run.status == 0, "\(run.log)")
    let locations = run.messages.filter { $0.kind == "location" }
    let latitudes = locations.compactMap(\.latitude)
    #expect(latitudes.count > 80 && Set(latitudes).count > 60, "\(latitudes)")
    // 1.1 km in 60 s, and back in 30 s.
    let steps = zip(latitudes, latitudes.dropFirst()).map { abs($1 - $0) }
    #expect(steps.allSatisfy { $0 < 0.0005 }, "\(steps)")
    #expect(latitudes.first == 47.5 && latitudes.last == 47.5 && latitudes.max() == 47.51)
  }

  /// A simulated location `none` publishes no position.
  @Test func simulatedLocationCanBeRemoved() throws {
    let broker = try BrokerFixture()
    let person = try Operator(broker)
    let agent = try AgentProcess([
      "input.mode": "simulation", "input.place": "[48.1372, 11.5756]", "input.speed": "5",
      "remote.enabled": "true", "mqtt.broker": "mqtt://127.0.0.1:\(broker.port)",
    ])
    #expect(waitUntil { !person.received(Operator.vehicle + "location").isEmpty }, "\(agent.log)")
    #expect(person.command("simulate-location", #"{"none":true}"#)?["state"] as? String == "done")
    let answer = person.command("locate", #"{"accuracy":1,"timeout":5}"#)
    let result = answer?["result"] as? [String: Any]
    #expect(result?["sufficient"] as? Bool == false, "\(answer ?? [:])")
    #expect(agent.child.terminate() == 0)
  }
}
