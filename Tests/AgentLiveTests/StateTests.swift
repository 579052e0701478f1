import Foundation
import Platform
import SensorFixtures
import Sensors
import TestSupport
import Testing

/// Agents with emulated hardware: state folders, regions and recordings.
@Suite(.serialized, .timeLimit(.minutes(3))) struct StateTests {
  private let broker: BrokerFixture
  private let server: EmulatedIIOD
  private let directory: TemporaryDirectory

  init() throws {
    (broker, server, directory) = (try BrokerFixture(), try EmulatedIIOD(), try TemporaryDirectory())
  }

  /// Starts an agent whose default state folder is `default` in the directory of this suite.
  private func agent(
    _ settings: [String: String], in folder: TemporaryDirectory? = nil
  ) throws -> AgentProcess {
    let quiet = [
      "input.mode": "hardware", "iio.contexts": server.uri, "gpsd.enabled": "false",
      "attitude.enabled": "false", "heading.enabled": "false", "location.enabled": "false",
      "motion.events": "", "remote.enabled": "true", "mqtt.broker": "mqtt://127.0.0.1:\(broker.port)",
    ]
    return try AgentProcess(
      quiet.merging(settings) { $1 }, directory: folder,
      environment: ["STATE_DIRECTORY": directory.file("default"), "RUNTIME_DIRECTORY": directory.path])
  }

  /// Issue 33: a new vehicle with its own `store.path` started with the settings of the packaged agent.
  @Test func newVehicleWithItsOwnStoreHasDefaultSettings() throws {
    let person = try Operator(broker)
    let packaged = try agent(["store.path": ""])
    #expect(waitUntil { person.state == "online" }, "\(packaged.log)")
    #expect(
      person.want(#"{"settings":{"location.error_bound":33}}"#, retain: false)?["state"] as? String
        == "applied")
    let other = try agent(["vehicle.id": "other"])
    #expect(waitUntil { other.log.contains("event=broker.connected") }, "\(other.log)")
    #expect(!other.log.contains("remote.settings_in_force"))
    #expect(FileManager.default.fileExists(atPath: other.directory.file("remote")))
    #expect(other.child.terminate() == 0)
    #expect(packaged.child.terminate() == 0)
    let again = try agent(["store.path": ""])
    #expect(waitUntil { again.log.contains("remote.settings_in_force") }, "\(again.log)")
    #expect(again.child.terminate() == 0)
  }

  @Test func aSecondAgentAndAnotherVehicleAreRefused() throws {
    let first = try agent([:], in: directory)
    #expect(waitUntil { first.log.contains("event=broker.connected") }, "\(first.log)")
    let second = try agent(["store.path": directory.file("second.sqlite")])
    #expect(second.child.waitForExit() == 1)
    #expect(
      second.log.contains("\(directory.path): in use by another agent; stop that agent, or set store.path"))
    #expect(first.child.terminate() == 0)
    let other = try agent(["vehicle.id": "other", "store.path": directory.file("outbox.sqlite")])
    #expect(other.child.waitForExit() == 1)
    #expect(
      other.log.contains(
        "holds the state of vehicle test/van; set store.path to another folder for test/other"))
    // With --print the agent claims no state folder.
    let again = try agent(["store.path": directory.file("outbox.sqlite")])
    #expect(waitUntil { again.log.contains("event=broker.connected") }, "\(again.log)")
    #expect(again.child.terminate() == 0)
  }

  @Test func regionsOfTheFileAreReportedWithTheirRefusals() throws {
    let person = try Operator(broker)
    let ring = "[[11, 48], [11.1, 48], [11.1, 48.1], [11, 48]]"
    let path = try directory.write(
      "regions.geojson",
      """
      {"type": "FeatureCollection", "features": [
        {"type": "Feature", "id": "yard", "properties": {}, "geometry": {"type": "Polygon", "coordinates": [\(ring)]}},
        {"type": "Feature", "id": "broken", "properties": {}, "geometry": {"type": "Polygon", "coordinates": [[[11, 48]]]}},
        {"type": "Feature", "properties": {}, "geometry": {"type": "Point", "coordinates": [11, 48]}}
      ]}
      """)
    let agent = try agent(["regions.path": path, "location.enabled": "true"])
    let topic = Operator.vehicle + "regions/reported"
    #expect(waitUntil { !person.received(topic).isEmpty }, "\(agent.log)")
    let report = try #require(person.received(topic).first?.json)
    #expect(report["source"] as? String == "file" && report["state"] as? String == "applied")
    #expect(report["accepted"] as? [String] == ["yard"])
    let refused = try #require(report["refused"] as? [[String: Any]])
    #expect(refused.map { $0["index"] as? Int } == [1, 2] && refused[0]["region"] as? String == "broken")
    #expect((refused[0]["reason"] as? String)?.contains("fewer than three") == true, "\(refused)")
    let state = person.command("region-state")?["result"] as? [String: Any]
    #expect((state?["regions"] as? [[String: Any]])?.map { $0["region"] as? String } == ["yard"])
    #expect(agent.child.terminate() == 0)
  }

  /// The same report in a simulation without a broker.
  @Test func regionsOfTheFileAreReportedInASimulation() throws {
    let path = try directory.write(
      "regions.geojson",
      """
      {"type": "FeatureCollection", "features": [
        {"type": "Feature", "id": "yard", "properties": {"radius": 100}, "geometry": {"type": "Point", "coordinates": [11, 48]}},
        {"type": "Feature", "id": "broken", "properties": {}, "geometry": {"type": "Point", "coordinates": [11, 48]}}
      ]}
      """)
    let agent = try AgentProcess(
      [
        "input.mode": "simulation", "input.speed": "0", "simulation.duration": "5", "regions.path": path,
        "simulation.start": "2026-11-21T08:00:00Z",
      ], print: true)
    #expect(agent.child.waitForExit() == 0, "\(agent.log)")
    let report = try #require(agent.messages.first { $0.topic.hasSuffix("regions/reported") }?.payload)
    #expect(
      report["accepted"] as? [String] == ["yard"] && report["time"] as? String == "2026-11-21T08:00:00.000Z")
    #expect((report["refused"] as? [[String: Any]])?.map { $0["region"] as? String } == ["broken"])
  }

  /// The accelerometer is powered for the requested time, and its samples can be fetched.
  @Test func recordsTheAccelerometerOnCommand() throws {
    let person = try Operator(broker)
    let agent = try agent([:])
    #expect(waitUntil { person.state == "online" }, "\(agent.log)")
    #expect(person.command("history", #"{"from":"2020-01-01T00:00:00Z"}"#)?["state"] as? String == "failed")
    // The hardware is found some time after the start.
    var answer: [String: Any]?
    #expect(
      waitUntil {
        answer = person.command("record", #"{"seconds":2}"#)
        return answer?["state"] as? String == "done"
      }, "\(answer ?? [:])")
    #expect(waitUntil(atMost: 20) { server.isCapturing(.accelerometer) })
    #expect(!server.isCapturing(.magnetometer))
    #expect(waitUntil(atMost: 30) { !server.isCapturing(.accelerometer) })
    let history = person.command("history", #"{"from":"2020-01-01T00:00:00Z"}"#)
    let result = try #require(history?["result"] as? [String: Any], "\(history ?? [:])")
    let text = String(describing: result["samples"] ?? "")
    #expect(text.contains("accelerometer"), "\(result)")
    let recorded = try #require(result["recorded"] as? [String: String])
    let ends = ["from", "to"].compactMap { recorded[$0] }.compactMap {
      try? Date($0, strategy: .iso8601.year().month().day().time(includingFractionalSeconds: true))
    }
    try #require(ends.count == 2)
    print("recorded \(ends[1].timeIntervalSince(ends[0])) s on command")
    #expect(abs(ends[1].timeIntervalSince(ends[0]) - 2) < 0.1)
    let excess = person.command("record", #"{"seconds":100000}"#)
    #expect(excess?["state"] as? String == "refused" && problem(of: excess).contains("remote.record_seconds"))
    #expect(agent.child.terminate() == 0)
  }

  /// A regular stop delivers all records, and the last status reports an empty queue.
  @Test func lastStatusOfACleanStopHasNoQueue() throws {
    let person = try Operator(broker)
    let agent = try agent([:])
    #expect(waitUntil { person.state == "online" }, "\(agent.log)")
    #expect(agent.child.terminate() == 0)
    #expect(waitUntil { person.state == "offline" }, "\(agent.log)")
    let counters = person.received(Operator.vehicle + "status").last?.json["counters"] as? [String: Any]
    #expect(counters?["queue.records"] as? Int == 0, "\(counters ?? [:])")
  }

  @Test func statusHasDeviceInformation() throws {
    let person = try Operator(broker)
    let agent = try agent([:])
    #expect(waitUntil { person.state == "online" }, "\(agent.log)")
    let status = try #require(person.command("status")?["result"] as? [String: Any])
    #expect((status["processors"] as? Int ?? 0) >= 1)
    #expect(((status["memory"] as? [String: Any])?["total"] as? Int ?? 0) > 100_000_000)
    let system = try #require(status["system"] as? [String: Any])
    #expect((system["name"] as? String)?.isEmpty == false && (system["kernel"] as? String)?.isEmpty == false)
    // `simulate-location` is rejected for a vehicle with real sensors.
    let moved = person.command("simulate-location", #"{"latitude":48,"longitude":11}"#)
    #expect(moved?["state"] as? String == "refused" && problem(of: moved).contains("real sensors"))
    #expect(agent.child.terminate() == 0)
  }
}
