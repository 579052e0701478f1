import Foundation
import JSON
import SensorFixtures
import Sensors
import Spatial
import TestSupport
import Testing

/// Live sensors at real-time pace: by default, the attitude is published when it changes.
@Suite(.serialized, .timeLimit(.minutes(3))) struct AttitudeOnChangeTests {
  /// Starts an agent with the default settings of a car, apart from names and addresses.
  private func start(_ server: EmulatedIIOD, _ broker: BrokerFixture, _ more: [String: String] = [:]) throws
    -> (ChildProcess, TemporaryDirectory)
  {
    let directory = try TemporaryDirectory()
    let settings = [
      "vehicle.fleet": "test", "vehicle.id": "van", "store.path": directory.file("outbox.sqlite"),
      "iio.contexts": server.uri, "gpsd.enabled": "false",
      "mqtt.broker": "mqtt://127.0.0.1:\(broker.port)",
    ].merging(more) { $1 }
    let child = try ChildProcess(
      BuiltProduct.path("odographd"),
      ["run"] + settings.sorted { $0.key < $1.key }.flatMap { ["--set", "\($0.key)=\($0.value)"] })
    return (child, directory)
  }

  private static let attitude = Operator.vehicle + "attitude"

  /// Turns about the vertical axis, with a matching magnetic field: from 0 to `degrees` at 30°/s, then at rest.
  private static func turn(by degrees: Double) -> @Sendable (Double) -> EmulatedIIOD.Reading {
    { seconds in
      let angle = min(max(0, seconds * 30), degrees).radians
      let isTurning = seconds > 0 && seconds * 30 < degrees
      return EmulatedIIOD.Reading(
        rotationRate: Vector3(0, 0, isTurning ? 30.radians : 0),
        magneticField: Vector3(20 * sin(angle), 20 * cos(angle), -44))
    }
  }

  /// Number of live values that the agent has dropped, read from its control socket.
  private static func dropped(_ socket: String) -> Int {
    guard
      let query = try? ChildProcess(
        BuiltProduct.path("odographd"), ["status", "--socket", socket, "--json"]),
      query.waitForExit() == 0,
      let json = try? JSONValue(parsing: Array(query.output.utf8))
    else { return -1 }
    return json["status"]?["counters"]?["dropped.live"]?.integer.map { Int($0) } ?? -1
  }

  @Test func isSilentAtRestRetainedAndPublishedOnATurn() throws {
    let (server, broker) = (try EmulatedIIOD(), try BrokerFixture())
    let early = try Operator(broker)
    let (agent, _) = try start(server, broker, ["status.interval": "1"])
    #expect(waitUntil { !early.received(Self.attitude).isEmpty }, "\(agent.output)")
    // Waits for several blocks of samples.
    func statuses() -> Int { early.received(Operator.vehicle + "status").count }
    let before = statuses()
    #expect(waitUntil(atMost: 60) { statuses() >= before + 5 }, "\(agent.output)")
    let atRest = early.received(Self.attitude).count
    #expect(atRest <= 3, "only the start and the first samples")
    // A late subscriber receives the retained attitude from the broker.
    let late = try Operator(broker)
    #expect(waitUntil(atMost: 20) { !late.received(Self.attitude).isEmpty })
    server.play(Self.turn(by: 90))
    #expect(waitUntil(atMost: 30) { early.received(Self.attitude).count >= atRest + 3 })
    let yaws = early.received(Self.attitude).dropFirst(atRest).compactMap { $0.json["yaw"] as? Double }
    let turned = abs((yaws.last ?? 0) - (yaws.first ?? 0)).degrees
    #expect(turned > 25, "\(yaws)")
    #expect(agent.terminate() == 0)
  }

  /// The link of a vehicle that connects in bursts stays closed while it turns.
  @Test func liveValuesDoNotWakeALinkThatSleeps() throws {
    let (server, broker) = (try EmulatedIIOD(), try BrokerFixture())
    let folder = try TemporaryDirectory()
    let socket = folder.file("socket")
    let (agent, _) = try start(
      server, broker,
      [
        "control.socket": socket,
        "mqtt.link": "bursts", "mqtt.burst_linger": "1", "mqtt.burst_interval": "3600",
        "motion.events": "", "events.kinds": "", "trips.enabled": "false",
      ])
    func connections() -> Int { broker.logCount("New client connected") }
    #expect(waitUntil { connections() == 1 }, "\(agent.output)")
    #expect(waitUntil { broker.logCount("disconnected") >= 1 }, "\(agent.output)")
    server.play(Self.turn(by: 90))
    #expect(waitUntil(atMost: 60) { Self.dropped(socket) >= 3 }, "\(agent.output)")
    #expect(connections() == 1)
    #expect(agent.terminate() == 0)
  }
}
