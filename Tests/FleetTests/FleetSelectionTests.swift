import Fleet
import Telemetry
import Testing

@Suite struct FleetSelectionTests {
  @Test func selectionsAreProducts() throws {
    let selection = FleetSelection(fleets: ["a", "b"], vehicles: [], kinds: [.status, .location])
    #expect(
      try selection.filters() == [
        "odograph/v1/a/+/status", "odograph/v1/a/+/location", "odograph/v1/b/+/status",
        "odograph/v1/b/+/location",
      ])
    #expect(try FleetSelection().filters() == ["odograph/v1/+/+/#"])
    #expect(throws: FleetError.self) { try FleetSelection(vehicles: ["a/b"]).filters() }
    #expect(throws: FleetError.self) { try FleetSelection(root: "x/#").filters() }
  }
}
