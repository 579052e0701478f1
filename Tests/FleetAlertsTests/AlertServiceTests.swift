import Fleet
import FleetAlerts
import FleetFixtures
import Foundation
import JSON
import Platform
import Spatial
import TestSupport
import Testing

/// The service with its database, its threads and a real receiver.
@Suite(.timeLimit(.minutes(3))) struct AlertServiceTests {
  private let directory: TemporaryDirectory
  private let logged = Locked<[String]>([])

  init() throws { directory = try TemporaryDirectory() }

  private func settings(_ url: String?) -> AlertSettings {
    var settings = AlertSettings(store: directory.file("alerts.sqlite"))
    settings.rules = [rule(.battery(below: 0.2, until: 0.3)), rule(.event([]))]
    if let url {
      var hook = WebhookReceiver(url: url, secret: nil, isLocal: true)
      hook.timeout = 2
      settings.receivers = [Receiver(name: "ops", way: .webhook(hook))]
    }
    return settings
  }

  private func service(_ settings: AlertSettings) -> AlertService {
    AlertService(settings) { [logged] sentence in logged.withLock { $0.append(sentence) } }
  }

  private func receiver() throws -> (child: ChildProcess, url: String) {
    let child = try ChildProcess(
      ContractScript.python,
      ["\(ContractScript.repository)/Tests/Alerts/receiver.py", directory.file("received"), "0"])
    #expect(waitUntil { child.output.hasSuffix("\n") })
    return (child, "http://127.0.0.1:\(child.output.split(whereSeparator: \.isWhitespace).last ?? "")/")
  }

  private var received: [String] {
    let text = (try? String(contentsOfFile: directory.file("received"), encoding: .utf8)) ?? ""
    return text.split(separator: "\n").compactMap { line in
      (try? JSONValue(parsing: Array(line.utf8)))?["key"]?.string
        .map { String($0.split(separator: "-", maxSplits: 1).last ?? "") }
    }
  }

  private func low(_ level: Double, _ key: VehicleKey = van, retained: Bool = false) -> VehicleFacts {
    var facts = VehicleFacts(key: key, topic: .status, at: .now, isRetained: retained)
    facts.battery = level
    return facts
  }

  @Test func retainedMessagesRaiseNoSecondAlert() throws {
    let (child, url) = try receiver()
    for turn in 0..<3 {
      let service = service(settings(url))
      try service.start()
      service.observe(low(0.1, retained: turn > 0))
      #expect(waitUntil { !service.state.open.isEmpty })
      service.stop()
    }
    let service = service(settings(url))
    try service.start()
    service.observe(low(0.9, retained: true))
    #expect(waitUntil { received.count == 2 })
    #expect(waitUntil { service.state.ended.count == 1 && service.state.open.isEmpty })
    service.stop()
    #expect(received == ["1:began", "1:ended"])
    #expect(child.isRunning)
  }

  @Test func droppedMessagesAreReportedAndCanBeRetried() throws {
    let port: Int = try FreePort.next()
    var away = settings("http://127.0.0.1:\(port)/")
    away.giveUpAfter = 1
    let service = service(away)
    try service.start()
    service.observe(low(0.1))
    #expect(waitUntil { service.state.counters.receivers["ops"]?.gone == 1 })
    #expect(service.metrics.contains("odograph_alert_messages_given_up_total{receiver=\"ops\"} 1"))
    service.stop()
    #expect(logged.withLock { $0.contains { $0.contains("dropped 1 messages to ops") } })
    let (child, url) = try receiver()
    let next = self.service(settings(url))
    try next.start()
    let store = try AlertStore(path: away.store, isReader: true)
    #expect(try store.retryGone(at: Moment.now.time) == 1)
    #expect(waitUntil { received == ["1:began"] })
    next.stop()
    #expect(child.isRunning)
  }

  /// A message that the receiver rejects does not block the following ones.
  @Test func aRejectedMessageIsSkipped() throws {
    let child = try ChildProcess(
      ContractScript.python,
      [
        "\(ContractScript.repository)/Tests/Alerts/receiver.py", directory.file("received"), "0",
        "a secret that nobody signs with",
      ])
    #expect(waitUntil { child.output.hasSuffix("\n") })
    let port = String(child.output.split(whereSeparator: \.isWhitespace).last ?? "")
    var strict = settings("http://127.0.0.1:\(port)/")
    strict.refusalTimeout = 1
    let service = service(strict)
    try service.start()
    service.observe(low(0.1))
    #expect(waitUntil { service.state.counters.receivers["ops"]?.gone == 1 })
    #expect(service.state.counters.receivers["ops"]?.waiting == 0)
    service.stop()
    #expect(
      logged.withLock {
        $0.contains { $0.contains("rejected: it answers with status 400") }
      })
  }

  /// Alerts of rules without receivers appear in the list and in the metrics.
  @Test func openAlertsAreSeries() throws {
    let service = service(settings(nil))
    try service.start()
    service.observe(low(0.1, VehicleKey(fleet: "a\"b", vehicle: "c\\d")))
    #expect(waitUntil { !service.state.open.isEmpty })
    let line = try #require(
      service.metrics.split(separator: "\n").first { $0.hasPrefix("odograph_alert_active{") })
    #expect(line.contains(#"fleet="a\"b",vehicle="c\\d"} 1"#) && line.contains("severity=\"warning\""))
    let view = service.state
    let alert = try #require(view.open.values.first)
    #expect(view.alert("\(view.epoch)-\(alert.number)") == alert && view.alert("x-\(alert.number)") == nil)
    let before = service.revision
    service.silence(Silence(rule: "battery", until: Moment.now.time.advanced(bySeconds: 60)))
    #expect(waitUntil { service.revision > before })
    #expect(service.state.silenced(alert, at: Moment.now.time) != nil)
    service.stop()
  }

  /// While the database is moved away, this is reported, and nothing is sent.
  @Test func aMovedDatabaseIsReported() throws {
    let (child, url) = try receiver()
    defer { child.kill() }
    let service = service(settings(url))
    try service.start()
    defer { service.stop() }
    for name in ["alerts.sqlite", "alerts.sqlite-wal", "alerts.sqlite-shm"] {
      try? FileManager.default.moveItem(atPath: directory.file(name), toPath: directory.file("away-\(name)"))
    }
    var facts = VehicleFacts(key: van, topic: .status, at: .now)
    facts.battery = 0.1
    service.observe(facts)
    #expect(
      waitUntil {
        logged.withLock { $0.contains { $0.contains("it was removed or replaced; restore it") } }
      })
    #expect(service.metrics.contains("odograph_alerts_store_failed 1"))
    #expect((try? String(contentsOfFile: directory.file("received"), encoding: .utf8)) ?? "" == "")
    // When the file is back, pending alerts are sent.
    for name in ["alerts.sqlite-wal", "alerts.sqlite-shm", "alerts.sqlite"] {
      try? FileManager.default.moveItem(atPath: directory.file("away-\(name)"), toPath: directory.file(name))
    }
    #expect(
      waitUntil {
        (try? String(contentsOfFile: directory.file("received"), encoding: .utf8))?.contains("battery")
          == true
      })
  }

  @Test func aSecondServiceIsRefused() throws {
    let first = service(settings(nil))
    try first.start()
    do throws(FleetError) {
      try service(settings(nil)).start()
      Issue.record("a second service started")
    } catch { #expect(error.cause.contains("another odograph serve uses it"), "\(error)") }
    first.stop()
    let third = service(settings(nil))
    try third.start()
    third.stop()
  }

  @Test func aFileThatIsNoDatabaseIsRefusedWithTheRemedy() throws {
    try directory.write("alerts.sqlite", String(repeating: "no database ", count: 1000))
    do throws(FleetError) {
      try service(settings(nil)).start()
      Issue.record("the file was accepted")
    } catch { #expect(error.cause.contains("move it away"), "\(error)") }
  }
}
