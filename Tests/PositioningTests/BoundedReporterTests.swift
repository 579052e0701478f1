import Positioning
import Simulation
import Spatial
import TestSupport
import Testing

@Suite struct BoundedReporterTests {
  private let plane = PlaneTrack()

  private func seconds(_ times: [Timestamp]) -> [Double] { times.map(\.seconds) }

  @Test func steadyMotionNeedsOneReport() {
    let track = (0..<100).map { plane.location(Double($0), 12 * Double($0), speed: 12, course: 90) }
    for delay in [0.0, 5, 10] {
      let run = ReportingRun(track, epsilon: 10, delay: delay)
      #expect(run.reports.map(\.moment.seconds) == [0])
      #expect(seconds(run.decidedAt) == [delay])
      #expect(abs((run.reports.first?.velocity.x ?? 0) - 12) < 0.1)
    }
  }

  /// East at 10 m/s; at 20 s the vehicle stops abruptly. Its prediction is 10 m off at 21 s and 20 m at 22 s.
  @Test(arguments: [0.0, 1, 5])
  func reportIsDelayedUpToItsBound(delay: Double) throws {
    let track = (0..<40).map {
      plane.location(Double($0), 10 * min(20, Double($0)), speed: $0 < 20 ? 10 : 0, course: 90)
    }
    let run = ReportingRun(track, epsilon: 15, delay: delay)
    #expect(run.errors.allSatisfy { $0 <= 15 })
    #expect(run.reports.count == 2)
    let second = try #require(run.reports.last)
    #expect(second.moment.seconds == 22)
    #expect(run.decidedAt.last == second.moment.advanced(bySeconds: delay))
    // Velocities are smoothed until the receiver's noise has been estimated.
    #expect(second.velocity.x.magnitude < 0.2)
  }

  @Test func deadlineIsFirstViolatingFixPlusDelay() {
    var reporter = BoundedReporter(epsilon: 10, delay: 5)
    #expect(reporter.nextDeadline == nil)
    #expect(reporter.process(plane.location(3, 0)).isEmpty)
    #expect(reporter.nextDeadline == Timestamp(seconds: 8))
    #expect(reporter.advance(to: Timestamp(seconds: 7.9)).isEmpty)
    #expect(reporter.advance(to: Timestamp(seconds: 8)).map(\.moment.seconds) == [3])
    #expect(reporter.oldestOpen == nil)
  }

  @Test func silenceEndsWithDelayedReports() {
    var reporter = BoundedReporter(epsilon: 10, delay: 5)
    _ = reporter.process(plane.location(0, 0, speed: 0, course: 0))
    _ = reporter.process(plane.location(1, 400, speed: 0, course: 0))
    // There was no call at the deadlines of fixes 0 and 1, so the fix after the silence yields the overdue reports.
    #expect(reporter.process(plane.location(60, 400, speed: 0, course: 0)).map(\.moment.seconds).first == 0)
    #expect(reporter.finish().count <= 2)
    #expect(reporter.nextDeadline == nil)
  }

  @Test func nonIncreasingTimesAreIgnored() {
    var reporter = BoundedReporter(epsilon: 10)
    #expect(reporter.process(plane.location(5, 0)).count == 1)
    #expect(reporter.process(plane.location(5, 500)).isEmpty)
    #expect(reporter.process(plane.location(4, 500)).isEmpty)
    #expect(reporter.unorderedCount == 2)
  }

  @Test func reportIsRoundedToTheWirePrecision() {
    let run = ReportingRun(PlaneTrack.random(seed: 4), epsilon: 10, delay: 5)
    for report in run.reports {
      #expect((report.velocity.x * 1000).rounded() / 1000 == report.velocity.x)
      #expect((report.coordinate.latitude * 1e8).rounded() / 1e8 == report.coordinate.latitude)
    }
  }

  @Test(arguments: 1...60)
  func noFixExceedsTheErrorBound(seed: Int) {
    let track = PlaneTrack.random(seed: UInt64(seed))
    for (epsilon, delay) in [(10.0, 0.0), (5, 2), (20, 5), (50, 10), (3, 30)] {
      let run = ReportingRun(track, epsilon: epsilon, delay: delay)
      let worst = run.errors.max() ?? .infinity
      #expect(worst <= epsilon, "seed \(seed), epsilon \(epsilon), delay \(delay)")
    }
  }

  /// Reports that are required, as those of more accurate positions, preserve the bound of all other fixes.
  @Test(arguments: 1...20)
  func requiredReportsPreserveTheErrorBound(seed: Int) {
    let track = PlaneTrack.random(seed: UInt64(seed))
    var random = SeededGenerator(seed: UInt64(seed))
    let required = Set(track.filter { _ in Double.random(in: 0...1, using: &random) < 0.1 }.map(\.timestamp))
    for (epsilon, delay) in [(10.0, 0.0), (5, 2), (20, 5), (3, 30)] {
      let run = ReportingRun(track, epsilon: epsilon, delay: delay) { required.contains($0.timestamp) }
      #expect(!required.isEmpty && required.isSubset(of: Set(run.reports.map(\.moment))))
      let worst = run.errors.max() ?? .infinity
      #expect(worst <= epsilon, "seed \(seed), epsilon \(epsilon), delay \(delay)")
    }
  }

  @Test func fullWindowIsDecidedEarly() {
    let count = 2 * BoundedReporter.largestWindow
    let track = (0..<count).map { plane.location(Double($0) / 100, Double($0 % 7), speed: 0, course: 0) }
    let run = ReportingRun(track, epsilon: 20, delay: 3600)
    #expect(run.errors.allSatisfy { $0 <= 20 })
    #expect(run.decidedAt.first.map { $0.seconds < 10 } ?? false)
  }

  /// Largest share of the reports of linear dead reckoning (303, 209 and 118 on both tracks) at 10, 20 and 50 m.
  @Test(
    .needs(.recordings("tracks")),
    arguments: [(0.0, [1.0, 1.0, 1.0]), (5.0, [0.64, 0.72, 0.86]), (10.0, [0.51, 0.58, 0.76])])
  func recordedDrivesNeedFewReports(delay: Double, shares: [Double]) throws {
    let drives = try ["mtv_ublox_f9k_slim2025.nmea", "munich_2025.nmea"].map(PlaneTrack.recorded)
    for ((epsilon, linear), share) in zip([(10.0, 303.0), (20, 209), (50, 118)], shares) {
      let runs = drives.map { ReportingRun($0, epsilon: epsilon, delay: delay) }
      #expect(runs.allSatisfy { $0.errors.allSatisfy { $0 <= epsilon } })
      #expect(Double(runs.reduce(0) { $0 + $1.reports.count }) <= share * linear, "\(epsilon) m, \(delay) s")
    }
  }
}
