import Foundation
import TestSupport
import Testing

/// Requests to many vehicles, some of which do not answer, over a real mosquitto.
@Suite struct FleetRolloutTests {
  private func at(_ broker: BrokerFixture) -> [String] {
    ["--host", "127.0.0.1", "--port", "\(broker.port)"]
  }

  /// Refused before connecting: there is no broker (status 64, not 69).
  @Test(.timeLimit(.minutes(6)))
  func requestToAllVehiclesNeedsAnOption() async throws {
    let directory = try TemporaryDirectory()
    let regions = try directory.write("yard.wkt", "yard: POLYGON ((11 48, 12 48, 12 49))\n")
    let port: Int = try FreePort.next()
    let profile = try directory.write(
      "profile.toml", "[default]\nbroker = \"mqtt://127.0.0.1:\(port)\"\nfleet = \"a\"\n")
    let nobody = ["--host", "127.0.0.1", "--port", "\(port)"]
    for command in [
      ["config", "set", "status.interval=30"], ["regions", "push", regions], ["regions", "remove", "yard"],
      ["regions", "remove", "--all"], ["command", "status"],
    ] {
      let refused = try await OdographProcess.run(command + nobody)
      #expect(refused.status == 64 && refused.output.contains("--every-vehicle"), "\(refused.output)")
      for said in [["--every-vehicle"], ["--fleet", "a"], ["--vehicle", "v"]] {
        let tried = try await OdographProcess.run(command + nobody + said)
        #expect(tried.status == 69, "\(command) \(said): \(tried.output)")
      }
      let profiled = try await OdographProcess.run(command + ["--profile-file", profile])
      #expect(profiled.status == 69, "\(profiled.output)")
      let both = try await OdographProcess.run(command + nobody + ["--every-vehicle", "--fleet", "a"])
      #expect(both.status == 64 && both.output.contains("it cannot be combined"), "\(both.output)")
    }
    let reading = try await OdographProcess.run(["config", "show"] + nobody)
    #expect(reading.status == 69, "\(reading.output)")
  }

