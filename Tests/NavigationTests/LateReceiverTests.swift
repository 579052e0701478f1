import Glibc
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

@testable import Navigation

/// Receivers with late or repeated reports: the latency is estimated, and until then the radius covers the position.
@Suite struct LateReceiverTests {
  /// A drive as observed by a receiver.
  private struct Drive {
    var kind = SimulatedCraft.Kind.car
    /// The distance of device and antenna in front of the rear axle in m.
    var lever = 0.0
    /// The delay of the reports in s.
    var delay = 0.0
    var hasVelocity = true
    var fixRate = 1.0
    /// The times in s of the drive at which the receiver repeats its last report.
    var frozen: ClosedRange<Double>?

    /// The samples, with the fix that arrives before each of them.
    func samples(_ seed: UInt64) -> [SyntheticDrive.Sample] {
      var generator = SeededGenerator(seed: seed)
      var samples = SimulatedCraft(kind, lever: lever).samples(length: 400, fixRate: fixRate, &generator)
      var (waiting, newest) = ([PositionFix](), PositionFix?.none)
      for index in samples.indices {
        let sample = samples[index]
        if var fix = sample.fix {
          if let frozen, frozen.contains(sample.truth.time), let newest { fix = newest }
          newest = fix
          fix.timestamp = Timestamp(seconds: 100 + sample.truth.time + delay)
          if !hasVelocity { (fix.speed, fix.course, fix.climb) = (nil, nil, nil) }
          waiting.append(fix)
        }
        samples[index].fix = nil
        if let fix = waiting.first, fix.timestamp <= sample.scan.timestamp {
          samples[index].fix = fix
          waiting.removeFirst()
        }
      }
      return samples
    }
  }

  /// Errors of a filter during a drive.
  private struct Result {
    /// The longest time in s in which the position is beyond three times its 95 % radius.
    var longest = 0.0
    var lastError = Double.infinity
    /// The latency of positions in s at the end.
    var latency = Double.nan
    /// The largest distance in s between the delay and the latency of the estimator.
    var worstEstimate = 0.0
    var counters = NavigationCounters()
  }

  private func play(
    _ samples: some Sequence<SyntheticDrive.Sample>, delay: Double = 0, _ filter: inout NavigationFilter
  ) -> Result {
    var (result, run, last) = (Result(), 0.0, -Double.infinity)
    for sample in samples {
      if let fix = sample.fix { filter.process(fix) }
      filter.process(sample.scan)
      if let estimate = filter.latency.estimate {
        result.worstEstimate = max(result.worstEstimate, abs(estimate.latency - delay))
      }
      let interval = min(0.1, sample.truth.time - last)
      last = sample.truth.time
      guard let estimate = filter.estimate, let error = filter.error(sample.truth) else {
        run = 0
        continue
      }
      run = error > 3 * estimate.radius95 ? run + interval : 0
      result.longest = max(result.longest, run)
      (result.lastError, result.latency) = (error, estimate.positionLatency)
    }
    result.counters = filter.counters
    return result
  }

  private func play(_ drive: Drive, seed: UInt64) -> Result {
    var filter = NavigationFilter(.init(drive.kind == .truck ? .truck : .wheeled))
    return play(drive.samples(seed), delay: drive.delay, &filter)
  }

  @Test(arguments: [0.5, 1, 1.5], [0.0, 3]) func lateReportsAreCorrected(_ delay: Double, _ lever: Double) {
    for seed in UInt64(1)...3 {
      let result = play(Drive(lever: lever, delay: delay), seed: seed)
      print("delay \(delay), lever \(lever), seed \(seed): \(result)")
      #expect(result.longest <= 5, "seed \(seed)")
      #expect(abs(result.latency - delay) < 0.15, "\(result), seed \(seed)")
      #expect(result.lastError < 3, "\(result), seed \(seed)")
    }
  }

  @Test(arguments: [0, 0.5, 1, 1.5], [0.0, 3])
  func latePositionsWithoutVelocityAreCovered(_ delay: Double, _ lever: Double) {
    for seed in UInt64(1)...3 {
      let result = play(Drive(lever: lever, delay: delay, hasVelocity: false), seed: seed)
      print("delay \(delay), lever \(lever), seed \(seed): \(result)")
      #expect(result.longest <= 5, "\(result), seed \(seed)")
      #expect(result.lastError < 20, "\(result), seed \(seed)")
    }
  }

