import Positioning
import Sensors
import Spatial
import TestSupport
import Testing

@Suite struct DistanceFilterTests {
  private func told(_ manager: inout LocationManager, _ location: Location) -> Bool {
    manager.process(location) == [.location(PrivacyPolicy.unrestricted(location))]
  }

  @Test func reportsTheFirstLocationAndThenByDistance() {
    var manager = LocationManager.updating(distanceFilter: 10)
    let easts = [0.0, 4, 9.9, 10.1, 15, 20.0, 20.2]
    let passed = easts.enumerated().filter { step, east in
      told(&manager, Place.location(Double(step), east))
    }.map(\.element)
    #expect(passed == [0, 10.1, 20.2])
    #expect(manager.filteredCount == 4)
  }

  @Test func reportsEveryLocationWithoutFilter() {
    var manager = LocationManager.updating()
    #expect((0..<5).allSatisfy { told(&manager, Place.location(Double($0), 0)) })
  }

  @Test func reportsNothingBeforeStartAndAfterStop() {
    var manager = LocationManager()
    #expect(manager.process(Place.location(0, 0)).isEmpty)
    manager.startUpdatingLocation()
    #expect(manager.process(Place.location(1, 0)).count == 1)
    #expect(manager.stopUpdatingLocation().isEmpty)
    #expect(manager.process(Place.location(2, 0)).isEmpty)
    #expect(
      manager.location?.location == Place.location(2, 0)
        && manager.lastTold?.location == Place.location(1, 0))
  }

  /// Reports on every recorded track match the definition: a location is reported if and only if its distance from the last
  /// reported one is at least the filter, or if it is at rest and twice as accurate as one that was less accurate than the filter
  /// and 100 m.
  @Test(.needs(.recordings("tracks")), arguments: Place.tracks, [5.0, 20, 100, 1000])
  func matchesTheDefinitionOnRecordedTracks(track: String, filter: Double) throws {
    let locations = try Place.recordedFixes(track).compactMap { Location(fix: $0) }
    var expected: [Location] = []
    for location in locations {
      guard let last = expected.last else {
        expected.append(location)
        continue
      }
      let former = last.horizontalAccuracy ?? .infinity
      let isMoreAccurate =
        location.speed ?? 0 < 1.5 && former > min(filter, 100)
        && location.horizontalAccuracy.map { $0 <= former / 2 } ?? false
      if isMoreAccurate || last.coordinate.distance(to: location.coordinate) >= filter {
        expected.append(location)
      }
    }
    var manager = LocationManager.updating(distanceFilter: filter)
    let told = locations.flatMap { manager.process($0) }
    #expect(told == expected.map { .location(PrivacyPolicy.unrestricted($0)) })
    #expect(expected.count > 3 && expected.count < locations.count)
    #expect(manager.filteredCount == locations.count - expected.count)
  }

  @Test func requiredDistanceIsTheRemainder() throws {
    var manager = LocationManager.updating(.hundredMeters, distanceFilter: 100)
    #expect(manager.needs.distance == 0)
    _ = manager.process(Place.location(0, 0, speed: 10))
    _ = manager.process(Place.location(3, 30, speed: 10))
    let needs = manager.needs
    #expect(try abs(#require(needs.distance) - 70) < 0.1)
    #expect(needs.speed == 10 && needs.timestamp == Timestamp(seconds: 3) && needs.horizontalAccuracy == 3)
    #expect(needs.isWanted && needs.desiredAccuracy == .hundredMeters && !needs.isPaused)
    #expect(LocationManager.updating().needs.distance == nil)
    #expect(!LocationManager().needs.isWanted)
  }
}
