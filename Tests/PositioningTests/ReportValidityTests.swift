import Positioning
import Spatial
import Testing

/// Duration of the guarantee of an error bound, and its end.
@Suite struct ReportValidityTests {
  private let plane = PlaneTrack()

  private func fix(_ second: Double, speed: Double = 12) -> Location {
    var fix = plane.location(second, speed * second, speed: speed, course: 90)
    fix.horizontalAccuracy = 3
    return fix
  }

  private func time(_ seconds: Double) -> Timestamp { Timestamp(seconds: seconds) }

  /// End of the guarantee of a report's bound, in seconds.
  private func end(_ report: ReportPredictor?) -> Double? {
    report.flatMap { report in report.validity.map { report.moment.seconds + $0 } }
  }

  private func driven(_ range: ClosedRange<Int>, delay: Double, speed: Double = 12) -> BoundedReporter {
    var reporter = BoundedReporter(epsilon: 20, delay: delay)
    for second in range { _ = reporter.process(fix(Double(second), speed: speed)) }
    return reporter
  }

  @Test(arguments: [0.0, 2, 5]) func monitoredVehicleRenewsItsBound(delay: Double) {
    var reporter = BoundedReporter(epsilon: 20, delay: delay)
    var follower = ReportFollower()
    var count = 0
    for second in 0...1000 {
      for report in reporter.process(fix(Double(second))) {
        follower.receive(report)
        count += 1
      }
      guard second > Int(delay) else { continue }
      #expect(follower.position(now: time(Double(second)))?.isPromised == true, "\(second) s")
    }
    // Steady motion requires reports only for the lease.
    #expect((5...7).contains(count), "\(count)")
  }

  /// The last report arrives before a subscriber shows the first moment that is not guaranteed.
  @Test(arguments: [2.0, 5, 30]) func silenceEndsTheBoundInTime(delay: Double) throws {
    var reporter = driven(0...20, delay: delay)
    // Decides the remaining fixes first.
    while reporter.oldestOpen != nil, let open = reporter.nextDeadline { _ = reporter.advance(to: open) }
    let deadline = try #require(reporter.nextDeadline)
    let reports = reporter.advance(to: deadline)
    let last = try #require(reports.last)
    #expect(reports.count == 1 && last.moment == time(20) && last.growth == 90 + 12)
    // An acceleration of 10 m/s² covers 20 m, less the noise, in about 1.5 s.
    let validity = try #require(last.validity)
    #expect((1...2).contains(validity))
    #expect(deadline <= time(20.01 + validity + delay) && deadline > time(20 + delay))
    #expect(reporter.nextDeadline == nil && reporter.advance(to: time(9000)).isEmpty)
    // The next fix restores the guarantee.
    let again = reporter.process(fix(300)) + reporter.advance(to: time(300 + delay))
    #expect(end(again.last).map { $0 > 400 } == true)
  }

  @Test func missingFixIsBridgedWithinTheBound() {
    // With a bound of 50 m, a gap of two seconds has no effect.
    var wide = BoundedReporter(epsilon: 50, delay: 5)
    for second in [0.0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11] {
      #expect(wide.process(fix(second)).count <= 1)
    }
    #expect(end(wide.report).map { $0 > 100 } == true)
    // In a gap of 30 s, any motion is possible.
    var reports: [ReportPredictor] = []
    for second in [41.0, 42, 43, 44, 45, 46] { reports += wide.process(fix(second)) }
    #expect(reports.map(\.moment.seconds) == [11, 41])
    #expect(end(reports.first).map { $0 < 15 } == true && end(reports.last).map { $0 > 200 } == true)
  }

  @Test func detectedRestHasABound() throws {
    var reporter = driven(0...60, delay: 5, speed: 0)
    #expect(reporter.observe(isAtRest: true, since: time(10)).isEmpty)
    let standing = try #require(reporter.stand().last)
    #expect(standing.velocity == .zero && standing.validity == BoundedReporter.restLease)
    // No input for an hour; the report is renewed.
    let renewal = try #require(reporter.nextDeadline)
    let renewed = reporter.advance(to: renewal)
    #expect(renewal > time(3500) && renewal < time(60 + 3600 + 5))
    #expect(
      renewed.map(\.coordinate) == [standing.coordinate] && end(renewed.first).map { $0 > 7000 } == true)
    // A motion that starts at 4000 s is detected up to two seconds later.
    let ended = reporter.observe(isAtRest: false, since: time(4000))
    #expect(ended.map(\.moment) == renewed.map(\.moment))
    let until = try #require(end(ended.first))
    #expect(until > 4000.5 && until < 4002)
    #expect(reporter.nextDeadline == nil)
  }

  @Test func undetectedRestHasNoBound() {
    // Without an accelerometer; with one that would report too late; and with one that detects rest on a smooth road at speed.
    for (delay, isFelt, speed) in [(5.0, false, 0.0), (0, true, 0), (5, true, 12)] {
      var reporter = driven(0...60, delay: delay, speed: speed)
      if isFelt { _ = reporter.observe(isAtRest: true, since: time(10)) }
      let standing = reporter.stand().last
      #expect(standing?.velocity == .zero && end(standing).map { $0 < 63 } == true)
      #expect(reporter.nextDeadline == nil)
    }
  }

  @Test func lostAccelerometerEndsTheBound() {
    var reporter = driven(0...60, delay: 5, speed: 0)
    _ = reporter.observe(isAtRest: true, since: time(10))
    _ = reporter.stand()
    #expect(end(reporter.observe(isAtRest: nil, since: time(500)).last) == 500)
  }

  @Test(arguments: [false, true]) func stopWithdrawsTheBound(isAtRest: Bool) {
    var reporter = driven(0...60, delay: 5, speed: 0)
    if isAtRest {
      _ = reporter.observe(isAtRest: true, since: time(10))
      _ = reporter.stand()
    }
    #expect(end(reporter.finish().last).map { $0 < 63 } == true)
    #expect(reporter.nextDeadline == nil)
  }

  /// A vehicle whose positions are withheld may be anywhere.
  @Test func unmonitoredVehicleHasNoBound() {
    var reporter = driven(0...60, delay: 5, speed: 0)
    _ = reporter.observe(isAtRest: true, since: time(10))
    #expect(end(reporter.stand(isSeen: false).last).map { $0 < 63 } == true)
  }

  @Test func expiredBoundGrows() {
    let report = ReportPredictor(
      moment: time(10), coordinate: plane.origin, velocity: .zero, bound: 20, delay: 0, validity: 5,
      growth: 90)
    #expect(report.bound(at: time(15)) == 20 && report.isPromised(at: time(15)))
    #expect(report.bound(at: time(17)) == 200 && !report.isPromised(at: time(17)))
    var older = report
    older.validity = nil
    #expect(older.bound(at: time(1e6)) == 20 && older.isPromised(at: time(1e6)))
  }
}