  /// An antenna in front of the rear axle, and tyre slip, are not mistaken for latency.
  @Test(arguments: [SimulatedCraft.Kind.car, .truck], [0, 1.5, 3, 6])
  func leverArmKeepsTheAlignment(_ kind: SimulatedCraft.Kind, _ lever: Double) {
    for hasVelocity in [true, false] {
      for seed in UInt64(1)...3 {
        let result = play(Drive(kind: kind, lever: lever, hasVelocity: hasVelocity), seed: seed)
        print("\(kind), lever \(lever), velocity \(hasVelocity), seed \(seed): \(result)")
        #expect(result.counters.alignments == 1 && result.counters.realignments == 0, "seed \(seed)")
        #expect(abs(result.latency) < 0.15, "seed \(seed)")
        #expect(result.longest <= 5, "seed \(seed)")
      }
    }
  }

  /// A receiver that repeats its last report while the vehicle moves neither moves the position nor restarts the alignment.
  @Test(arguments: [false, true], [1.0, 5]) func repeatedReportsAreIgnored(
    _ hasVelocity: Bool, _ fixRate: Double
  ) {
    for (seed, start) in zip(UInt64(1)..., [45.0, 110, 180, 250]) {
      let drive = Drive(hasVelocity: hasVelocity, fixRate: fixRate, frozen: start...start + 25)
      let result = play(drive, seed: seed)
      print("velocity \(hasVelocity), \(fixRate) Hz, from \(start) s, seed \(seed): \(result)")
      #expect(result.longest <= 5, "seed \(seed)")
      #expect(result.lastError < 3, "seed \(seed)")
      #expect(abs(result.latency) < 0.15, "seed \(seed)")
    }
  }

  /// The times in s at which the vehicle is at rest, after the first start.
  private static let stops = [88.8...107.5, 158.8...177.5, 228.8...247.5]

  /// A receiver that hangs while the vehicle is at rest does not pull it back when it starts.
  @Test(arguments: [1.0, 5]) func reportsThatRepeatRestDoNotHoldTheVehicle(_ fixRate: Double) {
    for (seed, stop) in zip(UInt64(1)..., Self.stops) {
      let start = stop.lowerBound + 11
      let result = play(Drive(fixRate: fixRate, frozen: start...start + 30), seed: seed)
      #expect(result.longest == 0, "\(result), seed \(seed)")
      #expect(result.counters.alignments == 1 && result.counters.realignments == 0, "seed \(seed)")
    }
  }

  /// Samples of a receiver that repeats one report, without motion and `offset` m off, from a time in s of a stop on.
  private func holding(since start: Double, offset: Double, _ fixRate: Double, seed: UInt64)
    -> [SyntheticDrive.Sample]
  {
    var held: PositionFix?
    return Drive(fixRate: fixRate).samples(seed).prefix { $0.truth.time < 107 }.map { sample in
      var sample = sample
      guard var fix = sample.fix, sample.truth.time > start else { return sample }
      if let held { (fix.coordinate, fix.altitudeEllipsoidal) = (held.coordinate, held.altitudeEllipsoidal) }
      (fix.speed, fix.course, fix.climb) = (0, nil, 0)
      if held == nil { fix.coordinate = fix.coordinate?.destination(distance: offset, bearing: 90) }
      (held, sample.fix) = (fix, fix)
      return sample
    }
  }

  /// A receiver that holds its position at rest counts as present.
  @Test(arguments: [1.0, 5]) func heldPositionCountsAsPresent(_ fixRate: Double) throws {
    for seed in UInt64(1)...3 {
      var filter = NavigationFilter()
      let result = play(holding(since: 90, offset: 0, fixRate, seed: seed), &filter)
      let estimate = try #require(filter.estimate)
      #expect(estimate.source == .fused && estimate.sinceFix < 1.5, "seed \(seed)")
      #expect(result.lastError < 1.5, "\(result), seed \(seed)")
    }
  }

  /// A position that contradicts the estimate is accepted after several reports, even if they repeat it.
  @Test(arguments: [1.0, 5]) func repeatedContradictionIsAccepted(_ fixRate: Double) throws {
    for seed in UInt64(1)...3 {
      var filter = NavigationFilter()
      let result = play(holding(since: 93, offset: 200, fixRate, seed: seed), &filter)
      #expect(result.counters.jumps > 0 && abs(result.lastError - 200) < 3, "\(result), seed \(seed)")
    }
  }

  /// A stored latency is used from the first fix on, and corrected if the receiver has been replaced.
  @Test(arguments: [1.0, 0]) func storedLatencyIsUsedAndCorrected(_ delay: Double) throws {
    for seed in UInt64(1)...3 {
      let samples = Drive(delay: 1).samples(seed)
      var filter = NavigationFilter()
      _ = play(samples.prefix { $0.truth.time < 200 }, &filter)
      let stored = try #require(filter.calibration)
      #expect(abs(stored.positionLatency + stored.velocityLatency - 1) < 0.15)
      var warm = NavigationFilter(calibration: stored)
      let later = Drive(delay: delay).samples(seed + 10).drop { $0.truth.time < 30 }
      let result = play(later, delay: delay, &warm)
      print("delay \(delay), seed \(seed): \(result)")
      #expect(result.longest <= 5, "seed \(seed)")
      #expect(abs(result.latency - delay) < 0.15, "seed \(seed)")
      #expect(delay == 0 || result.counters.realignments == 0, "seed \(seed)")
    }
  }

