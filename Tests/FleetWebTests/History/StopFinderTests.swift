import FleetStore
import FleetWeb
import Testing

struct StopFinderTests {
  /// A sample `metres` north of a point, at 111 km per degree of latitude.
  private func sample(
    _ seconds: Int, metres: Double, accuracy: Float = .nan, source: TrackSample.Source = .location
  ) -> TrackSample {
    TrackSample(
      time: Int64(seconds) * 1000, latitude: 48 + metres / 111_195, longitude: 11, accuracy: accuracy,
      source: source)
  }

  private func stops(_ samples: [TrackSample]) -> [Stop] {
    var finder = StopFinder()
    var stops = samples.compactMap { finder.process($0) }
    if let last = finder.finish() { stops.append(last) }
    return stops
  }

  @Test func aStopHasBeginningEndAndPosition() throws {
    let drive = (0..<60).map { sample($0 * 10, metres: Double($0) * 200) }
    let rest = (0..<60).map { sample(600 + $0 * 10, metres: 12_000 + Double($0 % 3) * 5) }
    let onward = (0..<60).map { sample(1200 + $0 * 10, metres: 12_200 + Double($0) * 200) }
    let found = stops(drive + rest + onward)
    let stop = try #require(found.first)
    #expect(found.count == 1 && !stop.isOpen)
    #expect(stop.from == 600_000 && stop.to == 1_190_000 && stop.positions == 60)
    #expect(abs((stop.latitude - 48) * 111_195 - 12_005) < 1)
  }

  @Test func silenceAtOnePlaceIsAStop() {
    // The vehicle sleeps overnight.
    let found = stops([
      sample(0, metres: 0), sample(40_000, metres: 10), sample(40_010, metres: 500),
      sample(40_020, metres: 900),
    ])
    #expect(found.map(\.to) == [40_000_000])
  }

  @Test func silenceDuringADriveIsNoStop() {
    #expect(stops([sample(0, metres: 0), sample(4000, metres: 5000), sample(8000, metres: 10_000)]).isEmpty)
  }

  @Test func anOutlierDoesNotEndAStop() {
    var rest = (0..<100).map { sample($0 * 10, metres: 0) }
    rest[50] = sample(500, metres: 3000)
    let found = stops(rest)
    #expect(found.count == 1 && found.first?.isOpen == true && found.first?.positions == 99)
  }

  @Test(arguments: [TrackSample.Source.coarse, .suspect])
  func doubtfulPositionsDoNotEndAStop(_ source: TrackSample.Source) {
    let rest = (0..<100).map {
      sample($0 * 10, metres: $0 % 2 == 0 ? 0 : 900, source: $0 % 2 == 0 ? .location : source)
    }
    #expect(stops(rest).count == 1)
  }

  /// Positions that are less accurate than the radius show neither a stop nor a departure.
  @Test func inaccuratePositionsAreIgnored() {
    let drive = (0..<60).map { sample($0 * 10, metres: Double($0) * 200, accuracy: 5) }
    let onward = (0..<60).map { sample(1200 + $0 * 10, metres: 24_000 + Double($0) * 200, accuracy: 5) }
    func between(_ accuracy: Float) -> [TrackSample] {
      (0..<60).map { sample(600 + $0 * 10, metres: 12_000 + Double($0 % 3), accuracy: accuracy) }
    }
    #expect(stops(drive + between(2000) + onward).isEmpty)
    #expect(stops(drive + between(100) + onward).count == 1)
    let rest = (0..<100).map {
      sample($0 * 10, metres: 40...60 ~= $0 ? 900 : 0, accuracy: 40...60 ~= $0 ? 900 : 5)
    }
    #expect(stops(rest).map(\.positions) == [79])
  }

  @Test func aTrafficLightIsNoStop() {
    let drive = (0..<30).map { sample($0 * 10, metres: Double($0) * 200) }
    let light = (0..<12).map { sample(300 + $0 * 10, metres: 6000) }
    let onward = (0..<30).map { sample(420 + $0 * 10, metres: 6200 + Double($0) * 200) }
    #expect(stops(drive + light + onward).isEmpty)
  }
}
