import Glibc
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

@testable import Navigation

/// Motion that the error model of the filter does not contain.
@Suite struct DisturbanceTests {
  /// A vehicle that shakes like steps, as a motorcycle, aligns and is bridged through an outage.
  @Test(arguments: [1.7, 2.1], UInt64(1)...3)
  func shakingVehicleIsNoWalk(_ amplitude: Double, _ seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let drive = SyntheticDrive(mounting: generator.nextRotation())
    var filter = NavigationFilter()
    var bridged = 0.0
    for sample in drive.samples(&generator) {
      var scan = sample.scan
      if sample.truth.speed > 2 {
        let shake = Vector3(0, 0, amplitude * sin(2 * Double.pi * 1.7 * sample.truth.time))
        scan.specificForce? += drive.mounting.conjugate.rotate(shake)
      }
      if let fix = sample.fix, sample.truth.time < 260 { filter.process(fix) }
      filter.process(scan)
      bridged += filter.estimate?.source == .inertial ? 1 / drive.rate : 0
    }
    #expect(filter.state == .aligned && filter.counters.realignments == 0, "seed \(seed)")
    #expect(bridged > 35, "\(bridged) s, seed \(seed)")
  }
}
