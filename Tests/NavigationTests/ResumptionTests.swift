import Glibc
import Navigation
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

/// Restarts without a receiver: navigation resumes from the stored state with an adequate radius, or not at all.
@Suite struct ResumptionTests {
  private static let rate = 50.0

  private struct Point {
    var error: Double
    var radius68: Double
    var radius95: Double
  }

  /// The calibration after playing until `kept` (s), without a receiver from `outage` (s) on.
  private func keep(_ samples: [SyntheticDrive.Sample], outage: Double, at kept: Double)
    -> NavigationCalibration?
  {
    var filter = NavigationFilter()
    filter.play(samples.prefix { $0.truth.time <= kept }, isSeen: { $0 < outage })
    return filter.calibration
  }

  private func point(_ filter: NavigationFilter, _ truth: SyntheticDrive.State) -> Point? {
    guard let estimate = filter.estimate, let error = filter.error(truth) else { return nil }
    return Point(error: error, radius68: estimate.radius68, radius95: estimate.radius95)
  }

  private func judge(_ points: [Point], medianRadius: Double) {
    let n = Double(points.count)
    let inside68 = Double(points.count { $0.error <= $0.radius68 }) / n
    let inside95 = Double(points.count { $0.error <= $0.radius95 }) / n
    let radius = points.map(\.radius68).sorted()[points.count / 2]
    print("\(points.count) points, inside \(inside68) and \(inside95), median 68 % radius \(radius) m")
    #expect(inside95 >= 0.9 && inside68 >= 0.6)
    #expect(radius < medianRadius)
  }

  /// A process that is killed in a tunnel resumes a few seconds later, and the radius covers the unobserved motion.
  @Test func navigationResumesInATunnel() throws {
    var generator = SeededGenerator.announced()
    var points: [Point] = []
    var resumed = 0
    for _ in 0..<30 {
      let samples = SyntheticDrive(length: 280, mounting: generator.nextRotation()).samples(&generator)
      let outage = 110 + 100 * generator.nextUniform()
      let killed = outage + 5 + 20 * generator.nextUniform()
      let back = killed + 0.3 + 3 * generator.nextUniform()
      let kept = try #require(keep(samples, outage: outage, at: killed))
      var filter = NavigationFilter(calibration: kept, keptAt: Timestamp(seconds: 100 + killed))
      for (index, sample) in samples.enumerated()
      where sample.truth.time > back && sample.truth.time < back + 32 {
        filter.process(sample.scan)
        guard index % Int(Self.rate * 5) == 0, let point = point(filter, sample.truth) else { continue }
        points.append(point)
      }
      resumed += filter.counters.resumptions
    }
    #expect(resumed >= 12, "\(resumed) of 30")
    judge(points, medianRadius: 90)
  }

  /// A vehicle that was parked underground for three days without power, with changed sensor biases, resumes and drives without a receiver.
  @Test func parkedVehicleResumesWithItsAlignment() throws {
    var generator = SeededGenerator.announced()
    var (resting, points): ([Point], [Point]) = ([], [])
    for _ in 0..<24 {
      var drive = SyntheticDrive(length: 280, mounting: generator.nextRotation())
      let samples = drive.samples(&generator)
      // The middle of a stop after some minutes of driving.
      let moving = samples.lastIndex { $0.truth.speed > 0 && $0.truth.time < 170 } ?? 0
      let stopped = samples[moving...].first { $0.truth.speed == 0 }?.truth.time ?? 0
      let kept = try #require(keep(samples, outage: stopped - 30, at: stopped + 6))
      #expect(kept.lastState?.isStopped == true)
      drive.gyroscopeBias += 0.1.radians * generator.nextRotation().rotate(Vector3(1, 0, 0))
      drive.accelerometerBias += 0.05 * generator.nextRotation().rotate(Vector3(1, 0, 0))
      let later = drive.samples(&generator)
      var filter = NavigationFilter(
        calibration: kept, keptAt: Timestamp(seconds: 100 + stopped - 3 * 86_400))
      var wasStopped = false
      for (index, sample) in later.enumerated()
      where sample.truth.time > stopped + 7 && sample.truth.time < stopped + 50 {
        filter.process(sample.scan)
        if sample.truth.speed == 0, filter.estimate?.isStopped == true { wasStopped = true }
        guard index % Int(Self.rate * 5) == 0, let point = point(filter, sample.truth) else { continue }
        if sample.truth.speed == 0 { resting.append(point) } else { points.append(point) }
      }
      #expect(filter.counters.resumptions == 1 && wasStopped)
      #expect(filter.estimate?.source == .inertial)
      #expect(try #require(filter.estimate).sinceFix > 3 * 86_400)
    }
    judge(resting, medianRadius: 8)
    judge(points, medianRadius: 25)
  }

