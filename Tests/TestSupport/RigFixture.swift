internal import Foundation
internal import Platform

/// The virtual machine with simulated IIO hardware (Tests/SensorRig) on free loopback ports. It stops when the object is released, when the
/// test runner exits, or after `lifetime`, whichever is first.
public final class RigFixture: Sendable {
  /// Port of its iiod.
  public let port: Int
  private let control: Int
  private let processID: String

  /// libiio URI of its sensors.
  public var uri: String { "ip:127.0.0.1:\(port)" }

  /// Boots the machine and waits until iiod and the control protocol respond.
  ///
  /// - Parameters:
  ///   - overlay: a directory that is copied into the guest's root, with the libraries of its programs.
  ///   - create: options of the emulated hub, such as "sensors=accel,gyro"; nil for a hub with all sensors but pressure.
  ///   - lifetime: seconds after which the machine stops in any case.
  /// - Throws: `RigError` with the rig's output if it does not start.
  public init(overlay: String? = nil, create: String? = nil, lifetime: Int = 1800) throws {
    port = try FreePort.next()
    control = try FreePort.next()
    let arguments = [
      "start", "--port", "\(port)", "--control", "\(control)", "--watch", "\(getpid())",
      "--lifetime", "\(lifetime)",
    ]
    let start = try ChildProcess(
      Self.script,
      arguments + (overlay.map { ["--overlay", $0] } ?? []) + (create.map { ["--create", $0] } ?? []))
    let status = start.waitForExit()
    let answer = start.output
    guard status == 0,
      let id = answer.split(whereSeparator: \.isWhitespace).first(where: { $0.hasPrefix("pid=") })
    else { throw RigError("rig.sh start ended with status \(status): \(answer)") }
    processID = String(id.dropFirst(4))
  }

  deinit { stop() }

  /// Stops the machine.
  public func stop() {
    do {
      try ChildProcess(Self.script, ["stop", processID]).waitForExit()
    } catch {
      print("the sensor rig \(processID) was not stopped: \(error)")
    }
  }

  private static let script = "\(ContractScript.repository)/Tests/SensorRig/rig.sh"

  /// Sends a command of the protocol; returns the lines of the response.
  @discardableResult
  public func command(_ text: String) throws -> [String] {
    var connection = try RigConnection(port: control)
    return try connection.command(text)
  }

  /// Loads a recording in CSV and plays it; the first row is sent after `delay` seconds.
  public func play(_ csv: String, delay: Double = 0.5) throws {
    var connection = try RigConnection(port: control)
    _ = try connection.command("load", Array("\(csv)\n.\n".utf8))
    _ = try connection.command("play delay=\(delay)")
  }

  /// Loads a recording in CSV and plays it; the first row is sent at `moment` (UTC seconds), which must be later than loading ends.
  public func play(_ csv: String, at moment: Double) throws {
    var connection = try RigConnection(port: control)
    _ = try connection.command("load", Array("\(csv)\n.\n".utf8))
    _ = try connection.command("play at=\(moment)")
  }

  /// True while a recording is playing.
  public var isPlaying: Bool {
    get throws { try status("source").contains { $0["state"] != "idle" } }
  }

  /// The current power state of each sensor, such as ["accel": "full"].
  public var power: [String: String] {
    get throws {
      try status("sensor").reduce(into: [:]) { power, sensor in
        if let name = sensor["name"] { power[name] = sensor["power"] }
      }
    }
  }

  /// Power requests of the kernel to the sensors, oldest first, such as "1795… accel power=full interval=10 …".
  public var powerLog: [String] {
    get throws { try command("log").filter { $0.contains(" power=") } }
  }

  /// Writes an executable file to the guest.
  public func put(_ bytes: [UInt8], at path: String) throws {
    var connection = try RigConnection(port: control)
    _ = try connection.command("put \(path) 755 \(bytes.count)", bytes)
  }

  /// Writes a text file to the guest.
  public func put(_ text: String, at path: String) throws { try put(Array(text.utf8), at: path) }

  /// Starts a shell command in the guest.
  public func start(_ command: String) throws -> RigProgram {
    try RigProgram(command, connection: RigConnection(port: control))
  }

  /// Runs a shell command in the guest and waits until it has exited.
  @discardableResult
  public func run(_ command: String) throws -> (status: Int, output: [String]) {
    var program = try start(command)
    return try program.waitForExit()
  }

  private func status(_ subject: String) throws -> [[String: String]] {
    try command("status").compactMap { line in
      let words = line.split(separator: " ")
      guard words.first.map(String.init) == subject else { return nil }
      return words.dropFirst().reduce(into: [:]) { pairs, word in
        let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
        if parts.count == 2 { pairs[parts[0]] = parts[1] }
      }
    }
  }
}
