import Foundation
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

@testable import Positioning

/// Receivers that omit fixes: reports cost no more than linear dead reckoning, and the moments between fixes are within the
/// bound if the delay covers the gap.
@Suite struct SkippedFixTests {
  /// Omitted seconds of a drive.
  struct Pattern: CustomTestStringConvertible, Sendable {
    /// Share of the seconds.
    var share: Double
    /// Seconds of one gap.
    var length: ClosedRange<Int>
    /// Fixes per second.
    var rate: Int

    var testDescription: String { "\(Int(share * 100)) % in gaps of \(length) s at \(rate) Hz" }
  }

  private static let patterns: [Pattern] = [0.03, 0.1].flatMap { share in
    [1...1, 2...4, 5...5].flatMap { length in
      [1, 5, 10].map { Pattern(share: share, length: length, rate: $0) }
    }
  }
  /// Gaps of one second are excluded: if nearly all of eight intervals have one, the interval of the receiver is unknown.
  private static let many: [Pattern] = [2...4, 5...5].map {
    Pattern(share: 0.3, length: $0, rate: 1)
  }
  private static let drives = ["mtv_ublox_f9k_slim2025.nmea", "munich_2025.nmea"]
  /// Bounds in m. At 50 m linear dead reckoning needs so few reports that no delay saves half of them.
  private static let bounds = [10.0, 20]
  private static let seeds: ClosedRange<UInt64> = 1...3

  /// Numbers of reports, and of moments without a fix.
  private struct Total {
    var reports = 0
    var linear = 0
    /// Moments without a fix: with a guaranteed bound, all, and beyond the bound.
    var promised = 0
    var missing = 0
    var beyond = 0
    var worstAtFix = 0.0

    var share: Double { Double(reports) / Double(max(1, linear)) }
  }

  private func total(_ drives: [String], _ pattern: Pattern, epsilon: Double, delay: Double) throws -> Total {
    var total = Total()
    for name in drives {
      let track = Self.resampled(try PlaneTrack.recorded(name), rate: pattern.rate)
      for seed in pattern.rate == 1 ? Self.seeds : 1...1 {
        let isKept = Self.kept(track, pattern, seed: seed)
        let fixes = zip(track, isKept).filter(\.1).map(\.0)
        let run = ReportingRun(fixes, epsilon: epsilon, delay: delay)
        total.reports += run.reports.count
        total.linear += Self.linear(fixes, epsilon: epsilon)
        for (location, isKept) in zip(track, isKept) {
          guard let report = run.report(for: location.timestamp, delay: delay) else { continue }
          let isPromised = report.isPromised(at: location.timestamp)
          let error = report.error(of: location.coordinate, at: location.timestamp)
          if isKept {
            if isPromised { total.worstAtFix = max(total.worstAtFix, error) }
            continue
          }
          total.missing += 1
          guard isPromised else { continue }
          total.promised += 1
          if error > epsilon { total.beyond += 1 }
        }
      }
    }
    return total
  }

  @Test(.needs(.recordings("tracks")), arguments: Self.patterns)
  func skippedSecondsCostNoMoreThanDeadReckoning(_ pattern: Pattern) throws {
    // The velocities of the Munich drive lag behind its positions, so that a cubic between its fixes oscillates. At 10 Hz
    // and no delay, bounded reports need 7 % more than linear dead reckoning there, also without gaps.
    let drives = pattern.rate == 1 ? Self.drives : [Self.drives[0]]
    let tolerance = pattern.rate == 1 ? 1.01 : 1.05
    for (delay, target) in [(0.0, 1.0), (5, 0.7), (10, 0.56)] {
      let most = target * tolerance
      var (reports, linear) = (0, 0)
      for epsilon in Self.bounds {
        let total = try total(drives, pattern, epsilon: epsilon, delay: delay)
        print(
          "\(pattern.testDescription), \(Int(epsilon)) m, delay \(Int(delay)) s: \(total.reports) reports,"
            + " share \((total.share * 1000).rounded() / 1000), without a fix \(total.missing), guaranteed"
            + " \(total.promised), beyond \(total.beyond)")
        #expect(total.worstAtFix <= epsilon)
        reports += total.reports
        linear += total.linear
      }
      #expect(Double(reports) <= most * Double(linear), "delay \(delay): \(reports) of \(linear)")
    }
  }

  /// The Munich drive is excluded: its receiver jumps by up to 400 m within a gap.
  @Test(
    .needs(.recordings("tracks")),
    arguments: Self.patterns.filter { $0.share == 0.1 } + Self.many, [(10.0, 10.0), (20, 10), (50, 10)])
  func momentsInAGapAreWithinTheBound(_ pattern: Pattern, _ limits: (epsilon: Double, delay: Double)) throws {
    let total = try total(
      [Self.drives[0]], pattern, epsilon: limits.epsilon, delay: limits.delay)
    #expect(total.beyond == 0 && total.worstAtFix <= limits.epsilon, "\(total)")
    #expect(total.promised * 3 > total.missing)
  }

