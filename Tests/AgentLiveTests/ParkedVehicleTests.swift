import Foundation
import SensorFixtures
import TestSupport
import Testing

/// The agent in a parked vehicle at real-time pace: a real gpsd, an emulated iiod and a real broker.
@Suite(.serialized) struct ParkedVehicleTests {
  private final class Vehicle {
    let receiver: LiveReceiver
    let sensors: EmulatedIIOD
    let broker: BrokerFixture
    let controller: Operator
    let agent: AgentProcess
    private let begin = Date().timeIntervalSince1970

    init(_ settings: [String: String], accuracy: Double = 6) throws {
      receiver = try LiveReceiver(at: Self.epoch(accuracy: accuracy), language: .ubx)
      (sensors, broker) = (try EmulatedIIOD(), try BrokerFixture())
      controller = try Operator(broker)
      agent = try AgentProcess(
        [
          "input.mode": "hardware", "gpsd.port": "\(receiver.port)", "iio.contexts": sensors.uri,
          "mqtt.broker": "mqtt://127.0.0.1:\(broker.port)", "remote.enabled": "true",
        ].merging(settings) { $1 })
    }

    static func epoch(accuracy: Double) -> LiveReceiver.Epoch {
      var epoch = LiveReceiver.Epoch(latitude: 48, longitude: 11, speed: 0, course: 0)
      epoch.accuracy = accuracy
      return epoch
    }

    /// Number of times that gpsd was watched since the start.
    var watches: Int { receiver.watched(from: begin, to: Date().timeIntervalSince1970).times }

    /// The states in a `region-state` answer or in the newest `regions/state`.
    func states(_ json: [String: Any]?) -> [String: String] {
      let regions = json?["regions"] as? [[String: Any]] ?? []
      return Dictionary(
        regions.compactMap { region in
          (region["region"] as? String).flatMap { name in (region["state"] as? String).map { (name, $0) } }
        }
      ) { $1 }
    }

    var told: [String: String] { states(controller.received(Operator.vehicle + "regions/state").last?.json) }
  }

  /// `locate` returns the position confirmed by rest, and powers the receiver only for a more accurate one. New
  /// regions and `reset-regions` are evaluated without the receiver.
  @Test(.timeLimit(.minutes(3)), .needs(.gpsd)) func answersWhileTheReceiverSleeps() throws {
    let vehicle = try Vehicle(["location.desired_accuracy": "hundredMeters", "location.reporting": "bounded"])
    let controller = vehicle.controller
    #expect(waitUntil(atMost: 60) { vehicle.receiver.isUnwatched }, "\(vehicle.agent.log)")
    #expect(waitUntil { controller.state == "online" }, "\(vehicle.agent.log)")
    let watches = vehicle.watches

    let known = controller.command("locate", #"{"accuracy":50,"timeout":20}"#)?["result"] as? [String: Any]
    #expect(known?["sufficient"] as? Bool == true && known?["fresh"] as? Bool == false, "\(known ?? [:])")
    #expect(vehicle.watches == watches)
    let place = try #require(known?["location"] as? [String: Any])
    let accuracy = try #require(place["horizontalAccuracy"] as? Double)

    controller.send("regions/desired", Self.regions, retain: true)
    #expect(
      waitUntil(atMost: 20) { vehicle.told == ["home": "inside", "away": "outside"] }, "\(vehicle.told)")
    #expect(controller.command("reset-regions")?["state"] as? String == "done")
    let states = vehicle.states(controller.command("region-state")?["result"] as? [String: Any])
    #expect(states == ["home": "inside", "away": "outside"])
    #expect(
      !controller.received(Operator.vehicle + "regions/state").contains {
        vehicle.states($0.json).values.contains("unknown")
      })
    #expect(vehicle.watches == watches && vehicle.receiver.isUnwatched)

    vehicle.receiver.play([Vehicle.epoch(accuracy: 1)], from: 0)
    let finer = controller.command("locate", #"{"accuracy":\#(0.9 * accuracy),"timeout":30}"#)
    let found = finer?["result"] as? [String: Any]
    #expect(found?["sufficient"] as? Bool == true && found?["fresh"] as? Bool == true, "\(finer ?? [:])")
    #expect(vehicle.watches > watches)
    #expect(waitUntil(atMost: 20) { vehicle.receiver.isUnwatched })
    #expect(vehicle.agent.child.terminate() == 0)
  }

  /// The OwnTracks command powers the receiver unless rest confirms a position that is accurate enough.
  @Test(.timeLimit(.minutes(3)), .needs(.gpsd)) func reportLocationWakesTheReceiver() throws {
    let vehicle = try Vehicle(
      ["location.desired_accuracy": "kilometer", "mqtt.profile": #"["native", "owntracks"]"#],
      accuracy: 150)
    let controller = vehicle.controller
    #expect(waitUntil(atMost: 60) { vehicle.receiver.isUnwatched }, "\(vehicle.agent.log)")
    #expect(waitUntil { controller.state == "online" }, "\(vehicle.agent.log)")
    let watches = vehicle.watches
    vehicle.receiver.play([Vehicle.epoch(accuracy: 1)], from: 0)
    controller.publish("owntracks/test/van/cmd", #"{"_type":"cmd","action":"reportLocation"}"#)
    func answers() -> [[String: Any]] {
      controller.received("owntracks/test/van").map(\.json).filter { $0["t"] as? String == "r" }
    }
    #expect(waitUntil(atMost: 30) { !answers().isEmpty }, "\(vehicle.agent.log)")
    #expect(vehicle.watches > watches)
    #expect(answers().last?["acc"] as? Int ?? .max <= 50, "\(answers())")
    #expect(waitUntil(atMost: 20) { vehicle.receiver.isUnwatched })
    #expect(vehicle.agent.child.terminate() == 0)
  }

  private static let regions =
    #"{"type":"FeatureCollection","features":["#
    + #"{"type":"Feature","id":"home","properties":{"radius":100},"geometry":{"type":"Point","coordinates":[11,48]}},"#
    + #"{"type":"Feature","id":"away","properties":{"radius":100},"geometry":{"type":"Point","coordinates":[11,48.1]}}]}"#

  /// A setting without effect is logged at the start and listed in `config/reported` after a remote change.
  @Test(.timeLimit(.minutes(5)), .needs(.gpsd)) func settingWithoutEffectIsReported() throws {
    let vehicle = try Vehicle(["location.reporting": "significant", "location.distance_filter": "50"])
    let controller = vehicle.controller
    #expect(waitUntil { controller.state == "online" }, "\(vehicle.agent.log)")
    #expect(
      waitUntil { vehicle.agent.log.contains("event=configuration.ineffective") }, "\(vehicle.agent.log)")
    let report = controller.want(#"{"settings":{"location.track_error":10}}"#)
    let ineffective = report?["ineffective"] as? [[String: Any]]
    #expect(report?["state"] as? String == "applied")
    #expect(ineffective?.compactMap { $0["key"] as? String } == ["location.track_error"], "\(report ?? [:])")
    #expect(vehicle.agent.child.terminate() == 0)
  }
}
