import Foundation
import LiveSensors
import Platform
import Positioning
import SensorFixtures
import Sensors
import Spatial
import TestSupport
import Testing

/// Swift programs that share a running agent: real agents, real clients.
@Suite(.serialized) struct AgentClientTests {
  /// A folder with the socket of an agent.
  private struct Host {
    let folder: TemporaryDirectory

    init() throws {
      folder = try TemporaryDirectory()
      chmod(folder.path, 0o755)
    }

    var socket: String { folder.file("gpsd.socket") }
    var input: SensorInput { .agent(AgentAddress(path: socket)) }

    func agent(_ settings: [String: String] = [:]) throws -> AgentProcess {
      try AgentProcess(
        [
          "input.mode": "simulation", "gpsd_server.socket": socket, "mqtt.broker": "mqtt://127.0.0.1:1",
          "location.pauses_automatically": "false",
        ].merging(settings) { $1 }, print: true)
    }
  }

  /// The updates of a device, as a consumer receives them.
  private final class Updates: Sendable {
    private let stream: SampleStream<LocationUpdate>
    private let received: Locked<[LocationUpdate]>

    init(_ device: LiveDevice, _ manager: LocationManager? = nil) throws {
      let received = Locked<[LocationUpdate]>([])
      self.received = received
      stream = try device.location.startUpdatingLocation(manager) { update in
        received.withLock { $0.append(update) }
      }
    }

    var all: [LocationUpdate] { received.withLock { $0 } }
    var locations: [Location] { all.compactMap(\.location) }
    var failures: [LocationFailure] { all.compactMap(\.failure) }
    func stop() { stream.stop() }
  }

