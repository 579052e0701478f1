import Spatial
import Testing

@testable import Positioning

/// Limits on the distance between the last reported position and the vehicle.
@Suite struct DisplacementLimitTests {
  private let plane = PlaneTrack()

  /// Reports of a track, and for each fix its distance in m from the position reported before.
  private func run(
    _ track: [Location], epsilon: Double = 20, delay: Double = 5, _ limits: [DisplacementLimit]
  ) -> (reports: [ReportPredictor], displacements: [Double]) {
    var reporter = BoundedReporter(epsilon: epsilon, delay: delay, limits: limits)
    var reports: [ReportPredictor] = []
    var displacements: [Double] = []
    for location in track {
      while let deadline = reporter.nextDeadline, deadline < location.timestamp {
        reports += reporter.advance(to: deadline)
      }
      if let shown = reports.last { displacements.append(shown.coordinate.distance(to: location.coordinate)) }
      reports += reporter.process(location)
    }
    return (reports, displacements)
  }

  /// A straight line at 12 m/s, which a single prediction describes.
  private var straight: [Location] {
    (0..<100).map { plane.location(Double($0), 12 * Double($0), speed: 12, course: 90) }
  }

  @Test(arguments: [
    (DisplacementLimit(metres: 50), 60.0), (DisplacementLimit(metres: 100), 108.0),
    (DisplacementLimit(metres: 50, seconds: 10), 180.0),
  ])
  func reportsWhenTheDistanceExceedsTheLimit(limit: DisplacementLimit, spacing: Double) {
    let (reports, displacements) = run(straight, [limit])
    #expect((displacements.max() ?? 0) <= limit.distance(at: 12) + 12.01)
    let ways = zip(reports, reports.dropFirst()).map { $0.coordinate.distance(to: $1.coordinate) }.dropFirst()
    #expect(!ways.isEmpty && ways.allSatisfy { abs($0 - spacing) < 0.1 }, "\(ways)")
    #expect(run(straight, []).reports.count == 1)
  }

  /// The first report, for the moment 0, is due at 9.5 s. The vehicle is 270 m ahead then.
  @Test func reportAtTheDeadlineIsFollowedByTheNewestPosition() throws {
    var reporter = BoundedReporter(epsilon: 20, delay: 9.5, limits: [DisplacementLimit(metres: 50)])
    for second in 0..<10 {
      #expect(
        reporter.process(plane.location(Double(second), 30 * Double(second), speed: 30, course: 90)).isEmpty)
    }
    let reports = reporter.advance(to: Timestamp(seconds: 9.5))
    #expect(reports.map(\.moment.seconds) == [0, 9])
    let last = try #require(reports.last)
    #expect(last.coordinate.distance(to: plane.location(9, 270).coordinate) < 0.1)
  }

  @Test func smallestLimitApplies() {
    let limits = [
      DisplacementLimit(metres: 400), DisplacementLimit(metres: 100),
      DisplacementLimit(metres: 50, seconds: 60),
    ]
    #expect(run(straight, limits).reports == run(straight, [limits[1]]).reports)
  }

  /// Position noise below the error bound causes no report at rest.
  @Test func causesNoReportsAtRest() {
    let drive = (0..<30).map { plane.location(Double($0), 12 * Double($0), speed: 12, course: 90) }
    let rest = (30..<900).map {
      plane.location(Double($0), 348 + 9 * Double($0 % 2), 5 * Double($0 % 3), speed: 0, course: 90)
    }
    for metres in [1.0, 20, 50] {
      let limits = [DisplacementLimit(metres: metres)]
      let times = run(drive + rest, limits).reports.map(\.moment.seconds)
      #expect(times.count { $0 < 30 } > 4)
      // Reports only renew the lease of a valid prediction.
      let atRest = times.filter { $0 > 60 }
      #expect(
        zip(atRest, atRest.dropFirst()).allSatisfy { $1 - $0 >= BoundedReporter.lease },
        "\(metres) m: \(times)")
    }
  }

  /// The error of a predicting subscriber is within the bound, with and without limits.
  @Test(arguments: 1...40)
  func bothBoundsApply(seed: Int) {
    let track = PlaneTrack.random(seed: UInt64(seed))
    for (epsilon, delay) in [(10.0, 0.0), (5, 2), (20, 5), (50, 10)] {
      let limit = DisplacementLimit(metres: 60, seconds: 2)
      let predicted = ReportingRun(track, epsilon: epsilon, delay: delay, limits: [limit])
      #expect(
        (predicted.errors.max() ?? .infinity) <= epsilon, "seed \(seed), epsilon \(epsilon), delay \(delay)")
      // After each fix, the reported position is within the limit at the estimated speed.
      var reporter = BoundedReporter(epsilon: epsilon, delay: delay, limits: [limit])
      for location in track {
        _ = reporter.process(location)
        guard let shown = reporter.report, let newest = reporter.newest else { continue }
        let distance = shown.coordinate.distance(to: newest.coordinate)
        #expect(
          distance <= max(epsilon, limit.distance(at: newest.speed)),
          "seed \(seed) at \(newest.timestamp.seconds)")
      }
    }
  }
}
