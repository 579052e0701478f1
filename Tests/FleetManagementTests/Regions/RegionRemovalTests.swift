import Fleet
import FleetManagement
import JSON
import MQTT
import Telemetry
import Testing

@Suite struct RegionRemovalTests {
  private let vehicles = (1...12).map { VehicleKey(fleet: "f", vehicle: "v\($0)") }.sorted()

  private func report(of key: VehicleKey, wanted: [String] = [], watched: [String] = []) -> [MQTTMessage] {
    let features = wanted.map { JSONValue.object(["id": .string($0)]) }
    return [
      MQTTMessage(
        topic: key.topic(root: "r", "regions/desired"),
        text: JSONValue.object(["features": .array(features)]).text),
      MQTTMessage(
        topic: key.topic(root: "r", "regions/reported"),
        text: JSONValue.object(["accepted": .array(watched.map { .string($0) })]).text),
    ]
  }

  private func removal(
    _ names: [String], from vehicles: [VehicleKey], _ messages: [MQTTMessage]
  ) throws(FleetError) -> RegionRemoval {
    var state = ManagementState(root: "r")
    for message in messages { state.store(message) }
    return try RegionRemoval(
      names, from: RetainedDocuments(vehicles: vehicles, subject: .regions, from: state.documents))
  }

  @Test func unknownRegionsAreRefused() throws {
    let kept = report(of: vehicles[0], wanted: ["yard"])
    let error = try #require(throws: FleetError.self) {
      try removal(["yard", "nosuch"], from: vehicles, kept)
    }
    #expect(error.kind == .invalidInput && error.object.contains("nosuch") && !error.object.contains("yard"))
    #expect(error.cause.contains("none of the 12 vehicles"))
  }

  @Test func onlyVehiclesWithTheRegionAreChanged() throws {
    let kept = report(of: vehicles[0], wanted: ["yard"]) + report(of: vehicles[3], watched: ["yard", "stop"])
    let removal = try self.removal(["yard"], from: vehicles, kept)
    #expect(removal.vehicles == [vehicles[0], vehicles[3]])
    #expect(removal.notes.count == 1 && removal.notes[0].contains("f/v10"))
    let few = try self.removal(["yard"], from: [vehicles[0], vehicles[1]], kept)
    #expect(few.notes == ["region \"yard\" does not exist on \(vehicles[1])"])
  }

  @Test func removalOfAllRegionsNeedsNoName() throws {
    let removal = try self.removal([], from: vehicles, [])
    #expect(removal.vehicles == vehicles && removal.notes.isEmpty)
  }
}
