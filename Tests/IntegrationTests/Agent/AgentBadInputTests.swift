import Foundation
import TestSupport
import Testing

/// Invalid input ends the agent with a nonzero status and a message that names the location, never with a trap.
@Suite struct AgentBadInputTests {
  private struct Outcome {
    var status: Int32
    var text: String
  }

  private func run(_ arguments: [String]) throws -> Outcome {
    let child = try ChildProcess(BuiltProduct.path("odographd"), arguments)
    guard waitUntil(atMost: 60, { !child.isRunning }) else {
      child.kill()
      return Outcome(status: .min, text: "did not end: \(child.output)")
    }
    return Outcome(status: child.waitForExit(), text: child.output)
  }

  private func replay(_ kind: String, _ path: String) throws -> Outcome {
    try run([
      "run", "--print", "--set", "vehicle.id=v", "--set", "input.mode=replay", "--set", "input.speed=0",
      "--set",
      "\(kind)=\(path)",
    ])
  }

  @Test func configurations() throws {
    let directory = try TemporaryDirectory()
    let empty = try directory.write("empty.toml", "")
    let binary = directory.file("binary.toml")
    try Data((0..<4096).map { _ in UInt8.random(in: 0...255) } + [0]).write(to: URL(fileURLWithPath: binary))
    let huge = directory.file("huge.toml")
    _ = FileManager.default.createFile(atPath: huge, contents: nil)
    try FileHandle(forWritingTo: URL(fileURLWithPath: huge)).truncate(atOffset: 1 << 30)
    let wrong = try directory.write("wrong.toml", "[vehicle]\nid = \"v\"\n[gpsd]\nport = \"many\"\n")
    for (path, expected) in [
      (empty, "\(empty): is empty"), (binary, "\(binary): is not UTF-8 text"),
      (huge, "\(huge): is 1073741824 bytes"),
      ("/nonexistent.toml", "/nonexistent.toml: cannot be read: No such file"),
      (directory.path, "\(directory.path): is a directory"), (wrong, "\(wrong):4:8: key gpsd.port"),
    ] {
      for command in ["run", "check", "sensors"] {
        let outcome = try run([command, "--config", path])
        #expect(outcome.status == 78, "\(command) \(path): \(outcome)")
        #expect(outcome.text.hasPrefix("odographd: \(expected)"), "\(outcome.text)")
      }
    }
  }

  @Test func recordings() throws {
    let directory = try TemporaryDirectory()
    let missingColumn = try directory.write("missing.csv", "t,ax,ay,gx,gy,gz\n0,1,2,3,4,5\n")
    let notANumber = try directory.write("nan.csv", "t,ax,ay,az\n0,0,0,9.8\n0.01,0,nan,9.8\n")
    let broken = try directory.write(
      "broken.nmea", "$GPGGA,045407.00,4809.81040,N,01133.86330,E,1,10,0.9,100.0,M,0.0,M,,*00\n")
    let noise = directory.file("noise.nmea")
    try Data((0..<65_536).map { _ in UInt8.random(in: 0...255) }).write(to: URL(fileURLWithPath: noise))
    let huge = directory.file("huge.nmea")
    _ = FileManager.default.createFile(atPath: huge, contents: nil)
    try FileHandle(forWritingTo: URL(fileURLWithPath: huge)).truncate(atOffset: 1 << 30)
    for (key, path, expected) in [
      ("replay.sensors", missingColumn, "missing.csv:1"), ("replay.sensors", notANumber, "nan.csv:3"),
      ("replay.position", broken, "broken.nmea:1"), ("replay.position", noise, "noise.nmea"),
      ("replay.position", huge, "huge.nmea"), ("replay.position", "/nonexistent.nmea", "/nonexistent.nmea"),
      ("replay.position", directory.path, directory.path),
      ("replay.position", "/etc/passwd.gpx", "/etc/passwd.gpx"),
      ("replay.position", "track.unknown", "track.unknown"),
    ] {
      let outcome = try replay(key, path)
      #expect(outcome.status == 1, "\(path): \(outcome)")
      #expect(outcome.text.contains(expected), "\(outcome.text)")
    }
  }

  @Test func impossibleStorePath() throws {
    let outcome = try run([
      "run", "--set", "vehicle.id=v", "--set", "input.mode=simulation", "--set",
      "store.path=/proc/x/y/outbox.sqlite",
    ])
    #expect(outcome.status == 1 && outcome.text.contains("/proc/x/y"), "\(outcome)")
  }

  @Test func missingRequiredSensor() throws {
    let directory = try TemporaryDirectory()
    let path = try directory.write("a.csv", "t,ax,ay,az\n0,0,0,9.8\n0.01,0,0,9.8\n")
    let outcome = try run([
      "run", "--print", "--set", "vehicle.id=v", "--set", "input.mode=replay", "--set",
      "replay.sensors=\(path)", "--set",
      "sensors.required=accelerometer,gyroscope", "--set", "input.speed=0",
    ])
    #expect(outcome.status == 1)
    #expect(outcome.text.contains("required sensors are missing: gyroscope"), "\(outcome.text)")
  }

  /// Another program, which does not speak MQTT, listens on the broker's port.
  @Test func brokerPortOfAnotherProgram() throws {
    let directory = try TemporaryDirectory()
    let log = try directory.write("a.nmea", GPSDFixture.sentence("GPTXT,01,01,02,none"))
    let gpsd = try GPSDFixture(log: log, repeats: true)
    let outcome = try run([
      "check", "--set", "vehicle.id=v", "--set", "input.mode=simulation", "--set",
      "mqtt.broker=127.0.0.1:\(gpsd.port)",
      "--set", "store.path=\(directory.file("s"))",
    ])
    gpsd.stop()
    #expect(outcome.status == 2, "\(outcome)")
    #expect(
      outcome.text.contains("problem  broker: MQTT connection to 127.0.0.1:\(gpsd.port) ended"),
      "\(outcome.text)")
  }

  @Test func arguments() throws {
    for arguments in [["fly"], ["run", "--speed"], ["run", "--set", "x"], ["run", "--set", "gpsd.port=x"]] {
      let outcome = try run(arguments)
      #expect(outcome.status == 64 || outcome.status == 78, "\(arguments): \(outcome)")
      #expect(!outcome.text.isEmpty)
    }
  }

  @Test func closedPipeEndsTheAgent() throws {
    let program = BuiltProduct.path("odographd")
    let line =
      "'\(program)' run --print --set vehicle.id=v --set input.mode=simulation --set input.speed=0 | head -n 1"
    let child = try ChildProcess("sh", ["-c", line])
    #expect(waitUntil(atMost: 60) { !child.isRunning }, "\(child.output)")
  }
}
