import Foundation
import TestSupport
import Testing

/// The built `odographd` on the guest's CAN bus: the kernel's SocketCAN with filters and time stamps, a log of a truck, and an engine
/// control unit.
extension SensorRigTests {
  private static func guestWithAgent(_ overlay: TemporaryDirectory) throws -> RigFixture {
    let folder = overlay.file("usr/local/bin")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try FileManager.default.copyItem(atPath: BuiltProduct.path("odographd"), toPath: folder + "/odographd")
    return try RigFixture(overlay: overlay.path)
  }

  private static func agent(_ settings: String...) -> String {
    let all = [
      "vehicle.id=rig", "gpsd.enabled=false", "iio.enabled=false", "can.interface=vcan0", "can.interval=2",
    ]
    return "odographd run --print " + (all + settings).map { "--set '\($0)'" }.joined(separator: " ")
  }

  private static func signals(_ lines: [String]) -> [[String: [String: Any]]] {
    Message.parse(lines.joined(separator: "\n") + "\n").filter { $0.kind == "vehicle" }
      .compactMap { $0.payload["signals"] as? [String: [String: Any]] }
  }

  /// J1939 of a log through the kernel's filters; the interface goes down and up again.
  @Test(.timeLimit(.minutes(4))) func agentReadsJ1939() async throws {
    let overlay = try TemporaryDirectory()
    let rig = try Self.guestWithAgent(overlay)
    var log = ""
    for tick in 0..<400 {
      let time = "\(100 + tick / 10).\(tick % 10)00000"
      log += "(\(time)) can0 18FEF100#FF0032FFFFFFFFFF\n(\(time)) can0 123#1122334455667788\n"
    }
    try rig.put(Array(log.utf8), at: "/tmp/truck.log")
    let heard = try rig.run(
      "(can-replay /tmp/truck.log as=vcan0 & sleep 8; ip link set vcan0 down; sleep 1; ip link set vcan0 up; "
        + "can-replay /tmp/truck.log as=vcan0) >/dev/null 2>&1 & "
        + "timeout 20 \(Self.agent("can.j1939=true")) 2>/tmp/log; cat /tmp/log")
    let told = Self.signals(heard.output)
    #expect(told.count >= 4, "\(heard.output)")
    #expect(told.last?["Vehicle.Speed"]?["value"] as? Double == 50)
    let sources = heard.output.filter { $0.contains("source=can:vcan0") }
    #expect(sources.count { $0.contains("source active") } == 2, "\(sources)")
    #expect(
      sources.count { $0.contains("is down") && $0.contains("ip link set vcan0 up") } == 1, "\(sources)")
    let listing = try rig.run(
      "can-replay /tmp/truck.log as=vcan0 >/dev/null & odographd sensors --set vehicle.id=v --set gpsd.enabled=false "
        + "--set iio.enabled=false; kill $!")
    #expect(
      listing.output.contains { $0.contains("can vcan0") && $0.contains("SAE J1939") }, "\(listing.output)")
  }

  /// OBD-II: a silent bus is not queried. Once the voltage shows a running alternator, all signals are queried, including a multi-frame
  /// response.
  @Test(.timeLimit(.minutes(4))) func agentQueriesARunningEngine() async throws {
    let overlay = try TemporaryDirectory()
    let rig = try Self.guestWithAgent(overlay)
    try rig.put(Array("0,36,800,14.08,50\n".utf8), at: "/tmp/engine.csv")
    let paths = "can.signals=Vehicle.Speed,Vehicle.LowVoltageSystemState,Vehicle.VehicleIdentification.VIN"
    let heard = try rig.run(
      "can-obd vcan0 /tmp/engine.csv >/tmp/asked & engine=$!; "
        + "timeout 10 \(Self.agent("can.obd=11-bit", paths)) >/dev/null 2>&1; echo asked $(grep -c . /tmp/asked); "
        + "echo 14100 >/tmp/mv; timeout 14 \(Self.agent("can.obd=11-bit", "can.voltage_path=/tmp/mv", paths)) 2>/dev/null; "
        + "kill $engine")
    #expect(heard.output.contains("asked 0"), "\(heard.output)")
    let last = try #require(Self.signals(heard.output).last, "\(heard.output)")
    #expect(last["Vehicle.Speed"]?["value"] as? Double == 36)
    #expect(last["Vehicle.LowVoltageSystemState"]?["value"] as? String == "ON")
    #expect((last["Vehicle.VehicleIdentification.VIN"]?["value"] as? String)?.count == 17)
  }
}
