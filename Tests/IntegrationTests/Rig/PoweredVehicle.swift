import Foundation
import JSON
import Positioning
import Telemetry
import TestSupport

/// The built agent inside the rig's guest at an accuracy of 100 m, with the rig's sensors, a live gpsd on the host and a broker.
final class PoweredVehicle {
  private let rig: RigFixture
  private let receiver: LiveReceiver
  private let broker: BrokerFixture
  private let overlay: TemporaryDirectory
  private let directory: TemporaryDirectory

  /// Position of the parked vehicle.
  private static let place = LiveReceiver.Epoch(latitude: 40.0966, longitude: -105.1474, speed: 0, course: 0)
  /// Seconds after the start during which the agent searches its first position and checks all sensors.
  static let settling = 25.0

  init() throws {
    overlay = try TemporaryDirectory()
    directory = try TemporaryDirectory()
    let folder = overlay.file("usr/local/bin")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try FileManager.default.copyItem(atPath: BuiltProduct.path("odographd"), toPath: folder + "/odographd")
    rig = try RigFixture(overlay: overlay.path)
    receiver = try LiveReceiver(at: Self.place)
    broker = try BrokerFixture()
  }

  /// Runs the agent for `seconds` s, with sensors at rest or with a recording, and stops it.
  func run(_ name: String, seconds: Double, recording: DriveRecording?) async throws -> PowerRun {
    if try rig.isPlaying { try rig.command("stop") }
    try await eventually { try rig.power.values.allSatisfy { $0 == "off" } }
    // At rest, with sensor noise.
    try rig.command("idle on")
    let lines = directory.file(name)
    let tail = try OdographProcess.start(
      ["tail", "--broker", "mqtt://127.0.0.1:\(broker.port)"], output: lines)
    defer { tail.terminate() }
    // The first line shows that the subscription is active.
    try await eventually {
      try await publish(broker, "odograph/v1/default/rig/motion", "{}")
      return try !OdographProcess.text(of: lines).isEmpty
    }

    let second = Int(Self.now) + 3
    if let recording {
      receiver.play(recording.epochs, from: second)
      try rig.play(recording.csv, delay: Double(second) - Self.now)
    }
    try await Self.sleep(until: Double(second))
    let begin = Self.now
    var agent = try rig.start("exec odographd run " + settings.map { "--set '\($0)'" }.joined(separator: " "))
    try await Self.sleep(until: begin + Self.settling)
    let (settled, wokenBefore) = (Self.now, try wakeups())
    try await Self.sleep(until: begin + seconds)
    let (woken, end) = (try wakeups(), Self.now)
    try agent.signal("TERM")
    let (status, output) = try agent.waitForExit()
    guard status == 0 else { throw PowerRunError(text: "odographd ended with \(status): \(output)") }

    func messages() throws -> [PrintedMessage] {
      try OdographProcess.text(of: lines).split(separator: "\n").compactMap { PrintedMessage(line: $0) }
    }
    let deadline = Date(timeIntervalSinceNow: 60)
    try await eventually {
      try messages().last { $0.kind == "status" }?.payload["state"]?.string == "offline" || Date() > deadline
    }
    let power = RigPowerLog(try rig.powerLog)
    var run = PowerRun(name: name, messages: try messages(), start: Double(second))
    run.whole = PowerRun.Shares(receiver, power, from: begin, to: end)
    run.afterSettling = PowerRun.Shares(receiver, power, from: settled, to: end)
    run.wakeupsPerSecond = Double(woken - wokenBefore) / (end - settled)
    print("power in the rig, \(run)")
    return run
  }

  private var settings: [String] {
    [
      "vehicle.id=rig", "iio.contexts=local:", "iio.barometer=off", "location.desired_accuracy=hundredMeters",
      "location.reporting=distance", "attitude.filter=0", "heading.interval=1", "heading.filter=1",
      "status.interval=60",
      "gpsd.host=10.0.2.2", "gpsd.port=\(receiver.port)",
      // The host's loopback address in a QEMU guest.
      "mqtt.broker=mqtt://10.0.2.2:\(broker.port)", "store.path=/tmp/outbox.sqlite",
      // A rate that a shared, emulated processor can handle.
      "iio.rate=25",
      // The HID drivers keep sensors on for 3 s, which the kernel rounds up to whole seconds of its clock.
      "energy.sensor_linger=3.5",
    ]
  }

  /// Number of voluntary context switches of the agent's threads since its start.
  private func wakeups() throws -> Int {
    let result = try rig.run(
      "for p in /proc/[0-9]*; do case $(cat $p/comm) in odographd) cat $p/task/*/status;; esac; done 2>/dev/null"
    )
    return result.output.filter { $0.hasPrefix("voluntary_ctxt_switches:") }.reduce(0) { sum, line in
      sum + (line.split(whereSeparator: \.isWhitespace).last.flatMap { Int($0) } ?? 0)
    }
  }

  private static func sleep(until time: Double) async throws {
    try await Task.sleep(for: .seconds(max(0, time - now)))
  }

  private static var now: Double { Date().timeIntervalSince1970 }
}

struct PowerRunError: Error {
  var text: String
}
