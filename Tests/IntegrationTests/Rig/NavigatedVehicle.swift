import Foundation
import JSON
import Telemetry
import TestSupport

/// The built agent with the accelerometer and gyroscope of the rig's kernel, a live gpsd and a broker. It runs on the host and reads the
/// guest's iiod: an unoptimized, emulated agent could not keep up on a busy machine. With the vehicle's bus it runs in the guest, as the
/// release build.
final class NavigatedVehicle {
  private let rig: RigFixture
  private let broker: BrokerFixture
  private let directory: TemporaryDirectory
  /// A folder in a memory file system: the agent writes the state that survives a kill every second, next to the control socket.
  private let memory = "/dev/shm/odograph-rig-\(UUID().uuidString)"
  private let isOnBus: Bool

  /// - Parameter isOnBus: True if the agent runs in the guest and reads `vcan0`.
  init(isOnBus: Bool = false) throws {
    self.isOnBus = isOnBus
    directory = try TemporaryDirectory()
    try FileManager.default.createDirectory(atPath: memory, withIntermediateDirectories: false)
    var overlay: String?
    if isOnBus {
      let root = directory.file("guest")
      try FileManager.default.createDirectory(
        atPath: "\(root)/usr/local/bin", withIntermediateDirectories: true)
      try FileManager.default.copyItem(
        atPath: ShippedAgent.path, toPath: "\(root)/usr/local/bin/odographd")
      overlay = root
    }
    rig = try RigFixture(overlay: overlay, create: "sensors=accel,gyro", lifetime: 7200)
    broker = try BrokerFixture()
  }

  deinit {
    do {
      try FileManager.default.removeItem(atPath: memory)
    } catch {
      print("\(memory) was not removed: \(error)")
    }
  }

  /// Runs the agent during a drive. The recording is played in real time.
  /// - Parameter killed: Second of the drive at which the agent is killed (SIGKILL) and restarted; nil: it is not killed.
  func drive(_ drive: PlayedDrive, tunnels: [Range<Int>], killed: Int? = nil) async throws -> NavigationRun {
    let receiver = try LiveReceiver(at: drive.epochs[0], language: .ubx)
    defer { receiver.stop() }
    // No samples before the recording: the orientation of the device at rest differs.
    try rig.command("idle off")
    let lines = directory.file(UUID().uuidString)
    let tail = try OdographProcess.start(
      ["tail", "--broker", "mqtt://127.0.0.1:\(broker.port)"], output: lines)
    defer { tail.terminate() }
    // The first line shows that the subscription is active.
    try await eventually {
      try await publish(broker, "odograph/v1/default/rig/motion", "{}")
      return try !OdographProcess.text(of: lines).isEmpty
    }
    // Loading a long recording needs several seconds on a busy machine.
    let second = Int(Self.now) + 10
    receiver.play(drive.epochs(tunnels: tunnels), from: second)
    try rig.play(drive.csv, at: Double(second))
    if isOnBus { try replayBus(drive, at: second) }
    try await Self.sleep(until: Double(second))
    var agent = try start(receiver)
    if let killed {
      try await Self.sleep(until: Double(second + killed))
      try agent.crash()
      agent = try start(receiver)
    }
    try await Self.sleep(until: Double(second) + drive.duration)
    let (status, log) = try agent.stop()
    guard status == 0 else {
      throw NavigatedVehicleError(text: "odographd did not end as it should: \(log)")
    }
    func messages() throws -> [PrintedMessage] {
      try OdographProcess.text(of: lines).split(separator: "\n").compactMap { PrintedMessage(line: $0) }
    }
    let deadline = Date(timeIntervalSinceNow: 60)
    try await eventually {
      try messages().last { $0.kind == "status" }?.payload["state"]?.string == "offline" || Date() > deadline
    }
    return NavigationRun(
      drive: drive, tunnels: tunnels, start: Double(second), messages: try messages(), log: log)
  }

  /// Plays the log synchronously with the drive, in the background.
  private func replayBus(_ drive: PlayedDrive, at second: Int) throws {
    try rig.put(drive.candump, at: "/tmp/bus.log")
    try rig.run("can-replay /tmp/bus.log at=\(second) as=vcan0 >/dev/null 2>&1 </dev/null &")
  }

  private func start(_ receiver: LiveReceiver) throws -> any NavigatingAgent {
    let settings = settings(receiver)
    guard isOnBus else {
      return try ChildProcess(
        BuiltProduct.path("odographd"), ["run"] + settings.flatMap { ["--set", $0] })
    }
    return try GuestAgent(
      rig.start(
        "mkdir -p -m 700 /tmp/agent; exec odographd run "
          + settings.map { "--set '\($0)'" }.joined(separator: " ")))
  }

  private func settings(_ receiver: LiveReceiver) -> [String] {
    let host = isOnBus ? "10.0.2.2" : "127.0.0.1"
    let own = [
      "vehicle.id=rig", "iio.barometer=off", "iio.magnetometer=off",
      "location.reporting=distance", "location.pauses_automatically=false", "attitude.filter=0",
      "status.interval=10", "gpsd.host=\(host)", "gpsd.port=\(receiver.port)",
      "mqtt.broker=mqtt://\(host):\(broker.port)", "mqtt.link=always",
    ]
    guard isOnBus else {
      return own + [
        "iio.contexts=\(rig.uri)", "store.path=\(directory.file("outbox.sqlite"))",
        "control.socket=\(memory)/control.socket",
      ]
    }
    return own + [
      "iio.contexts=local:", "can.interface=vcan0", "can.j1939=true", "store.path=/tmp/agent/outbox.sqlite",
      "control.socket=/tmp/agent/control.socket",
    ]
  }

  private static func sleep(until time: Double) async throws {
    try await Task.sleep(for: .seconds(max(0, time - now)))
  }

  private static var now: Double { Date().timeIntervalSince1970 }
}

/// The running agent: a process of the host or of the guest.
private protocol NavigatingAgent {
  /// Kills it (SIGKILL).
  func crash() throws
  /// Stops it like its unit does. Returns exit status and log.
  func stop() throws -> (status: Int, log: String)
}

extension ChildProcess: NavigatingAgent {
  fileprivate func crash() {
    kill()
  }

  fileprivate func stop() throws -> (status: Int, log: String) {
    (Int(terminate()), output)
  }
}

private final class GuestAgent: NavigatingAgent {
  private var program: RigProgram

  init(_ program: consuming RigProgram) { self.program = program }

  func crash() throws {
    try program.signal("KILL")
    _ = try program.waitForExit()
  }

  func stop() throws -> (status: Int, log: String) {
    try program.signal("TERM")
    let (status, output) = try program.waitForExit()
    return (status, output.joined(separator: "\n"))
  }
}

/// The release build of the agent, statically linked with the Swift runtime.
enum ShippedAgent {
  static let path = "\(ContractScript.repository)/.build-static/release/odographd"

  static let need = Need("the program that is shipped (Deploy/build-static.sh odographd)") {
    FileManager.default.isExecutableFile(atPath: path)
  }
}

struct NavigatedVehicleError: Error {
  var text: String
}
