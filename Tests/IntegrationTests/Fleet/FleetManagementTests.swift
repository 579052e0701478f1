import Foundation
import TestSupport
import Testing

/// `odograph command`, `config` and `regions` with simulated vehicles that respond, over a real mosquitto.
@Suite struct FleetManagementTests {
  private func objects(_ result: OdographProcess.Result) throws -> [[String: Any]] {
    try result.lines.map {
      try #require(JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
    }
  }

  private func arguments(_ broker: BrokerFixture, _ rest: String...) -> [String] {
    rest + ["--host", "127.0.0.1", "--port", "\(broker.port)", "--fleet", "demo"]
  }

  @Test(.timeLimit(.minutes(6)), arguments: [false, true]) func commandsAreAnswered(version311: Bool)
    async throws
  {
    let broker = try BrokerFixture()
    let vehicle = try VehicleResponder(
      port: broker.port, name: "demo/van", refuses: "reload", version311: version311)
    defer { vehicle.stop() }
    try await vehicle.waitUntilReady()
    let protocolFlag = version311 ? ["--mqtt-v311"] : []
    let asked = try await OdographProcess.run(
      arguments(broker, "command", "locate", "--vehicle", "van", "--json", "--timeout", "60") + protocolFlag)
    #expect(asked.status == 0, "\(asked.output)")
    let answer = try #require(objects(asked).first)
    #expect(
      answer["state"] as? String == "done"
        && (answer["result"] as? [String: Any])?["latitude"] as? Double == 48.1)
    let refused = try await OdographProcess.run(
      arguments(broker, "command", "reload", "--vehicle", "van", "--timeout", "60") + protocolFlag)
    #expect(refused.status == 69 && refused.output.contains("demo/van  refused"))
    let absent = try await OdographProcess.run(
      arguments(broker, "command", "status", "--vehicle", "ghost", "--timeout", "0.5") + protocolFlag)
    #expect(absent.status == 75 && absent.output.contains("no answer within"))
    let nobody = try await OdographProcess.run(arguments(broker, "command", "status"))
    #expect(
      nobody.status == 69 && nobody.output.contains("the broker has no retained messages of these vehicles"))
    let unknown = try await OdographProcess.run(arguments(broker, "command", "explode", "--vehicle", "van"))
    #expect(unknown.status == 64 && unknown.output.contains("the commands are locate, status"))
  }

  @Test(.timeLimit(.minutes(8))) func settingsAreRequestedReportedAndCompared() async throws {
    let broker = try BrokerFixture()
    let names = ["van-1", "van-2", "van-3", "van-4"]
    let vehicles = try names.map {
      try VehicleResponder(
        port: broker.port, name: "demo/\($0)", refuses: $0 == "van-4" ? "location.distance_filter" : nil)
    }
    defer { for vehicle in vehicles { vehicle.stop() } }
    for vehicle in vehicles { try await vehicle.waitUntilReady() }
    for name in names {
      try await publish(
        broker, "odograph/v1/demo/\(name)/status",
        FleetPayload.status("online", session: FleetPayload.time(), seq: 1),
        retain: true)
    }
    // Vehicles without requested settings are listed as well.
    let untouched = try await OdographProcess.run(arguments(broker, "config", "show"))
    #expect(untouched.status == 0, "\(untouched.output)")
    #expect(untouched.lines.filter { $0.contains("no remote settings") }.count == 4)
    #expect(try await OdographProcess.run(arguments(broker, "config", "diff")).status == 0)
    let set = try await OdographProcess.run(
      arguments(broker, "config", "set", "status.interval=30", "--json"))
    #expect(set.status == 0, "\(set.output)")
    #expect(try objects(set).map { $0["state"] as? String } == Array(repeating: "applied", count: 4))
    // A refusal stops the rollout and is reflected in the exit status.
    let rollout = try await OdographProcess.run(
      arguments(broker, "config", "set", "location.distance_filter=5", "--stages", "25,50,75,100"))
    #expect(rollout.status == 69, "\(rollout.output)")
    #expect(
      rollout.output.contains("stage 1 of 4")
        && rollout.output.contains("location.distance_filter: out of range"))
    let shown = try await OdographProcess.run(arguments(broker, "config", "show", "--vehicle", "van-1"))
    #expect(shown.status == 0 && shown.output.contains("status.interval = 30"))
    let diff = try await OdographProcess.run(arguments(broker, "config", "diff"))
    #expect(diff.status == 1 && diff.output.contains("demo/van-4") && !diff.output.contains("demo/van-1"))
    let unset = try await OdographProcess.run(
      arguments(broker, "config", "set", "--unset", "location.distance_filter", "--vehicle", "van-4"))
    #expect(unset.status == 0, "\(unset.output)")
    let mistyped = try await OdographProcess.run(
      arguments(broker, "config", "set", "--unset", "location.distance_filte", "--vehicle", "van-4"))
    #expect(
      mistyped.status == 64 && mistyped.output.contains("did you mean location.distance_filter?"),
      "\(mistyped.output)")
    #expect(try await OdographProcess.run(arguments(broker, "config", "diff")).status == 0)
    let wrong = try await OdographProcess.run(arguments(broker, "config", "set", "no key"))
    #expect(wrong.status == 64 && wrong.output.contains("write a setting as key=value"))
  }

  /// If a vehicle's status reports that remote management is disabled, commands fail immediately and publish nothing.
  @Test(.timeLimit(.minutes(4))) func unmanagedVehicleFailsImmediately() async throws {
    let broker = try BrokerFixture()
    let time = FleetPayload.time()
    try await publish(
      broker, "odograph/v1/demo/van/status",
      #"{"state":"online","time":"\#(time)","sessionStart":"\#(time)","remote":false,"epoch":"0123456789abcdef","seq":1}"#,
      retain: true)
    let van = ["--vehicle", "van", "--timeout", "3000"]
    for command in [["command", "locate"], ["config", "set", "status.interval=30"]] {
      let result = try await OdographProcess.run(
        command + ["--host", "127.0.0.1", "--port", "\(broker.port)", "--fleet", "demo"] + van)
      #expect(result.status == 69, "\(result.output)")
      #expect(result.output.contains("set remote.enabled = true"), "\(result.output)")
    }
    let kept = try await OdographProcess.run(arguments(broker, "config", "show", "--vehicle", "van"))
    #expect(!kept.output.contains("status.interval"))
  }

  /// A key that the vehicle refuses does not block later settings.
  @Test(.timeLimit(.minutes(4))) func refusedKeyDoesNotBlockLaterSettings() async throws {
    let broker = try BrokerFixture()
    let vehicle = try VehicleResponder(
      port: broker.port, name: "demo/van", refuses: "location.distance_filter")
    defer { vehicle.stop() }
    try await vehicle.waitUntilReady()
    let van = ["--vehicle", "van"]
    let refused = try await OdographProcess.run(
      arguments(broker, "config", "set", "location.distance_filter=5") + van)
    #expect(refused.status == 69, "\(refused.output)")
    let next = try await OdographProcess.run(arguments(broker, "config", "set", "status.interval=30") + van)
    #expect(next.status == 0, "\(next.output)")
    #expect(
      next.output.contains("location.distance_filter is no longer requested")
        && next.output.contains("out of range"), "\(next.output)")
    let shown = try await OdographProcess.run(arguments(broker, "config", "show") + van)
    #expect(shown.output.contains("status.interval = 30"))
  }

  @Test(.timeLimit(.minutes(8))) func regionsArePushedListedComparedAndRemoved() async throws {
    let broker = try BrokerFixture()
    let vehicle = try VehicleResponder(port: broker.port, name: "demo/van", refuses: "moon")
    defer { vehicle.stop() }
    try await vehicle.waitUntilReady()
    let directory = try TemporaryDirectory()
    let file = try directory.write(
      "regions.wkt", "yard: POLYGON ((11 48, 12 48, 12 49))\nstop: POINT (11.5 48.1)\n")
    let van = ["--vehicle", "van"]
    let push = try await OdographProcess.run(
      arguments(broker, "regions", "push", file, "--radius", "50") + van)
    #expect(push.status == 0 && push.output.contains("watches 2 of 2"), "\(push.output)")
    let list = try await OdographProcess.run(arguments(broker, "regions", "list") + van)
    #expect(list.output.contains("circle of 50 m") && list.output.contains("yard"))
    let moon = try directory.write("moon.wkt", "moon: POLYGON ((1 1, 2 1, 2 2))\n")
    let refused = try await OdographProcess.run(arguments(broker, "regions", "push", moon, "--add") + van)
    #expect(refused.status == 69 && refused.output.contains("moon refused: too many corners"))
    let diff = try await OdographProcess.run(arguments(broker, "regions", "diff") + van)
    #expect(diff.status == 1 && diff.output.contains("+ moon"))
    let same = try await OdographProcess.run(
      arguments(broker, "regions", "diff", file, "--radius", "50") + van)
    #expect(same.status == 0, "\(same.output)")
    let remove = try await OdographProcess.run(arguments(broker, "regions", "remove", "moon", "stop") + van)
    #expect(remove.output.contains("watches 1 of 1"), "\(remove.output)")
    let bad = try await OdographProcess.run(arguments(broker, "regions", "push", "/nonexistent") + van)
    #expect(bad.status == 64 && bad.output.contains("no such file"))
  }
}
