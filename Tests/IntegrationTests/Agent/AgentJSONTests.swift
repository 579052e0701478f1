import JSON
import TestSupport
import Testing

/// Output formats of `odographd check --json` and `odographd sensors --json`. Scripts depend on the member names.
@Suite struct AgentJSONTests {
  private func run(_ arguments: [String]) throws -> (status: Int32, json: JSONValue) {
    let child = try ChildProcess(BuiltProduct.path("odographd"), arguments)
    #expect(waitUntil(atMost: 300) { !child.isRunning })
    let status = child.terminate()
    return (status, try JSONValue(parsing: Array(child.output.utf8)))
  }

  private func members(_ json: JSONValue?) -> Set<String> {
    if case .object(let members)? = json { Set(members.keys) } else { [] }
  }

  private func check(_ settings: [String], _ options: [String] = []) throws -> (
    status: Int32, json: JSONValue
  ) {
    try run(["check", "--json"] + options + settings.flatMap { ["--set", $0] })
  }

  @Test func checkFormat() throws {
    let broker = try BrokerFixture()
    let common = [
      "vehicle.id=v", "store.path=\(broker.directory.file("outbox.sqlite"))", "input.mode=simulation",
    ]
    let well = try check(common + ["mqtt.broker=127.0.0.1:\(broker.port)"])
    #expect(well.status == 0 && well.json["ok"]?.bool == true)
    #expect(members(well.json) == ["ok", "findings", "estimate"])
    let estimate = try #require(well.json["estimate"])
    #expect(
      members(estimate) == [
        "drivingHours", "without", "joules", "joulesByPart", "bytes", "bytesByKind", "messages",
        "messagesByKind", "error", "plainConsumers",
      ])
    #expect(estimate["drivingHours"]?.double == 2 && estimate["error"]?.string?.isEmpty == false)
    for (whole, parts) in [
      ("joules", "joulesByPart"), ("bytes", "bytesByKind"), ("messages", "messagesByKind"),
    ] {
      guard case .object(let shares)? = estimate[parts] else {
        Issue.record("no \(parts)")
        continue
      }
      let sum = shares.values.reduce(0) { $0 + ($1.double ?? .nan) }
      let total = estimate[whole]?.double ?? .nan
      #expect(total > 0 && abs(sum - total) < Double(shares.count), "\(parts) \(sum) \(total)")
    }

    let port: Int = try FreePort.next()
    let ill = try check(common + ["mqtt.broker=127.0.0.1:\(port)"])
    #expect(ill.status == 2 && ill.json["ok"]?.bool == false)
    let findings = ill.json["findings"]?.array ?? []
    for finding in findings {
      #expect(members(finding).subtracting(["remedy"]) == ["severity", "subject", "message"])
      #expect(["ok", "warning", "problem"].contains(finding["severity"]?.string ?? ""))
    }
    let problem = findings.first { $0["severity"]?.string == "problem" }
    #expect(
      problem?["subject"]?.string == "broker" && problem?["remedy"]?.string?.isEmpty == false, "\(findings)")
  }

  /// The estimate assumes the detected sensors: without inertial sensors, a day needs more than twice the energy.
  @Test func estimateCoversTheDetectedSensors() throws {
    let broker = try BrokerFixture()
    let nobody = try "\(FreePort.next() as Int)"
    let settings = [
      "vehicle.id=v", "store.path=\(broker.directory.file("outbox.sqlite"))",
      "mqtt.broker=127.0.0.1:\(broker.port)", "gpsd.port=\(nobody)", "iio.contexts=ip:127.0.0.1:\(nobody)",
    ]
    let looked = try #require(try check(settings).json["estimate"])
    #expect(looked["without"]?.array?.compactMap(\.string) == ["accelerometer", "gyroscope"])
    let planned = try #require(try check(settings, ["--estimate"]).json["estimate"])
    #expect(planned["without"]?.array?.isEmpty == true)
    #expect((looked["joules"]?.double ?? 0) > 2 * (planned["joules"]?.double ?? .nan), "\(looked) \(planned)")
  }

  @Test func estimateRunsNoChecks() throws {
    let answer = try check(["vehicle.id=v"], ["--estimate", "--driving-hours", "3"])
    #expect(answer.status == 0 && answer.json["findings"]?.array?.isEmpty == true)
    #expect(answer.json["estimate"]?["drivingHours"]?.double == 3)
  }

  @Test func sensorsFormat() throws {
    let port: Int = try FreePort.next()
    let nobody = try run(
      ["sensors", "--json"]
        + ["vehicle.id=v", "gpsd.port=\(port)", "iio.contexts=ip:127.0.0.1:\(port)"].flatMap {
          ["--set", $0]
        })
    // `modems` is present if a D-Bus system bus is available.
    #expect(nobody.status == 0)
    #expect(members(nobody.json).subtracting(["modems"]) == ["gpsd", "iio", "can", "wifi"])
    #expect(members(nobody.json["gpsd"]) == ["address", "problem"])
    #expect(members(nobody.json["iio"]?.array?.first) == ["uri", "problem"])
    let off = try run([
      "sensors", "--json", "--set", "vehicle.id=v", "--set", "gpsd.enabled=false", "--set",
      "iio.enabled=false",
    ])
    #expect(off.status == 0 && off.json["iio"]?.array?.isEmpty == true)
    #expect(members(off.json).subtracting(["modems"]) == ["iio", "can", "wifi"])
  }

  /// Output for a real iiod with one device.
  @Test(.needs(.mounting)) func sensorsFormatWithADevice() async throws {
    let output = try await IIOFixture.run { fixture -> String in
      try IIOChips.addIMU(fixture)
      let daemon = try IIODaemon()
      let settings = ["vehicle.id=v", "gpsd.enabled=false", "iio.contexts=\(daemon.uri)"]
      let child = try ChildProcess(
        BuiltProduct.path("odographd"), ["sensors", "--json"] + settings.flatMap { ["--set", $0] })
      _ = waitUntil(atMost: 300) { !child.isRunning }
      return child.output
    }
    let context = try #require(try JSONValue(parsing: Array(output.utf8))["iio"]?.array?.first)
    #expect(members(context) == ["uri", "machine", "devices"], "\(context)")
    let device = try #require(context["devices"]?.array?.first)
    #expect(members(device).subtracting(["name", "label"]) == ["id", "sensors"])
    let sensor = try #require(device["sensors"]?.array?.first)
    #expect(members(sensor).subtracting(["frequency", "range"]) == ["kind", "buffered", "offers", "mount"])
  }
}
