import JSON
import Telemetry
import Testing

@testable import Fleet
@testable import FleetControl

@Suite struct RegionRemovalTests {
  private let vehicles = (1...12).map { VehicleKey(fleet: "f", vehicle: "v\($0)") }.sorted()

  private func report(wanted: [String] = [], watched: [String] = []) -> RegionReport {
    let features = wanted.map { JSONValue.object(["id": .string($0)]) }
    return RegionReport(
      desired: .object(["features": .array(features)]),
      reported: .object(["accepted": .array(watched.map { .string($0) })]))
  }

  @Test func whatNobodyHasIsRefused() throws {
    let kept = [vehicles[0]: report(wanted: ["yard"])]
    let error = try #require(throws: FleetError.self) {
      try RegionRemoval(["yard", "nosuch"], from: vehicles, kept)
    }
    #expect(error.exit == .usage && error.object.contains("nosuch") && !error.object.contains("yard"))
    #expect(error.cause.contains("none of the 12 vehicles"))
  }

  @Test func onlyThoseThatHaveItAreTold() throws {
    let kept = [vehicles[0]: report(wanted: ["yard"]), vehicles[3]: report(watched: ["yard", "stop"])]
    let removal = try RegionRemoval(["yard"], from: vehicles, kept)
    #expect(removal.vehicles == [vehicles[0], vehicles[3]])
    #expect(removal.notes.count == 1 && removal.notes[0].contains("f/v10"))
    let few = try RegionRemoval(["yard"], from: [vehicles[0], vehicles[1]], kept)
    #expect(few.notes == ["region \"yard\" is not there on \(vehicles[1])"])
  }

  @Test func allOfThemNeedNoName() throws {
    let removal = try RegionRemoval([], from: vehicles, [:])
    #expect(removal.vehicles == vehicles && removal.notes.isEmpty)
  }
}
