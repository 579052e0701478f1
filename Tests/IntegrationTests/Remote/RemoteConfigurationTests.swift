import Foundation
import TestSupport
import Testing

/// Settings requested remotely, through a real broker.
@Suite(.serialized) struct RemoteConfigurationTests {
  private static let keys =
    #"keys = ["heading.enabled", "attitude.enabled", "status.interval", "mqtt.broker", "mqtt.message_expiry"]"#
  private static let enabled = "enabled = true\nrollback_after = 5\n" + keys

  private func refusals(_ report: [String: Any]?) -> [String: String] {
    let elements = report?["refused"] as? [[String: String]] ?? []
    return Dictionary(elements.map { ($0["key"] ?? "", $0["reason"] ?? "") }) { $1 }
  }

  @Test(.timeLimit(.minutes(4))) func invalidSettingsAreRefused() throws {
    let broker = try BrokerFixture()
    let controller = try Operator(broker)
    let agent = try ManagedAgent(broker, remote: Self.enabled, directory: TemporaryDirectory())
    #expect(waitUntil(atMost: 60) { controller.state == "online" }, "\(agent.log)")
    let good = controller.want(#"{"version":"good","settings":{"status.interval":77}}"#)
    #expect(good?["state"] as? String == "applied", "\(agent.log)")
    let cases: [(document: String, problem: String?, key: String?, reason: String)] = [
      (#"{"settings":{"#, "line 1", nil, ""),
      (String(repeating: "x", count: 1_000_000), "at most 65536", nil, ""),
      (
        #"{"version":"v","settings":{"status.intervall":9}}"#, nil, "status.intervall",
        "did you mean status.interval?"
      ),
      (
        #"{"settings":{"store.path":"/x","status.interval":5}}"#, nil, "store.path",
        "remote.keys does not list it"
      ),
      (#"{"settings":{"mqtt.password_file":"/etc/shadow"}}"#, nil, "mqtt.password_file", "does not list"),
      (#"{"settings":{"status.interval":"soon"}}"#, nil, "status.interval", "not a number from 1"),
      (#"{"settings":{"mqtt.broker":"ftp://x"}}"#, "not mqtt://HOST", nil, ""),
    ]
    for (document, expected, key, reason) in cases {
      let report = controller.want(document)
      #expect(report?["state"] as? String == "refused", "\(document.prefix(80)): \(agent.log)")
      if let expected { #expect(problem(of: report).contains(expected), "\(report ?? [:])") }
      if let key { #expect(refusals(report)[key]?.contains(reason) == true, "\(report ?? [:])") }
      // The previous settings remain in effect, and the vehicle responds to commands.
      let settings = report?["settings"] as? [String: Any]
      #expect(settings?["status.interval"] as? Double == 77 && settings?.count == 1)
    }
    #expect(controller.command("status")?["state"] as? String == "done")
    #expect(controller.state == "online")
    let validation = try validate(controller)
    #expect(validation.waitForExit() == 0, "\(validation.output)")
    agent.child.terminate()
  }

  @Test(.timeLimit(.minutes(4))) func unreachableBrokerIsRolledBack() throws {
    let (broker, directory) = (try BrokerFixture(), try TemporaryDirectory())
    let controller = try Operator(broker)
    let agent = try ManagedAgent(broker, remote: Self.enabled, directory: directory)
    #expect(waitUntil(atMost: 60) { controller.state == "online" }, "\(agent.log)")
    let dead: Int = try FreePort.next()
    controller.send(
      "config/desired",
      #"{"version":"dead","settings":{"mqtt.broker":"mqtt://127.0.0.1:\#(dead)","heading.enabled":false}}"#,
      retain: true)
    #expect(
      waitUntil(atMost: 120) { controller.reports.last?["state"] as? String == "rolledBack" }, "\(agent.log)")
    let report = try #require(controller.reports.last)
    #expect(report["version"] as? String == "dead")
    #expect(problem(of: report).contains("could not be reached"), "\(report)")
    #expect((report["settings"] as? [String: Any])?.isEmpty == true)
    #expect(waitUntil(atMost: 60) { controller.state == "online" })
    #expect(controller.command("locate")?["state"] as? String == "done", "\(agent.log)")
    // The broker delivers the retained document with each connection, also to the next run. A report without acknowledgement at the kill
    // is repeated with its original number.
    func numbers() -> Set<Int> { Set(controller.reports.compactMap { $0["seq"] as? Int }) }
    let reports = numbers()
    agent.child.kill()
    #expect(waitUntil(atMost: 60) { controller.state == "offline" })
    let again = try ManagedAgent(broker, remote: Self.enabled, directory: directory)
    #expect(waitUntil(atMost: 60) { controller.state == "online" }, "\(again.log)")
    #expect(controller.command("status")?["state"] as? String == "done", "\(again.log)")
    #expect(numbers() == reports, "\(again.log)")
    again.child.terminate()
  }

  /// A broker that accepts connections and subscriptions, and acknowledges no message.
  @Test(.timeLimit(.minutes(4))) func brokerWithoutAcknowledgementsIsRolledBack() throws {
    let (broker, directory) = (try BrokerFixture(), try TemporaryDirectory())
    let silent = try FakeBroker { connection, _ in
      guard connection.read() != nil else { return }
      connection.sendConnectAnswer(0)
      while let packet = connection.read() {
        switch packet.type {
        case 8: connection.send([0x90, 4] + packet.body.prefix(2) + [0, 1])
        case 12: connection.send([0xD0, 0])
        default: break
        }
      }
    }
    let controller = try Operator(broker)
    let agent = try ManagedAgent(broker, remote: Self.enabled, directory: directory)
    #expect(waitUntil(atMost: 60) { controller.state == "online" }, "\(agent.log)")
    controller.send(
      "config/desired",
      #"{"version":"silent","settings":{"mqtt.broker":"mqtt://127.0.0.1:\#(silent.port)"}}"#, retain: true)
    #expect(
      waitUntil(atMost: 120) { controller.reports.last?["state"] as? String == "rolledBack" }, "\(agent.log)")
    #expect(silent.connectionCount > 0)
    #expect(problem(of: controller.reports.last).contains("acknowledged no message"), "\(agent.log)")
    #expect(waitUntil(atMost: 60) { controller.state == "online" })
    #expect(
      agent.log.contains("event=broker.reconnecting") && !agent.log.contains("renewed credentials"),
      "\(agent.log)")
    agent.child.terminate()
  }

  @Test(.timeLimit(.minutes(4))) func vehicleMovesToAnotherBroker() throws {
    let (broker, other) = (try BrokerFixture(), try BrokerFixture())
    let (controller, newController) = (try Operator(broker), try Operator(other))
    let directory = try TemporaryDirectory()
    let agent = try ManagedAgent(broker, remote: Self.enabled, directory: directory)
    #expect(waitUntil(atMost: 60) { controller.state == "online" }, "\(agent.log)")
    controller.send(
      "config/desired", #"{"version":"move","settings":{"mqtt.broker":"mqtt://127.0.0.1:\#(other.port)"}}"#,
      retain: true)
    #expect(
      waitUntil(atMost: 120) { newController.reports.last?["state"] as? String == "applied" }, "\(agent.log)")
    #expect(waitUntil(atMost: 60) { newController.state == "online" && controller.state == "offline" })
    agent.child.kill()
    #expect(waitUntil(atMost: 60) { newController.state == "offline" })
    // The file still names the first broker; the remote setting overrides it.
    let again = try ManagedAgent(broker, remote: Self.enabled, directory: directory)
    #expect(waitUntil(atMost: 60) { newController.state == "online" }, "\(again.log)")
    #expect(newController.command("status")?["state"] as? String == "done", "\(again.log)")
    again.child.terminate()
  }

  @Test(.timeLimit(.minutes(4))) func settingsTakeEffectImmediatelyAndAfterAKill() throws {
    let (broker, directory) = (try BrokerFixture(), try TemporaryDirectory())
    let controller = try Operator(broker)
    let agent = try ManagedAgent(broker, remote: Self.enabled, directory: directory)
    func headings() -> Int { controller.received(Operator.vehicle + "heading").count }
    #expect(waitUntil(atMost: 90) { headings() > 3 }, "\(agent.log)")
    #expect(controller.want(#"{"settings":{"heading.enabled":false}}"#)?["state"] as? String == "applied")
    // A message may be in transit.
    waitUntil(atMost: 1) { false }
    let told = headings()
    #expect(controller.command("locate")?["state"] as? String == "done")
    #expect(headings() == told)
    agent.child.kill()
    #expect(waitUntil(atMost: 60) { controller.state == "offline" })
    let again = try ManagedAgent(broker, remote: Self.enabled, directory: directory)
    #expect(waitUntil(atMost: 60) { controller.state == "online" }, "\(again.log)")
    #expect(again.log.contains("remote settings in force"), "\(again.log)")
    #expect(controller.command("locate")?["state"] as? String == "done", "\(again.log)")
    #expect(headings() == told)
    #expect(controller.want("", retain: true)?["state"] as? String == "applied")
    #expect(waitUntil(atMost: 90) { headings() > told }, "\(again.log)")
    again.child.terminate()
  }

  /// Messages expire according to the current settings, starting with the next message.
  @Test(.timeLimit(.minutes(3))) func changedExpiryTakesEffectImmediately() throws {
    let broker = try BrokerFixture()
    let controller = try Operator(broker)
    let agent = try ManagedAgent(broker, remote: Self.enabled, directory: TemporaryDirectory())
    let track = Operator.vehicle + "track"
    #expect(waitUntil(atMost: 60) { controller.state == "online" }, "\(agent.log)")
    for (settings, expiry) in [("", nil), (#""mqtt.message_expiry":600"#, 600), ("", nil)]
      as [(String, UInt32?)]
    {
      if expiry != nil || !controller.reports.isEmpty {
        let settled = controller.reports.count { $0["state"] as? String == "applied" }
        controller.send("config/desired", #"{"settings":{\#(settings)}}"#, retain: true)
        let isSettled = waitUntil(atMost: 60) {
          controller.reports.count { $0["state"] as? String == "applied" } > settled
        }
        #expect(isSettled, "\(agent.log)")
      }
      let before = controller.received(track).count
      #expect(controller.command("locate")?["state"] as? String == "done", "\(agent.log)")
      #expect(controller.command("track", #"{"from":"2020-01-01T00:00:00Z"}"#)?["state"] as? String == "done")
      #expect(waitUntil(atMost: 60) { controller.received(track).count > before }, "\(agent.log)")
      let lasts = controller.received(track).last?.expiry
      // The broker subtracts the seconds during which it has stored the message.
      if let expiry { #expect((expiry - 60...expiry).contains(lasts ?? 0)) } else { #expect(lasts == nil) }
    }
    agent.child.terminate()
  }

  @Test(.timeLimit(.minutes(2))) func requestsAreIgnoredUnlessEnabled() throws {
    let broker = try BrokerFixture()
    let controller = try Operator(broker)
    let directory = try TemporaryDirectory()
    let agent = try ManagedAgent(broker, remote: Self.keys, directory: directory)
    #expect(waitUntil(atMost: 60) { controller.state == "online" }, "\(agent.log)")
    controller.send("config/desired", #"{"settings":{"status.interval":77}}"#, retain: true)
    #expect(controller.command("status", atMost: 3) == nil)
    #expect(controller.reports.isEmpty)
    #expect(!FileManager.default.fileExists(atPath: directory.file("remote")))
    agent.child.terminate()
  }

  /// Validates the messages of the vehicle against the schemas.
  private func validate(_ controller: Operator) throws -> ChildProcess {
    let directory = try TemporaryDirectory()
    var lines = ""
    for topic in ["status", "location", "config/reported"] {
      for message in controller.received(Operator.vehicle + topic) {
        let data = try JSONSerialization.data(withJSONObject: [
          "topic": message.topic, "payload": message.json,
        ])
        lines += String(decoding: data, as: UTF8.self) + "\n"
      }
    }
    let script = try ContractScript.start("validate.py", stdin: directory.write("lines", lines))
    _ = script.waitForExit()
    return script
  }
}
