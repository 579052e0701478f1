import Fleet
import FleetManagement
import Foundation
import JSON
import TestSupport
import Testing

/// The list of commands, compared with the contract.
@Suite struct VehicleCommandTests {
  /// Every argument is a member of the request in the contract, with the same bounds.
  @Test func argumentsMatchTheContract() throws {
    let path = "\(ContractScript.repository)/Config/schemas/command-request.json"
    let schema = try JSONValue(parsing: Array(Data(contentsOf: URL(fileURLWithPath: path))))
    for command in VehicleCommand.all {
      for parameter in command.parameters {
        let member = try #require(schema["properties"]?[parameter.name], "\(parameter.name)")
        switch parameter.kind {
        case .number(let range, _):
          #expect(
            member["minimum"]?.double == range.lowerBound && member["maximum"]?.double == range.upperBound)
        case .text(let range):
          #expect(member["type"]?.string == "string")
          if let longest = member["maxLength"]?.integer { #expect(range.upperBound <= Int(longest)) }
        case .time: #expect(member["format"]?.string == "date-time")
        case .flag: #expect(member["type"]?.string == "boolean")
        }
      }
    }
  }

  /// A vehicle that is named twice is one target.
  @Test func aRepeatedNameIsOneVehicle() {
    let targets = VehicleTargets(root: "odograph/v1", fleets: ["f", "f"], vehicles: ["v", "v", "w"])
    #expect(targets.named?.map(\.vehicle) == ["v", "w"])
  }

  /// Table: a command, its arguments, and their problem; empty for valid arguments.
  @Test(arguments: [
    ("locate", #"{"accuracy":20}"#, ""), ("locate", "{}", ""),
    ("locate", #"{"accuracy":"20"}"#, "1 to 100000 m"),
    ("locate", #"{"timeout":3}"#, "has only accuracy"), ("status", #"{"a":1}"#, "has no arguments"),
    ("zero", #"{"clear":true}"#, ""), ("zero", #"{"clear":1}"#, "true or false"),
    ("track", #"{"from":"2026-11-21T08:00:00Z"}"#, ""), ("track", #"{"from":"yesterday"}"#, "a time as in"),
    ("track", #"{"to":"2026-11-21T08:00:00Z"}"#, #""from": missing"#),
    ("set-odometer", "{}", #""odometer": missing"#), ("set-odometer", #"{"odometer":-1}"#, "0 to"),
    ("set-trip", "{}", "one of the arguments driver, purpose"), ("set-trip", #"{"driver":""}"#, ""),
    ("set-trip", #"{"driver":"a\u0007"}"#, "control characters"),
    ("region-state", #"{"region":""}"#, "1 to 64"),
    ("record", "{}", #""seconds": missing"#), ("record", #"{"seconds":60}"#, ""),
    ("simulate-location", "{}", "one of the arguments latitude, track, none, clear"),
    ("simulate-location", #"{"latitude":91,"longitude":0}"#, "-90 to 90"),
    ("simulate-location", #"{"latitude":48.1,"longitude":11.5}"#, ""),
  ])
  func argumentsAreChecked(name: String, arguments: String, problem: String) throws {
    let command = try #require(VehicleCommand.named(name))
    let json = try JSONValue(parsing: Array(arguments.utf8))
    guard case .object(let members) = json else {
      Issue.record("\(json)")
      return
    }
    var said = ""
    do { _ = try command.arguments(members) } catch { said = error.description }
    #expect(problem.isEmpty ? said.isEmpty : said.contains(problem), "\(said)")
  }
}
