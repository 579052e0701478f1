import Foundation
import TestSupport
import Testing

/// Long-running commands exit on a signal while they wait, with the exit code in their help, and report their results.
@Suite(.serialized, .timeLimit(.minutes(4))) struct CommandExitTests {
  private let folder: TemporaryDirectory

  init() throws { folder = try TemporaryDirectory() }

  /// Starts `odograph`, sends a signal once `isReady`, and returns exit status and output.
  private func end(
    _ arguments: [String], by number: Int32, when isReady: (ChildProcess) async throws -> Bool
  ) async throws -> OdographProcess.Result {
    let log = folder.file("log-\(UInt32.random(in: 0 ... .max))")
    let child = try ChildProcess(
      OdographProcess.path, arguments, output: log, environment: ["XDG_STATE_HOME": folder.path])
    while try await !isReady(child) { try await Task.sleep(for: .milliseconds(20)) }
    child.signal(number)
    try await eventually { !child.isRunning }
    return OdographProcess.Result(status: child.waitForExit(), output: try OdographProcess.text(of: log))
  }

  private func recording() async throws -> String {
    let drive = try RecordedDrive()
    let store = folder.file("fleet.sqlite")
    try await drive.record(into: store, subscription: 1, until: RecordedDrive.isWhole(store)) {
      try await drive.drive()
    }
    return store
  }

  @Test func exportIntoAnUnreadPipe() async throws {
    let store = try await recording()
    let pipe = folder.file("pipe")
    #expect(mkfifo(pipe, 0o600) == 0)
    for (number, status) in [(SIGINT, Int32(130)), (SIGTERM, 143)] {
      // The command handles signals before it opens the recording.
      let result = try await end(["export", store, "-o", pipe, "--format", "csv"], by: number) { child in
        let files = "/proc/\(child.processID)/fd"
        return try FileManager.default.contentsOfDirectory(atPath: files).contains { file in
          (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(files)/\(file)")) == store
        }
      }
      #expect(result.status == status && result.output.contains("nothing is written"), "\(result.output)")
    }
  }

  /// A table locked by another session simulates a database that does not answer.
  @Test(.needs(.postgreSQL)) func databaseThatDoesNotAnswer() async throws {
    let database = try PostgreSQLFixture()
    let drive = try RecordedDrive()
    try await drive.record(
      into: database.url, subscription: 1,
      until: try database.query("SELECT 1 FROM odograph.messages WHERE topic = 'sensors/done'").count == 1
    ) { try await drive.drive() }
    let lock = try ChildProcess(
      "psql",
      [
        "-X", "-c", "BEGIN", "-c", "LOCK odograph.messages, odograph.fixes IN ACCESS EXCLUSIVE MODE", "-c",
        "SELECT pg_sleep(600)", database.url,
      ], output: folder.file("lock"))
    defer { lock.kill() }
    func waiting() throws -> Int {
      try database.query("SELECT pid FROM pg_locks WHERE NOT granted").count
    }
    try await eventually {
      try database.query("SELECT 1 FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted").count > 1
    }
    let export = try await end(["export", database.url, "-o", folder.file("out.csv")], by: SIGINT) { _ in
      try waiting() > 0
    }
    #expect(export.status == 130 && export.output.contains("nothing is written"), "\(export.output)")
    let replay = try await end(
      ["replay", database.url, "--to-fleet", "test"] + drive.address, by: SIGTERM
    ) { _ in try waiting() > 0 }
    #expect(replay.status == 143, "\(replay.output)")
    // The pending query is cancelled.
    try await eventually { try waiting() == 0 }
    // A server that does not process the cancel request either.
    let frozen = try await end(["export", database.url, "-o", folder.file("out.csv")], by: SIGTERM) { _ in
      guard try waiting() > 0 else { return false }
      database.freeze()
      return true
    }
    database.thaw()
    #expect(frozen.status == 143 && frozen.output.contains("nothing is written"), "\(frozen.output)")
    try await eventually { try waiting() == 0 }
    // The recorder does not acknowledge messages that it could not store, so the broker redelivers them.
    let record = try await end(["record", database.url, "--client-id", "stuck"] + drive.address, by: SIGINT) {
      _ in
      try await drive.broker.waitForLog("Sending SUBACK to stuck")
      try await publish(drive.broker, "odograph/v1/demo/van/note", "held")
      return try waiting() > 0
    }
    #expect(record.status == 130, "\(record.output)")
  }

  /// The recorder names its session on exit. `--forget` deletes it, and messages received meanwhile are not recorded.
  @Test func sessionIsReportedAndCanBeDeleted() async throws {
    let broker = try BrokerFixture()
    let store = folder.file("fleet.sqlite")
    let address = ["record", store, "--broker", "mqtt://127.0.0.1:\(broker.port)"]
    let first = try await end(address, by: SIGTERM) { _ in
      broker.logCount("Sending SUBACK to odograph-record") > 0
    }
    #expect(first.status == 143)
    let name = try #require(first.output.firstMatch(of: /for session (\S+) for 86400 s/)?.output.1)
    try await publish(broker, "odograph/v1/demo/van/note", "kept")
    let forget = try await end(address + ["--forget"], by: 0) { _ in true }
    #expect(
      forget.status == 0 && forget.output.contains("session \(name) and its queued messages were deleted"),
      "\(forget.output)")
    let again = try await end(address + ["--forget"], by: 0) { _ in true }
    #expect(again.status == 0 && again.output.contains("nothing to forget"), "\(again.output)")
    let last = try await end(address, by: SIGTERM) { _ in
      broker.logCount("Sending SUBACK to odograph-record") > 1
    }
    #expect(last.output.contains("0 messages stored"), "\(last.output)")
  }

  /// A session with a configured client ID cannot be deleted while a recorder on this machine uses it, only afterwards.
  @Test func sessionOfARunningRecorderIsNotDeleted() async throws {
    let broker = try BrokerFixture()
    let address = [
      "record", folder.file("fleet.sqlite"), "--broker", "mqtt://127.0.0.1:\(broker.port)", "--client-id",
      "mine",
    ]
    let first = try await end(address, by: SIGTERM) { _ in
      try await broker.waitForLog("Sending SUBACK to mine")
      let refused = try await end(address + ["--forget"], by: 0) { _ in true }
      #expect(refused.status == 64 && refused.output.contains("odograph record uses it"), "\(refused.output)")
      try await publish(broker, "odograph/v1/demo/van/note", "kept")
      try await eventually { broker.logCount("Received PUBACK from mine") > 0 }
      return true
    }
    #expect(first.status == 143 && first.output.contains("1 message stored"), "\(first.output)")
    let forget = try await end(address + ["--forget"], by: 0) { _ in true }
    #expect(
      forget.status == 0 && forget.output.contains("session mine and its queued messages were deleted"),
      "\(forget.output)")
    // A deleted session cannot be deleted again.
    let again = try await end(address + ["--forget"], by: 0) { _ in true }
    #expect(again.status == 64 && again.output.contains("no such session at the broker"), "\(again.output)")
  }

  /// MQTT 3.1.1 has no session expiry: the recorder names no time and reports that the option has no effect.
  @Test func mqtt311ReportsNoSessionExpiry() async throws {
    let broker = try BrokerFixture()
    let address = [
      "record", folder.file("fleet.sqlite"), "--broker", "mqtt://127.0.0.1:\(broker.port)", "--client-id",
      "old",
      "--mqtt-v311",
    ]
    let first = try await end(address + ["--session-expiry", "60"], by: SIGTERM) { _ in
      try await broker.waitForLog("Sending SUBACK to old")
      return true
    }
    #expect(first.output.contains("--session-expiry has no effect"), "\(first.output)")
    #expect(
      first.output.contains("for session old for as long as the broker is configured to"), "\(first.output)")
    #expect(!first.output.contains("for 60 s"), "\(first.output)")
    let forget = try await end(address + ["--forget"], by: 0) { _ in true }
    #expect(
      forget.status == 0 && forget.output.contains("session old and its queued messages were deleted"),
      "\(forget.output)")
    let again = try await end(address + ["--forget"], by: 0) { _ in true }
    #expect(again.status == 64, "\(again.output)")
  }

  /// If the store is unavailable on exit, the exit code reports it.
  @Test(.needs(.postgreSQL)) func unstoredMessagesCauseAnError() async throws {
    let broker = try BrokerFixture()
    let database = try PostgreSQLFixture()
    let address = [
      "record", database.url, "--broker", "mqtt://127.0.0.1:\(broker.port)", "--client-id", "away",
      "--seconds",
      "8",
    ]
    let record = try await end(address, by: 0) { _ in
      try await broker.waitForLog("Sending SUBACK to away")
      database.stop()
      try await publish(broker, "odograph/v1/demo/van/note", "held")
      return true
    }
    #expect(record.status == 74, "\(record.output)")
    #expect(
      record.output.contains("were not stored; they are not acknowledged to the broker"), "\(record.output)")
  }

  @Test(arguments: [["record"], ["export"], ["replay", "--to-fleet", "test"]])
  func mistypedURLIsNotAFile(command: [String]) async throws {
    let result = try await end(command + ["postgress://fleet:secret@h/x"], by: 0) { _ in true }
    #expect(result.status == 64 && result.output.contains("begins with postgres://"), "\(result.output)")
    #expect(!result.output.contains("secret"))
  }

  /// An empty export reports the reason.
  @Test func emptyExportIsExplained() async throws {
    let store = try await recording()
    let none = try await end(["export", store, "--vehicle", "nosuch", "--format", "csv"], by: 0) { _ in true }
    #expect(none.status == 0 && none.output.contains("0 positions"), "\(none.output)")
    #expect(none.output.contains("nothing in it matches the options"), "\(none.output)")
    // If no options were given, the message does not blame them.
    for (command, what) in [
      (["trips"], "trips"), (["events"], "driving events"), (["trace", "list"], "traces"),
    ] {
      let result = try await end(command + ["--recording", store], by: 0) { _ in true }
      #expect(
        result.status == 0 && result.output.contains("the recording has no \(what)"), "\(result.output)")
    }
  }

  /// A full disk behind standard output is reported with a message and the exit code.
  @Test(arguments: [
    "watch --once", "stats --once --seconds 1", "stats --json --seconds 1", "simulate --seconds 1",
  ])
  func fullOutputDeviceIsReported(command: String) async throws {
    let broker = try BrokerFixture()
    // A vehicle, so that there is output.
    try await publish(
      broker, "odograph/v1/demo/van/status", FleetPayload.status("online", session: "", seq: 1), retain: true)
    let said = try await runTool(
      "/bin/sh",
      [
        "-c",
        "\(OdographProcess.path) \(command) --broker mqtt://127.0.0.1:\(broker.port) > /dev/full; echo =$?",
      ])
    #expect(said.contains("cannot write the output: No space left on device"), "\(said)")
    #expect(said.hasSuffix("=74\n"), "\(said)")
  }

  /// If the broker was never reached, no session is reported.
  @Test func unreachableBrokerHasNoSession() async throws {
    let port: Int = try FreePort.next()
    let address = ["record", folder.file("fleet.sqlite"), "--port", "\(port)"]
    let result = try await end(address, by: 0) { _ in true }
    #expect(result.status == 69 && result.output.contains("cannot reach the broker"), "\(result.output)")
    #expect(
      !result.output.contains("the broker queues") && !result.output.contains("stored"), "\(result.output)")
  }

  /// A recording is a database: file names with other extensions are refused before the file is created.
  @Test func recordingNameWithOtherExtensionIsRefused() async throws {
    let store = folder.file("fleet.csv")
    let refused = try await end(["record", store, "--port", "1"], by: 0) { _ in true }
    #expect(refused.status == 64 && refused.output.contains("odograph export"), "\(refused.output)")
    #expect(!FileManager.default.fileExists(atPath: store))
  }
}
