import Foundation
import TestSupport
import Testing

/// The consumers in `Config/examples/consumers`, as far as their platforms are available.
@Suite(.serialized, .timeLimit(.minutes(6))) struct ConsumerTests {
  private let broker: BrokerFixture
  private let directory: TemporaryDirectory

  init() throws {
    broker = try BrokerFixture()
    directory = try TemporaryDirectory()
  }

  private static func example(_ name: String) -> String {
    "\(ContractScript.repository)/Config/examples/consumers/\(name)"
  }

  /// Runs a script with a file as its input. The script may still be running on return.
  private func run(_ program: String, _ arguments: [String], stdin: String = "/dev/null") throws
    -> ChildProcess
  {
    try ChildProcess(
      "sh", ["-c", #"exec "$0" "$@" <"$STDIN""#, program] + arguments, environment: ["STDIN": stdin])
  }

  private func script(_ name: String) -> String { "\(ContractScript.repository)/Tests/Consumers/\(name)" }

  /// Number of positions in recorded messages.
  private func positions(in lines: String) throws -> Int {
    try lines.split(separator: "\n").reduce(0) { sum, line in
      let message = try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
      let (topic, payload) = (message["topic"] as? String ?? "", message["payload"] as? [String: Any] ?? [:])
      return sum
        + (topic.hasSuffix("/location") ? 1 : topic.hasSuffix("/track") ? payload["count"] as? Int ?? 0 : 0)
    }
  }

  /// Without the required library, the script prints which package to install.
  @Test func pythonReportsAMissingLibrary() throws {
    let reader = try ChildProcess(ContractScript.python, ["-S", Self.example("positions.py")])
    #expect(reader.waitForExit() == 1)
    #expect(reader.output.contains("apt-get install python3-paho-mqtt"), "\(reader.output)")
    #expect(!reader.output.contains("Traceback"), "\(reader.output)")
  }

  @Test func pythonPrintsPositionsAndCountsMissingNumbers() async throws {
    let lines = try await BrokerLines(broker, in: directory)
    let output = directory.file("positions")
    let before = broker.logCount("Sending SUBACK")
    let reader = try ChildProcess(
      ContractScript.python, [Self.example("positions.py"), "127.0.0.1", "\(broker.port)"], output: output)
    try await eventually { broker.logCount("Sending SUBACK") > before }
    try await BrokerLines.simulate(at: broker)
    let van = "odograph/v1/demo/van/location"
    // Sequence numbers of a vehicle: 8 is repeated, 9 and 11 are missing, 10 is late. After a crash, numbers continue at a multiple of
    // 65,536.
    for seq in [7, 8, 8, 12, 10, 65_537] {
      try await publish(
        broker, van,
        #"{"time":"2026-11-22T08:00:00.000Z","latitude":48.5,"longitude":-11,"epoch":"00000000000000ff","seq":\#(seq)}"#
      )
    }
    // The current position of a vehicle with bounded reporting is printed every 5 s, until it is offline.
    let bus = "odograph/v1/demo/bus"
    let reported = ISO8601DateFormatter().string(from: Date(timeIntervalSinceNow: -20))
    for (seq, accuracy) in [(0, ""), (1, #""horizontalAccuracy":3,"#)] {
      try await publish(
        broker, "\(bus)/location",
        #"{"time":"\#(reported)","latitude":48.5,"longitude":-11,\#(accuracy)"epoch":"0000000000000001","seq":\#(seq),"#
          + #""predict":{"velocityEast":0,"velocityNorth":10,"bound":20,"delay":5,"validity":900,"growth":50}}"#
      )
      let within = accuracy.isEmpty ? "an unknown distance" : "23 m"
      try await eventually {
        try OdographProcess.text(of: output).contains(
          Regex(#"demo/bus now 48\.50[0-9]{5} -11\.0000000 within "# + within))
      }
    }
    // A location repeated after the will does not make the vehicle active again.
    try await publish(broker, "\(bus)/status", #"{"state":"offline","will":true}"#)
    try await publish(
      broker, "\(bus)/location",
      #"{"time":"\#(reported)","latitude":49.5,"longitude":-11,"epoch":"0000000000000001","seq":2,"predict":"#
        + #"{"velocityEast":0,"velocityNorth":10,"bound":20,"delay":5,"validity":900,"growth":50}}"#)
    try await publish(broker, van, "no JSON")
    try await eventually {
      try OdographProcess.text(of: output).contains("demo/van/location: JSONDecodeError")
    }
    reader.signal(SIGINT)
    #expect(reader.waitForExit() == 0)
    let text = try OdographProcess.text(of: output)
    let printed = text.split(separator: "\n").filter { $0.hasSuffix(" location") || $0.hasSuffix(" track") }
    // The test cannot parse the invalid line either.
    let messages = lines.text.split(separator: "\n").filter { !$0.contains("no JSON") }.joined(
      separator: "\n")
    #expect(try printed.count == positions(in: messages) - 1, "the repeated position is printed once")
    #expect(!text.contains("demo/bus now 49.5"))
    #expect(
      printed.filter { $0.hasPrefix("demo/van 2026-11-22T08:00:00.000Z 48.5000000 -11.0000000") }.count == 5)
    // Missing: 9, 11, and 65,536, the first number after the crash.
    #expect(text.contains(" 1 messages repeated, 1 unreadable, 3 numbers missing"), "\(text.suffix(300))")
    #expect(text.contains("\(printed.count) positions of 22 vehicles"))
  }

  @Test func pythonCountsNoMissingNumbersBetweenRetainedMessages() async throws {
    let van = "odograph/v1/demo/van"
    let location = #"{"time":"2026-11-22T08:00:00.000Z","latitude":48.5,"longitude":-11,"epoch":"ff","seq":"#
    try await publish(broker, "\(van)/status", #"{"state":"online","epoch":"ff","seq":10}"#, retain: true)
    try await publish(broker, "\(van)/location", location + "20}", retain: true)
    let output = directory.file("positions")
    let reader = try ChildProcess(
      ContractScript.python, [Self.example("positions.py"), "127.0.0.1", "\(broker.port)"], output: output)
    try await eventually { try OdographProcess.text(of: output).contains("48.5000000") }
    for seq in [21, 22, 24] {
      try await publish(broker, "\(van)/location", location + "\(seq)}", retain: true)
    }
    try await publish(broker, van + "/location", "no JSON")
    try await eventually { try OdographProcess.text(of: output).contains("JSONDecodeError") }
    reader.signal(SIGINT)
    #expect(reader.waitForExit() == 0)
    let text = try OdographProcess.text(of: output)
    #expect(
      text.contains("4 positions of 1 vehicles, 0 messages repeated, 1 unreadable, 1 numbers missing"),
      "\(text)")
  }

  @Test(.needs(.node)) func nodeREDShowsEveryPosition() async throws {
    let lines = try await BrokerLines(broker, in: directory)
    try await BrokerLines.simulate(at: broker)
    try await lines.finish()
    // The broker may deliver messages twice.
    let doubled = directory.file("doubled")
    try (lines.text + lines.text).write(toFile: doubled, atomically: true, encoding: .utf8)
    let flow = try run("node", [script("flow.js"), Self.example("node-red.json")], stdin: doubled)
    #expect(flow.waitForExit() == 0, "\(flow.output)")
    let shown = flow.output.split(separator: "\n")
    #expect(try shown.count == positions(in: lines.text) && shown.count > 100)
    #expect(shown.allSatisfy { $0.contains(#""lat":48."#) && $0.contains(#""name":"demo/sim-"#) })
  }

  /// Between reports, a timer moves the markers of vehicles with bounded reporting.
  @Test(.needs(.node)) func nodeREDMovesMarkersBetweenReports() throws {
    let path = directory.file("lines")
    let payload =
      #"{"time":"2026-11-22T08:00:00.000Z","latitude":48,"longitude":11,"horizontalAccuracy":2,"epoch":"e","seq":"#
    let predict =
      #""predict":{"velocityEast":0,"velocityNorth":10,"bound":20,"delay":5,"validity":30,"growth":1}"#
    let lines = [
      #"{"topic":"odograph/v1/demo/van/location","payload":\#(payload)1,\#(predict)}}"#,
      #"{"topic":"odograph/v1/demo/bus/location","payload":\#(payload)1}}"#,
      // 15 s, 45 s and 10 min after the report.
      #"{"tick":1795334415000}"#, #"{"tick":1795334445000}"#, #"{"tick":1795335000000}"#,
      // 15 s after the report again, now with the vehicle offline.
      #"{"topic":"odograph/v1/demo/van/status","payload":{"state":"offline"}}"#, #"{"tick":1795334415000}"#,
    ]
    try lines.joined(separator: "\n").write(toFile: path, atomically: true, encoding: .utf8)
    let flow = try run("node", [script("flow.js"), Self.example("node-red.json")], stdin: path)
    #expect(flow.waitForExit() == 0, "\(flow.output)")
    let shown = flow.output.split(separator: "\n").map(String.init)
    try #require(shown.count == 4, "\(flow.output)")
    #expect(
      shown[0].contains(#""name":"demo/van","lat":48,"#) && shown[1].contains(#""name":"demo/bus","lat":48,"#)
    )
    // 10 s and 40 s at 10 m/s, after the delay of 5 s. At 45 s the bound of 20 m has grown by 10 m. The accuracy of 2 m is added.
    #expect(shown[2].contains(#""name":"demo/van","lat":48.0008"#) && shown[2].contains(#""accuracy":22,"#))
    #expect(shown[3].contains(#""name":"demo/van","lat":48.0035"#) && shown[3].contains(#""accuracy":32,"#))
  }

  @Test func telegrafPathsExist() throws {
    let check = try run(ContractScript.python, [script("telegraf.py"), Self.example("telegraf.conf")])
    #expect(check.waitForExit() == 0, "\(check.output)")
    #expect(ContractScript.counts(check.output)["paths"] ?? 0 > 10)
  }

  /// Home Assistant's core with a vehicle that announces itself.
  @Test(.needs(.homeAssistant)) func homeAssistantFindsTheVehicle() throws {
    let agent = try AgentProcess([
      "mqtt.broker": "127.0.0.1:\(broker.port)", "input.mode": "simulation", "iio.rate": "20",
      "homeassistant.enabled": "true",
    ])
    let home = try PythonEnvironment.homeAssistant.run("Consumers/home_assistant.py", ["\(broker.port)"])
    agent.child.terminate()
    #expect(home.status == 0, "\(home.output)")
    var states: [String: (state: String, attributes: [String: Any])] = [:]
    for line in home.output.split(separator: "\n") {
      guard let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any],
        let id = object["id"] as? String
      else { continue }
      states[id] = (object["state"] as? String ?? "", object["attributes"] as? [String: Any] ?? [:])
    }
    let tracker = try #require(states["device_tracker.van_position"], "\(home.output)")
    #expect((47...49).contains(tracker.attributes["latitude"] as? Double ?? 0))
    #expect(tracker.attributes["gps_accuracy"] as? Double ?? 0 > 0)
    let speed = try #require(states["sensor.van_speed"], "\(states.keys.sorted())")
    #expect(Double(speed.state) ?? -1 >= 0 && speed.attributes["unit_of_measurement"] as? String == "m/s")
    for id in ["sensor.van_course", "sensor.van_heading", "binary_sensor.van_moving"] {
      #expect(states[id] != nil, "\(id)")
    }
  }
}
