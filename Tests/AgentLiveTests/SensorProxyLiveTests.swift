import Foundation
import SensorFixtures
import Sensors
import Spatial
import TestSupport
import Testing

/// Orientation and compass of a running agent on a separate system bus, with the policy file of the package.
@Suite(.serialized) struct SensorProxyLiveTests {
  private static let repository = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  /// A system bus that includes the policy file, for another user than the package's.
  private final class SystemBus {
    private let folder: TemporaryDirectory
    private(set) var daemon: ChildProcess?
    var address: String { "unix:path=\(folder.file("bus"))" }
    var environment: [String: String] { ["DBUS_SYSTEM_BUS_ADDRESS": address] }

    /// - Parameter owner: user who may own the name.
    init(owner: String) throws {
      folder = try TemporaryDirectory()
      let file = SensorProxyLiveTests.repository.appending(path: "Deploy/dbus/sensor-proxy.conf")
      let policy = try String(contentsOf: file, encoding: .utf8)
      #expect(policy.contains("<policy user=\"odographd\">"))
      let included = try folder.write(
        "policy.conf", policy.replacing("user=\"odographd\"", with: "user=\"\(owner)\""))
      // The defaults of the system bus: no user may own a name or call a method unless a policy allows it.
      let configuration = """
        <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN"
         "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
        <busconfig>
          <type>system</type>
          <listen>\(address)</listen>
          <auth>EXTERNAL</auth>
          <policy context="default">
            <allow user="*"/>
            <deny own="*"/>
            <deny send_type="method_call"/>
            <allow send_type="signal"/>
            <allow send_requested_reply="true" send_type="method_return"/>
            <allow send_requested_reply="true" send_type="error"/>
            <allow receive_type="method_call"/>
            <allow receive_type="method_return"/>
            <allow receive_type="error"/>
            <allow receive_type="signal"/>
            <allow send_destination="org.freedesktop.DBus"/>
          </policy>
          <include>\(included)</include>
        </busconfig>
        """
      _ = try folder.write("system.conf", configuration)
      try start()
    }

    func start() throws {
      let daemon = try ChildProcess(
        "dbus-daemon", ["--nofork", "--print-address", "--config-file=\(folder.file("system.conf"))"])
      self.daemon = daemon
      #expect(waitUntil { daemon.output.contains("unix:path") || !daemon.isRunning }, "\(daemon.output)")
    }

    func stop() { daemon?.kill() }
  }

  private static var user: String { getpwuid(geteuid()).map { String(cString: $0.pointee.pw_name) } ?? "" }

  /// Settings of an agent that does not itself require an inertial sensor.
  private static let quiet = [
    "location.enabled": "false", "motion.events": "", "heading.enabled": "false", "attitude.enabled": "false",
    "altitude.enabled": "false",
    "navigation.enabled": "false", "events.kinds": "", "trips.enabled": "false",
    "mqtt.broker": "mqtt://127.0.0.1:1",
    "sensor_proxy.enabled": "true", "heading.interval": "10", "heading.filter": "5", "attitude.filter": "5",
    "location.reporting": "bounded",
  ]

  /// The device is upright and is turned by 90° every 4 s.
  private static func turning(_ time: Double) -> EmulatedIIOD.Reading {
    var reading = EmulatedIIOD.Reading()
    let edges = [Vector3(0, 9.8, 0), Vector3(-9.8, 0, 0), Vector3(0, -9.8, 0), Vector3(9.8, 0, 0)]
    reading.specificForce = edges[Int(max(0, time) / 4) % 4]
    return reading
  }

