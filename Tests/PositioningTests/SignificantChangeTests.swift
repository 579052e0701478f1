import Motion
import Positioning
import Sensors
import Spatial
import TestSupport
import Testing

@Suite struct SignificantChangeTests {
  /// Times in s and positions in m of fixes, and the times of those that are reported.
  @Test(
    arguments: [
      // The first one, then none within five minutes or 500 m of it.
      ([(0, 0), (299, 5000), (300, 5001), (301, 9000)], [0, 300]),
      ([(0, 0), (300, 499), (400, 499.9), (500, 500.1)], [0, 500]),
      // A drive back to the start is no change.
      ([(0, 0), (100, 2000), (400, 10), (700, 600)], [0, 700]),
      // The five minutes count from the last reported one.
      ([(0, 0), (1000, 600), (1299, 1200), (1300, 1200)], [0, 1000, 1300]),
    ] as [([(Double, Double)], [Double])])
  func reportsAreDistantAndRare(fixes: [(Double, Double)], told: [Double]) {
    var manager = LocationManager()
    manager.startMonitoringSignificantLocationChanges()
    let events = fixes.flatMap { manager.process(Place.location($0.0, $0.1)) }
    #expect(
      events.map { event in
        if case .significantChange(let location) = event { location.timestamp.seconds.rounded() } else { -1 }
      } == told)
  }

  @Test func requiresLittlePower() throws {
    var manager = LocationManager()
    manager.startMonitoringSignificantLocationChanges()
    #expect(manager.needs.isWanted && manager.needs.distance == 0 && manager.needs.notBefore == nil)
    _ = manager.process(Place.location(10, 0))
    _ = manager.process(Place.location(20, 200))
    let needs = manager.needs
    #expect(needs.desiredAccuracy == .threeKilometers && needs.notBefore == Timestamp(seconds: 310))
    #expect(try abs(#require(needs.distance) - 300) < 0.2)
    manager.stopMonitoringSignificantLocationChanges()
    #expect(manager.process(Place.location(2000, 5000)).isEmpty && !manager.needs.isWanted)
  }

  /// A receiver often has a fix before the interval has passed. The distance driven until then still counts.
  @Test func fixBeforeTheIntervalPreservesTheDistance() throws {
    var manager = LocationManager()
    manager.startMonitoringSignificantLocationChanges()
    _ = manager.process(Place.location(0, 0))
    #expect(manager.process(Place.location(294, 4000)).isEmpty && manager.needs.distance == 0)
    #expect(manager.process(Place.location(300, 4100)).count == 1)
    #expect(try abs(#require(manager.needs.distance) - 500) < 0.2)
  }

  /// Manager and planner together: a tracker without other sensors at 14 m/s, whose receiver has its first fix some seconds after power-on.
  @Test(arguments: [1.0, 3, 6, 10], [Double?.none, 1_000_000])
  func receiverHasAFixForEachChangeInTime(searchTime: Double, distanceToBoundary: Double?) {
    var manager = LocationManager()
    manager.startMonitoringSignificantLocationChanges()
    var planner = PowerPlanner()
    var published: [Double] = []
    var (onSince, secondsOn) = (Double?.none, 0)
    for second in 0..<3600 {
      let time = Double(second)
      let needs = PowerNeeds(location: manager.needs, distanceToBoundary: distanceToBoundary)
      let demands = planner.demands(for: needs, at: Timestamp(seconds: time))
      guard demands[.positioning] != .off else {
        onSince = nil
        continue
      }
      secondsOn += 1
      onSince = onSince ?? time
      guard let since = onSince, time - since >= searchTime else { continue }
      let events = manager.process(Place.location(time, 14 * time, speed: 14))
      if !events.isEmpty { published.append(time) }
    }
    let gaps = zip(published, published.dropFirst()).map { $1 - $0 }
    #expect(gaps.count >= 10 && gaps.allSatisfy { (300...305).contains($0) }, "\(gaps)")
    // At most twice the search time plus ten seconds for each of twelve intervals.
    #expect(secondsOn <= 12 * Int(2 * searchTime + 10), "\(secondsOn)")
  }

  @Test func continuesWhileUpdatesArePaused() {
    var manager = LocationManager.updating(pauses: true)
    manager.startMonitoringSignificantLocationChanges()
    _ = manager.observe(.stationary, at: Timestamp(seconds: 0))
    _ = manager.process(Place.location(0, 0, speed: 0))
    _ = manager.advance(to: Timestamp(seconds: 60))
    #expect(manager.isPaused && manager.needs.notBefore == Timestamp(seconds: 300))
  }

  /// Reports on the recorded drives match the definition.
  @Test(.needs(.recordings("tracks")), arguments: Place.tracks) func matchesTheDefinition(track: String)
    throws
  {
    let locations = try Place.recordedFixes(track).compactMap { Location(fix: $0) }
    var expected: [Location] = []
    for location in locations {
      guard let last = expected.last else {
        expected.append(location)
        continue
      }
      if location.timestamp.seconds(since: last.timestamp) >= 300,
        last.coordinate.distance(to: location.coordinate) >= 500
      {
        expected.append(location)
      }
    }
    var monitor = SignificantChangeMonitor()
    #expect(locations.compactMap { monitor.process(PrivacyPolicy.unrestricted($0))?.location } == expected)
    #expect((2...6).contains(expected.count))
  }
}
