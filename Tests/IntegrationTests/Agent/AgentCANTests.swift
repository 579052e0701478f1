import Foundation
import TestSupport
import Testing

/// The agent with a recorded CAN log instead of a CAN interface.
@Suite(.timeLimit(.minutes(2))) struct AgentCANTests {
  private static let file = """
    BO_ 256 Engine: 8 E
     SG_ Speed : 7|16@0+ (0.01,0) [0|300] "km/h" E
     SG_ Ignition : 16|2@1+ (1,0) [0|3] "" E

    VAL_ 256 Ignition 0 "Off" 1 "Acc" 2 "On" ;
    """

  private static let signals =
    "can.signals=Vehicle.Speed = Engine.Speed,Vehicle.LowVoltageSystemState = Ignition,Vehicle.IsMoving,Vehicle.TraveledDistance"

  /// A log of 60 s: ignition on after 5 s, 50 km/h after 10 s, and the J1939 odometer once per second.
  private func log(_ directory: TemporaryDirectory) throws -> String {
    var lines = ""
    for tick in 0..<600 {
      let time = "\(1_795_248_000 + tick / 10).\(tick % 10)00000"
      let speed = tick < 100 ? 0 : 5000
      func byte(_ number: Int) -> String { String(format: "%02X", number & 0xFF) }
      lines += "(\(time)) can0 100#\(byte(speed >> 8))\(byte(speed))\(tick < 50 ? "00" : "02")0000000000\n"
      if tick % 10 == 0 {
        let distance = 200_000 + tick
        lines +=
          "(\(time)) can0 18FEC1EE#\(byte(distance))\(byte(distance >> 8))\(byte(distance >> 16))00FFFFFFFF\n"
      }
    }
    return try directory.write("drive.candump", lines)
  }

  private func run(_ command: String, _ settings: [String]) throws -> (status: Int32, text: String) {
    let child = try ChildProcess(
      BuiltProduct.path("odographd"), [command] + settings.flatMap { ["--set", $0] })
    let status = child.waitForExit()
    return (status, child.output)
  }

  @Test func logIsPublishedAsVehicleMessages() throws {
    let directory = try TemporaryDirectory()
    let agent = try AgentProcess(
      [
        "input.mode": "replay", "input.speed": "0", "replay.can": try log(directory),
        "can.dbc": try directory.write("v.dbc", Self.file), "can.j1939": "true", "can.interval": "10",
        "can.signals": String(Self.signals.dropFirst("can.signals=".count)),
      ], print: true)
    #expect(agent.child.waitForExit() == 0, "\(agent.log)")
    let told = agent.messages.filter { $0.kind == "vehicle" }.compactMap {
      $0.payload["signals"] as? [String: [String: Any]]
    }
    #expect((8...10).contains(told.count), "\(told.count)")
    #expect(told.first?["Vehicle.LowVoltageSystemState"]?["value"] as? String == "OFF")
    let last = try #require(told.last)
    #expect(last["Vehicle.Speed"]?["value"] as? Double == 50)
    #expect(last["Vehicle.LowVoltageSystemState"]?["value"] as? String == "ON")
    #expect(last["Vehicle.IsMoving"]?["value"] as? Bool == true)
    #expect(last["Vehicle.TraveledDistance"]?["value"] as? Double == 1002.95)
    // Time stamps are those of the log.
    #expect(last["Vehicle.Speed"]?["time"] as? String == "2026-11-21T08:00:59.900Z", "\(last)")
  }

  @Test func faultsAreReportedWithARemedy() throws {
    let directory = try TemporaryDirectory()
    let log = try log(directory)
    let good = try directory.write("v.dbc", Self.file)
    let broken = try directory.write("broken.dbc", Self.file.replacing("@0+", with: "@5+"))
    let damaged = try directory.write("damaged.candump", "(1.0) can0 100#0000000000000000\nnonsense\n")
    for (settings, says) in [
      (["replay.can=\(log)", "can.dbc=/nonexistent.dbc", Self.signals], "/nonexistent.dbc: cannot be read"),
      (
        ["replay.can=\(log)", "can.dbc=\(broken)", Self.signals],
        "broken.dbc:2: the byte order of signal Speed"
      ),
      (
        ["replay.can=\(log)", "can.dbc=\(good)", "can.signals=Vehicle.Speed = Velocity"],
        "has no signal Velocity"
      ),
      (["replay.can=\(log)", Self.signals], "set can.dbc"),
      (["replay.can=\(log)"], "set can.j1939 or can.obd"),
      (["replay.can=\(log)", "can.signals=Speed"], "key can.signals"),
      (["replay.can=\(log)", "can.speed=fast"], "key can.speed"),
      (["replay.can=\(log)", "can.interface=../x"], "key can.interface"),
      (["replay.can=\(log)", "can.voltage_path=/x"], "set can.obd"),
      (["replay.can=\(damaged)", "can.dbc=\(good)", Self.signals], "damaged.candump:2"),
      (["replay.can=/nonexistent", "can.j1939=true"], "/nonexistent: cannot be opened"),
    ] {
      let outcome = try run(
        "run",
        [
          "vehicle.id=v", "input.mode=replay", "input.speed=0", "mqtt.broker=mqtt://127.0.0.1:1",
          "store.path=\(directory.file("s"))",
        ] + settings)
      #expect(outcome.status != 0 && outcome.text.contains(says), "\(says): \(outcome)")
    }
  }

  /// A CAN interface that does not exist, or a kernel without CAN support.
  @Test func sensorsAndCheckReportAnUnreadableBus() throws {
    let off = [
      "vehicle.id=v", "gpsd.enabled=false", "iio.enabled=false", "can.interface=nocan0", "can.j1939=true",
    ]
    let listing = try run("sensors", off)
    #expect(listing.status == 0 && listing.text.contains("can nocan0"), "\(listing)")
    #expect(listing.text.contains("modprobe can-raw") || listing.text.contains("no such interface"))
    let check = try run("check", off + ["store.path=/tmp/x", "mqtt.broker=mqtt://127.0.0.1:1"])
    #expect(check.status == 2 && check.text.contains("problem  can nocan0"), "\(check)")
    #expect(check.text.contains("or leave can.interface out"))
    // No finding about CAN without a configured interface.
    let none = try run("sensors", ["vehicle.id=v", "gpsd.enabled=false", "iio.enabled=false"])
    #expect(!none.text.contains("nocan0"))
  }
}
