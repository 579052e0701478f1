import Fleet
import FleetAlerts
import FleetFixtures
import Foundation
import JSON
import Platform
import SQLite
import Spatial
import TestSupport
import Testing

/// An alert service with a database and real receivers.
final class AlertServiceFixture {
  let directory: TemporaryDirectory
  let logged = Locked<[String]>([])
  private var children: [ChildProcess] = []

  init() throws { directory = try TemporaryDirectory() }

  /// Starts a receiver that writes each message to the file `name`.
  func receiver(_ name: String) throws -> Receiver {
    let child = try ChildProcess(
      ContractScript.python,
      ["\(ContractScript.repository)/Tests/Alerts/receiver.py", directory.file(name), "0"])
    children.append(child)
    #expect(waitUntil { child.output.hasSuffix("\n") })
    let port = child.output.split(whereSeparator: \.isWhitespace).last ?? ""
    var hook = WebhookReceiver(url: "http://127.0.0.1:\(port)/", secret: nil, isLocal: true)
    hook.timeout = 5
    return Receiver(name: name, way: .webhook(hook))
  }

  func settings(_ rules: [AlertRule], _ receivers: [Receiver]) -> AlertSettings {
    var settings = AlertSettings(store: directory.file("alerts.sqlite"))
    (settings.rules, settings.receivers) = (rules, receivers)
    return settings
  }

  func service(_ rules: [AlertRule], _ receivers: [Receiver]) throws -> AlertService {
    let service = AlertService(settings(rules, receivers)) { [logged] sentence in
      logged.withLock { $0.append(sentence) }
    }
    try service.start()
    return service
  }

  /// Returns the alerts that a receiver got, e.g. `1:ended critical rule`.
  func received(_ name: String) -> [String] {
    let text = (try? String(contentsOfFile: directory.file(name), encoding: .utf8)) ?? ""
    return text.split(separator: "\n").flatMap { line -> [String] in
      let body = (try? JSONValue(parsing: Array(line.utf8)))?["body"]
      return (body?["alerts"]?.array ?? []).map { alert in
        let key = alert["key"]?.string?.split(separator: "-", maxSplits: 1).last ?? ""
        let reason = alert["reason"]?.string.map { " \($0)" } ?? ""
        return "\(key) \(body?["severity"]?.string ?? "")\(reason)"
      }
    }
  }

  func low(_ level: Double, _ key: VehicleKey = van, retained: Bool = false) -> VehicleFacts {
    var facts = VehicleFacts(key: key, topic: .status, at: .now, isRetained: retained)
    facts.battery = level
    return facts
  }
}
