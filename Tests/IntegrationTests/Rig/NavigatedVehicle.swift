import Foundation
import JSON
import Telemetry
import TestSupport

/// The built agent on the accelerometer and the gyroscope of the rig's kernel, with a live gpsd and a broker. It runs on the host and
/// reads the guest's iiod: unoptimized and emulated it would fall behind on a machine that others use too. On the vehicle's bus it
/// runs in the guest, where the bus is, as it is shipped.
final class NavigatedVehicle {
  private let rig: RigFixture
  private let broker: BrokerFixture
  private let directory: TemporaryDirectory
  /// In memory: what must survive a kill is kept there each second, beside the control socket.
  private let memory = "/dev/shm/odograph-rig-\(UUID().uuidString)"
  private let isOnBus: Bool

  /// - Parameter isOnBus: whether the agent runs in the guest and reads `vcan0`.
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

  /// The log plays to the drive's clock; nobody waits for its end.
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

/// The agent where it runs: a process of the host, or of the guest.
private protocol NavigatingAgent {
  /// Ends it at once, without a word.
  func crash() throws
  /// Ends it as its unit does. Returns its exit status and its log.
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

/// The agent as it is shipped: small, and with its Swift runtime in it.
enum ShippedAgent {
  static let path = "\(ContractScript.repository)/.build-static/release/odographd"

  static let need = Need("the program that is shipped (Deploy/build-static.sh odographd)") {
    FileManager.default.isExecutableFile(atPath: path)
  }
}

struct NavigatedVehicleError: Error {
  var text: String
}
