import Fleet
import FleetFixtures
import FleetStore
import JSON
import MQTT
import Spatial
import Telemetry
import Testing

/// Trips and driving events that are replayed with current times get a new identity.
@Suite struct JournalReplayTests {
  private typealias Entry = JournalMessages

  private func played(_ message: (String, String), speed: Double) throws -> JSONValue {
    let path = String(message.0.dropFirst("van/".count))
    let stored = StoredMessage(
      received: noon, topic: "odograph/v1/demo/" + message.0,
      vehicle: VehicleKey(fleet: "demo", vehicle: "van"), kind: path, qos: .atLeastOnce, retain: false,
      payload: Array(message.1.utf8))
    let clock = ReplayClock(
      noon...noon.advanced(bySeconds: 1000), speed: speed, longestPause: nil,
      start: noon.advanced(bySeconds: 86_400))
    return try JSONValue(parsing: ReplayRewriter(.shift, run: 7).message(stored, clock).payload)
  }

  @Test(arguments: [1.0, 10]) func allTimesOfATripAreShifted(speed: Double) throws {
    let read = try TripMessage(json: played(Entry.trip(3, revision: 2, driver: "ann"), speed: speed))
    let original = try TripMessage(
      json: JSONValue(parsing: Array(Entry.trip(3, revision: 2, driver: "ann").1.utf8)))
    func moved(_ time: UTCTime) -> UTCTime {
      noon.advanced(bySeconds: 86_400 + time.seconds(since: noon) / speed)
    }
    #expect(read.start.time == moved(original.start.time) && read.end.time == moved(original.end.time))
    #expect(read.way.map(\.time) == original.way.map { moved($0.time) })
    #expect(read.way.map(\.coordinate) == original.way.map(\.coordinate))
    #expect(read.trip.number == 3 && read.revision == 2 && read.trip.series != original.trip.series)
    #expect(read.identity?.epoch != "e" && read.identity?.seq == original.identity?.seq)
    var same = read
    (same.start, same.end, same.trip, same.identity) = (
      original.start, original.end, original.trip, original.identity
    )
    #expect(same.distance == original.distance && same.events == original.events && same.driver == "ann")
    #expect(same.fuel == original.fuel && same.bound == original.bound && same.idling == original.idling)
  }

  /// A trip and its event still have the same series.
  @Test func anEventRefersToItsTrip() throws {
    let event = try DrivingEventMessage(json: played(Entry.event(5, .kerb, trip: 3), speed: 1))
    let trip = try TripMessage(json: played(Entry.trip(3), speed: 1))
    #expect(event.journal.series == trip.trip.series && event.trip == 3 && event.journal.number == 5)
    #expect(event.time == noon.advanced(bySeconds: 86_400))
  }
}