  /// Hard braking and bends in a generated drive, whose position between fixes is exact.
  @Test(arguments: 1...20) func hardBrakingInAGapIsWithinTheBound(seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    let plane = PlaneTrack()
    var (place, speed, course, turn, acceleration) = (SIMD2(0.0, 0), 10.0, 0.0, 0.0, 0.0)
    let track = (0..<6000).map { step -> Location in
      if step % 10 == 0 {
        if random.nextUniform() < 0.2 {
          acceleration = [-6.0, -3, 0, 0, 1, 2][Int(random.nextUniform() * 6)]
        }
        if random.nextUniform() < 0.2 { turn = (random.nextUniform() - 0.5) * 50 }
      }
      speed = min(25, max(0, speed + acceleration * 0.1))
      course += min(1, 40 / max(1, speed * abs(turn))) * turn * 0.1
      place += 0.1 * speed * SIMD2(sin(course * .pi / 180), cos(course * .pi / 180))
      var location = plane.location(
        Double(step) / 10, place.x, place.y, speed: speed, course: normalizedDegrees(course))
      (location.horizontalAccuracy, location.speedAccuracy) = (2, 0.1)
      return location
    }
    let pattern = Pattern(share: 0.2, length: 1...4, rate: 10)
    let isKept = Self.kept(track, pattern, seed: UInt64(seed))
    let run = ReportingRun(zip(track, isKept).filter(\.1).map(\.0), epsilon: 20, delay: 6)
    var promised = 0
    for location in track.dropFirst(50) {
      guard let report = run.report(for: location.timestamp, delay: 6),
        report.isPromised(at: location.timestamp)
      else { continue }
      promised += 1
      let error = report.error(of: location.coordinate, at: location.timestamp)
      #expect(error <= 20, "seed \(seed), \(location.timestamp.seconds) s: \(error) m")
    }
    #expect(promised > 4000, "seed \(seed): \(promised)")
  }

  /// The reporter waits longer for a receiver that often omits three seconds than for one without gaps.
  @Test func receiverWithGapsIsAwaited() {
    let plane = PlaneTrack()
    func fix(_ second: Int) -> Location {
      var fix = plane.location(Double(second), 12 * Double(second), speed: 12, course: 90)
      fix.horizontalAccuracy = 3
      return fix
    }
    func silence(gaps: Bool) -> Double? {
      var reporter = BoundedReporter(epsilon: 20)
      for second in 0...300 where !gaps || second % 30 < 27 { _ = reporter.process(fix(second)) }
      return reporter.nextDeadline.map { $0.seconds - 300 }
    }
    #expect(silence(gaps: false).map { $0 >= 1.75 && $0 < 2.5 } == true)
    #expect(silence(gaps: true) == 4.25)
  }

  /// The bound of a slow receiver is withdrawn after the longest documented silence of 10 s, even at one fix per minute.
  @Test(arguments: [5.0, 30, 60]) func slowReceiverIsSilentAfterTenSeconds(interval: Double) throws {
    let plane = PlaneTrack()
    var reporter = BoundedReporter(epsilon: 20)
    for step in 0...10 {
      let seconds = interval * Double(step)
      var fix = plane.location(seconds, 12 * seconds, speed: 12, course: 90)
      fix.horizontalAccuracy = 3
      _ = reporter.process(fix)
    }
    let silence = try #require(reporter.nextDeadline).seconds - 10 * interval
    #expect(abs(silence - min(1.5 * interval, 10) - 0.25) < 1e-6)
  }

  /// The error of the positions at both ends of a gap counts within it. If it leaves no margin for the prediction, the bound is withdrawn.
  @Test func gapAfterInertialPositionsNeedsFewReports() {
    let plane = PlaneTrack()
    func inertial(_ second: Int) -> Location {
      var fix = plane.location(Double(second), 12 * Double(second), speed: 12, course: 90)
      (fix.horizontalAccuracy, fix.speedAccuracy, fix.positionSource) = (7, 0.1, .inertial)
      return fix
    }
    let seconds = Array(0...20) + Array(29...40)
    let run = ReportingRun(seconds.map(inertial), epsilon: 20, delay: 15)
    let inGap = run.reports.filter { $0.moment.seconds > 20 && $0.moment.seconds < 29 }
    #expect(inGap.isEmpty, "\(inGap.map(\.moment.seconds))")
  }

  /// The fixes of a gap do not extend the window beyond its capacity.
  @Test func windowIsLimitedAfterGaps() {
    let plane = PlaneTrack()
    var random = SeededGenerator(seed: 7)
    var reporter = BoundedReporter(epsilon: 100, delay: 3600)
    var (seconds, worst) = (0.0, 0)
    for step in 0..<700 {
      seconds += step > 560 && step % 10 == 0 ? 9 : 0.1
      var fix = plane.location(
        seconds, 2000 * random.nextUniform(), 2000 * random.nextUniform(), speed: 0, course: 0)
      (fix.horizontalAccuracy, fix.speedAccuracy) = (2, 0.1)
      _ = reporter.process(fix)
      worst = max(worst, reporter.window.count)
    }
    #expect(worst < BoundedReporter.largestWindow, "\(worst)")
  }