  // MARK: Latency estimator

  /// Courses of a vehicle with varying speed and rate of turn.
  private struct Courses {
    var latency = 0.0
    var lever = 0.0
    /// Slip angle in rad per m/s² of lateral acceleration.
    var slip = 0.0
    /// Amplitude of the rate of turn, rad/s.
    var turning = 0.3

    private func speed(_ time: Double) -> Double { 12 + 7 * sin(0.07 * time) }
    private func angle(_ time: Double) -> Double { turning * (1.5 * sin(0.4 * time) + 0.8 * sin(1.1 * time)) }

    func play(_ estimator: inout LatencyEstimator, seconds: Double = 60) {
      for step in 1...Int(seconds * 100) {
        let time = Double(step) / 100
        let rate = (angle(time) - angle(time - 0.01)) / 0.01
        // A rotation to the right is negative about the upward axis; the bias is unknown.
        estimator.add(
          force: Vector3(0.3, -0.2, 9.8), rate: Vector3(0, 0, 0.01 - rate), seconds: 0.01, time: time)
        guard step % 100 == 0 else { continue }
        let then = time - latency
        let (speed, turn) = (speed(then), (angle(then + 0.01) - angle(then - 0.01)) / 0.02)
        let direction = angle(then) + atan(lever * turn / speed) - slip * speed * turn
        estimator.observe(speed * Vector3(sin(direction), cos(direction), 0), at: time, span: 0)
      }
    }
  }

  /// Latency, also a negative one, is estimated from courses and rotations alone, with lever arm and slip.
  @Test(arguments: [-0.25, 0, 0.4, 1.2, 1.8], [(0.0, 0.0), (3, 0), (0, 0.005), (3, 0.005)])
  func latencyFollowsFromCourses(_ latency: Double, _ vehicle: (lever: Double, slip: Double)) throws {
    var estimator = LatencyEstimator(.init())
    Courses(latency: latency, lever: vehicle.lever, slip: vehicle.slip).play(&estimator, seconds: 120)
    let estimate = try #require(estimator.estimate)
    #expect(abs(estimate.latency - latency) < 0.1, "\(estimate)")
  }

  /// Without courses, the doubt about a latency is that of the prior; turns confirm one latency and contradict others.
  @Test func doubtFollowsTheCourses() {
    var estimator = LatencyEstimator(.init())
    #expect((0.25...0.45).contains(estimator.doubt(about: 0)))
    Courses(latency: 0.1).play(&estimator, seconds: 120)
    #expect(estimator.doubt(about: 0) < 0.05 && estimator.doubt(about: 1) > 0.8)
    var stored = LatencyEstimator(.init())
    stored.expect(1)
    #expect(stored.doubt(about: 1) < 0.2 && stored.doubt(about: 0) > 0.8)
    Courses(latency: 0.1).play(&stored, seconds: 120)
    #expect(stored.doubt(about: 0) < 0.05)
  }

  /// A latency at or beyond the limits of the search is reported as unknown.
  @Test(arguments: [-0.6, -0.4, 2, 2.5]) func latencyBeyondTheSearchIsUnknown(_ latency: Double) {
    var estimator = LatencyEstimator(.init())
    Courses(latency: latency).play(&estimator)
    #expect(estimator.estimate == nil)
  }

  /// Latency is unknown on a straight road.
  @Test func latencyIsUnknownWithoutTurns() {
    var estimator = LatencyEstimator(.init())
    var generator = SeededGenerator(seed: 3)
    for step in 1...6000 {
      let time = Double(step) / 100
      estimator.add(force: Vector3(0, 0, 9.8), rate: .zero, seconds: 0.01, time: time)
      if step % 100 == 0 {
        estimator.observe(Vector3(0.1 * generator.nextNormal(), 12, 0), at: time, span: 0)
      }
    }
    #expect(estimator.estimate == nil && estimator.likelier(than: 0) == nil)
  }

  /// Differences of repeated positions, or of positions too far apart, are not used as velocity.
  @Test func implausibleDifferencesAreNotUsed() {
    var differences = PositionDifferences()
    let origin = SyntheticDrive.origin
    for time in 0..<4 {
      _ = differences.add(
        origin.destination(distance: 10 * Double(time), bearing: 0), at: Double(time), deviation: 1)
    }
    let far = origin.destination(distance: 1000, bearing: 0)
    #expect(differences.course(to: far, at: 4) == nil)
    #expect(differences.add(far, at: 4, deviation: 1) == nil)
  }
}
