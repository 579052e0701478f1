import Foundation
import TestSupport
import Testing

/// The built `odograph serve` with `odograph forget`, `odograph alerts end` and SIGHUP.
@Suite(.serialized, .timeLimit(.minutes(5))) struct AlertForgetTests {
  private let broker: BrokerFixture
  private let directory: TemporaryDirectory
  private let receiver: ChildProcess

  init() async throws {
    broker = try BrokerFixture()
    directory = try TemporaryDirectory()
    receiver = try ChildProcess(
      ContractScript.python,
      ["\(ContractScript.repository)/Tests/Alerts/receiver.py", directory.file("received"), "0"])
    let receiver = receiver
    try await eventually { receiver.output.hasSuffix("\n") }
  }

  private func configure(_ rules: String) throws -> String {
    let port = receiver.output.split(whereSeparator: \.isWhitespace).last ?? ""
    return try directory.write(
      "serve.toml",
      """
      [alerts]
      store = "alerts.sqlite"
      group = "none"
      \(rules)
      [webhooks.ops]
      url = "http://127.0.0.1:\(port)/alerts"

      """)
  }

  /// Alert transitions that the receiver has processed, in order, for example `gone ended forgotten`.
  private var transitions: [String] {
    let text = (try? String(contentsOfFile: directory.file("received"), encoding: .utf8)) ?? ""
    return text.split(separator: "\n").flatMap { line -> [String] in
      let entry = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      let alerts = (entry?["body"] as? [String: Any])?["alerts"] as? [[String: Any]] ?? []
      return alerts.map { alert in
        ["vehicle", "transition", "reason"].compactMap { alert[$0] as? String }.joined(separator: " ")
      }
    }
  }

  private func publishState(_ vehicle: String, _ state: String) async throws {
    try await publish(
      broker, "odograph/v1/demo/\(vehicle)/status",
      #"{"state":"\#(state)","time":"\#(FleetPayload.time())","sessionStart":"\#(FleetPayload.time(-60))"}"#,
      retain: true)
    try await publish(
      broker, "odograph/v1/demo/\(vehicle)/location",
      #"{"time":"\#(FleetPayload.time())","latitude":48.1,"longitude":11.5}"#, retain: true)
  }

  /// Blocks until a stream has delivered a text.
  private static func read(_ connection: HTTPConnection, until wanted: String) throws {
    var text = ""
    while !text.contains(wanted), let chunk = try connection.readChunk() {
      text += String(decoding: chunk, as: UTF8.self)
    }
    #expect(text.contains(wanted))
  }

  @Test func removedVehicleEndsItsAlerts() async throws {
    let file = try configure("[rules.offline]\nwhen = \"offline\"")
    for vehicle in ["gone", "stays", "kept"] { try await publishState(vehicle, "offline") }
    let server = try ServeProcess(broker, ["--config", file])
    try await eventually { transitions.count == 3 }
    let stream = try await onThread {
      let connection = try HTTPConnection(port: server.port)
      connection.send("GET", "/api/v1/stream")
      _ = try connection.readHead()
      try Self.read(connection, until: #""vehicle":"gone""#)
      return connection
    }
    let at = ["--broker", "mqtt://127.0.0.1:\(broker.port)", "--fleet", "demo"]
    let forgotten = try await OdographProcess.run(["forget", "--vehicle", "gone", "--yes"] + at)
    #expect(forgotten.status == 0, "\(forgotten.output)")
    try await eventually { transitions.contains("gone ended forgotten") }
    try await onThread { try Self.read(stream, until: #""vehicle":"gone","removed":true"#) }
    #expect(try await server.get("/api/v1/vehicles").list("vehicles").count == 2)
    #expect(try await server.get("/api/v1/alerts").list("alerts").count == 2)
    // A late message registers the vehicle again, and its state raises a new alert.
    try await publishState("gone", "offline")
    try await eventually { transitions.count { $0 == "gone began" } == 2 }
    let again = try await OdographProcess.run(["forget", "--vehicle", "gone", "--yes"] + at)
    #expect(again.status == 0, "\(again.output)")
    try await eventually { transitions.count { $0 == "gone ended forgotten" } == 2 }

    // A stopped server misses the removal: an operator ends the alert.
    #expect(server.child.terminate() == 143)
    let away = try await OdographProcess.run(["forget", "--vehicle", "stays", "--yes"] + at)
    #expect(away.status == 0, "\(away.output)")
    let next = try ServeProcess(broker, ["--config", file])
    let list = try await OdographProcess.run(["alerts", "list", "--config", file])
    let line = try #require(list.output.split(separator: "\n").first { $0.contains("demo/stays") })
    let name = String(line.split(separator: " ")[0])
    let wrong = try await OdographProcess.run(["alerts", "end", "--config", file, name + "0"])
    #expect(wrong.status == 64 && wrong.output.contains("no open alert has this name"), "\(wrong.output)")
    let ended = try await OdographProcess.run(["alerts", "end", "--config", file, name])
    #expect(
      ended.status == 0 && ended.output.contains("\(name) ends: offline: demo/stays"), "\(ended.output)")
    try await eventually { transitions.contains("stays ended operator") }
    // Also through the HTTP API.
    let open = try await next.get("/api/v1/alerts").list("alerts")
    let other = try #require(open.first?["id"] as? String)
    #expect(open.count == 1)
    #expect(try await next.ask("POST", "/api/v1/alerts/\(other)/end").status == 204)
    try await eventually { transitions.contains("kept ended operator") }
    #expect(next.child.terminate() == 143)
    #expect(transitions.count == 8, "\(transitions)")
  }

  @Test func rulesAreReloaded() async throws {
    func rules(_ text: String) throws -> String { try configure(text) }
    let low = "[rules.low]\nwhen = \"battery\"\nbelow = 0.2\n"
    let file = try rules("[rules.offline]\nwhen = \"offline\"\n" + low)
    try await publishState("van", "offline")
    let server = try ServeProcess(broker, ["--config", file])
    func said(_ text: String) -> Bool { server.child.output.contains(text) }
    func reload() { server.child.signal(SIGHUP) }
    try await eventually { transitions == ["van began"] }
    // An invalid rule leaves all rules unchanged.
    _ = try rules("[rules.offline]\nwhen = \"offlin\"")
    reload()
    try await eventually { said("tokens, rules and receivers: ") && said("serve.toml:5") }
    // So does an invalid entry elsewhere in the file.
    _ = try rules(low + "[users.ann]\nroll = \"view\"\n")
    reload()
    try await eventually { said("serve.toml:8") }
    #expect(try await server.get("/api/v1/rules").list("rules").count == 2 && transitions == ["van began"])
    _ = try rules(low + "[rules.moved]\nwhen = \"event\"\nevents = [\"moving\"]\n")
    reload()
    try await eventually { transitions == ["van began", "van ended rule"] }
    #expect(said("2 rules"))
    let names = try await server.get("/api/v1/rules").list("rules").compactMap { $0["name"] as? String }
    #expect(names == ["low", "moved"])
    // Events are received from now on, although no earlier rule subscribed to them.
    try await broker.waitForLog("Sending SUBACK to odograph-alerts-")
    try await publish(
      broker, "odograph/v1/demo/van/motion",
      #"{"event":"moving","time":"\#(FleetPayload.time())","epoch":"6f1d0a41c08e7b52","seq":1}"#)
    try await eventually { transitions.last == "van happened" }
    // A new rule is evaluated without a further message of the vehicle.
    _ = try rules("[rules.away]\nwhen = \"offline\"")
    reload()
    try await eventually { transitions.last == "van began" }
    #expect(server.child.terminate() == 143 && transitions.count == 4)
  }

  @Test func alertsAddedAfterTheStartRequireARestart() async throws {
    let file = try directory.write("late.toml", "")
    let server = try ServeProcess(broker, ["--config", file])
    _ = try directory.write("late.toml", "[rules.low]\nwhen = \"battery\"\nbelow = 0.2\n")
    server.child.signal(SIGHUP)
    try await eventually { server.child.output.contains("late.toml; this requires a restart") }
    #expect(server.child.terminate() == 143)
  }

  /// Only a server creates the alert store. Commands refuse to create one, because no server would read it.
  @Test func commandsCreateNoStore() async throws {
    let file = try configure("[rules.low]\nwhen = \"battery\"\nbelow = 0.2")
    let path = directory.file("alerts.sqlite")
    let commands = [["list"], ["silence", "--for", "2h"], ["retry"], ["end", "1-1"]]
    func refused(_ more: [String], _ wanted: [String]) async throws {
      for command in commands {
        let result = try await OdographProcess.run(["alerts"] + command + ["--config", file] + more)
        #expect(result.status == 64, "\(command): \(result.output)")
        for text in wanted { #expect(result.output.contains(text), "\(command): \(result.output)") }
      }
    }
    try await refused([], [path, "odograph serve creates it", "--store"])
    #expect(!FileManager.default.fileExists(atPath: path))
    // An empty file, as a command of an earlier version created it.
    let empty = try directory.write("empty.sqlite", "")
    try await refused(["--store", empty], ["empty.sqlite", "no odograph serve has created it"])
    let server = try ServeProcess(broker, ["--config", file])
    #expect(server.child.terminate() == 143)
    for command in commands.prefix(3) {
      let result = try await OdographProcess.run(["alerts"] + command + ["--config", file, "--store", path])
      #expect(result.status == 0, "\(command): \(result.output)")
    }
  }
}
