import Foundation
import SensorFixtures
import Spatial
import TestSupport
import Testing

/// An agent on live hardware publishes each message and member listed in the column "wire" of the articles
/// "Core Location" and "Core Motion".
@Suite(.serialized) struct WireMemberTests {
  /// Members that this vehicle cannot publish, with the test that covers each.
  private static let elsewhere = [
    "attitude.degraded": "MotionLiveTests: no gyroscope",
    "heading.contradictsCourse": "HeadingManagerTests: a disturbed magnetometer",
    "heading.calibrationInstruction": "MotionLiveTests: an uncalibrated magnetometer",
    "heading.calibrationWanted": "MotionLiveTests: an uncalibrated magnetometer",
    "location.contradictsBeacons": "CoarsePipelineTests: radios",
    "location.courseAccuracy": "AccuracyModelTests: gpsd 3.22 does not report it for this receiver",
    "location.floor": "AltitudePipelineTests: a garage",
    "location.suspect": "SuspectPositionTests: a jump of the receiver",
    "altitude.floor": "AltitudePipelineTests: a garage",
    "region.late": "RegionEventsTests: a restart",
    "location.altitudeSource": "AltitudePipelineTests: a longer drive",
    "location/event.error": "LocationEventsTests: a receiver that fails while it is on",
    "status.degraded": "SensorSubsetTests: missing sensors",
    "track": "DeferralLiveTests: a deferral",
    "track.points": "DeferralLiveTests: a deferral",
  ]

  /// The names in the column "wire" of both articles.
  static func names() throws -> Set<String> {
    var names: Set<String> = []
    for article in ["Positioning/Documentation.docc/CoreLocation", "Motion/Documentation.docc/CoreMotion"] {
      let path = "\(ContractScript.repository)/Sources/\(article).md"
      let table = FrameworkTable(try String(contentsOfFile: path, encoding: .utf8), name: article)
      for row in table.rows {
        if case .names(let wire)? = row.cells["wire"].map({ FrameworkCell($0) }) { names.formUnion(wire) }
      }
    }
    return names
  }

  /// Names of messages and of their members: "location", "location.speed".
  private final class Seen {
    private(set) var names: Set<String> = []

    func add(_ topic: String, _ value: Any) {
      names.insert(topic)
      if let object = value as? [String: Any] {
        for (key, inner) in object { add("\(topic).\(key)", inner) }
      }
      for element in value as? [Any] ?? [] { add(topic, element) }
    }
  }

  private static let regions = """
    {"type":"FeatureCollection","features":[
    {"type":"Feature","id":"gate","properties":{"radius":60,"notifyOnEntry":true,"notifyOnExit":true},
     "geometry":{"type":"Point","coordinates":[\(LiveVehicle.start.longitude + 0.004),\(LiveVehicle.start.latitude)]}},
    {"type":"Feature","id":"point","properties":{},"geometry":{"type":"Point","coordinates":[11,48]}}]}
    """

  @Test(.timeLimit(.minutes(5)), .needs(.gpsd)) func everyMemberIsPublished() throws {
    let (vehicle, broker) = (try LiveVehicle(), try BrokerFixture())
    let controller = try Operator(broker)
    vehicle.sensors.play(LiveVehicle.gestures)
    let agent = try AgentProcess(
      vehicle.settings.merging([
        "mqtt.broker": "mqtt://127.0.0.1:\(broker.port)", "remote.enabled": "true",
        "recorder.enabled": "true", "motion.events": "shake,impact,orientation,activity",
        "altitude.interval": "2", "attitude.interval": "0.5", "heading.interval": "0.5",
        "heading.filter": "0", "status.interval": "2", "iio.latency": "0.1",
      ]) { $1 })
    let seen = Seen()
    let wanted = try Self.names().subtracting(Self.elsewhere.keys)
    #expect(wanted.count > 80)
    var position = 0
    func missing() -> Set<String> {
      let all = controller.all
      for message in all.dropFirst(position) { seen.add(message.name, message.json) }
      position = all.count
      return wanted.subtracting(seen.names)
    }
    #expect(waitUntil { controller.state == "online" }, "\(agent.log)")

    // During the drive.
    controller.send("regions/desired", Self.regions, retain: true)
    vehicle.drive(seconds: 25)
    _ = controller.want(#"{"settings":{"heading.filter":1}}"#)
    _ = controller.want(#"{"version":"1","settings":{"mqtt.port":1}}"#)
    for (name, arguments) in [
      ("locate", #"{"accuracy":50,"timeout":10}"#), ("locate", #"{"accuracy":0.001,"timeout":0.5}"#),
      ("zero", "{}"), ("samples", #"{"seconds":1,"rate":20}"#), ("record", #"{"seconds":2}"#),
    ] {
      let answer = controller.command(name, arguments)
      #expect(answer != nil, "\(name)")
    }
    // At rest.
    #expect(waitUntil { missing().isDisjoint(with: ["motion.side", "motion.axis"]) })
    vehicle.rest()
    #expect(waitUntil { !missing().contains("region.event") })
    let now = ISO8601DateFormatter().string(from: Date())
    let answer = controller.command(
      "history", #"{"from":"2026-01-01T00:00:00Z","to":"\#(now)"}"#)
    #expect(answer != nil)
    // Locations pause.
    #expect(waitUntil(atMost: 90) { !missing().contains("location/event.event") })
    #expect(controller.command("level", "{}")?["state"] as? String == "done")
    _ = waitUntil(atMost: 60) { missing().isEmpty }
    #expect(missing().isEmpty, "missing: \(missing().sorted()) \(agent.log)")
    #expect(agent.child.terminate() == 0)
  }
}