  /// `monitor-sensor` powers the accelerometer while it runs. After a restart of the bus, the agent reconnects.
  @Test(.timeLimit(.minutes(5)), .needs(.gpsd)) func monitorSensorPowersTheAccelerometer() throws {
    let bus = try SystemBus(owner: Self.user)
    let vehicle = try LiveVehicle()
    vehicle.sensors.play(Self.turning)
    let directory = try TemporaryDirectory()
    let control = directory.file("control")
    let agent = try AgentProcess(
      vehicle.settings.merging(Self.quiet) { $1 }.merging(["control.socket": control]) { $1 }, print: true,
      environment: bus.environment)
    #expect(waitUntil { agent.log.contains("event=local.listening") }, "\(agent.log)")
    #expect(waitUntil { !agent.messages.isEmpty }, "\(agent.log)")
    #expect(vehicle.sensors.captures.allSatisfy { !$0.isOpen })
    for _ in 0..<2 {
      let monitor = try ChildProcess("stdbuf", ["-oL", "monitor-sensor"], environment: bus.environment)
      #expect(
        waitUntil { monitor.output.contains("=== Has accelerometer") }, "\(monitor.output) \(agent.log)")
      for edge in ["normal", "right-up", "bottom-up", "left-up"] {
        #expect(
          waitUntil(atMost: 90) { monitor.output.contains("orientation changed: \(edge)") },
          "\(monitor.output) \(agent.log)")
      }
      #expect(vehicle.sensors.captures.contains { $0.isOpen && $0.kinds.contains(.accelerometer) })
      let status = try ChildProcess(BuiltProduct.path("odographd"), ["status", "--socket", control])
      #expect(status.waitForExit() == 0)
      #expect(status.output.contains("D-Bus: accelerometer claimed by 1"), "\(status.output)")
      monitor.kill()
      #expect(waitUntil(atMost: 90) { vehicle.sensors.captures.allSatisfy { !$0.isOpen } }, "\(agent.log)")
      bus.stop()
      #expect(waitUntil { agent.log.contains("event=local.unavailable") }, "\(agent.log)")
      let before = agent.log.components(separatedBy: "event=local.listening").count
      try bus.start()
      #expect(
        waitUntil { agent.log.components(separatedBy: "event=local.listening").count > before },
        "\(agent.log)")
    }
    #expect(agent.child.terminate() == 0)
    bus.stop()
  }

  /// Other users cannot own the name. The agent runs without the service, and `check` explains how to fix it.
  @Test(.timeLimit(.minutes(5))) func checkReportsAMissingPolicy() throws {
    let bus = try SystemBus(owner: "nobody")
    let settings = [
      "vehicle.id=v", "sensor_proxy.enabled=true", "gpsd.enabled=false", "iio.enabled=false",
      "mqtt.broker=mqtt://127.0.0.1:1",
    ].flatMap { ["--set", $0] }
    func check(_ environment: [String: String]) throws -> String {
      let child = try ChildProcess(
        BuiltProduct.path("odographd"), ["check"] + settings, environment: environment)
      child.waitForExit()
      return child.output.split(separator: "\n").filter { $0.contains("sensor_proxy") }.joined()
    }
    let denied = try check(bus.environment)
    #expect(
      denied.contains("permission denied; the policy of the bus does not allow this user to own the name")
        && denied.contains("install /usr/share/odographd/sensor-proxy.conf"), "\(denied)")
    let missing = try check(["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent"])
    #expect(missing.contains("no bus is running"), "\(missing)")
    let allowed = try SystemBus(owner: Self.user)
    let free = try check(allowed.environment)
    #expect(free.contains("D-Bus net.hadess.SensorProxy: orientation and compass"), "\(free)")
    bus.stop()
    allowed.stop()
  }

  /// The commands in `Config/local.md` print orientations.
  @Test(.timeLimit(.minutes(5))) func commandsOfThePagePrintOrientations() throws {
    let page = try String(contentsOf: Self.repository.appending(path: "Config/local.md"), encoding: .utf8)
    let blocks = page.components(separatedBy: "```sh dbus\n").dropFirst().compactMap {
      $0.components(separatedBy: "```").first
    }
    #expect(blocks.count == 1)
    let folder = try TemporaryDirectory()
    for block in blocks {
      let commands = block.replacing("/tmp/sensor-bus", with: folder.file("bus"))
        .replacing("simulation.jsonl", with: folder.file("lines"))
        .replacing("odographd", with: BuiltProduct.path("odographd"))
        // A program that starts before the bus does not wait for it.
        .replacing("&\nexport", with: "&\nwhile ! [ -S \(folder.file("bus")) ]; do :; done\nexport")
        .replacing("monitor-sensor", with: "stdbuf -oL monitor-sensor")
      let child = try ChildProcess("bash", ["-c", commands])
      #expect(
        waitUntil(atMost: 90) { child.output.contains("=== Has accelerometer (orientation: ") },
        "\(child.output)")
      child.kill()
    }
  }
}
