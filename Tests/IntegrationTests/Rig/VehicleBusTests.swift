import Foundation
import Sensors
import SensorsIIO
import TestSupport
import Testing

/// Further devices of the guest: a CAN bus with an engine control unit and a log player, and an air pressure sensor. The tests use
/// can-utils as the other node of the bus.
extension SensorRigTests {
  /// A guest with can-utils and a sensor hub without a magnetometer.
  private static func guest(_ overlay: TemporaryDirectory, sensors: String) throws -> RigFixture {
    let folder = overlay.file("usr/local/bin")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    for program in ["candump", "cansend", "isotpsend", "isotprecv"] {
      let path = try #require(ChildProcess.find(program))
      try FileManager.default.copyItem(atPath: path, toPath: "\(folder)/\(program)")
    }
    return try RigFixture(overlay: overlay.path, create: "sensors=\(sensors)")
  }

  @Test(.timeLimit(.minutes(4))) func engineAnswersOnTheBus() async throws {
    let overlay = try TemporaryDirectory()
    let rig = try Self.guest(overlay, sensors: "accel,gyro")
    // 36 km/h, 800/min, 14.08 V, no fuel gauge.
    try rig.put("0,36,800,14.08,\n", at: "/tmp/engine.csv")
    var engine = try rig.start("exec can-obd vcan0 /tmp/engine.csv")
    let heard = try rig.run(
      """
      candump -L vcan0 >/tmp/bus & dump=$!; isotprecv -s 7E0 -d 7E8 vcan0 >/tmp/vin & usleep 500000;
      for request in 0201000000000000 0201200000000000 02010D0000000000 04010C422F000000; do
      cansend vcan0 7DF#$request; usleep 200000; done; cansend vcan0 7E0#0201FF; usleep 200000;
      echo 09 02 | isotpsend -s 7E0 -d 7E8 vcan0; sleep 1; kill $dump; cat /tmp/bus /tmp/vin
      """.replacing("\n", with: " "))
    // The ignition is off: the control unit does not respond.
    try rig.put("0,,,,\n", at: "/tmp/engine.csv")
    try engine.signal("HUP")
    let asleep = try rig.run(
      "candump -L vcan0 >/tmp/bus & dump=$!; usleep 500000; cansend vcan0 7DF#02010D0000000000; sleep 1; kill $dump; cat /tmp/bus"
    )
    try engine.signal("TERM")
    let asked = try engine.waitForExit().output

    let frames = heard.output.compactMap { $0.split(separator: " ").last.map(String.init) }
    for answer in [
      // 0C, 0D and others; 42 is in the list after the next.
      "7E8#06410000180001CC", "7E8#06412000000001CC", "7E8#03410D24CCCCCCCC",
      "7E8#07410C0C80423700",
      // Not supported.
      "7E8#037F0112CCCCCCCC",
      // The vehicle identification number in three frames.
      "7E8#1014490201575657", "7E8#215A5A5A314B5A41", "7E8#2257303030303031",
    ] {
      #expect(frames.contains(answer), "\(answer): \(heard.output)")
    }
    #expect(asleep.output.count == 1, "\(asleep.output)")
    #expect(
      asked.filter { $0.contains(" 7DF ") }.count == 5 && asked.contains { $0.hasSuffix("7E0 09 02") },
      "\(asked)")
  }

  @Test(.timeLimit(.minutes(4))) func busLogIsReplayed() async throws {
    let overlay = try TemporaryDirectory()
    let rig = try Self.guest(overlay, sensors: "accel,gyro")
    try rig.put(
      "(100.5) can0 123#DEADBEEF\n(100.7) can0 18FEF100#0102030405060708\n(101.0) can0 7FF#R\n",
      at: "/tmp/log")
    let heard = try rig.run(
      "candump -L -T 3000 vcan0 & usleep 500000; can-replay /tmp/log as=vcan0 >/dev/null; wait")
    let words = heard.output.map { $0.split(separator: " ").map(String.init) }
    #expect(words.map(\.last) == ["123#DEADBEEF", "18FEF100#0102030405060708", "7FF#R"], "\(heard.output)")
    #expect(try rig.run("can-replay /tmp/log").output == ["can-replay: no interface can0"])
    try rig.put("(100.5) vcan0 123#DEADBEE\n", at: "/tmp/log")
    let refused = try rig.run("can-replay /tmp/log")
    #expect(refused.status == 1 && refused.output.first?.contains("line 1") == true, "\(refused.output)")
  }

  /// Pressure of the kernel's `press` device through driver, buffer and iiod; the hub has no magnetometer.
  @Test(.timeLimit(.minutes(4))) func pressureFromAKernelDevice() async throws {
    let overlay = try TemporaryDirectory()
    let rig = try Self.guest(overlay, sensors: "accel,gyro,pressure")
    try rig.command("idle on pressure=98765.4")
    let recorder = EventRecorder()
    let source = try IIOSource(IIOConfiguration(uri: rig.uri))
    source.setDemand(.rate(hertz: 10, latency: .milliseconds(200)), for: .barometer)
    try source.start { recorder.receive($0) }
    defer { source.stop() }
    try await eventually { recorder.barometer.count > 20 }
    try rig.command("idle pressure=98000")
    try await eventually { recorder.barometer.last?.pressure ?? 0 < 98_500 }
    source.stop()
    let told = recorder.barometer
    #expect(told.allSatisfy { abs($0.pressure - 98_765.4) < 0.01 || abs($0.pressure - 98_000) < 0.01 })
    #expect(zip(told, told.dropFirst()).allSatisfy { $0.timestamp < $1.timestamp })
    #expect(try rig.power["magn"] == nil)
    try await eventually { try rig.power.values.allSatisfy { $0 == "off" } }
  }
}
