import Foundation
import Positioning
import Sensors
import Spatial
import TestSupport
import Testing

@Suite struct AccuracyModelTests {
  private func radius(error: Double? = nil, dilution: Double? = nil, quality: FixQuality? = nil) -> Double? {
    var fix = Place.fix(0, 0, dilution: dilution)
    (fix.horizontalError, fix.quality) = (error, quality)
    return AccuracyModel().location(from: fix)?.horizontalAccuracy
  }

  @Test(
    arguments: [
      // gpsd's 95 % radius in two dimensions, and half a metre to the antenna.
      (10.0, 1.0, nil, 6.188), (0, nil, nil, 0.5), (nil, 1, .autonomous, 3.041), (nil, 1, nil, 3.041),
      (nil, 2, .differential, 2.648), (nil, 0.8, .realTimeKinematicFixed, 0.5003),
      (nil, 0.8, .realTimeKinematicFloat, 0.555), (nil, 1, .deadReckoning, 8.016),
      (nil, nil, .autonomous, nil),
    ] as [(Double?, Double?, FixQuality?, Double?)])
  func accuracyComesFromTheReceiverOrItsDilution(
    error: Double?, dilution: Double?, quality: FixQuality?, expected: Double?
  ) {
    let radius = radius(error: error, dilution: dilution, quality: quality)
    #expect((radius == nil) == (expected == nil))
    #expect(abs((radius ?? 0) - (expected ?? 0)) < 0.001)
  }

  @Test func otherAccuraciesAreOneStandardDeviation() throws {
    var fix = Place.fix(0, 0)
    (fix.verticalError, fix.speedError, fix.courseError) = (3.92, 1.96, 980)
    let location = try #require(AccuracyModel().location(from: fix))
    #expect(location.verticalAccuracy == 2 && location.speedAccuracy == 1 && location.courseAccuracy == 180)
  }

  /// The radius of a receiver increases if it states an accuracy of a centimetre while its positions scatter by metres.
  @Test func contradictionsIncreaseTheRadius() throws {
    var screen = FixScreen()
    var last: Location?
    for second in 0..<300 {
      // A deterministic scatter with a spread of 3 m around a vehicle at rest.
      let (east, north) = (3 * sin(Double(second) * 2.1), 3 * cos(Double(second) * 3.7))
      var fix = Place.fix(Double(second), east, north, speed: 0, dilution: 0.5)
      fix.quality = .realTimeKinematicFixed
      last = screen.process(fix).last ?? last
    }
    let radius = try #require(last?.horizontalAccuracy)
    #expect((2.0...6).contains(radius), "\(radius)")
  }

  @Test func consistentReceiverKeepsItsAccuracy() {
    var screen = FixScreen()
    let radii = (0..<300).compactMap { second in
      screen.process(Place.fix(Double(second), 15 * Double(second), speed: 15, course: 90)).last?
        .horizontalAccuracy
    }
    #expect(radii.count == 300 && radii.allSatisfy { abs($0 - 3.041) < 0.001 })
  }

  /// The stated 68 % radius covers 60 to 80 % of the true errors, relative to an independent reference.
  @Test(.needs(.recordings("tracks"))) func containsTheTrueErrorAtItsConfidence() throws {
    let fixes = try Place.recordedFixes(Place.tracks[0])
    let reference = try Place.recordedFixes(Place.tracks[2])
    let day: Int64 = 86_400_000_000_000
    let truth = Dictionary(
      reference.compactMap { fix in fix.time.map { ($0.nanoseconds % day, fix.coordinate) } },
      uniquingKeysWith: { $1 })
    var screen = FixScreen()
    var (inside, all) = (0, 0)
    for location in fixes.flatMap({ screen.process($0) }) {
      guard let time = location.time, let place = truth[time.nanoseconds % day] ?? nil else { continue }
      let radius = try #require(location.horizontalAccuracy)
      all += 1
      if location.coordinate.distance(to: place) <= radius { inside += 1 }
    }
    let share = Double(inside) / Double(all)
    print("share of \(all) fixes within the stated radius: \(share)")
    #expect(all > 1600)
    #expect((0.6...0.8).contains(share), "\(share)")
  }
}
