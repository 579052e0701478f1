import Foundation
import TestSupport
import Testing

/// The built `odograph serve` with receivers that fail for a third of the requests in different ways, while processes are killed: each
/// alert and its end are processed once, and in order per vehicle.
@Suite(.serialized) struct AlertDeliveryTests {
  /// 240 alerts with their ends and 6 kills (10,000 and 50 with ODOGRAPH_FULL=1). Half of them are grouped and also sent by mail.
  @Test(.timeLimit(.minutes(45))) func alertsAreProcessedOnceDespiteKills() async throws {
    let broker = try BrokerFixture()
    let directory = try TemporaryDirectory()
    let size = Shared.isFullRun ? ["1000", "5", "50"] : ["40", "3", "6"]
    let child = try ChildProcess(
      ContractScript.python,
      [
        "\(ContractScript.repository)/Tests/Alerts/kills.py", OdographProcess.path, "\(broker.port)",
        directory.path,
      ]
        + size)
    try await eventually { !child.isRunning }
    print(child.output)
    #expect(child.waitForExit() == 0, "\(child.output)")
    let counts = ContractScript.counts(child.output)
    #expect(counts["processed"] == (Shared.isFullRun ? 20_000 : 480))
    #expect(counts["mailed"] == (Shared.isFullRun ? 10_000 : 240))
    #expect(counts["kills"] == (Shared.isFullRun ? 50 : 6))
  }

