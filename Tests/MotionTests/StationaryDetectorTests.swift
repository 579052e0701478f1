import Foundation
import Motion
import Sensors
import Spatial
import TestSupport
import Testing

@Suite struct StationaryDetectorTests {
  /// Plays a body that stands, then sways at 1.5 Hz from 20 s to 40 s, then stands, with an engine at 25 Hz throughout.
  private func run(
    sway: Double, engine: Double, noise: Double, useGyro: Bool = false, bias: Double = 0.05
  ) -> [(Double, StationaryDetector.State)] {
    var generator = SplitMix(seed: 7)
    var detector = StationaryDetector()
    var changes: [(Double, StationaryDetector.State)] = []
    for index in 0..<6000 {
      let time = Double(index) / 100
      let timestamp = Timestamp(seconds: time)
      let noise = Vector3(generator.normal(), generator.normal(), generator.normal()) * noise
      let moving = (20..<40).contains(time) ? sin(2 * .pi * 1.5 * time) * sway : 0
      let shaking = sin(2 * .pi * 25.3 * time) * engine
      let acceleration = Vector3(moving, shaking, -1 + shaking) + noise
      if let state = detector.process(acceleration: acceleration, at: timestamp) {
        changes.append((time, state))
      }
      if useGyro,
        let state = detector.process(rotationRate: noise + Vector3(bias, 0, moving), at: timestamp)
      {
        changes.append((time, state))
      }
    }
    return changes
  }

  @Test(arguments: [(0.03, 0.0, 0.002), (0.03, 0.1, 0.002), (0.06, 0.05, 0.004)], [false, true])
  func standsMovesAndStands(motion: (sway: Double, engine: Double, noise: Double), useGyro: Bool) throws {
    let changes = run(sway: motion.sway, engine: motion.engine, noise: motion.noise, useGyro: useGyro)
    try #require(changes.map(\.1) == [.stationary, .moving, .stationary])
    #expect(changes[0].0 < 6)
    #expect((20.3..<23).contains(changes[1].0))
    #expect((42..<47).contains(changes[2].0))
  }

  @Test func anEngineAloneIsRest() {
    #expect(run(sway: 0, engine: 0.15, noise: 0.003, useGyro: true).map(\.1) == [.stationary])
  }

  @Test func aNoisySensorRaisesItsThresholdWithinBounds() {
    // 12 mg of white noise put 6 mg into the band: rest. A motion of ten times that is seen all the same.
    let changes = run(sway: 0.1, engine: 0, noise: 0.012)
    #expect(changes.map(\.1) == [.stationary, .moving, .stationary])
  }

  @Test func silenceAndRubbishDecideNothing() {
    var detector = StationaryDetector()
    #expect(detector.process(acceleration: Vector3(.nan, 0, 0), at: Timestamp(seconds: 0)) == nil)
    #expect(detector.process(rotationRate: Vector3(.infinity, 0, 0), at: Timestamp(seconds: 0)) == nil)
    #expect(detector.state == nil)
  }

  /// A recorded drive of nine minutes with centimetre-accurate speed beside it.
  @Test(.needs(.recordings("gnss-imu-drive")), arguments: [false, true])
  func agreesWithARealDrive(useGyro: Bool) throws {
    let imu = try Self.rows("imu.csv")
    let gnss = try Self.rows("gnss.csv")
    var detector = StationaryDetector()
    var next = 0
    var (agreed, judged, falseRest) = (0, 0, 0)
    for row in imu where row.count == 7 {
      let timestamp = Timestamp(seconds: row[0])
      let acceleration = Vector3(row[1], row[2], row[3]) / -standardGravity
      _ = detector.process(acceleration: acceleration, at: timestamp)
      if useGyro { _ = detector.process(rotationRate: Vector3(row[4], row[5], row[6]), at: timestamp) }
      while next + 1 < gnss.count, gnss[next + 1][0] <= row[0] { next += 1 }
      // The seconds around each stop and start belong to the decision itself.
      let around = gnss[max(0, next - 16)...min(gnss.count - 1, next + 2)].map {
        ($0[9] * $0[9] + $0[10] * $0[10]).squareRoot()
      }
      let truth: StationaryDetector.State
      if around.allSatisfy({ $0 < 0.05 }) {
        truth = .stationary
      } else if around.allSatisfy({ $0 > 0.5 }) {
        truth = .moving
      } else {
        continue
      }
      judged += 1
      if detector.state == truth { agreed += 1 }
      if detector.state == .stationary, truth == .moving { falseRest += 1 }
    }
    print("gyro \(useGyro): \(agreed) of \(judged) samples agree, \(falseRest) called rest in motion")
    #expect(judged > 40_000)
    #expect(falseRest == 0)
    #expect(Double(agreed) > 0.97 * Double(judged))
  }

  private static func rows(_ name: String) throws -> [[Double]] {
    try Shared.text("data/gnss-imu-drive/\(name)").utf8.split(separator: 10).dropFirst().map { line in
      line.split(separator: 44).compactMap { Double(Substring($0)) }
    }
  }
}
