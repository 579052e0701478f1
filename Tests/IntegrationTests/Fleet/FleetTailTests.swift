import Foundation
import MQTT
import TestSupport
import Testing

/// Lines and exit codes of `odograph tail` with a real mosquitto.
@Suite struct FleetTailTests {
  private let location = "odograph/v1/demo/van/location"

  @Test(.timeLimit(.minutes(6))) func printsRetainedMessagesAndEndsAtTheCount() async throws {
    let broker = try BrokerFixture()
    try await publish(broker, location, #"{"latitude": 1}"#, retain: true)
    try await publish(broker, "odograph/v1/demo/van/status", #"{"state":"online"}"#, retain: true)
    let result = try await OdographProcess.run([
      "tail", "--port", "\(broker.port)", "--host", "127.0.0.1", "--kind", "location", "--count", "1",
      "--timeout", "20",
    ])
    #expect(result.status == 0)
    #expect(
      result.output == #"{"topic":"\#(location)","qos":1,"retain":true,"payload":{"latitude": 1}}"# + "\n")
  }

  @Test(.timeLimit(.minutes(6))) func everyMessageOnceAndInOrder() async throws {
    let broker = try BrokerFixture()
    let directory = try TemporaryDirectory()
    let output = directory.file("lines")
    let tail = try OdographProcess.start(
      [
        "tail", "--broker", "mqtt://127.0.0.1:\(broker.port)", "--vehicle", "van", "--count", "5000",
        "--timeout", "50",
      ],
      output: output)
    // The first line shows that the subscription is active.
    try await eventually {
      try await publish(broker, "odograph/v1/demo/van/motion", "ready")
      return try !OdographProcess.text(of: output).isEmpty
    }
    let before = try OdographProcess.text(of: output).split(separator: "\n").count
    let lines = (before..<5000).map { "{\"n\":\($0)}" }
    let file = try directory.write("messages", lines.joined(separator: "\n") + "\n")
    _ = try await runTool(
      "sh", ["-c", "mosquitto_pub -p \(broker.port) -q 1 -t \(location) -l < \(file)"])
    try await eventually { !tail.isRunning }
    #expect(tail.waitForExit() == 0)
    let printed = try OdographProcess.text(of: output).split(separator: "\n").filter {
      $0.contains("location")
    }
    #expect(printed.count >= lines.count - 1)
    let expected = lines.prefix(printed.count).map {
      #"{"topic":"\#(location)","qos":1,"retain":false,"payload":"# + $0 + "}"
    }
    #expect(printed.map(String.init) == expected)
  }

  @Test(.timeLimit(.minutes(6))) func timeLimitBeforeTheCount() async throws {
    let broker = try BrokerFixture()
    let arguments = ["tail", "--host", "127.0.0.1", "--port", "\(broker.port)", "--timeout", "0.5"]
    let counting = try await OdographProcess.run(arguments + ["--count", "1"])
    #expect(counting.status == 75 && counting.output.contains("messages came"))
    let listening = try await OdographProcess.run(arguments)
    #expect(listening.status == 0 && listening.output.isEmpty)
  }

  @Test(.timeLimit(.minutes(6))) func filtersByTheRetainFlag() async throws {
    let broker = try BrokerFixture()
    try await publish(broker, location, #"{"kept":true}"#, retain: true)
    let arguments = ["tail", "--host", "127.0.0.1", "--port", "\(broker.port)", "--timeout", "1"]
    #expect(try await OdographProcess.run(arguments + ["--retained"]).lines.count == 1)
    #expect(try await OdographProcess.run(arguments + ["--no-retained"]).lines.isEmpty)
  }

  @Test(.timeLimit(.minutes(6))) func unreachableBrokerIsReportedWithARemedy() async throws {
    let port: Int = try FreePort.next()
    let result = try await OdographProcess.run(["tail", "--host", "127.0.0.1", "--port", "\(port)"])
    #expect(result.status == 69)
    #expect(result.lines.count == 3)
    #expect(
      result.output.hasPrefix("odograph: cannot reach the broker: ") && result.output.contains("\(port)"))
    #expect(result.output.contains("check that the broker runs"))
    #expect(
      result.lines[1] == "odograph: the address 127.0.0.1:\(port) is from --host; no profile is used")
    #expect(
      result.lines[2].hasPrefix("odograph: next steps: start a broker with: mosquitto -p \(port); or "))
  }

