import Glibc
import Sensors
import Spatial
import TestSupport
import Testing

@testable import Motion

/// Rotations that the gyroscope did not measure: gaps in motion, and spins beyond its range.
@Suite struct FilterGapTests {
  /// Hand motion with three gaps of 1.5 s within 10 s, and later a gap of 3 s.
  private static func samples(_ seed: UInt64) -> [FilterSimulation.Sample] {
    FilterSimulation(seed: seed).samples(105).filter { sample in
      let time = sample.time.seconds(since: Timestamp(seconds: 5))
      return ![(30, 31.5), (34, 35.5), (38, 39.5), (80, 83)].contains { time > $0.0 && time < $0.1 }
    }
  }

  private static func headingError(_ attitude: Quaternion, _ truth: Quaternion) -> Double {
    let e = attitude * truth.conjugate
    return 2 * abs(atan(e.z / e.w)) * 180 / .pi
  }

  /// The heading returns to the field, whose length and inclination were determined before the gaps.
  @Test(arguments: 1...8 as ClosedRange<UInt64>) func headingRecoversAfterGaps(seed: UInt64) {
    var filter = ScreenedFilter()
    var worst = (afterThree: 0.0, afterLong: 0.0)
    for sample in Self.samples(seed) {
      filter.update(gyroscope: sample.rate, at: sample.time)
      filter.update(accelerometer: sample.force, at: sample.time)
      filter.update(magnetometer: sample.field, at: sample.time)
      guard let attitude = filter.quaternion9D else { continue }
      let error = Self.headingError(attitude, sample.truth)
      let time = sample.time.seconds(since: Timestamp(seconds: 5))
      if time > 59.5, time < 80 { worst.afterThree = max(worst.afterThree, error) }
      if time > 98 { worst.afterLong = max(worst.afterLong, error) }
    }
    print("seed \(seed): \(worst)°")
    #expect(worst.afterThree < 5 && worst.afterLong < 5, "seed \(seed)")
  }

  /// A spin returns to the gyroscope's range only for moments, and the attitude is lost. Shakes exceed the range for a fifth of the time,
  /// and their clipped part is estimated.
  @Test(arguments: [(mean: 550.0, isLost: true), (mean: 0, isLost: false)])
  func interruptedSaturationLosesTheAttitude(mean: Double, isLost: Bool) {
    let degree = Double.pi / 180
    var filter = ScreenedFilter()
    for i in 0..<1600 {
      let time = 5 + Double(i) / 200
      let swing = (isLost ? 60 : 540) * FilterSimulation.sine(2 * .pi * 2 * time)
      let rate = i > 600 && i < 1100 ? max(-500, min(500, mean + swing)) : 0
      filter.update(gyroscope: Vector3(rate * degree, 0, 0), at: Timestamp(seconds: time))
      filter.update(accelerometer: Vector3(0, 0, 9.81), at: Timestamp(seconds: time))
    }
    #expect((filter.counters.realignments > 0) == isLost)
    #expect(filter.counters.saturated > 40)
  }

  /// A single clipped sample, seconds after a long spin, does not discard the attitude.
  @Test func longSpinDoesNotAffectLaterSamples() {
    var filter = ScreenedFilter()
    var before: Int?
    for i in 0..<7400 {
      let time = 5 + Double(i) / 200
      let isClipped = (400..<6400).contains(i) || i == 7100
      if i == 7000 { before = filter.counters.realignments }
      filter.update(gyroscope: Vector3(isClipped ? 500 * .pi / 180 : 0, 0, 0), at: Timestamp(seconds: time))
      filter.update(accelerometer: Vector3(0, 0, 9.81), at: Timestamp(seconds: time))
    }
    #expect(filter.counters.saturated > 5900 && filter.counters.realignments == before)
  }

  /// A mean field that was determined in a tilted frame is replaced within seconds by a constant field with the length and inclination
  /// observed before (previously after 90 s).
  @Test(arguments: [false, true]) func wrongMeanFieldIsReplaced(isLost: Bool) {
    var watch = FieldWatch()
    func observe(_ seconds: Double, _ field: Vector3, mean: Vector3) -> Vector3? {
      for _ in 0..<Int(10 * seconds) {
        if let new = watch.observe(field, mean: mean, noise: 0.1, isStill: false, 0.1) { return new.field }
      }
      return nil
    }
    let (before, after) = (Vector3(0, 15.5, -42), Vector3(11, 10.8, -42))
    #expect(observe(40, before, mean: before) == nil)
    if isLost { watch.loseAttitude() }
    #expect(observe(4, after, mean: Vector3(11, 15.9, -42)) == after)
    #expect(observe(20, after, mean: after) == nil)
    // A field with another length does not restore the heading.
    if isLost { watch.loseAttitude() }
    #expect(observe(4, Vector3(19, 0, -42), mean: Vector3(11, 15.9, -42)) == nil)
  }

  /// A field that contradicts a proven mean counts as a disturbance for as long as the mean agreed before, at most 45 s (previously 15 s).
  /// A mean that no rotation has proven is replaced after 15 s.
  @Test(arguments: [(isProven: true, time: 45.0), (isProven: false, time: 15.0)])
  func provenMeanOutlastsADisturbance(isProven: Bool, time: Double) {
    var watch = FieldWatch()
    let (mean, across) = (Vector3(0, 15.5, -42), Vector3(5, 14.67, -42))
    for _ in 0..<600 { _ = watch.observe(mean, mean: mean, noise: 0.1, isStill: false, 0.1) }
    if isProven { watch.prove(mean, by: Self.evidence(of: mean), 0.05) }
    #expect(watch.isProven == isProven)
    var replaced: Int?
    for i in 0..<600 where watch.observe(across, mean: mean, noise: 0.1, isStill: false, 0.1) != nil {
      replaced = replaced ?? i
    }
    #expect(abs(Double(replaced ?? 0) / 10 - time) < 6)
  }

  /// Evidence from rotations about all axes.
  private static func evidence(of field: Vector3) -> FieldEvidence {
    var evidence = FieldEvidence(disturbance: 1.2)
    for i in 0..<300 {
      let attitude = Quaternion(
        angle: 0.5 * Double(i), axis: Vector3(i % 3 == 0 ? 1 : 0, i % 3 == 1 ? 1 : 0, i % 3 == 2 ? 1 : 0))
      evidence.observe(field, attitude: Matrix3(attitude), isStill: false, turnVariance: 0, interval: 0.5)
    }
    return evidence
  }

  /// The result after gaps depends only on the scans, not on the sizes of their blocks.
  @Test func gapsGiveTheSameResultInBlocksOfAnySize() throws {
    let scans = Self.samples(9).map {
      InertialScan(
        timestamp: $0.time, specificForce: $0.force, rotationRate: $0.rate, magneticField: $0.field)
    }
    var results: [Quaternion] = []
    for size in [1, 7, 64, scans.count] {
      var manager = MotionManager(frame: .xMagneticNorthZVertical)
      for first in stride(from: 0, to: scans.count, by: size) {
        manager.process(Array(scans[first..<min(first + size, scans.count)]))
      }
      results.append(try #require(manager.deviceMotion?.attitude).quaternion)
    }
    #expect(results.allSatisfy { $0 == results[0] })
  }
}
