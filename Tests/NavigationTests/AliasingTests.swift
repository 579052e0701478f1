import Navigation
import Simulation
import TestSupport
import Testing

/// Outages with samples whose errors the samples do not show, as those that a driver picks from a vibrating sensor.
@Suite struct AliasingTests {
  /// Picked samples contain the vibration as independent errors: 0.05 rad/s and 0.5 m/s² by axis while the vehicle moves.
  @Test func radiusContainsTheErrorOfPickedSamples() {
    var (inside, count, sum) = (0, 0, 0.0)
    for seed: UInt64 in 1...10 {
      var generator = SeededGenerator(seed: seed)
      var drive = SyntheticDrive(rate: 25, length: 380)
      (drive.gyroscopeNoise, drive.accelerometerNoise) = (0.01, 0.1)
      let samples = drive.samples(&generator)
      var filter = NavigationFilter()
      filter.play(samples.prefix { $0.truth.time < 315 })
      for (start, end) in [(315.0, 325.0), (325, 345), (345, 375)] {
        filter.play(
          samples.drop { $0.truth.time < start }.prefix { $0.truth.time < end }, isSeen: { _ in false })
        guard let estimate = filter.estimate, let error = filter.error(samples[Int(end * 25) - 1].truth)
        else { continue }
        count += 1
        sum += error
        inside += error <= estimate.radius95 ? 1 : 0
      }
    }
    print("picked samples: \(inside) of \(count) inside, mean error \(sum / Double(max(1, count))) m")
    #expect(count >= 10)
    #expect(Double(inside) >= 0.9 * Double(count))
  }
}
