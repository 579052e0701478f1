import Telemetry
import Testing

@Suite struct TopicTests {
  @Test func topicsRoundTrip() throws {
    let scheme = try TopicScheme(fleet: "demo", vehicle: "van 1")
    #expect(scheme.topic(.location) == "odograph/v1/demo/van 1/location")
    let address = try #require(TopicAddress(topic: scheme.topic(.location)))
    #expect(address.fleet == "demo" && address.vehicle == "van 1" && address.kind == .location)
    let nested = try #require(TopicAddress(topic: "odograph/v1/demo/van/regions/reported"))
    #expect(nested.path == "regions/reported" && nested.kind == nil)
  }

  @Test(arguments: ["", "a/b", "a+", "#", "a\nb", "x\u{0}", String(repeating: "v", count: 257)])
  func namesWithMQTTWildcardsAreRejected(name: String) {
    #expect(throws: TopicError.self) { try TopicScheme(fleet: "demo", vehicle: name) }
  }

  @Test(arguments: [
    "", "odograph", "odograph/v1", "odograph/v1/f", "odograph/v1/f/v", "odograph/v1//v/status",
    "odograph/v12/f/v/status",
    "other/v1/f/v/status", "odograph/v1/f/v/",
  ])
  func topicsOutsideVehiclesAreIgnored(topic: String) {
    #expect(TopicAddress(topic: topic) == nil)
  }

  @Test func filtersMatchAllVehicles() {
    #expect(TopicScheme.filter() == "odograph/v1/+/+/#")
    #expect(TopicScheme.filter(fleet: "f", kind: .status) == "odograph/v1/f/+/status")
  }
}
