import Foundation
import JSON
import Telemetry
import TestSupport

/// The built agent on the accelerometer and the gyroscope of the rig's kernel, with a live gpsd and a broker. It runs on the host and
/// reads the guest's iiod: unoptimized and emulated it would fall behind on a machine that others use too.
final class NavigatedVehicle {
  private let rig: RigFixture
  private let broker: BrokerFixture
  private let directory: TemporaryDirectory
  /// In memory: what must survive a kill is kept there each second, beside the control socket.
  private let memory = "/dev/shm/odograph-rig-\(UUID().uuidString)"

  init() throws {
    directory = try TemporaryDirectory()
    try FileManager.default.createDirectory(atPath: memory, withIntermediateDirectories: false)
    rig = try RigFixture(create: "sensors=accel,gyro", lifetime: 7200)
    broker = try BrokerFixture()
  }

  deinit {
    do {
      try FileManager.default.removeItem(atPath: memory)
    } catch {
      print("\(memory) was not removed: \(error)")
    }
  }

  /// Drives; nothing here waits for a speed of the machine but the recording itself, which plays in real time.
  /// - Parameter killed: the second at which the agent is killed (SIGKILL) and started again; nil for a quiet life.
  func drive(_ drive: PlayedDrive, tunnels: [Range<Int>], killed: Int? = nil) async throws -> NavigationRun {
    let receiver = try LiveReceiver(at: drive.epochs[0], language: .ubx)
    defer { receiver.stop() }
    // Before the recording there is nothing to hear: the device lies otherwise there.
    try rig.command("idle off")
    let lines = directory.file(UUID().uuidString)
    let tail = try OdographProcess.start(
      ["tail", "--broker", "mqtt://127.0.0.1:\(broker.port)"], output: lines)
    defer { tail.terminate() }
    // The first line proves that the subscription stands.
    try await eventually {
      try await publish(broker, "odograph/v1/default/rig/motion", "{}")
      return try !OdographProcess.text(of: lines).isEmpty
    }
    // Loading a long recording takes a machine under load some seconds.
    let second = Int(Self.now) + 10
    receiver.play(drive.epochs(tunnels: tunnels), from: second)
    try rig.play(drive.csv, at: Double(second))
    try await Self.sleep(until: Double(second))
    var agent = try start(receiver)
    if let killed {
      try await Self.sleep(until: Double(second + killed))
      agent.kill()
      agent = try start(receiver)
    }
    try await Self.sleep(until: Double(second) + drive.duration)
    guard agent.terminate() == 0 else {
      throw NavigatedVehicleError(text: "odographd did not end as it should: \(agent.output)")
    }
    func messages() throws -> [PrintedMessage] {
      try OdographProcess.text(of: lines).split(separator: "\n").compactMap { PrintedMessage(line: $0) }
    }
    let deadline = Date(timeIntervalSinceNow: 60)
    try await eventually {
      try messages().last { $0.kind == "status" }?.payload["state"]?.string == "offline" || Date() > deadline
    }
    return NavigationRun(
      drive: drive, tunnels: tunnels, start: Double(second), messages: try messages(), log: agent.output)
  }

  private func start(_ receiver: LiveReceiver) throws -> ChildProcess {
    try ChildProcess(
      BuiltProduct.path("odographd"), ["run"] + settings(receiver).flatMap { ["--set", $0] })
  }

  private func settings(_ receiver: LiveReceiver) -> [String] {
    [
      "vehicle.id=rig", "iio.contexts=\(rig.uri)", "iio.barometer=off", "iio.magnetometer=off",
      "location.reporting=distance", "location.pauses_automatically=false", "attitude.enabled=true",
      "status.interval=10", "gpsd.port=\(receiver.port)", "mqtt.broker=mqtt://127.0.0.1:\(broker.port)",
      "mqtt.link=always", "store.path=\(directory.file("outbox.sqlite"))",
      "control.socket=\(memory)/control.socket",
    ]
  }

  private static func sleep(until time: Double) async throws {
    try await Task.sleep(for: .seconds(max(0, time - now)))
  }

  private static var now: Double { Date().timeIntervalSince1970 }
}

struct NavigatedVehicleError: Error {
  var text: String
}
