import Foundation
import Simulation
import Spatial
import Testing

@testable import Positioning

@Suite struct VelocityEstimateTests {
  private let plane = PlaneTrack()

  /// A drive whose velocity oscillates by 5 m/s with periods of about half a minute, and the errors of the estimate after one minute.
  private func run(noise: Double, seed: UInt64, jumps: Bool = false) -> (
    deviation: Double, error: Double, raw: Double
  ) {
    var random = SeededGenerator(seed: seed)
    var estimate = VelocityEstimate()
    var (squares, raws, count) = (0.0, 0.0, 0.0)
    for second in 0..<600 {
      let time = Double(second)
      let truth = SIMD2(12 + 5 * sin(time / 5), 5 * cos(time / 7))
      var measured = truth + noise * SIMD2(random.nextNormal(), random.nextNormal())
      if jumps, second % 40 == 0 { measured += SIMD2(300, 0) }
      var fix = plane.location(time, 0)
      fix.speed = (measured * measured).sum().squareRoot()
      fix.course = normalizedDegrees(atan2(measured.x, measured.y) * 180 / .pi)
      estimate.process(MotionSample(fix, after: nil))
      guard second > 60, !jumps else { continue }
      squares += (estimate.velocity - truth).squaredLength
      raws += (measured - truth).squaredLength
      count += 1
    }
    return (
      estimate.noise.squareRoot(), (squares / max(1, count)).squareRoot(), (raws / max(1, count)).squareRoot()
    )
  }

  @Test(arguments: [0.5, 1, 2], [1, 2, 3] as [UInt64]) func noiseIsEstimated(noise: Double, seed: UInt64) {
    let result = run(noise: noise, seed: seed)
    #expect(result.deviation > 0.7 * noise && result.deviation < 1.4 * noise, "\(result)")
    #expect(result.error < 0.9 * result.raw, "\(result)")
    // Rare outliers have little effect.
    #expect(run(noise: noise, seed: seed, jumps: true).deviation < 1.8 * noise)
  }

  @Test func smoothVelocitiesAreUsed() {
    let result = run(noise: 0, seed: 1)
    #expect(result.deviation < 0.1 && result.error < 0.2, "\(result)")
  }

  /// At zero delay, with velocities derived from noisy positions, bounded reports need no more reports than linear dead reckoning.
  @Test(arguments: [0.3, 0.6, 1, 2]) func noisyVelocitiesNeedNoMoreReportsThanDeadReckoning(noise: Double) {
    var (bounded, linear) = (0, 0)
    for seed in 1...8 as ClosedRange<UInt64> {
      let track = derived(ThinningDrive.fixes(.town, seed: seed, count: 900, noise: noise))
      for epsilon in [10.0, 20, 50] {
        bounded += ReportingRun(track, epsilon: epsilon, delay: 0).reports.count
        linear += deadReckoning(track, epsilon)
      }
    }
    print("derived from positions with \(noise) m: \(bounded) reports, dead reckoning \(linear)")
    #expect(bounded <= linear)
  }

  private func derived(_ track: [Location]) -> [Location] {
    zip(track, [track[0]] + track).map { fix, before in
      let step = max(1, fix.timestamp.seconds(since: before.timestamp))
      let velocity = LocalFrame(origin: before.coordinate).offset(of: fix.coordinate) / step
      var fix = fix
      fix.speed = (velocity * velocity).sum().squareRoot()
      fix.course = normalizedDegrees(atan2(velocity.x, velocity.y) * 180 / .pi)
      return fix
    }
  }

  private func deadReckoning(_ track: [Location], _ epsilon: Double) -> Int {
    var count = 0
    var report: ReportPredictor?
    for fix in track {
      if let report, report.error(of: fix.coordinate, at: fix.timestamp) <= epsilon { continue }
      report = ReportPredictor(
        moment: fix.timestamp, coordinate: fix.coordinate, velocity: fix.velocity ?? .zero, bound: epsilon,
        delay: 0)
      count += 1
    }
    return count
  }
}