  /// The broker queues events while the server is stopped, after a kill and after a normal stop.
  @Test(.timeLimit(.minutes(6))) func eventsDuringAServerOutageAreSentOnce() async throws {
    let broker = try BrokerFixture()
    let directory = try TemporaryDirectory()
    let receiver = try ChildProcess(
      ContractScript.python,
      ["\(ContractScript.repository)/Tests/Alerts/receiver.py", directory.file("received"), "0"])
    try await eventually { receiver.output.hasSuffix("\n") }
    let port = try #require(receiver.output.split(whereSeparator: \.isWhitespace).last)
    let file = try directory.write(
      "serve.toml",
      """
      [alerts]
      store = "alerts.sqlite"
      group = "none"
      [rules.moved]
      when = "event"
      events = ["moving"]
      states = ["online"]
      [webhooks.ops]
      url = "http://127.0.0.1:\(port)/alerts"

      """)
    func start() throws -> ChildProcess {
      try OdographProcess.start(
        [
          "serve", "--config", file, "--listen", "127.0.0.1:0", "--broker", "mqtt://127.0.0.1:\(broker.port)",
        ],
        output: directory.file("serve.log"))
    }
    func move(_ numbers: ClosedRange<Int>) async throws {
      for number in numbers {
        try await publish(
          broker, "odograph/v1/demo/van/motion",
          #"{"event":"moving","time":"\#(FleetPayload.time())","epoch":"6f1d0a41c08e7b52","seq":\#(number)}"#)
      }
    }
    func receivedMessages() -> [String] {
      let text = (try? String(contentsOfFile: directory.file("received"), encoding: .utf8)) ?? ""
      // A message accepted just before a kill is sent again with the same key; the receiver marks it as repeated.
      return text.split(separator: "\n").map(String.init).filter { $0.contains(#""again": false"#) }
    }
    try await publish(
      broker, "odograph/v1/demo/van/status",
      #"{"state":"online","time":"\#(FleetPayload.time())","sessionStart":"\#(FleetPayload.time(-60))"}"#,
      retain: true)
    var server = try start()
    try await broker.waitForLog("Sending SUBACK to odograph-alerts-")
    try await move(1...1)
    try await eventually { receivedMessages().count == 1 }
    server.kill()
    try await move(2...20)
    server = try start()
    try await eventually { receivedMessages().count == 20 }
    #expect(server.terminate() == 143)
    try await move(21...30)
    server = try start()
    try await eventually { receivedMessages().count >= 30 }
    try await move(31...31)
    try await eventually { receivedMessages().count >= 31 }
    #expect(server.terminate() == 143)
    #expect(receivedMessages().count == 31)
  }

  /// Commands of an operator: list, test and silence.
  @Test(.timeLimit(.minutes(6))) func alertsAreListedTestedAndSilenced() async throws {
    let broker = try BrokerFixture()
    let directory = try TemporaryDirectory()
    let receiver = try ChildProcess(
      ContractScript.python,
      ["\(ContractScript.repository)/Tests/Alerts/receiver.py", directory.file("received"), "0"])
    try await eventually { receiver.output.hasSuffix("\n") }
    let port = try #require(receiver.output.split(whereSeparator: \.isWhitespace).last)
    let file = try directory.write(
      "serve.toml",
      """
      [alerts]
      store = "alerts.sqlite"
      group = "none"
      time_zone = "Asia/Kolkata"
      [rules.low]
      when = "battery"
      below = 0.2
      [webhooks.ops]
      url = "http://127.0.0.1:\(port)/alerts"

      """)
    let checked = try await OdographProcess.run(["alerts", "check", "--config", file])
    #expect(checked.status == 0 && checked.output.contains("zone  +05:30 now"), "\(checked.output)")
    #expect(
      checked.output.contains("warning  below 20 %, ends at 25 %  not grouped  to ops"), "\(checked.output)")
    // `alerts check` validates the whole file, like `serve`.
    let text = try String(contentsOfFile: file, encoding: .utf8)
    for (table, place) in [
      ("[users.ann]\nrole = \"viev\"", "11:8"), ("[server]\nkeep = \"90x\"", "11:8"),
      ("[server]\nlisten = \"x\"", "11:10"),
    ] {
      let mistaken = try directory.write("mistaken.toml", text + table + "\n")
      let judged = try await OdographProcess.run(["alerts", "check", "--config", mistaken])
      #expect(judged.status == 64 && judged.output.contains("mistaken.toml:\(place)"), "\(judged.output)")
    }
    let tried = try await OdographProcess.run(["alerts", "test", "--config", file])
    #expect(tried.status == 0 && tried.output.contains("ops: status 200"), "\(tried.output)")
    func start() async throws -> ChildProcess {
      let log = directory.file("serve-\(UInt32.random(in: 0...(.max))).log")
      let server = try OdographProcess.start(
        [
          "serve", "--config", file, "--listen", "127.0.0.1:0", "--broker", "mqtt://127.0.0.1:\(broker.port)",
        ],
        output: log)
      try await eventually { try OdographProcess.text(of: log).contains("the page is at") }
      return server
    }
    // The server creates the alert store. A silence set while the server is stopped applies after its start.
    #expect(try await start().terminate() == 143)
    let silenced = try await OdographProcess.run(
      ["alerts", "silence", "--config", file, "--vehicle", "demo/quiet", "--for", "1h"])
    #expect(
      silenced.status == 0 && silenced.output.contains("all rules, vehicle demo/quiet"), "\(silenced.output)")
    let server = try await start()
    for vehicle in ["loud", "quiet"] {
      try await publish(
        broker, "odograph/v1/demo/\(vehicle)/status",
        #"{"state":"online","time":"\#(FleetPayload.time())","sessionStart":"\#(FleetPayload.time(-60))","battery":{"level":0.1}}"#,
        retain: true)
    }
    func received() -> String {
      (try? String(contentsOfFile: directory.file("received"), encoding: .utf8)) ?? ""
    }
    try await eventually { received().contains(#""vehicle": "loud""#) }
    let list = try await OdographProcess.run(["alerts", "list", "--config", file])
    #expect(list.output.contains("demo/loud  battery at 10 %"), "\(list.output)")
    #expect(list.output.contains("demo/quiet  battery at 10 %  silenced until"), "\(list.output)")
    #expect(list.output.contains(": all rules, vehicle demo/quiet"), "\(list.output)")
    #expect(!received().contains(#""vehicle": "quiet""#))
    // The running server notices the end of a silence by a command: the alert is still open and is sent now.
    let ended = try await OdographProcess.run(
      ["alerts", "silence", "--config", file, "--vehicle", "demo/quiet", "--end"])
    #expect(ended.status == 0 && ended.output.contains("1 silence ended"), "\(ended.output)")
    try await eventually { received().contains(#""vehicle": "quiet""#) }
    #expect(server.terminate() == 143)
    receiver.kill()
    let away = try await OdographProcess.run(["alerts", "test", "--config", file])
    #expect(away.status == 69 && away.output.contains("ops: failed: "), "\(away.output)")
    let parts: [(options: [String], status: Int32, text: String)] = [
      (["--fleet", "demo"], 0, "all vehicles of fleet demo"),
      (["--vehicle", "van"], 0, "vehicles named van"),
      (["--fleet", "demo", "--vehicle", "van", "--vehicle", "bus"], 0, "all rules, vehicle demo/bus"),
      (["--fleet", "demo", "--vehicle", "demo/van"], 0, "all rules, vehicle demo/van"),
      (["--fleet", "test", "--vehicle", "demo/van"], 64, "--fleet selects other fleets"),
      (["--vehicle", "demo/"], 64, "write VEHICLE, or FLEET/VEHICLE"), (["--fleet", ""], 64, "empty"),
    ]
    for (options, status, text) in parts {
      let result = try await OdographProcess.run(
        ["alerts", "silence", "--config", file, "--for", "1h"] + options)
      #expect(result.status == status && result.output.contains(text), "\(options): \(result.output)")
    }
    let ofLoud = try await OdographProcess.run(
      ["alerts", "list", "--config", file, "--all", "--fleet", "demo", "--vehicle", "loud"])
    #expect(
      ofLoud.output.contains("demo/loud") && !ofLoud.output.contains("demo/quiet  "), "\(ofLoud.output)")
    let wrong = try await OdographProcess.run(["alerts", "list", "--config", file, "--rule", "loww"])
    #expect(wrong.status == 64 && wrong.output.contains("did you mean low?"), "\(wrong.output)")
  }
}
