import Glibc
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

@testable import Navigation

/// Disturbances that the filter's error model does not contain.
@Suite struct DisturbanceTests {
  /// The filter accepts a receiver's velocity again after rejecting it, and corrects the position error that resulted. The receiver has a
  /// standard deviation of 2 m and states it; a false acceleration of 1 or 2 m/s² acts for 3 s.
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

  /// Rejections are counted separately for position, velocity and height.
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
    counts.count(GNSSRefusals(position: false, velocity: false), gates: gates)
    #expect(counts.isConfirmed)
  }

  /// A fix without a position does not count as accepted or rejected position.
  @Test func missingPartsOfAFixAreNotCounted() {
    var counts = GNSSRefusalCounts()
    for step in 0...20 {
      let gates = counts.gates(longest: 10)
      #expect(gates.position == .closed)
      counts.count(
        step % 2 == 0 ? GNSSRefusals(position: true) : GNSSRefusals(velocity: false), gates: gates)
    }
    #expect(counts.gates(longest: 10).position == .opening)
  }

  /// The filter follows positions that jump by 300 m, also if the receiver sends positions and velocities in alternate fixes.
  @Test(arguments: UInt64(1)...3) func alternatingReportsCorrectAPosition(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var filter = NavigationFilter()
    var last: SyntheticDrive.State?
    var count = 0
    for sample in SyntheticDrive(mounting: generator.nextRotation()).samples(&generator) {
      if var fix = sample.fix {
        if sample.truth.time > 200 {
          count += 1
          fix.coordinate = fix.coordinate.map {
            LocalFrame(origin: $0).coordinate(at: SIMD2(300, 0))
          }
          if count % 2 == 0 { (fix.speed, fix.course) = (nil, nil) } else { fix.coordinate = nil }
        }
        filter.process(fix)
      }
      filter.process(sample.scan)
      last = sample.truth
    }
    let truth = try #require(last)
    let error = try #require(filter.error(truth))
    #expect(abs(error - 300) < 10, "\(error) m, seed \(seed)")
    #expect(filter.state == .aligned && filter.counters.jumps > 0)
  }

  /// The detected vibration of a rough road decays with time, independently of the rate of the receiver.
  @Test(arguments: [1, 10]) func roadVibrationDecaysWithTime(rate: Int) {
    var walk = WalkDetector()
    var time = 0.0
    func drive(seconds: Double, shaking amplitude: Double, isObserved: Bool) {
      for step in 1...Int(seconds * 50) {
        time += 0.02
        let shake = amplitude * sin(2 * Double.pi * 1.7 * time)
        walk.add(force: Vector3(0, 0, 9.81 + shake), seconds: 0.02)
        if isObserved, step % (50 / rate) == 0 {
          walk.observe(speed: 12, deviation: 0.1, interval: 1 / Double(rate))
        }
      }
    }
    drive(seconds: 30, shaking: 2, isObserved: true)
    #expect(walk.level > 0.9)
    drive(seconds: 15, shaking: 0, isObserved: true)
    drive(seconds: 30, shaking: 2, isObserved: false)
    #expect(walk.level > 0.9 && !walk.isWalking)
    drive(seconds: 30, shaking: 4, isObserved: false)
    #expect(walk.isWalking)
  }

  /// Position noise at rest is not learned as the vibration of motion.
  @Test(arguments: UInt64(1)...3) func noisyPositionsAtRestShowNoMotion(_ seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    var drive = SyntheticDrive(length: 600, mounting: generator.nextRotation())
    (drive.fixNoise, drive.fixRate, drive.restTime) = (4, 1, 600)
    var filter = NavigationFilter()
    for sample in drive.samples(&generator) {
      if var fix = sample.fix {
        (fix.speed, fix.course) = (nil, nil)
        filter.process(fix)
      }
      filter.process(sample.scan)
    }
    #expect(filter.stops.moving.seconds == 0, "seed \(seed)")
  }

  /// A vehicle that shakes at the frequency of steps, such as a motorcycle, is aligned, and an outage is bridged.
  @Test(arguments: [1.7, 2.1], UInt64(1)...3)
  func vibratingVehicleIsNoWalk(_ amplitude: Double, _ seed: UInt64) {
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
