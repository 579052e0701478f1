import Glibc
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

@testable import Navigation

/// Motion that the error model of the filter does not contain.
@Suite struct DisturbanceTests {
  /// The filter accepts a receiver again whose velocity it rejected, and corrects the position that the velocity
  /// error has moved. A receiver with a deviation of 2 m states it; 1 to 2 m/s² of false acceleration act for 3 s.
  @Test(arguments: [1.0, 2.0], UInt64(1)...3)
  func rejectedVelocityIsAcceptedAgain(_ error: Double, _ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var drive = SyntheticDrive(mounting: generator.nextRotation())
    drive.fixNoise = 2
    var filter = NavigationFilter()
    var (outside, worst) = (0.0, 0.0)
    for sample in drive.samples(&generator) {
      var scan = sample.scan
      if sample.truth.time > 200, sample.truth.time < 203 {
        let wrong = sample.truth.attitude.conjugate.rotate(Vector3(0, error, 0))
        scan.specificForce? += drive.mounting.conjugate.rotate(wrong)
      }
      if let fix = sample.fix { filter.process(fix) }
      filter.process(scan)
      guard sample.truth.time > 200 else { continue }
      let distance = try #require(filter.error(sample.truth))
      let radius = try #require(filter.estimate).radius95
      worst = max(worst, distance)
      outside += distance > radius ? 1 / drive.rate : 0
    }
    #expect(outside < 5, "outside the 95 % radius for \(outside) s, seed \(seed)")
    #expect(worst < 20, "\(worst) m, seed \(seed)")
    #expect(filter.counters.jumps >= 1 && filter.state == .aligned)
  }

  /// A component of a vector that is large in one axis rejects the vector; the next part is judged alone.
  @Test func partsOfAFixAreCountedAlone() {
    var counts = GNSSRefusalCounts()
    for _ in 0..<11 {
      let gates = counts.gates(longest: 10)
      #expect(gates == GNSSGates())
      counts.count(GNSSRefusals(velocity: true), gates: gates)
    }
    let gates = counts.gates(longest: 10)
    #expect(gates.velocity == .opening && gates.position == .closed && gates.height == .closed)
    #expect(!counts.isConfirmed)
    counts.count(GNSSRefusals(), gates: gates)
    #expect(counts.isConfirmed)
  }

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