  @Test(.timeLimit(.minutes(6))) func refusedLoginIsReported() async throws {
    let broker = try BrokerFixture(["allow_anonymous false"])
    let result = try await OdographProcess.run(["tail", "--host", "127.0.0.1", "--port", "\(broker.port)"])
    #expect(result.status == 69)
    #expect(result.output.contains("refused"))
  }

  @Test(
    .timeLimit(.minutes(6)),
    arguments: [
      ["tail", "--count", "0"], ["tail", "--kind", "nonsense"], ["tail", "--qos", "3"],
      ["tail", "--vehicle", "a/b"],
      ["tail", "--topic", "a/#/b"], ["tail", "--topic", "a", "--fleet", "b"],
      ["tail", "--broker", "http://x"],
      ["tail", "--broker", "x", "--host", "y"], ["tail", "--port", "70000"], ["tail", "--cert", "c.pem"],
      ["tail", "x"],
      ["watch", "--interval", "0"], ["nonsense"], ["tail", "--root", "a/#"],
    ])
  func usageErrorsHaveStatus64(arguments: [String]) async throws {
    let result = try await OdographProcess.run(arguments)
    #expect(result.status == 64, "\(arguments)")
    #expect(!result.output.isEmpty)
  }

  @Test(.timeLimit(.minutes(6)), arguments: [(SIGINT, 130), (SIGTERM, 143)] as [(Int32, Int32)])
  func signalsStopTail(signal: Int32, status: Int32) async throws {
    let broker = try BrokerFixture()
    try await publish(broker, location, "{}", retain: true)
    let directory = try TemporaryDirectory()
    let tail = try OdographProcess.start(
      ["tail", "--host", "127.0.0.1", "--port", "\(broker.port)"], output: directory.file("lines"))
    try await eventually { try !OdographProcess.text(of: directory.file("lines")).isEmpty }
    tail.signal(signal)
    try await eventually { !tail.isRunning }
    #expect(tail.waitForExit() == status)
  }

  /// `odograph tail | head -1`: the closed pipe ends `tail` with status 0.
  @Test(.timeLimit(.minutes(6))) func closedPipeIsNoFailure() async throws {
    let broker = try BrokerFixture()
    try await publish(broker, location, "{}", retain: true)
    let directory = try TemporaryDirectory()
    let command =
      "'\(OdographProcess.path)' tail --host 127.0.0.1 --port \(broker.port) | head -1; echo status ${PIPESTATUS[0]}"
    let shell = try ChildProcess("bash", ["-c", command], output: directory.file("output"))
    try await eventually {
      try await publish(broker, location, "{}")
      return !shell.isRunning
    }
    let lines = try OdographProcess.text(of: directory.file("output")).split(separator: "\n")
    #expect(lines.count == 2 && lines.last == "status 0", "\(lines)")
  }

  @Test(.timeLimit(.minutes(6))) func reconnectsAfterBrokerRestart() async throws {
    let broker = try BrokerFixture()
    let directory = try TemporaryDirectory()
    let output = directory.file("lines")
    let tail = try OdographProcess.start(
      ["tail", "--host", "127.0.0.1", "--port", "\(broker.port)"], output: output)
    try await eventually {
      try await publish(broker, location, "1")
      return try OdographProcess.text(of: output).contains(#""payload":1}"#)
    }
    broker.kill()
    try await eventually { try OdographProcess.text(of: output).contains("odograph: ") }
    try broker.start()
    try await eventually {
      try await publish(broker, location, "2")
      return try OdographProcess.text(of: output).contains(#""payload":2}"#)
    }
    #expect(try OdographProcess.text(of: output).contains("odograph: connected again"))
    tail.signal(SIGTERM)
    try await eventually { !tail.isRunning }
    #expect(tail.waitForExit() == 143)
  }
}