  /// Three programs with different requirements on one agent: each location, locations every 25 m, and the attitude.
  @Test(.timeLimit(.minutes(5)), .needs(.gpsd)) func programsShareOneAgent() throws {
    let vehicle = try LiveVehicle()
    vehicle.rest()
    let host = try Host()
    let agent = try host.agent(vehicle.settings)
    func run(_ program: String, _ arguments: [String] = []) throws -> ChildProcess {
      try ChildProcess(
        "stdbuf", ["-oL", BuiltProduct.path(program)] + arguments + ["agent:\(host.socket)"])
    }
    // Programs may start before the agent.
    let location = try run("LocationExample")
    let motion = try run("MotionExample")
    let depot = LiveVehicle.start.destination(distance: 300, bearing: 90)
    let regions = try run("RegionsExample", ["\(depot.latitude)", "\(depot.longitude)", "50"])
    let device = try LiveDevice(host.input)
    let each = try Updates(device)
    try device.start()
    #expect(waitUntil { location.output.contains("at 48.137") }, "\(location.output) \(agent.log)")
    #expect(waitUntil { motion.output.contains("heading 0° in") }, "\(motion.output) \(agent.log)")
    vehicle.drive(seconds: 40)
    #expect(
      waitUntil { regions.output.split(separator: "\n") == ["entered depot", "left depot"] },
      "\(regions.output) \(agent.log)")
    #expect(waitUntil { location.output.components(separatedBy: "at 48.").count > 10 }, "\(location.output)")
    // The program with a distance filter receives fewer locations than the one without.
    #expect(waitUntil { each.locations.count > location.output.components(separatedBy: "at 48.").count })
    // The positions are those that the agent publishes.
    let published = Dictionary(
      agent.messages.filter { $0.kind == "location" }.compactMap { message in
        (message.payload["time"] as? String).map { ($0, message) }
      }, uniquingKeysWith: { $1 })
    var compared = 0
    for location in each.locations {
      guard let time = location.time?.rfc3339, let message = published[time],
        let latitude = message.latitude, let longitude = message.longitude
      else { continue }
      compared += 1
      #expect(
        location.coordinate.distance(to: Coordinate(latitude: latitude, longitude: longitude)) <= 0.1)
    }
    #expect(compared >= 5, "\(compared) of \(each.locations.count)")
    device.stop()
    for child in [location, motion, regions] { _ = child.terminate() }
    #expect(agent.child.terminate() == 0)
  }

  /// The receiver and the motion sensors run for a client, and sleep again when its consumers have ended.
  @Test(.timeLimit(.minutes(5)), .needs(.gpsd)) func demandEndsWithTheConsumer() throws {
    let vehicle = try LiveVehicle()
    vehicle.rest()
    let host = try Host()
    let agent = try host.agent(
      vehicle.settings.merging([
        "location.enabled": "true", "location.desired_accuracy": "hundredMeters",
        "location.reporting": "bounded", "location.pauses_automatically": "true",
      ]) { $1 })
    #expect(waitUntil(atMost: 90) { vehicle.receiver.isUnwatched }, "\(agent.log)")
    let device = try LiveDevice(host.input)
    try device.start()
    #expect(waitUntil { device.location.authorizationStatus == .authorized }, "\(agent.log)")
    #expect(device.location.accuracyAuthorization == .fullAccuracy)
    // A connection without consumers does not require the receiver.
    #expect(vehicle.receiver.isUnwatched)
    let updates = try Updates(device, LocationManager(pausesLocationUpdatesAutomatically: false))
    #expect(waitUntil { !vehicle.receiver.isUnwatched && updates.locations.count >= 3 }, "\(updates.all)")
    updates.stop()
    #expect(waitUntil(atMost: 90) { vehicle.receiver.isUnwatched }, "\(agent.log)")
    device.stop()
    #expect(agent.child.terminate() == 0)
  }

  /// A client that is started before the agent waits, and continues after a restart of the agent.
  @Test(.timeLimit(.minutes(5))) func clientContinuesAfterARestartOfTheAgent() throws {
    let host = try Host()
    let device = try LiveDevice(host.input)
    let updates = try Updates(device)
    try device.start()
    #expect(waitUntil { !updates.failures.isEmpty })
    #expect(device.location.authorizationStatus == .notDetermined)
    let reason = device.location.availability.reason(against: LocationService.location) ?? ""
    #expect(reason.contains(host.socket) && reason.contains("start odographd"), "\(reason)")
    for _ in 0..<2 {
      let count = updates.locations.count
      let agent = try host.agent()
      #expect(waitUntil { updates.locations.count > count + 2 }, "\(updates.all.suffix(3)) \(agent.log)")
      #expect(device.location.authorizationStatus == .authorized)
      let failures = updates.failures.count
      #expect(agent.child.terminate() == 0)
      #expect(waitUntil { updates.failures.count > failures })
      #expect(device.location.authorizationStatus == .notDetermined)
    }
    device.stop()
  }

  @Test(.timeLimit(.minutes(5))) func authorizationFollowsTheAccessOfTheAgent() async throws {
    let host = try Host()
    let reduced = try host.agent(["gpsd_server.accuracy": "reduced"])
    let first = try LiveDevice(host.input)
    let updates = try Updates(first)
    try first.start()
    #expect(waitUntil { !updates.locations.isEmpty }, "\(updates.all) \(reduced.log)")
    #expect(first.location.authorizationStatus == .authorized && first.location.locationServicesEnabled)
    #expect(first.location.accuracyAuthorization == .reducedAccuracy)
    #expect(
      updates.locations.allSatisfy { $0.horizontalAccuracy ?? 0 > 1000 && $0.speed == nil },
      "\(updates.locations)")
    first.stop()
    #expect(reduced.child.terminate() == 0)
    let none = try host.agent(["gpsd_server.accuracy": "none"])
    #expect(waitUntil { none.log.contains("event=local.listening") }, "\(none.log)")
    let second = try LiveDevice(host.input)
    let refused = try Updates(second)
    try await second.discover(within: 60)
    #expect(second.location.authorizationStatus == .denied)
    #expect(waitUntil { refused.all.contains(where: \.isAuthorizationDenied) }, "\(refused.all)")
    #expect(refused.locations.isEmpty)
    #expect("\(refused.failures)".contains("gpsd_server.access"), "\(refused.failures)")
    // The request does not wait for its time limit.
    await #expect(throws: LocationFailure.self) {
      try await second.location.requestLocation(timeLimit: 3600)
    }
    second.stop()
    #expect(none.child.terminate() == 0)
  }

  /// A user without permission to open the socket receives the reason.
  @Test(.timeLimit(.minutes(5))) func usersWithoutPermissionAreDenied() throws {
    guard geteuid() == 0 else {
      Issue.record("needs root to become another user")
      return
    }
    let host = try Host()
    let agent = try host.agent()
    #expect(waitUntil { agent.log.contains("event=local.listening") }, "\(agent.log)")
    let program = host.folder.file("location")
    try FileManager.default.copyItem(atPath: BuiltProduct.path("LocationExample"), toPath: program)
    let child = try ChildProcess(
      "setpriv",
      [
        "--reuid=nobody", "--regid=nogroup", "--clear-groups", "stdbuf", "-oL", program,
        "agent:\(host.socket)",
      ])
    #expect(waitUntil { child.output.contains("Permission denied") }, "\(child.output)")
    #expect(child.output.contains("gpsd_server.socket_group"))
    _ = child.terminate()
    #expect(agent.child.terminate() == 0)
  }

  /// A program that does not run is started by a region event, and receives it and later ones. A program whose socket is
  /// missing during the events receives the newest one afterwards.
  @Test(.timeLimit(.minutes(5)), .needs(.gpsd), .needs(.socketActivation))
  func regionEventStartsAProgram() throws {
    let vehicle = try LiveVehicle()
    let host = try Host()
    let depot = LiveVehicle.start.destination(distance: 300, bearing: 90)
    let regions = try host.folder.write(
      "regions.geojson",
      """
      {"type": "FeatureCollection", "features": [{"type": "Feature", "id": "depot", "properties": {"radius": 50},
       "geometry": {"type": "Point", "coordinates": [\(depot.longitude), \(depot.latitude)]}}]}
      """)
    func activate(_ socket: String) throws -> ChildProcess {
      let child = try ChildProcess(
        "systemd-socket-activate", ["-l", socket, "stdbuf", "-oL", BuiltProduct.path("RegionsExample")])
      #expect(waitUntil { child.output.contains("Listening on") }, "\(child.output)")
      return child
    }
    let (socket, late) = (host.folder.file("early.socket"), host.folder.file("late.socket"))
    let program = try activate(socket)
    let agent = try host.agent(
      vehicle.settings.merging(["regions.path": regions, "regions.notify": "\(socket),\(late)"]) { $1 })
    #expect(waitUntil { agent.messages.contains { $0.kind == "location" } }, "\(agent.log)")
    #expect(!program.output.contains("started by"))
    vehicle.drive(seconds: 40)
    #expect(
      waitUntil {
        program.output.split(separator: "\n").suffix(2) == [
          "started by enter of depot", "started by exit of depot",
        ]
      }, "\(program.output) \(agent.log)")
    #expect(waitUntil { agent.log.contains("event=local.unavailable") }, "\(agent.log)")
    let other = try activate(late)
    #expect(waitUntil(atMost: 120) { other.output.contains("started by exit of depot") }, "\(other.output)")
    #expect(!other.output.contains("enter"))
    for child in [program, other] { _ = child.terminate() }
    #expect(agent.child.terminate() == 0)
  }
}
