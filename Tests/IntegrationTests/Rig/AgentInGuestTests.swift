import Foundation
import JSON
import Telemetry
import TestSupport
import Testing

/// The built `odographd` inside the rig's guest with its local sensors, as in a vehicle.
extension SensorRigTests {
  /// As root, and as started by its unit: a user without capabilities, whose access to the sensors is granted by the udev rules.
  @Test(.timeLimit(.minutes(8)), arguments: [false, true])
  func agentWithLocalDevicesPublishesToABroker(unprivileged: Bool) async throws {
    let overlay = try TemporaryDirectory()
    let folder = overlay.file("usr/local/bin")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try FileManager.default.copyItem(atPath: BuiltProduct.path("odographd"), toPath: folder + "/odographd")
    var launcher = "exec"
    if unprivileged {
      let rules = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Deploy/udev/iio-access")
      try FileManager.default.copyItem(atPath: rules.path, toPath: folder + "/iio-access")
      try FileManager.default.copyItem(atPath: "/usr/bin/setpriv", toPath: folder + "/setpriv")
      // With the full path: the guest's shell has a less capable applet of this name.
      launcher = """
        for device in /sys/bus/iio/devices/*; do iio-access "$device" 900 || exit 1; done
        chgrp 900 /dev/iio:device*; chmod 0660 /dev/iio:device*
        mkdir -p /tmp/agent; chown 900 /tmp/agent; chmod 0700 /tmp/agent
        exec /usr/local/bin/setpriv --reuid 900 --regid 900 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all
        """.split(separator: "\n").joined(separator: "; ")
    }
    let rig = try RigFixture(overlay: overlay.path)
    try rig.command("idle on")
    let broker = try BrokerFixture()
    let directory = try TemporaryDirectory()
    let lines = directory.file("lines")
    let tail = try OdographProcess.start(
      ["tail", "--broker", "mqtt://127.0.0.1:\(broker.port)"], output: lines)
    func messages() throws -> [PrintedMessage] {
      try OdographProcess.text(of: lines).split(separator: "\n").compactMap { PrintedMessage(line: $0) }
    }
    try await eventually {
      try await publish(broker, "odograph/v1/default/rig/motion", "{}")
      return try !messages().isEmpty
    }

    let settings =
      RigAgent.settings(context: "local:") + [
        // The host's loopback address in a QEMU guest.
        "mqtt.broker=mqtt://10.0.2.2:\(broker.port)",
        "store.path=/tmp/\(unprivileged ? "agent/" : "")outbox.sqlite",
      ]
    var agent = try rig.start(
      "\(launcher) odographd run " + settings.map { "--set '\($0)'" }.joined(separator: " "))
    let deadline = Date(timeIntervalSinceNow: 60)
    try await eventually {
      try messages().filter { $0.kind == "attitude" }.count > 10 || Date() > deadline
    }
    try agent.signal("TERM")
    let (status, output) = try agent.waitForExit()
    #expect(status == 0, "\(output)")
    try await eventually {
      try messages().last { $0.kind == "status" }?.payload["state"]?.string == "offline" || Date() > deadline
    }
    tail.terminate()
    let received = try messages()
    #expect(received.filter { $0.kind == "attitude" }.count > 10, "\(output)")
    #expect(received.contains { $0.kind == "heading" })
    let last = try #require(received.last { $0.kind == "status" }, "\(output)")
    // The agent's own farewell, not its will.
    #expect(last.payload["state"]?.string == "offline" && last.payload["will"] == nil, "\(output)")
    try await eventually { try rig.power.values.allSatisfy { $0 == "off" } }
    try expectPowerCycle(rig)
  }
}