  enum Waking: CaseIterable { case below, underTheSky, elsewhere }

  /// After a sleep of the sensors while parked, navigation is aligned before the vehicle moves, unless the receiver reports another
  /// position.
  @Test(arguments: Waking.allCases) func sleepingSensorsWakeAligned(_ waking: Waking) throws {
    var generator = SeededGenerator.announced()
    let samples = SyntheticDrive(length: 280, mounting: generator.nextRotation()).samples(&generator)
    let moving = samples.lastIndex { $0.truth.speed > 0 && $0.truth.time < 170 } ?? 0
    let stopped = samples[moving...].first { $0.truth.speed == 0 }?.truth.time ?? 0
    var filter = NavigationFilter()
    let isSeen = waking != .below
    filter.play(samples.prefix { $0.truth.time <= stopped + 6 }, isSeen: { isSeen || $0 < stopped - 20 })
    #expect(filter.estimate?.isStopped == true)
    let sleep = 1800.0
    let later = samples.drop { $0.truth.time < stopped + 7 }.prefix { $0.truth.time < stopped + 40 }
    var standing: NavigationEstimate?
    for sample in later {
      if var fix = sample.fix, isSeen {
        fix.timestamp = fix.timestamp.advanced(bySeconds: sleep)
        if waking == .elsewhere { fix.coordinate = fix.coordinate?.destination(distance: 90, bearing: 10) }
        filter.process(fix)
      }
      var scan = sample.scan
      scan.timestamp = scan.timestamp.advanced(bySeconds: sleep)
      filter.process(scan)
      if sample.truth.speed == 0 { standing = filter.estimate ?? standing }
    }
    #expect(filter.counters.gaps == 1 && filter.counters.contradictedResumptions == 0)
    #expect(filter.counters.resumptions == (waking == .elsewhere ? 0 : 1))
    if waking == .elsewhere {
      #expect(standing == nil)
    } else {
      let standing = try #require(standing)
      #expect(standing.isStopped && standing.source == (waking == .below ? .inertial : .fused))
      let last = try #require(later.last).truth
      let (error, estimate) = (try #require(filter.error(last)), try #require(filter.estimate))
      #expect(error < estimate.radius95 && error < (waking == .below ? 40 : 4), "\(error) m")
      if waking == .below { #expect(standing.sinceFix > sleep) }
    }
  }

  /// Fixes that agree with the resumed state cause no new alignment, and the track since the restart is corrected.
  @Test func fixesConfirmTheResumption() throws {
    var generator = SeededGenerator.announced()
    let samples = SyntheticDrive(mounting: generator.nextRotation()).samples(&generator)
    let kept = try #require(keep(samples, outage: 160, at: 190))
    var filter = NavigationFilter(calibration: kept, keptAt: Timestamp(seconds: 290))
    filter.play(samples.drop { $0.truth.time < 192 }, isSeen: { $0 > 220 })
    #expect(filter.counters.resumptions == 1 && filter.counters.contradictedResumptions == 0)
    #expect(filter.counters.alignments == 1)
    #expect(try #require(filter.error(samples[samples.count - 1].truth)) < 1.5)
    let taken = filter.drainCorrectedTrack()
    #expect(try #require(taken).count > 20)
  }

  /// Fixes that contradict the stored position discard it within 1 s, a stored heading within 6 s; the estimates that follow are not
  /// affected.
  @Test(arguments: [(300.0, 0.0), (0.0, 120.0), (200_000.0, 0.0)])
  func fixesContradictTheResumption(_ distance: Double, _ turn: Double) throws {
    var generator = SeededGenerator.announced()
    let samples = SyntheticDrive(length: 260, mounting: generator.nextRotation()).samples(&generator)
    var kept = try #require(keep(samples, outage: 1000, at: 200))
    var last = try #require(kept.lastState)
    last.coordinate = last.coordinate.destination(distance: distance, bearing: 70)
    let turned = Quaternion(angle: turn.radians, axis: Vector3(0, 0, 1))
    last.attitude = turned * last.attitude
    last.velocity = turned.rotate(last.velocity)
    kept.lastState = last
    var filter = NavigationFilter(calibration: kept, keptAt: Timestamp(seconds: 300))
    var (discarded, worst) = (0.0, 0.0)
    for sample in samples where sample.truth.time > 200.5 {
      if let fix = sample.fix, sample.truth.time > 204 { filter.process(fix) }
      filter.process(sample.scan)
      guard filter.counters.contradictedResumptions > 0 else { continue }
      if discarded == 0 { discarded = sample.truth.time }
      worst = max(worst, filter.error(sample.truth) ?? 0)
    }
    #expect(filter.counters.contradictedResumptions == 1)
    #expect(discarded > 204 && discarded < (turn > 0 ? 210 : 205), "\(discarded) s")
    #expect(worst < 4, "\(worst) m")
    #expect(filter.state == .aligned && filter.counters.resumptions == 1)
    #expect(try #require(filter.error(samples[samples.count - 1].truth)) < 1.5)
  }

  private enum Obstacle: CaseIterable {
    case ageIsUnknown, keptInTheFuture, tooLongAgo, isTilted, hasReceiver
  }

  /// A stored state of unknown, negative or too high age, of a tilted device, or with a receiver present is not resumed.
  @Test func resumptionWaitsWithoutStoredState() throws {
    var generator = SeededGenerator.announced()
    let samples = SyntheticDrive(length: 260).samples(&generator)
    for obstacle in Obstacle.allCases {
      let moving = samples.firstIndex { $0.truth.time > 190 && $0.truth.speed > 8 } ?? 0
      let standing = samples.firstIndex { $0.truth.time > 150 && $0.truth.speed == 0 } ?? 0
      let start = obstacle == .isTilted ? standing + 400 : moving
      let time = samples[start].truth.time
      var kept = try #require(keep(samples, outage: 1000, at: time))
      let last = kept.lastState
      var keptAt: Timestamp? = Timestamp(seconds: 100 + time)
      switch obstacle {
      case .ageIsUnknown: keptAt = nil
      case .keptInTheFuture: keptAt = Timestamp(seconds: 110 + time)
      case .tooLongAgo: keptAt = Timestamp(seconds: 40 + time)
      case .isTilted:
        let tilt = Quaternion(angle: 3.0.radians, axis: Vector3(1, 0, 0))
        kept.lastState?.attitude = try tilt * #require(last).attitude
      case .hasReceiver: break
      }
      var filter = NavigationFilter(calibration: kept, keptAt: keptAt)
      for sample in samples[start...].prefix(200) {
        if obstacle == .hasReceiver, let fix = sample.fix { filter.process(fix) }
        filter.process(sample.scan)
      }
      #expect(filter.counters.resumptions == 0, "\(obstacle)")
      #expect((filter.state == .aligned) == (obstacle == .hasReceiver), "\(obstacle)")
    }
  }
}