  /// More retained messages than mosquitto sends and queues for a QoS 1 client by default (500 and 1000).
  @Test(.timeLimit(.minutes(8))) func retainedMessagesAreReadCompletely() async throws {
    let broker = try BrokerFixture()
    let load = try await OdographProcess.run(
      ["simulate", "--vehicles", "2500", "--seconds", "1", "--rate", "0.1"] + at(broker))
    #expect(load.status == 0, "\(load.output)")
    let set = try await OdographProcess.run(
      ["config", "set", "status.interval=30", "--every-vehicle", "--timeout", "0", "--json"] + at(broker))
    // With QoS 1, the commands would receive only as many retained messages as the broker queues.
    let seen = try await OdographProcess.run(["watch", "--once", "--json"] + at(broker))
    #expect(seen.lines.count == 2500, "\(seen.lines.count) \(seen.output.suffix(300))")
    #expect(set.status == 0 && set.lines.count == 2500, "\(set.lines.count) \(set.output.suffix(300))")
    #expect(set.lines.allSatisfy { $0.contains(#""state":"sent""#) })
    let shown = try await OdographProcess.run(["config", "show", "--json"] + at(broker))
    #expect(
      shown.lines.filter { $0.contains(#""status.interval":30"#) }.count == 2500,
      "\(shown.lines.count) \(shown.output.suffix(300))")
  }

  /// A broker that sends retained messages with a delay of 2 s.
  @Test(.timeLimit(.minutes(6))) func commandWaitsForASlowBroker() async throws {
    let slow = try FakeBroker { connection, _ in
      guard connection.read() != nil else { return }
      connection.sendConnectAnswer(0)
      while let packet = connection.read() {
        guard packet.type == 8 else { continue }
        if String(decoding: packet.body, as: UTF8.self).contains("/end") {
          Thread.sleep(forTimeInterval: 2)
          let topic = Array("odograph/v1/demo/van/config/reported".utf8)
          let payload = Array(#"{"state":"applied","settings":{"status.interval":30}}"#.utf8)
          connection.send(
            [0x31, UInt8(3 + topic.count + payload.count), 0, UInt8(topic.count)] + topic + [0] + payload)
        }
        connection.send([0x90, 4, packet.body[0], packet.body[1], 0, 0])
      }
    }
    let shown = try await OdographProcess.run(
      ["config", "show", "--fleet", "demo", "--host", "127.0.0.1", "--port", "\(slow.port)"])
    #expect(shown.status == 0 && shown.output.contains("status.interval = 30"), "\(shown.output)")
    withExtendedLifetime(slow) {}
  }

  /// A pause between retained messages is not their end; the answer to a second subscription marks the end.
  @Test(.timeLimit(.minutes(6))) func pauseDoesNotEndTheTable() async throws {
    let slow = try FakeBroker { connection, _ in
      guard connection.read() != nil else { return }
      connection.sendConnectAnswer(0)
      func keep(_ vehicle: String) {
        let topic = Array("odograph/v1/demo/\(vehicle)/status".utf8)
        let payload = Array(#"{"state":"online","time":"2026-11-21T08:00:00Z"}"#.utf8)
        connection.send(
          [0x31, UInt8(3 + topic.count + payload.count), 0, UInt8(topic.count)] + topic + [0] + payload)
      }
      while let packet = connection.read() {
        guard packet.type == 8 else { continue }
        let isMark = String(decoding: packet.body, as: UTF8.self).contains("/end")
        if !isMark { keep("one") }
        if isMark {
          Thread.sleep(forTimeInterval: 2)
          keep("two")
        }
        connection.send([0x90, 4, packet.body[0], packet.body[1], 0, 0])
      }
    }
    let shown = try await OdographProcess.run(["watch", "--once", "--json", "--port", "\(slow.port)"])
    #expect(shown.status == 0 && shown.lines.count == 2, "\(shown.output)")
    withExtendedLifetime(slow) {}
  }

  @Test(.timeLimit(.minutes(6))) func interruptReportsTheAnswers() async throws {
    let broker = try BrokerFixture()
    let vehicle = try VehicleResponder(port: broker.port, name: "demo/van")
    defer { vehicle.stop() }
    try await vehicle.waitUntilReady()
    let directory = try TemporaryDirectory()
    let regions = try directory.write("yard.wkt", "yard: POLYGON ((11 48, 12 48, 12 49))\n")
    let two = at(broker) + ["--fleet", "demo", "--vehicle", "van", "--vehicle", "ghost", "--timeout", "600"]
    for (command, topic, answered, silent) in [
      (["config", "set", "status.interval=30"], "config/reported", "demo/van  applied", "has not reported"),
      (["regions", "push", regions], "regions/reported", "demo/van  watches 1 of 1", "has not reported"),
      (["command", "status"], "command/status/response", "demo/van  done", "no answer within"),
    ] {
      let output = directory.file(command[0])
      let child = try OdographProcess.start(command + two, output: output)
      try await broker.waitForLog("'odograph/v1/demo/van/\(topic)'")
      // The response is in transit to the command.
      try await Task.sleep(for: .seconds(3))
      child.signal(SIGINT)
      try await eventually { !child.isRunning }
      let text = try OdographProcess.text(of: output)
      #expect(child.waitForExit() == 130, "\(text)")
      #expect(text.contains(answered) && text.contains("demo/ghost  \(silent)"), "\(text)")
    }
  }

  @Test(.timeLimit(.minutes(6))) func incompleteStagesAreReported() async throws {
    let broker = try BrokerFixture()
    let vehicles = (1...4).flatMap { ["--vehicle", "van-\($0)"] }
    let set = try await OdographProcess.run(
      ["config", "set", "status.interval=30", "--stages", "25,50", "--timeout", "0", "--fleet", "demo"]
        + vehicles + at(broker))
    #expect(set.status == 75 && set.output.contains("2 of 4 vehicles were not asked"), "\(set.output)")
  }

  @Test(.timeLimit(.minutes(6))) func missingRegionsAreReported() async throws {
    let broker = try BrokerFixture()
    let nobody = try await OdographProcess.run(["regions", "list"] + at(broker))
    #expect(nobody.status == 0 && nobody.output.contains("no vehicle has regions"), "\(nobody.output)")
    for name in ["van", "bus"] {
      try await publish(
        broker, "odograph/v1/demo/\(name)/status", FleetPayload.status("online", session: "", seq: 1),
        retain: true)
    }
    let none = try await OdographProcess.run(["regions", "list"] + at(broker))
    #expect(
      none.status == 0 && none.output.contains("demo/van") && none.output.contains("no vehicle has regions"),
      "\(none.output)")
    let remove = ["regions", "remove", "yard", "--fleet", "demo", "--timeout", "60"] + at(broker)
    let refused = try await OdographProcess.run(remove)
    #expect(
      refused.status == 64 && refused.output.contains("none of the 2 vehicles has it"), "\(refused.output)")
    let vehicle = try VehicleResponder(port: broker.port, name: "demo/van")
    defer { vehicle.stop() }
    try await vehicle.waitUntilReady()
    try await publish(
      broker, "odograph/v1/demo/van/regions/desired",
      #"{"features":[{"id":"yard","geometry":{"type":"Point","coordinates":[11,48]},"properties":{"radius":9}}]}"#,
      retain: true)
    let removed = try await OdographProcess.run(remove)
    #expect(
      removed.status == 0 && removed.output.contains("watches 0 of 0")
        && removed.output.contains("\"yard\" does not exist on demo/bus"), "\(removed.output)")
  }

  @Test(.timeLimit(.minutes(6))) func simulateReportsUnacknowledgedMessages() async throws {
    let broker = try BrokerFixture()
    let directory = try TemporaryDirectory()
    let output = directory.file("simulate")
    let child = try OdographProcess.start(["simulate", "--vehicles", "5"] + at(broker), output: output)
    try await broker.waitForLog("sim-5/location")
    broker.kill()
    try await eventually { try OdographProcess.text(of: output).contains("connecting again") }
    child.signal(SIGTERM)
    try await eventually {
      try OdographProcess.text(of: output).contains("are not acknowledged by the broker")
    }
    #expect(child.isRunning)
    child.signal(SIGTERM)
    try await eventually { !child.isRunning }
    let text = try OdographProcess.text(of: output)
    #expect(child.waitForExit() == 143 && text.contains("messages acknowledged"), "\(text)")
  }
}
