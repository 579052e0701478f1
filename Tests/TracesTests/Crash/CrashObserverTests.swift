import Foundation
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing
import Traces

@Suite struct CrashObserverTests {
  private static let frame = LocalFrame(origin: Coordinate(latitude: 48, longitude: 11))

  /// Runs a crash with a speed and a position every 200 ms.
  private func run(
    _ crash: SimulatedCrash, seconds: Double, speed: (Double) -> Double?,
    east: (Double) -> Double = { _ in 0 }
  ) -> [(summary: CrashSummary, at: Timestamp)] {
    var (crash, observer) = (crash, CrashObserver())
    var told: [(CrashSummary, Timestamp)] = []
    for (index, scan) in crash.scans(seconds).enumerated() {
      let time = scan.timestamp.seconds - 100
      if index % 80 == 0 {
        observer.observe(
          speed: speed(time), coordinate: Self.frame.coordinate(at: SIMD2(east(time), 0)), at: scan.timestamp)
      }
      if let summary = observer.process(scan, mounting: crash.mounting) {
        told.append((summary, scan.timestamp))
      }
    }
    return told
  }

  @Test func aSummaryFollowsWithinASecondAndAgainAtRest() throws {
    var crash = SimulatedCrash(SeededGenerator.announced())
    crash.mounting = Quaternion(rotationVector: Vector3(1.9, -1.1, 2.3))
    crash.acceleration = SimulatedCrash.pulse(Vector3(0, -11, 0), at: 5, lasting: 0.1)
    let told = run(
      crash, seconds: 15, speed: { $0 < 5.05 ? 16.5 : max(0, 5.5 - 3 * ($0 - 5)) },
      east: { 16 * min($0, 5) + min(5, max(0, 3 * ($0 - 5))) })
    #expect(told.count == 2)
    let first = try #require(told.first)
    #expect(first.at.seconds - 105.1 < 0.1 && first.summary.speedBefore == 16.5)
    #expect(first.summary.pulse.severity == .moderate && first.summary.restPosition == nil)
    #expect(min(first.summary.pulse.direction, 360 - first.summary.pulse.direction) < 3)
    let last = try #require(told.last?.summary)
    #expect(!last.hasRolledOver && last.largestTilt < 5 && last.pulse == first.summary.pulse)
    let rest = try #require(last.restTime)
    #expect((106.6...107).contains(rest.seconds))
    #expect(
      try #require(last.restPosition).distance(to: Self.frame.coordinate(at: SIMD2(85, 0))) < 0.1)
  }

  /// A roll by `angle` about the longitudinal axis within 1 s. The vehicle does not return to its wheels.
  @Test(arguments: [(Double.pi, true), (.pi / 2, true), (0.5, false)])
  func aRolloverIsReported(angle: Double, isRolledOver: Bool) throws {
    var crash = SimulatedCrash(SeededGenerator.announced())
    crash.mounting = Quaternion(rotationVector: Vector3(0.2, 0.9, -1))
    crash.acceleration = SimulatedCrash.pulse(Vector3(-7, 0, 0), at: 5, lasting: 0.12)
    crash.rotation = { (5.2..<6.2).contains($0) ? Vector3(0, angle, 0) : .zero }
    let told = run(crash, seconds: 20, speed: { $0 < 5 ? 20 : max(0, 15 - 6 * ($0 - 5)) })
    let last = try #require(told.last?.summary)
    #expect(told.count == 2 && last.hasRolledOver == isRolledOver)
    #expect(abs(last.largestTilt - angle * 180 / .pi) < 8, "\(last.largestTilt)°")
    #expect(abs(last.pulse.direction - 90) < 5)
  }

  /// Without a receiver the summary lacks speeds, and the second summary follows after 30 s.
  @Test func withoutSpeedsTheSummaryIsClosedLater() throws {
    var crash = SimulatedCrash(SeededGenerator.announced())
    crash.acceleration = SimulatedCrash.pulse(Vector3(0, 9, 0), at: 2, lasting: 0.1)
    let told = run(crash, seconds: 40, speed: { _ in nil })
    #expect(told.count == 2 && told[0].summary.speedBefore == nil)
    #expect(abs(told[1].at.seconds - 132) < 0.2 && told[1].summary.restTime == nil)
    #expect(abs(told[0].summary.pulse.direction - 180) < 5)
  }

  /// The summary describes the strongest of several impacts, with the speed before the first one.
  @Test func theStrongestImpactIsReported() throws {
    var crash = SimulatedCrash(SeededGenerator.announced())
    crash.acceleration = { time in
      SimulatedCrash.pulse(Vector3(0, -5, 0), at: 5, lasting: 0.08)(time)
        + SimulatedCrash.pulse(Vector3(9, 0, 0), at: 6, lasting: 0.1)(time)
        + SimulatedCrash.pulse(Vector3(0, -4, 0), at: 7, lasting: 0.1)(time)
    }
    let told = run(crash, seconds: 20, speed: { $0 < 5 ? 20 : $0 < 6 ? 15 : 0 })
    #expect(told.count == 3 && told.allSatisfy { $0.summary.speedBefore == 20 })
    #expect(try abs(#require(told.last).summary.pulse.direction - 270) < 5)
  }
}
