import Glibc
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

@testable import Navigation

/// Receivers whose reports are late: navigation finds the latency, and its radius covers the position until then.
@Suite struct LateReceiverTests {
  /// What a drive with such a receiver gives.
  private struct Result {
    /// The longest time in s in which the position is beyond three times its 95 % radius.
    var longest = 0.0
    var lastError = Double.infinity
    var latency = Double.nan
  }

  private func drive(delay: Double, hasVelocity: Bool, seed: UInt64) -> Result {
    var generator = SeededGenerator(seed: seed)
    var drive = SyntheticDrive(mounting: generator.nextRotation())
    drive.fixRate = 1
    var filter = NavigationFilter()
    var result = Result()
    var (waiting, run) = ([PositionFix](), 0.0)
    for sample in drive.samples(&generator) {
      if var fix = sample.fix {
        fix.timestamp = fix.timestamp.advanced(bySeconds: delay)
        if !hasVelocity { (fix.speed, fix.course, fix.climb) = (nil, nil, nil) }
        waiting.append(fix)
      }
      while let fix = waiting.first, fix.timestamp <= sample.scan.timestamp {
        filter.process(fix)
        waiting.removeFirst()
      }
      filter.process(sample.scan)
      guard let estimate = filter.estimate, let error = filter.error(sample.truth) else {
        run = 0
        continue
      }
      run = error > 3 * estimate.radius95 ? run + 1 / drive.rate : 0
      result.longest = max(result.longest, run)
      (result.lastError, result.latency) = (error, estimate.positionLatency)
    }
    return result
  }

  @Test(arguments: [0, 0.5, 1, 1.5], UInt64(1)...3)
  func lateReportsAreCorrected(_ delay: Double, _ seed: UInt64) {
    let result = drive(delay: delay, hasVelocity: true, seed: seed)
    #expect(result.longest <= 5, "\(result), seed \(seed)")
    #expect(abs(result.latency - delay) < 0.15, "\(result), seed \(seed)")
    #expect(result.lastError < 3, "\(result), seed \(seed)")
  }

  @Test(arguments: [0, 0.5, 1, 1.5], UInt64(1)...3)
  func latePositionsWithoutVelocityAreCovered(_ delay: Double, _ seed: UInt64) {
    let result = drive(delay: delay, hasVelocity: false, seed: seed)
    #expect(result.longest <= 5, "\(result), seed \(seed)")
    #expect(result.lastError < 20, "\(result), seed \(seed)")
  }

  /// A latency is found from courses and rotations alone, also a negative one.
  @Test(arguments: [-0.25, 0, 0.4, 1.2, 1.8]) func latencyFollowsFromCourses(_ latency: Double) throws {
    var estimator = LatencyEstimator()
    func course(_ time: Double) -> Double { 0.6 * sin(0.4 * time) + 0.3 * sin(1.1 * time) }
    for step in 1...6000 {
      let time = Double(step) / 100
      let rate = (course(time) - course(time - 0.01)) / 0.01
      // To the right about the vertical is negative about the upward axis; the bias is unknown.
      estimator.add(
        force: Vector3(0.3, -0.2, 9.8), rate: Vector3(0, 0, 0.01 - rate), seconds: 0.01, time: time)
      if step % 100 == 0 {
        let direction = course(time - latency)
        estimator.observe(12 * Vector3(sin(direction), cos(direction), 0), at: time, span: 0)
      }
    }
    let estimate = try #require(estimator.estimate)
    #expect(abs(estimate.latency - latency) < 0.05, "\(estimate)")
  }

  /// A straight road shows no latency.
  @Test func latencyIsUnknownWithoutTurns() {
    var estimator = LatencyEstimator()
    var generator = SeededGenerator(seed: 3)
    for step in 1...6000 {
      let time = Double(step) / 100
      estimator.add(force: Vector3(0, 0, 9.8), rate: .zero, seconds: 0.01, time: time)
      if step % 100 == 0 {
        estimator.observe(
          Vector3(0.1 * generator.nextNormal(), 12, 0), at: time, span: 0)
      }
    }
    #expect(estimator.estimate == nil && estimator.likelier(than: 0) == nil)
  }
}
