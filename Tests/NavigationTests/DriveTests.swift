import Glibc
import Navigation
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

/// Complete drives with a known truth.
@Suite struct DriveTests {
  /// Attitude, heading and mounting are estimated for any orientation of the device, and an outage of one minute is bridged.
  @Test(arguments: 0..<6)
  func anyMountingIsEstimated(_ number: Int) throws {
    var generator = SeededGenerator.announced()
    var drive = SyntheticDrive()
    drive.mounting = number == 0 ? .identity : generator.nextRotation()
    let samples = drive.samples(&generator)
    let cut = Int(240 * drive.rate)
    var filter = NavigationFilter()
    filter.play(samples[..<cut])
    #expect(filter.state == .aligned)
    let before = try #require(filter.estimate)
    let truth = samples[cut - 1].truth
    #expect(before.source == .fused)
    #expect((before.mounting * drive.mounting.conjugate).angle.degrees < 1.5)
    #expect(abs(signedDegrees(from: truth.heading.degrees, to: before.heading)) < 1)
    let up = (before.attitude * (truth.attitude * drive.mounting).conjugate).rotate(Vector3(0, 0, 1))
    #expect(acos(min(1, up.z)).degrees < 0.5)
    #expect((before.gyroscopeBias - drive.gyroscopeBias).length < 0.001)
    filter.play(samples[cut...], isSeen: { _ in false })
    let after = try #require(filter.estimate)
    #expect(after.source == .inertial)
    #expect(after.sinceFix > 55)
    let error = try #require(filter.error(samples[samples.count - 1].truth))
    #expect(error < 15 && error < 2 * after.radius95, "\(error) m, stated \(after.radius95) m at 95 %")
  }

  /// The filter aligns without a rest, from the middle of a drive.
  @Test func startsWhileDriving() throws {
    var generator = SeededGenerator.announced()
    let samples = SyntheticDrive(mounting: generator.nextRotation()).samples(&generator)
    var filter = NavigationFilter()
    filter.play(samples[Int(45 * 50)...])
    #expect(filter.state == .aligned)
    let error = try #require(filter.error(samples[samples.count - 1].truth))
    #expect(error < 1)
  }

  /// The error 20 s into an outage is below 10 m at sampling rates of 25 Hz to 1 kHz.
  @Test(arguments: [25.0, 100, 1000])
  func everyRateWorks(_ rate: Double) throws {
    var generator = SeededGenerator.announced()
    var drive = SyntheticDrive()
    // 1 kHz is slow in a debug build.
    drive.length = rate > 500 ? 120 : 200
    drive.rate = rate
    let samples = drive.samples(&generator)
    var filter = NavigationFilter()
    filter.play(samples, isSeen: { $0 < drive.length - 20 })
    let estimate = try #require(filter.estimate)
    let error = try #require(filter.error(samples[samples.count - 1].truth))
    #expect(error < 10 && error < 2 * estimate.radius95, "\(error) m")
  }

  /// Specific force and rotation rate arrive in separate scans, the rotation rate twice as often.
  @Test func separateSensorsWork() throws {
    var generator = SeededGenerator.announced()
    let samples = SyntheticDrive(length: 150).samples(&generator)
    var filter = NavigationFilter()
    for (index, sample) in samples.enumerated() {
      if let fix = sample.fix { filter.process(fix) }
      if index % 2 == 0 {
        filter.process(
          InertialScan(timestamp: sample.scan.timestamp, specificForce: sample.scan.specificForce))
      }
      filter.process(InertialScan(timestamp: sample.scan.timestamp, rotationRate: sample.scan.rotationRate))
    }
    let error = try #require(filter.error(samples[samples.count - 1].truth))
    #expect(error < 1)
  }

  /// A latency of a quarter of a second between the clocks is estimated.
  @Test(arguments: [-0.25, 0.25])
  func latencyIsEstimated(_ offset: Double) throws {
    var generator = SeededGenerator.announced()
    let samples = SyntheticDrive(offset: offset).samples(&generator)
    var filter = NavigationFilter()
    filter.play(samples)
    let estimate = try #require(filter.estimate)
    #expect(abs(estimate.positionLatency + offset) < 0.06)
  }

  /// Wheel speed reduces the error of a long outage.
  @Test func wheelSpeedReducesTheError() throws {
    var generator = SeededGenerator.announced()
    let samples = SyntheticDrive(length: 400).samples(&generator)
    var plain = NavigationFilter()
    var wheeled = NavigationFilter()
    plain.play(samples, isSeen: { $0 < 280 })
    wheeled.play(samples, isSeen: { $0 < 280 }, usesSpeed: true)
    let (a, b) = (try #require(plain.estimate), try #require(wheeled.estimate))
    #expect(b.radius95 < a.radius95)
    let error = try #require(wheeled.error(samples[samples.count - 1].truth))
    #expect(error < 15 && error < 2 * b.radius95)
    #expect(wheeled.counters.refusedSpeeds == 0)
  }

  /// Stops are detected without a receiver, and no stop is detected while the vehicle moves.
  @Test func stopsAreDetectedAndDrivesAreNot() {
    var generator = SeededGenerator.announced()
    let drive = SyntheticDrive(length: 400)
    var filter = NavigationFilter()
    var (moving, falseStops, standing, found) = (0.0, 0.0, 0.0, 0.0)
    for sample in drive.samples(&generator) {
      if let fix = sample.fix, sample.truth.time < 200 { filter.process(fix) }
      filter.process(sample.scan)
      guard filter.state == .aligned, let estimate = filter.estimate else { continue }
      // A stop ends after a speed change of 0.12 m/s; a delay of half a second is acceptable.
      if sample.truth.speed > 0.6 {
        moving += 1
        falseStops += estimate.isStopped ? 1 : 0
      } else if sample.truth.speed == 0 {
        standing += 1
        found += estimate.isStopped ? 1 : 0
      }
    }
    #expect(moving > 1000 && standing > 500)
    #expect(falseStops / moving < 0.0005, "\(falseStops) of \(moving)")
    #expect(found / standing > 0.5, "\(found) of \(standing)")
  }
}
