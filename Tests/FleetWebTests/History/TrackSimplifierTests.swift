import FleetStore
import Simulation
import Spatial
import TestSupport
import Testing

@testable import FleetWeb

struct TrackSimplifierTests {
  /// A drive with stops, turns, gaps and outliers.
  private func track(_ count: Int, _ generator: inout SeededGenerator, from start: Coordinate)
    -> [TrackSample]
  {
    var samples: [TrackSample] = []
    var (time, place, course, speed) = (Int64(1_700_000_000_000), start, 0.0, 0.0)
    for _ in 0..<count {
      let chance = Double.random(in: 0...1, using: &generator)
      let seconds = chance < 0.001 ? Double.random(in: 300...4000, using: &generator) : 1
      time += Int64(seconds * 1000)
      if chance > 0.99 { speed = Double.random(in: -5...30, using: &generator) }
      course += Double.random(in: -8...8, using: &generator)
      place = place.destination(distance: max(0, speed) * min(seconds, 60), bearing: course)
      let noise = place.destination(
        distance: chance > 0.9995 ? 400 : Double.random(in: 0...4, using: &generator),
        bearing: Double.random(in: 0...360, using: &generator))
      samples.append(
        TrackSample(
          time: time, latitude: noise.latitude, longitude: noise.longitude,
          altitude: Float.random(in: 0...900, using: &generator), accuracy: 3, speed: Float(max(0, speed)),
          course: 90,
          source: chance < 0.002 ? .coarse : .location))
    }
    return samples
  }

  private func thinned(_ samples: [TrackSample], _ points: Int) -> TrackSimplifier.Result {
    var thinner = TrackSimplifier(points: points)
    for sample in samples { thinner.process(sample) }
    return thinner.finish()
  }

  /// Position on the simplified track at a moment, by the documented interpolation.
  private func place(at time: Int64, _ a: TrackSample, _ b: TrackSample) -> Coordinate {
    let part = Double(time - a.time) / max(1, Double(b.time - a.time))
    let east = signedDegrees(from: a.longitude, to: b.longitude)
    return Coordinate(
      latitude: a.latitude + part * (b.latitude - a.latitude),
      longitude: signedDegrees(from: 0, to: a.longitude + part * east))
  }

  /// Greatest distance on the ellipsoid in m between the samples and the simplified track.
  private func greatestError(_ samples: [TrackSample], _ rest: [TrackSample]) -> Double {
    var (greatest, segment) = (0.0, 0)
    for sample in samples {
      while segment + 2 < rest.count, rest[segment + 1].time < sample.time { segment += 1 }
      let expected = place(at: sample.time, rest[segment], rest[segment + 1])
      greatest = max(greatest, expected.distance(to: sample.coordinate))
    }
    return greatest
  }

  @Test(arguments: [
    (Coordinate(latitude: 48, longitude: 11), 2000), (Coordinate(latitude: -17, longitude: 179.99), 300),
    (Coordinate(latitude: 69.9, longitude: -20), 40), (Coordinate(latitude: 0, longitude: 0), 2),
  ]) func theReportedToleranceIsRespected(_ start: Coordinate, _ points: Int) {
    var generator = SeededGenerator.announced()
    for _ in 0..<3 {
      let samples = track(6000, &generator, from: start)
      let result = thinned(samples, points)
      #expect(result.samples.count <= points && result.count == samples.count)
      #expect(result.samples.first == samples.first && result.samples.last == samples.last)
      // 0.1 m is the error bound of the projection. The tolerance itself is rounded up to 0.1 m.
      let error = greatestError(samples, result.samples)
      #expect(error <= result.tolerance + 0.1 + 1e-6)
      // The tolerance is at most twice the true error.
      #expect(result.tolerance <= 2 * error + 0.2)
    }
  }

  @Test func moreThanAPortionIsSimplifiedWithinItsTolerance() {
    var generator = SeededGenerator.announced()
    let samples = track(300_000, &generator, from: Coordinate(latitude: 48, longitude: 11))
    let result = thinned(samples, 1000)
    #expect(result.count == 300_000 && result.samples.count <= 1000)
    #expect(greatestError(samples, result.samples) <= result.tolerance + 0.1)
  }