  /// A vehicle in a queue is not at rest, since it does not remain within the bound.
  @Test func slowQueueIsNoRest() {
    let plane = PlaneTrack()
    let fixes = (0..<3600).map { plane.location(Double($0), Double($0), speed: 1, course: 90) }
    let run = ReportingRun(fixes, epsilon: 20, delay: 5)
    let longest = run.reports.compactMap(\.validity).max() ?? .infinity
    #expect(longest <= BoundedReporter.lease + 5, "\(longest) s")
  }

  /// Receivers omit the course at rest. Rest is then detected by their speed, not by the noise of their positions.
  @Test func restIsDetectedDespiteNoisyPositions() {
    let plane = PlaneTrack()
    var random = SeededGenerator(seed: 5)
    let fixes = (0..<7200).map { second in
      plane.location(Double(second), 2 * random.nextNormal(), 2 * random.nextNormal(), speed: 0)
    }
    let run = ReportingRun(fixes, epsilon: 20, delay: 5)
    let longest = run.reports.compactMap(\.validity).max() ?? 0
    #expect(longest > BoundedReporter.restLease / 2, "\(longest) s")
  }

  /// A parked vehicle renews its bound after three minutes, then each time its rest has doubled.
  @Test func boundIsRenewedRarelyAtRest() {
    let plane = PlaneTrack()
    var fixes = (0..<20).map { plane.location(Double($0), 12 * Double($0), speed: 12, course: 90) }
    fixes += (20..<7220).map { plane.location(Double($0), 228, speed: 0, course: 90) }
    let run = ReportingRun(fixes, epsilon: 20, delay: 5)
    let atRest = run.reports.filter { $0.moment.seconds > 30 }
    #expect((4...7).contains(atRest.count), "\(atRest.map(\.moment.seconds))")
    #expect(atRest.allSatisfy { $0.validity.map { $0 <= BoundedReporter.restLease + 20 } ?? false })
    #expect(
      fixes.allSatisfy { run.report(for: $0.timestamp, delay: 5)?.isPromised(at: $0.timestamp) ?? false })
  }

  // MARK: Input

  private static func kept(_ track: [Location], _ pattern: Pattern, seed: UInt64) -> [Bool] {
    var random = SeededGenerator(seed: seed)
    guard let first = track.first, let last = track.last else { return [] }
    func second(_ location: Location) -> Int {
      Int(location.timestamp.seconds(since: first.timestamp) + 1e-6)
    }
    let mean = Double(pattern.length.lowerBound + pattern.length.upperBound) / 2
    let start = pattern.share / (1 - pattern.share) / mean
    var omitted: Set<Int> = []
    var next = 1
    while next < second(last) {
      if random.nextUniform() < start {
        let length = pattern.length.lowerBound + Int(random.nextUniform() * Double(pattern.length.count))
        omitted.formUnion(next..<min(second(last), next + length))
        next += length
      }
      next += 1
    }
    return track.map { !omitted.contains(second($0)) }
  }

  private static func velocity(_ location: Location) -> SIMD2<Double> {
    let course = (location.course ?? 0) * .pi / 180
    return (location.speed ?? 0) * SIMD2(sin(course), cos(course))
  }

  /// Adds fixes between those of one second, on the cubic through positions and velocities.
  private static func resampled(_ track: [Location], rate: Int) -> [Location] {
    zip(track, track.dropFirst()).flatMap { start, end -> [Location] in
      let duration = end.timestamp.seconds(since: start.timestamp)
      guard rate > 1, duration < 1.5 else { return [start] }
      let frame = LocalFrame(origin: start.coordinate)
      let way = frame.offset(of: end.coordinate)
      let (from, to) = (velocity(start), velocity(end))
      return (0..<rate).map { step in
        let (s, rest) = (Double(step) / Double(rate), 1 - Double(step) / Double(rate))
        let position = s * s * (3 - 2 * s) * way + duration * s * rest * (rest * from - s * to)
        let velocity =
          6 * s * rest / duration * way + rest * (1 - 3 * s) * from + s * (3 * s - 2) * to
        var fix = start
        fix.timestamp = start.timestamp.advanced(bySeconds: s * duration)
        fix.coordinate = frame.coordinate(at: position)
        fix.speed = hypot(velocity.x, velocity.y)
        fix.course = normalizedDegrees(atan2(velocity.x, velocity.y) * 180 / .pi)
        return fix
      }
    } + track.suffix(1)
  }

  /// Returns the number of reports of linear dead reckoning.
  private static func linear(_ track: [Location], epsilon: Double) -> Int {
    var count = 0
    var report: ReportPredictor?
    for location in track {
      if let report, report.error(of: location.coordinate, at: location.timestamp) <= epsilon { continue }
      report = ReportPredictor(
        moment: location.timestamp, coordinate: location.coordinate, velocity: velocity(location),
        bound: epsilon, delay: 0)
      count += 1
    }
    return count
  }
}
