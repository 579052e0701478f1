import Foundation
import JSON
import MQTT
import Sensors
import Telemetry
import TestSupport
import Testing

/// The schemas are named, contain examples that the encoders reproduce, and list each counter.
@Suite struct SchemaTests {
  private static let folder = "\(ContractScript.repository)/Config/schemas"

  @Test func schemasAreNamedAndHaveValidExamples() throws {
    let check = try ContractScript.start("schemas.py")
    #expect(check.waitForExit() == 0, "\(check.output)")
    #expect(ContractScript.counts(check.output).count >= 15)
  }

  /// Decoding and encoding an example reproduces it.
  @Test(
    arguments: MessageKind.allCases.map(\.rawValue) + [
      "config/reported", "regions/reported", "regions/state", "beacons/wanted", "trace/piece",
    ])
  func encodersReproduceTheExamples(path: String) throws {
    let name = path.replacing("/", with: "-")
    let text = try String(contentsOfFile: "\(Self.folder)/\(name).json", encoding: .utf8)
    let examples = try #require(JSONValue(parsing: Array(text.utf8))["examples"]?.array)
    for example in examples {
      let message = try #require(try VehicleMessage.decode(path: path, json: example))
      let written = try JSONValue(parsing: message.encode(identity: message.identity))
      #expect(
        written == example,
        "\(name): \(String(decoding: message.encode(identity: message.identity), as: UTF8.self))")
    }
  }

  /// Sources with the names of counters, and the line at which each list starts.
  private static let sources = [
    ("AgentCore/Delivery/BrokerDelivery.swift", "func counters(_ sent"),
    ("AgentCore/Delivery/BrokerDelivery.swift", "func counters(_ store"),
    ("AgentCore/Delivery/PrintDelivery.swift", "var counters:"),
    ("AgentCore/Runtime/AgentLoop.swift", "func updateEnvironment("),
    ("Pipeline/LocationReports.swift", "var counters:"),
  ]

  /// The schema lists exactly the counters that the sources publish.
  @Test func everyCounterIsListed() throws {
    let sources = "\(ContractScript.repository)/Sources/"
    var named: Set<String> = []
    for (file, start) in Self.sources {
      let text = try String(contentsOfFile: sources + file, encoding: .utf8)
      let begin = try #require(text.range(of: start), "\(file) has no \(start)")
      let body = text[begin.upperBound...].components(separatedBy: "\n  }\n")[0]
      let found = body.matches(of: /"([a-z]+(?:\.[a-zA-Z]+)?)"(?::|\])/).map { String($0.1) }
      #expect(!found.isEmpty, "\(file)")
      named.formUnion(found)
    }
    for lane in DeliveryLane.allCases { named.insert("queue.\(lane)") }
    let manager = try String(
      contentsOfFile: sources + "Motion/DeviceMotion/MotionManager.swift", encoding: .utf8)
    let refusals = try #require(manager.components(separatedBy: "public var refusals").last)
      .components(separatedBy: "\n  }\n")[0]
    for kind in [SensorKind.accelerometer, .gyroscope, .magnetometer] {
      for match in refusals.matches(of: /\("([a-zA-Z]+)", health\./) {
        named.insert("\(kind.rawValue).\(match.1)")
      }
    }
    let text = try String(contentsOfFile: "\(Self.folder)/status.json", encoding: .utf8)
    let schema = try JSONValue(parsing: Array(text.utf8))
    guard case .object(let listed)? = schema["properties"]?["counters"]?["properties"] else {
      Issue.record("status.json lists no counters")
      return
    }
    #expect(named.symmetricDifference(listed.keys) == [])
    #expect(named.count > 30 && listed.values.allSatisfy { $0["description"]?.string?.isEmpty == false })
  }
}
