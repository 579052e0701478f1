import Foundation
import TestSupport
import Testing

/// `odograph history` and `samples` with the real agent.
@Suite(.serialized) struct FleetSamplesTests {
  private func odograph(_ broker: BrokerFixture, _ arguments: String...) async throws
    -> OdographProcess.Result
  {
    try await OdographProcess.run(
      arguments + ["--host", "127.0.0.1", "--port", "\(broker.port)", "--fleet", "test", "--vehicle", "van"])
  }

  /// Starts an agent and waits until it answers commands.
  private func agent(_ broker: BrokerFixture, _ settings: [String: String]) async throws -> AgentProcess {
    let directory = try TemporaryDirectory()
    let agent = try AgentProcess(
      [
        "input.mode": "simulation", "mqtt.broker": "mqtt://127.0.0.1:\(broker.port)",
        "remote.enabled": "true",
        "remote.path": directory.file("remote"), "regions.state": directory.file("regions.state"),
      ].merging(settings) { $1 }, directory: directory)
    try await eventually {
      (try? await self.odograph(broker, "command", "status", "--timeout", "5").status) == 0
    }
    return agent
  }

  private func rows(_ path: String) throws -> [[Substring]] {
    try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").dropFirst(2)
      .map { $0.split(separator: ",", omittingEmptySubsequences: false) }
  }

  /// A history is fetched, continued in the same file, and replayed by the agent.
  @Test(.timeLimit(.minutes(8))) func historyIsFetchedContinuedAndReplayed() async throws {
    let broker = try BrokerFixture()
    let agent = try await agent(broker, ["recorder.enabled": "true"])
    let directory = try TemporaryDirectory()
    let tail = try ChildProcess(
      "sh",
      [
        "-c", #"exec "$0" "$@" >"$LINES""#, OdographProcess.path, "tail", "--timeout", "400", "--topic",
        "odograph/v1/test/van/command/#", "--host", "127.0.0.1", "--port", "\(broker.port)",
      ], environment: ["LINES": directory.file("lines")])
    // The subscription is active once a message has arrived.
    try await eventually {
      _ = try await self.odograph(broker, "command", "status")
      return try OdographProcess.text(of: directory.file("lines")).contains("status")
    }
    let file = directory.file("history.csv")
    let from = FleetPayload.time(-3600)
    let first = try await odograph(broker, "history", "--from", from, "-o", file)
    #expect(first.status == 0 && first.output.contains("samples of test/van"), "\(first.output) \(agent.log)")
    let before = try rows(file)
    #expect(before.count > 20)
    // An incomplete row, as a kill leaves it.
    let handle = try #require(FileHandle(forWritingAtPath: file))
    try handle.seekToEnd()
    try handle.write(contentsOf: Data("99.1,0.2".utf8))
    try handle.close()
    try await Task.sleep(for: .seconds(2))
    let second = try await odograph(broker, "history", "--from", from, "-o", file)
    #expect(second.status == 0 && second.output.contains("more samples"), "\(second.output)")
    let after = try rows(file)
    #expect(after.count > before.count + 50 && Array(after.prefix(before.count)) == before)
    let times = after.compactMap { Double($0[0]) }
    #expect(
      times.count == after.count && zip(times, times.dropFirst()).allSatisfy { $1 > $0 && $1 - $0 < 0.1 })
    let gravity = after.compactMap { Double($0[3]) }.reduce(0, +) / Double(after.count)
    #expect((9...10.5).contains(gravity), "\(gravity)")

    let played = try AgentProcess(
      ["input.mode": "replay", "replay.sensors": file, "input.speed": "0"], print: true)
    #expect(played.child.waitForExit() == 0, "\(played.log)")
    #expect(played.messages.contains { $0.kind == "attitude" || $0.kind == "motion" }, "\(played.log)")

