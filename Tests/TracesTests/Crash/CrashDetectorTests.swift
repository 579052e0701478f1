import Foundation
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing
import Traces

@Suite struct CrashDetectorTests {
  private static let mountings = [
    Quaternion.identity, Quaternion(rotationVector: Vector3(0, 0, 1.7)),
    Quaternion(rotationVector: Vector3(.pi / 2, 0, 0)), Quaternion(rotationVector: Vector3(1.9, -1.1, 2.3)),
  ]

  private func pulses(
    _ crash: SimulatedCrash, seconds: Double = 4, knows: Bool = true, speed: Double? = 15,
    range: Double? = nil
  ) -> [CrashPulse] {
    var (crash, detector) = (crash, CrashDetector())
    detector.observe(range: range)
    let mounting = knows ? crash.mounting : nil
    return crash.scans(seconds).compactMap { detector.process($0, mounting: mounting, speed: speed) }
  }

  /// Impacts from all directions, in all mountings, with pulse durations typical of vehicles.
  @Test(arguments: [0.05, 0.08, 0.12], [50.0, 100, 400, 1600])
  func aPulseIsMeasured(duration: Double, rate: Double) throws {
    var random = SeededGenerator.announced()
    for direction in stride(from: 0.0, to: 360, by: 45) {
      for mounting in Self.mountings {
        let size = 4 + 14 * random.nextUniform()
        let turn = direction * .pi / 180
        // The vehicle accelerates away from the side of the impact.
        let change = Vector3(-size * sin(turn), -size * cos(turn), 0)
        var crash = SimulatedCrash(SeededGenerator(seed: random.next()))
        (crash.mounting, crash.rate) = (mounting, rate)
        crash.acceleration = SimulatedCrash.pulse(change, at: 2, lasting: duration)
        let found = pulses(crash)
        #expect(found.count == 1, "\(direction)°, \(size) m/s, seed \(random.seed)")
        let pulse = try #require(found.first)
        #expect((pulse.changeOfVelocity - change).length < 0.06 * size + 0.2, "\(pulse), seed \(random.seed)")
        #expect(abs(signedDegrees(from: direction, to: pulse.direction)) < 5)
        #expect(abs(pulse.start.seconds - 102) < duration / 3 + 0.02 && pulse.start.seconds > 101.95)
        #expect(abs(pulse.end.seconds - 102 - duration) < 0.035)
        // The peak of a haversine is twice its mean. Averaging over 10 ms lowers it by a few per cent, and by more at
        // rates where 10 ms are two samples.
        #expect((0.8...1.1).contains(pulse.peak / (2 * size / duration)) || rate < 200)
        #expect(!pulse.isClipped && pulse.isInVehicleFrame)
      }
    }
  }

  /// A pulse that fades into the noise crosses its end threshold several times; it is still one pulse.
  @Test(arguments: [(0.05, 1600.0), (0.2, 1600), (0.2, 400)])
  func theEndOfAPulseIsNoSecondPulse(noise: Double, rate: Double) {
    var random = SeededGenerator.announced()
    for _ in 0..<60 {
      var crash = SimulatedCrash(SeededGenerator(seed: random.next()))
      (crash.rate, crash.noise.force) = (rate, noise)
      crash.acceleration = SimulatedCrash.pulse(
        Vector3(4 + 4 * random.nextUniform(), 0, 0), at: 2, lasting: 0.12)
      #expect(pulses(crash, seconds: 3).count == 1, "seed \(random.seed)")
    }
  }

  @Test func anUnknownMountingIsReported() throws {
    var crash = SimulatedCrash(SeededGenerator.announced())
    crash.mounting = Self.mountings[3]
    crash.acceleration = SimulatedCrash.pulse(Vector3(0, -8, 0), at: 2, lasting: 0.1)
    let pulse = try #require(pulses(crash, knows: false).first)
    #expect(!pulse.isInVehicleFrame)
    #expect((crash.mounting.rotate(pulse.changeOfVelocity) - Vector3(0, -8, 0)).length < 0.6)
  }

  /// The trigger is a change of velocity of 8 km/h within 150 ms.
  @Test(arguments: [(7.0, 0), (7.6, 0), (8.4, 1), (10, 1)])
  func theTriggerIsThatOfEventDataRecorders(kilometresPerHour: Double, count: Int) {
    var crash = SimulatedCrash(SeededGenerator.announced())
    crash.acceleration = SimulatedCrash.pulse(Vector3(0, -kilometresPerHour / 3.6, 0), at: 2, lasting: 0.1)
    #expect(pulses(crash).count == count)
  }

  @Test(arguments: [
    (9.0, CrashPulse.Severity.light), (15, .light), (17, .moderate), (39, .moderate), (41, .severe),
  ])
  func severityFollowsFromTheChangeOfVelocity(kilometresPerHour: Double, severity: CrashPulse.Severity) {
    #expect(CrashPulse.Severity(changeOfVelocity: kilometresPerHour / 3.6) == severity)
  }

  @Test func aClippedSensorIsReported() throws {
    var crash = SimulatedCrash(SeededGenerator.announced())
    crash.range = 16 * standardGravity
    crash.acceleration = SimulatedCrash.pulse(Vector3(0, -14, 0), at: 2, lasting: 0.07)
    let pulse = try #require(pulses(crash, range: crash.range).first)
    #expect(pulse.isClipped && pulse.speedChange < 13 && pulse.speedChange > 6)
  }

