import Fleet
import FleetAlerts
import FleetFixtures
import Telemetry
import Testing

struct SuspectFactsTests {
  /// A suspect position has neither a speed, nor an accuracy, nor a position for alerts.
  @Test func suspectPositionsChangeNoAlert() throws {
    for isSuspect in [false, true] {
      var roster = Roster()
      let location = locationJSON(48.1, at: 1, speed: 55).dropLast()
      let suspect = isSuspect ? #","suspect":"jump""# : ""
      roster.receive("location", location + #","horizontalAccuracy":1900000\#(suspect)}"#, at: 1)
      let record = try #require(roster[van])
      let message = try #require(record.location?.message)
      let facts = try #require(
        VehicleFacts(.location(message), isRetained: false, of: record, at: moment(1)))
      #expect((facts.speed == nil) == isSuspect && (facts.accuracy == nil) == isSuspect)
      #expect((facts.place == nil) == isSuspect)
    }
  }
}
