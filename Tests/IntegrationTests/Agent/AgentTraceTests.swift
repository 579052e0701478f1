import Bytes
import Compression
import Foundation
import Glibc
import MQTT
import Sensors
import Spatial
import Telemetry
import TestSupport
import Testing
import Traces

/// Traces of the built agent: delay, kills, requests and replay.
@Suite(.serialized) struct AgentTraceTests {
  /// In recording time, the summary is published within 1 s after the end of the impact. The trace, exported as CSV and replayed with
  /// `replay.sensors`, yields the same impact.
  @Test(.timeLimit(.minutes(6))) func traceIsPublishedInTimeAndReplayed() async throws {
    let state = try TemporaryDirectory()
    let recording = try CrashRecording(state, seconds: 60, blow: 20)
    let printed = try AgentProcess(recording.settings(speed: 0), print: true)
    #expect(printed.child.waitForExit() == 0, "\(printed.log)")
    let told = printed.messages
    let index = try #require(told.firstIndex { $0.kind == "trace" }, "\(printed.log)")
    let impact = try #require(Impact(told[index]))
    let newest = told[..<index].filter { $0.kind == "attitude" }.compactMap(Self.time).max()
    #expect(try #require(newest) - impact.end <= 1 && told[index].state == "recording")
    #expect(abs(impact.change - CrashRecording.change) < 0.5, "\(impact)")
    #expect(told.last { $0.kind == "trace" }?.state == "complete")

    // Published over a broker, recorded, and exported for a replay.
    let broker = try BrokerFixture()
    let store = state.file("fleet.sqlite")
    let recorder = RecordProcess(
      broker, into: store, ["--topic", "odograph/v1/test/van/trace/#"], state: state)
    try recorder.start()
    try await broker.waitForLog("Sending SUBACK")
    let agent = try AgentProcess(
      recording.settings(speed: 0, more: ["mqtt.broker": "127.0.0.1:\(broker.port)"]))
    #expect(agent.child.waitForExit() == 0, "\(agent.log)")
    let csv = state.file("crash-again.csv")
    try await eventually {
      let fetched = try runSync(["trace", "fetch", "van", "1", "--recording", store, "-o", csv])
      return fetched == 0
    }
    _ = try await recorder.finish()
    let again = try AgentProcess(
      recording.settings(speed: 0, more: ["replay.sensors": csv]), print: true)
    #expect(again.child.waitForExit() == 0, "\(again.log)")
    let second = try #require(
      again.messages.first { $0.kind == "trace" }.flatMap(Impact.init), "\(again.log)")
    #expect(abs(second.change - impact.change) < 0.05 && second.severity == impact.severity, "\(second)")
  }

  /// In real time, attitude messages published before the summary are at most 1 s newer than the end of the impact.
  @Test(.timeLimit(.minutes(6))) func summaryIsPublishedWithinASecond() throws {
    let state = try TemporaryDirectory()
    let recording = try CrashRecording(state, seconds: 12, blow: 8)
    let (broker, wire) = try Self.listen()
    let agent = try AgentProcess(
      recording.settings(speed: 1, more: ["mqtt.broker": "127.0.0.1:\(broker.port)", "trace.after": "2"]))
    #expect(agent.child.waitForExit() == 0, "\(agent.log)")
    #expect(waitUntil { wire.received("van").contains { $0.state == "offline" } })
    let told = wire.received("van")
    let index = try #require(told.firstIndex { $0.kind == "trace" }, "\(agent.log)")
    let impact = try #require(Impact(told[index]))
    let newest = told[..<index].filter { $0.kind == "attitude" }.compactMap(Self.time).max()
    #expect(try #require(newest) - impact.end <= 1)
    wire.stop()
  }

  /// Kills around an impact: there is no trace if the impact was not detected yet; otherwise there is one, complete up to about 1 s before
  /// the kill. Repeated messages have identical content.
  @Test(.timeLimit(.minutes(40))) func killsLoseNoMoreThanASecond() throws {
    let kills = ChaosExtent.cycles(short: 5, full: 100)
    var random = SplitMix.announced()
    let state = try TemporaryDirectory()
    let recording = try CrashRecording(state, seconds: 22, blow: 8)
    let quiet = try state.write(
      "quiet.csv",
      "t,ax,ay,az\n" + (0..<100).map { "\(Double($0) / 100),0,0,9.81\n" }.joined())
    let (broker, wire) = try Self.listen()
    var outcomes = [0, 0, 0]
    for number in 0..<kills {
      // Half of the kills happen while the impact is evaluated.
      let kill =
        number % 2 == 0
        ? recording.blow.lowerBound + Double.random(in: -2...0.6, using: &random)
        : Double.random(in: 8.2...14.5, using: &random)
      let vehicle = "van\(number)"
      let directory = try TemporaryDirectory()
      let settings = recording.settings(
        speed: 4,
        more: [
          "mqtt.broker": "127.0.0.1:\(broker.port)", "vehicle.id": vehicle, "trace.before": "6",
          "trace.after": "5",
        ])
      let agent = try AgentProcess(settings, directory: directory)
      func seconds() -> Double? {
        let times = wire.received(vehicle).filter { $0.kind == "attitude" }.compactMap(Self.time)
        return times.first.flatMap { first in times.last.map { $0 - first } }
      }
      let isThere = waitUntil(atMost: 60) { seconds().map { $0 >= kill } ?? false }
      #expect(isThere, "\(vehicle), \(kill) s: \(agent.log)")
      agent.child.kill()
      _ = agent.child.waitForExit()
      let seen = seconds() ?? kill
      let second = try AgentProcess(
        settings.merging(["replay.sensors": quiet, "input.speed": "0"]) { $1 }, directory: directory)
      #expect(second.child.waitForExit() == 0, "\(second.log)")
      #expect(waitUntil { wire.received(vehicle).contains { $0.state == "offline" } }, "\(second.log)")
      let outcome = try judge(wire.received(vehicle), recording, seen: seen, "\(vehicle), killed at \(seen)")
      outcomes[outcome] += 1
    }
    print(
      "\(kills) kills: \(outcomes[0]) before a trace, \(outcomes[1]) traces cut short, \(outcomes[2]) whole")
    wire.stop()
  }

  /// - Returns: 0 without a trace, 1 for an incomplete trace, 2 for a complete one.
  private func judge(
    _ told: [Message], _ recording: CrashRecording, seen: Double, _ what: String
  ) throws -> Int {
    var said: [String: NSDictionary] = [:]
    for message in told where ["trace", "piece"].contains(message.kind) {
      var content = message.payload
      (content["epoch"], content["seq"]) = (nil, nil)
      let key = "\(message.kind) \(content["number"] ?? "") \(content["revision"] ?? content["piece"] ?? "")"
      let before = said.updateValue(content as NSDictionary, forKey: key)
      #expect(before == nil || before == content as NSDictionary, "\(what): \(key) differs")
      #expect(content["number"] as? Int == 1, "\(what)")
    }
    let traces = said.values.filter { $0["revision"] != nil }
    guard
      let newest = traces.max(by: { $0["revision"] as? Int ?? 0 < $1["revision"] as? Int ?? 0 })
    else {
      // The end of an impact is detected within 30 ms.
      #expect(seen < recording.blow.upperBound + 0.1, "\(what): no trace")
      #expect(said.isEmpty, "\(what): pieces without a trace")
      return 0
    }
    let count = try #require(newest["pieces"] as? Int, "\(what): \(newest)")
    let bytes = try (1...count).flatMap { number in
      let piece = try #require(said["piece 1 \(number)"], "\(what): piece \(number) of \(count)")
      return try #require(Base64.decode(piece["bytes"] as? String ?? ""))
    }
    let checksum = newest["checksum"] as? String
    #expect(bytes.count == newest["size"] as? Int, "\(what)")
    #expect(UInt32(checksum ?? "", radix: 16) == CRC32.checksum(bytes), "\(what)")
    let file = try #require(TraceFile(bytes: try Deflate.unpacked(bytes, limit: 8 << 20)))
    let times = file.samples.compactMap { sample -> Int64? in
      guard case .inertial(let scan) = sample, scan.specificForce != nil else { return nil }
      return scan.timestamp.nanoseconds / 1000
    }
    let first = try #require(times.first)
    // The trace contains the 6 s before the impact (`trace.before`).
    let blow = file.head.moment.nanoseconds / 1000
    #expect(Double(blow - first) * 1e-6 >= 5.9, "\(what): begins \(Double(blow - first) * 1e-6) s before")
    let gaps = zip(times, times.dropFirst()).filter {
      abs(Double($1 - $0) * 1e-6 - 1 / CrashRecording.rate) > 0.002
    }
    #expect(gaps.isEmpty, "\(what): \(gaps.count) samples missing")
    let after = Double((times.last ?? 0) - blow) * 1e-6
    let wanted = min(5, seen - recording.blow.lowerBound) - 1.3
    #expect(after >= wanted, "\(what): ends \(after) s after the blow")
    let isWhole = newest["state"] as? String == "complete"
    #expect(isWhole || newest["state"] as? String == "interrupted", "\(what)")
    return isWhole ? 2 : 1
  }

  /// A requested moment becomes a trace, or the request is rejected with a reason; a power-fail signal does not stop the agent.
  @Test(.timeLimit(.minutes(6))) func momentIsRequested() async throws {
    let state = try TemporaryDirectory()
    let (broker, wire) = try Self.listen()
    let agent = try AgentProcess([
      "mqtt.broker": "127.0.0.1:\(broker.port)", "input.mode": "simulation", "trace.enabled": "true",
      "remote.enabled": "true",
    ])
    let address = ["--broker", "mqtt://127.0.0.1:\(broker.port)"]
    try await eventually { wire.received("van").contains { $0.kind == "attitude" } }
    agent.child.signal(SIGPWR)
    let (file, output) = (state.file("asked.odotrace"), state.file("wait.out"))
    let subscribed = broker.logCount("Sending SUBACK")
    let waiter = try OdographProcess.start(
      ["trace", "wait", "van", "--fleet", "test", "-o", file] + address, output: output)
    try await broker.waitForLog("Sending SUBACK", times: subscribed + 1)
    let asked = try await OdographProcess.run(
      ["trace", "request", "van", "--fleet", "test", "--before", "3", "--after", "2"] + address)
    #expect(
      asked.status == 0 && asked.output.contains("test/van  trace 1  2"), "\(asked.output) \(agent.log)")
    #expect(asked.output.contains("odograph trace wait van 1 waits for it"), "\(asked.output)")
    try await eventually { !waiter.isRunning }
    #expect(waiter.waitForExit() == 0)
    let verified = try await OdographProcess.run(["trace", "verify", file])
    #expect(
      verified.status == 0 && verified.output.contains("ok: the checksum of each block"), "\(verified.output)"
    )
    let long = try await OdographProcess.run(
      ["trace", "request", "van", "--fleet", "test", "--at", "2020-01-01T00:00:00Z"] + address)
    #expect(long.status == 69 && long.output.contains("is not in memory, which has"), "\(long.output)")
    let json = try await OdographProcess.run(
      ["trace", "request", "van", "--fleet", "test", "--before", "0", "--after", "60", "--json"] + address)
    #expect(json.status == 0 && json.output.contains(#""number":2,"#), "\(json.output)")
    for isLast in [false, false, true] {
      let more = try await OdographProcess.run(
        ["trace", "request", "van", "--fleet", "test", "--after", "60"] + address)
      #expect(more.status == (isLast ? 69 : 0), "\(more.output)")
      #expect(!isLast || more.output.contains("3 requested traces are being recorded"), "\(more.output)")
    }
    for arguments in [["--before", "61"], ["--at", "noon"], ["--timeout", "0"]] {
      let wrong = try await OdographProcess.run(["trace", "request", "van"] + arguments + address)
      #expect(wrong.status == 64, "\(wrong.output)")
    }
    #expect(
      wire.received("van").contains { $0.kind == "trace" && $0.payload["cause"] as? String == "command" })
    agent.child.terminate()
    wire.stop()
  }

  // MARK: Received messages

  private struct Impact {
    /// End of the impact, UTC in s; change of velocity in m/s.
    var (end, change) = (0.0, 0.0)
    var severity = ""

    init?(_ message: Message) {
      guard let blow = message.payload["impact"] as? [String: Any],
        let severity = blow["severity"] as? String, let moment = AgentTraceTests.time(message),
        let change = blow["changeOfVelocity"] as? [Double], let duration = blow["duration"] as? Double
      else { return nil }
      self.severity = severity
      self.change = change.reduce(0) { $0 + $1 * $1 }.squareRoot()
      end = moment + duration
    }
  }

  private static func time(_ message: Message) -> Double? {
    (message.payload["time"] as? String).flatMap { UTCTime(rfc3339: $0) }.map {
      Double($0.nanoseconds) * 1e-9
    }
  }

  /// Receives all messages of the fleet in order of arrival.
  private struct Wire {
    let recorder = SessionRecorder()
    let session: MQTTSession

    init(_ broker: BrokerFixture) throws {
      session = try MQTTSession(
        configuration: configuration(broker, "listener"),
        subscriptions: [MQTTSubscription("odograph/v1/test/#")], handlers: recorder.handlers)
      try session.start()
    }

    func received(_ vehicle: String) -> [Message] {
      recorder.messages.filter { $0.topic.hasPrefix("odograph/v1/test/\(vehicle)/") }.compactMap { message in
        let object = try? JSONSerialization.jsonObject(with: Data(message.payload)) as? [String: Any]
        return object.map { Message(topic: message.topic, payload: $0) }
      }
    }

    func stop() { session.stop(drain: 1) }
  }

  private static func listen() throws -> (BrokerFixture, Wire) {
    let broker = try BrokerFixture()
    let wire = try Wire(broker)
    waitUntil { wire.recorder.answerCount == 1 }
    return (broker, wire)
  }

  private func runSync(_ arguments: [String]) throws -> Int32 {
    try ChildProcess(BuiltProduct.path("odograph"), arguments).waitForExit()
  }
}