  @Test func fewSamplesAreUnchanged() {
    var generator = SeededGenerator(seed: 1)
    let samples = track(50, &generator, from: Coordinate(latitude: 48, longitude: 11))
    let result = thinned(samples, 50)
    #expect(result.samples == samples && result.tolerance == 0)
    #expect(thinned([], 10) == .init(samples: [], tolerance: 0, count: 0))
  }

  @Test func extremesAndGapsAreRetained() {
    // A straight drive of one hour at 10 m/s, with one fast second, one summit and one gap, which a line would omit.
    var samples = (0..<3600).map { index in
      TrackSample(
        time: Int64(index) * 1000 + (index > 2000 ? 900_000 : 0), latitude: 48 + Double(index) * 9e-5,
        longitude: 11, altitude: 500, accuracy: 3, speed: 10, course: 0)
    }
    // Shifts positions after the gap, so that they agree with their times.
    for index in samples.indices where index > 2000 { samples[index].latitude += 900 * 9e-5 }
    samples[700].speed = 42
    samples[1500].altitude = 812
    let rest = thinned(samples, 64).samples
    for index in [0, 700, 1500, 2000, 2001, 3599] { #expect(rest.contains(samples[index])) }
  }

  /// A day of two hours of driving at 1 Hz with a position every 60 s at rest, optionally without the positions of 10 minutes.
  private func day(hasHole: Bool) -> [TrackSample] {
    var samples: [TrackSample] = []
    var (time, metres) = (Int64(1_700_000_000_000), 0.0)
    let end = time + 86_400_000
    let drives = [time + 28_800_000..<time + 32_400_000, time + 61_200_000..<time + 64_800_000]
    let hole = time + 43_200_000..<time + 43_800_000
    let start = Coordinate(latitude: 48, longitude: 11)
    while time < end {
      let isDriving = drives.contains { $0.contains(time) }
      // A winding road.
      let swing = 500 * abs((metres / 1000).truncatingRemainder(dividingBy: 2) - 1)
      let place = start.destination(distance: metres, bearing: 90).destination(distance: swing, bearing: 0)
      if !hasHole || !hole.contains(time) {
        samples.append(
          TrackSample(
            time: time, latitude: place.latitude, longitude: place.longitude, accuracy: 3,
            speed: isDriving ? 15 : 0))
      }
      if isDriving { metres += 15 }
      time += isDriving ? 1000 : 60_000
    }
    return samples
  }

  /// Gaps are those of the recording, not the omissions of the simplification.
  @Test func omittedPositionsAreNoGaps() throws {
    let whole = thinned(day(hasHole: false), 2000)
    #expect(whole.count == 8520 && whole.samples.count <= 2000)
    #expect(zip(whole.samples, whole.samples.dropFirst()).contains { $1.time - $0.time > 3_600_000 })
    #expect(whole.gaps.isEmpty && TrackSegments.of(whole).count == 1)
    let holed = thinned(day(hasHole: true), 2000)
    let index = try #require(holed.gaps.first)
    #expect(holed.gaps.count == 1 && holed.samples[index].time - holed.samples[index - 1].time == 660_000)
    #expect(TrackSegments.of(holed).map(\.startIndex) == [0, index])
  }

  /// The gaps of a track that is simplified in portions, with more gaps than retained positions.
  @Test func gapsOutlastThePortions() {
    var generator = SeededGenerator.announced()
    let samples = track(150_000, &generator, from: Coordinate(latitude: 48, longitude: 11))
    let ends = zip(samples, samples.dropFirst()).filter { $1.time - $0.time > 300_000 }.map(\.1.time)
    for points in [2, 1000, 100_000] {
      let result = thinned(samples, points)
      let found = result.gaps.map { result.samples[$0 - 1].time..<result.samples[$0].time + 1 }
      #expect(found.allSatisfy { range in ends.contains { $0 > range.lowerBound && range.contains($0) } })
      #expect(ends.allSatisfy { end in found.contains { end > $0.lowerBound && $0.contains(end) } })
    }
  }
}