  enum Harmless: CaseIterable { case braking, pothole, kerb, knock, door, drop, bend }

  /// Shaking of vehicles and devices that is not a crash.
  @Test(arguments: Harmless.allCases) func harmlessShaking(what: Harmless) {
    var random = SeededGenerator.announced()
    for mounting in Self.mountings {
      var crash = SimulatedCrash(SeededGenerator(seed: random.next()))
      crash.mounting = mounting
      var speed: Double? = 15
      func pulse(_ change: Vector3, _ start: Double, _ duration: Double) -> (Double) -> Vector3 {
        SimulatedCrash.pulse(change, at: start, lasting: duration)
      }
      switch what {
      case .braking:
        // Full braking, and the jolt at its end.
        crash.acceleration = { time in
          (2..<3.5).contains(time) ? Vector3(0, -11, 0) : pulse(Vector3(0, 0.4, 0), 3.5, 0.15)(time)
        }
      case .pothole:
        // Down, up and impacts from the front, several times.
        crash.acceleration = { time in
          pulse(Vector3(0, -0.9, 3), 2, 0.03)(time) + pulse(Vector3(0.3, 0.4, -3), 2.04, 0.05)(time)
            + pulse(Vector3(-0.3, -0.8, 2.5), 2.15, 0.03)(time)
        }
      case .kerb:
        crash.acceleration = { time in
          pulse(Vector3(0, -1.6, 2), 2, 0.06)(time) + pulse(Vector3(0, -0.9, 2), 2.3, 0.06)(time)
        }
      case .knock:
        // 60 g for 3 ms, and back.
        crash.acceleration = { time in
          pulse(Vector3(0.9, 0, 0), 2, 0.003)(time) + pulse(Vector3(-0.8, 0, 0), 2.005, 0.005)(time)
        }
      case .door:
        speed = 0
        crash.acceleration = { time in
          pulse(Vector3(-0.5, 0, 0.2), 2, 0.03)(time) + pulse(Vector3(0.4, 0, -0.2), 2.04, 0.05)(time)
        }
      case .drop:
        // A drop of 1 m onto an edge, without a moving vehicle.
        speed = nil
        crash.acceleration = { time in
          (2..<2.45).contains(time)
            ? Vector3(0, 0, -standardGravity) : pulse(Vector3(3.4, 1, 4.4), 2.45, 0.02)(time)
        }
      case .bend:
        crash.acceleration = { time in time > 1 ? Vector3(8, 0, 0) : .zero }
        crash.rotation = { time in time > 1 ? Vector3(0, 0, -0.5) : .zero }
      }
      let found = pulses(crash, seconds: 6, speed: speed)
      #expect(found.isEmpty, "\(what), \(found), seed \(random.seed)")
    }
  }

  /// Free fall while the vehicle moves is a fall of the vehicle, not of the device.
  @Test func aFallingVehicleIsNoDroppedDevice() {
    var crash = SimulatedCrash(SeededGenerator.announced())
    crash.acceleration = { time in
      (2..<2.45).contains(time)
        ? Vector3(0, 0, -standardGravity)
        : SimulatedCrash.pulse(Vector3(0, -9, 4.4), at: 2.45, lasting: 0.08)(time)
    }
    #expect(pulses(crash, speed: 20).count == 1 && pulses(crash, speed: nil).isEmpty)
  }

  @Test func twoImpactsAreTwoPulses() {
    var crash = SimulatedCrash(SeededGenerator.announced())
    crash.acceleration = { time in
      SimulatedCrash.pulse(Vector3(0, -8, 0), at: 2, lasting: 0.08)(time)
        + SimulatedCrash.pulse(Vector3(6, 0, 0), at: 2.6, lasting: 0.1)(time)
    }
    let found = pulses(crash)
    #expect(found.count == 2 && found.map { $0.direction.rounded() / 90 }.map { $0.rounded() }.last == 3)
  }

  @Test func implausibleScansAndGapsAreNoCrash() {
    var detector = CrashDetector()
    var random = SeededGenerator.announced()
    let numbers = [Double.nan, .infinity, -.infinity, 0, 1e300, -1e300, 9.8, 157]
    for _ in 0..<20_000 {
      func vector() -> Vector3 {
        Vector3(
          numbers[Int(random.next() % 8)], numbers[Int(random.next() % 8)], numbers[Int(random.next() % 8)])
      }
      let scan = InertialScan(
        timestamp: Timestamp(nanoseconds: Int64(random.next() % 1_000_000_000)), specificForce: vector(),
        rotationRate: vector())
      guard let pulse = detector.process(scan, mounting: .identity, speed: .nan) else { continue }
      #expect(pulse.changeOfVelocity.isFinite && (0..<360).contains(pulse.direction), "seed \(random.seed)")
    }
    // Gaps reset the sum.
    detector = CrashDetector()
    for step in 0..<50 {
      let scan = InertialScan(
        timestamp: Timestamp(seconds: 0.2 * Double(step)),
        specificForce: Vector3(step % 2 == 0 ? 100 : 0, 0, standardGravity))
      #expect(detector.process(scan, mounting: nil, speed: nil) == nil)
    }
  }
}