    let other = try await odograph(broker, "history", "--from", FleetPayload.time(-60), "-o", file)
    #expect(other.status == 64 && other.output.contains("name another file"), "\(other.output)")
    let none = try await odograph(
      broker, "history", "--from", "2020-01-01T00:00:00Z", "--to", "2020-01-02T00:00:00Z")
    #expect(none.status == 69 && none.output.contains("cannot find samples of test/van"), "\(none.output)")
    #expect(none.output.contains("it has 20"), "\(none.output)")
    #expect(try await odograph(broker, "samples", "--seconds", "2").status == 0)
    // Requests and responses match their schemas.
    tail.terminate()
    _ = tail.waitForExit()
    let validator = try ContractScript.start("validate.py", stdin: directory.file("lines"))
    #expect(validator.waitForExit() == 0, "\(validator.output)")
    let counts = ContractScript.counts(validator.output)
    #expect((counts["command-request"] ?? 0) >= 5 && (counts["command-response"] ?? 0) >= 6, "\(counts)")
    agent.child.terminate()
  }

  @Test(.timeLimit(.minutes(8))) func samplesArePublishedForATime() async throws {
    let broker = try BrokerFixture()
    let agent = try await agent(broker, ["remote.samples_seconds": "20", "remote.samples_rate": "60"])
    let directory = try TemporaryDirectory()
    let file = directory.file("samples.csv")
    let told = try await odograph(broker, "samples", "--seconds", "3", "--rate", "50", "-o", file)
    #expect(told.status == 0, "\(told.output) \(agent.log)")
    let text = try String(contentsOfFile: file, encoding: .utf8)
    #expect(text.contains("\nt,ax,ay,az,gx,gy,gz,mx,my,mz,pressure\n"), "\(text.prefix(200))")
    let rows = try rows(file)
    for column in [1, 4, 7] {
      #expect((100...160).contains(rows.count { !$0[column].isEmpty }), "\(column) \(told.output)")
    }
    #expect(rows.last.flatMap { Double($0[0]) }.map { (2.8...3.1).contains($0) } == true)
    let again = try await odograph(broker, "samples", "--seconds", "1", "-o", file)
    #expect(again.status == 64 && again.output.contains("--force"), "\(again.output)")
    #expect(try String(contentsOfFile: file, encoding: .utf8) == text)
    let replaced = try await odograph(broker, "samples", "--seconds", "1", "-o", file, "--force")
    #expect(try replaced.status == 0 && self.rows(file).count < rows.count, "\(replaced.output)")
    let unwritable = try await odograph(broker, "samples", "--seconds", "1", "-o", directory.file("no/a.csv"))
    #expect(unwritable.status == 74, "\(unwritable.output)")
    let one = try await odograph(broker, "samples", "--seconds", "1", "--rate", "10", "--sensor", "gyroscope")
    #expect(one.status == 0 && one.output.contains("t,gx,gy,gz\n"), "\(one.output)")
    for (arguments, problem) in [
      (["--seconds", "21"], "at most 20 (remote.samples_seconds)"),
      (["--rate", "61"], "at most 60 (remote.samples_rate)"),
    ] {
      let refused = try await OdographProcess.run(
        ["samples", "--host", "127.0.0.1", "--port", "\(broker.port)", "--fleet", "test", "--vehicle", "van"]
          + arguments)
      #expect(refused.status == 69 && refused.output.contains(problem), "\(refused.output)")
    }
    let unrecorded = try await odograph(broker, "history", "--from", "2020-01-01T00:00:00Z")
    #expect(
      unrecorded.status == 69 && unrecorded.output.contains("set recorder.enabled = true"),
      "\(unrecorded.output)")
    agent.child.terminate()
  }

  /// Samples received before a signal are written to the file.
  @Test(.timeLimit(.minutes(8))) func samplesBeforeASignalAreWritten() async throws {
    let broker = try BrokerFixture()
    let agent = try await agent(broker, [:])
    let directory = try TemporaryDirectory()
    let file = directory.file("samples.csv")
    let samples = try ChildProcess(
      OdographProcess.path,
      [
        "samples", "--seconds", "50", "-o", file, "--host", "127.0.0.1", "--port", "\(broker.port)",
        "--fleet",
        "test", "--vehicle", "van",
      ])
    // The command first writes to a file without a name.
    let descriptors = "/proc/\(samples.processID)/fd/"
    try await eventually {
      try FileManager.default.contentsOfDirectory(atPath: descriptors).contains {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: descriptors + $0))?
          .hasPrefix(directory.path + "/") == true
          && (try? Data(contentsOf: URL(filePath: descriptors + $0)).count) ?? 0 > 1000
      }
    }
    samples.terminate()
    #expect(samples.waitForExit() == 143, "\(samples.output)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["samples.csv"])
    #expect(try rows(file).count > 10 && samples.output.contains(" rows of test/van"), "\(samples.output)")
    agent.child.terminate()
  }

  /// A vehicle with an accelerometer only, and one with raw samples disabled.
  @Test(.timeLimit(.minutes(8))) func missingSensorIsReported() async throws {
    let broker = try BrokerFixture()
    let directory = try TemporaryDirectory()
    let table = (0..<20_000).map { "\(Double($0) / 50),0.0\($0 % 7),0,9.8\($0 % 5)" }.joined(separator: "\n")
    let recording = try directory.write("only.csv", "t,ax,ay,az\n\(table)\n")
    let agent = try await agent(broker, ["input.mode": "replay", "replay.sensors": recording])
    let absent = try await odograph(broker, "samples", "--sensor", "gyroscope", "--seconds", "1")
    #expect(absent.status == 69 && absent.output.contains("no gyroscope: "), "\(absent.output)")
    let present = try await odograph(broker, "samples", "--seconds", "1")
    #expect(present.status == 0 && present.output.contains("t,ax,ay,az\n"), "\(present.output)")
    agent.child.terminate()
    agent.child.waitForExit()
    let silent = try await self.agent(broker, ["remote.samples_seconds": "0"])
    let refused = try await odograph(broker, "samples", "--seconds", "1")
    #expect(
      refused.status == 69 && refused.output.contains("set remote.samples_seconds"), "\(refused.output)")
    silent.child.terminate()
  }
}
