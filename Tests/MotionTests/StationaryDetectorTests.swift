import Foundation
import Motion
import Sensors
import Spatial
import TestSupport
import Testing

@Suite struct StationaryDetectorTests {
  /// A body at rest, swaying at 1.5 Hz from 20 s to 40 s, then at rest again, with an engine at 25 Hz throughout.
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
  func restMotionAndRestAreDetected(motion: (sway: Double, engine: Double, noise: Double), useGyro: Bool)
    throws
  {
    let changes = run(sway: motion.sway, engine: motion.engine, noise: motion.noise, useGyro: useGyro)
    try #require(changes.map(\.1) == [.stationary, .moving, .stationary])
    #expect(changes[0].0 < 6)
    #expect((20.3..<23).contains(changes[1].0))
    #expect((42..<47).contains(changes[2].0))
  }

  @Test func runningEngineIsRest() {
    #expect(run(sway: 0, engine: 0.15, noise: 0.003, useGyro: true).map(\.1) == [.stationary])
  }

  @Test func noisySensorRaisesItsThresholdWithinLimits() {
    // White noise of 12 mg contributes 6 mg in the band, which is rest. A sway of 100 mg is detected nevertheless.
    let changes = run(sway: 0.1, engine: 0, noise: 0.012)
    #expect(changes.map(\.1) == [.stationary, .moving, .stationary])
  }

  /// A sensor whose registers are frozen reports rest; the wheels contradict it while they turn.
  @Test func wheelsEndARest() throws {
    var detector = StationaryDetector()
    var changes: [(Double, StationaryDetector.State)] = []
    for index in 0..<4000 {
      let time = Double(index) / 100
      if index.isMultiple(of: 10) {
        let speed = time < 10 || time >= 30 ? 0 : time < 11 ? 1.4 : 10
        let state = detector.observe(wheelSpeed: speed, at: Timestamp(seconds: time))
        if let state { changes.append((time, state)) }
      }
      let state = detector.process(acceleration: Vector3(0, 0, -1), at: Timestamp(seconds: time))
      if let state { changes.append((time, state)) }
    }
    try #require(changes.map(\.1) == [.stationary, .moving, .stationary])
    #expect(changes[1].0 == 11 && (30..<32).contains(changes[2].0), "\(changes)")
    for speed in [Double.nan, .infinity] {
      #expect(detector.observe(wheelSpeed: speed, at: Timestamp(seconds: 50)) == nil)
    }
  }

  @Test func silenceAndInvalidSamplesDecideNothing() {
    var detector = StationaryDetector()
    #expect(detector.process(acceleration: Vector3(.nan, 0, 0), at: Timestamp(seconds: 0)) == nil)
    #expect(detector.process(rotationRate: Vector3(.infinity, 0, 0), at: Timestamp(seconds: 0)) == nil)
    #expect(detector.state == nil)
  }

  /// Constant braking, which has no component in the motion band. The receiver reports the speed every `interval` seconds; nil for no
  /// receiver.
  private func brake(
    from start: Double, interval: Double?, accuracy: Double? = 0.1, hertz: Double = 100
  ) -> [(Double, speed: Double, since: Double)] {
    var generator = SplitMix(seed: 11)
    var detector = StationaryDetector()
    var told: [(Double, speed: Double, since: Double)] = []
    var nextFix = 0.0
    for index in 0..<Int(40 * hertz) {
      let time = Double(index) / hertz
      // Drives for 10 s, then brakes at 1 m/s² to a stop.
      let speed = max(0, min(start, start - (time - 10)))
      let sway = time < 10 ? 0.05 * sin(2 * .pi * 1.5 * time) : 0
      let force = time >= 10 && speed > 0 ? 0.1 : 0
      let noise = Vector3(generator.normal(), generator.normal(), generator.normal()) * 0.002
      if let interval, time >= nextFix {
        nextFix += interval
        detector.observe(
          speed: max(0, speed + 0.05 * generator.normal()), accuracy: accuracy, at: Timestamp(seconds: time))
      }
      let state = detector.process(
        acceleration: Vector3(sway, force, -1) + noise, at: Timestamp(seconds: time))
      if state == .stationary { told.append((time, speed, detector.since?.seconds ?? .nan)) }
    }
    return told
  }

  @Test func steadyBrakingIsRestOnlyWithoutAReceiver() throws {
    let alone = try #require(brake(from: 15, interval: nil).first)
    #expect(alone.speed > 5)
  }

  @Test(
    arguments: [0.1, 1, 5, 10],
    // gpsd derives this accuracy from positions; it is far too large.
    [0.1, 8.5, nil])
  func receiverReportingMotionPreventsRest(interval: Double, accuracy: Double?) throws {
    let told = brake(from: 15, interval: interval, accuracy: accuracy)
    #expect(told.allSatisfy { $0.speed < 0.6 }, "\(told)")
    let rest = try #require(told.first)
    // Detected soon after the first fix that permits it; the stated start is at most about one interval before the stop.
    #expect(rest.0 < 25 + interval + 2.5 && rest.since > 25 - interval - 0.6, "\(rest)")
  }

  /// The last fix becomes stale after a few seconds in a tunnel, and the sensors decide alone again.
  @Test func silentReceiverIsIgnored() {
    var detector = StationaryDetector()
    for index in 0..<1000 {
      let time = Double(index) / 100
      if index % 100 == 0, index < 200 {
        detector.observe(speed: 15, accuracy: 0.1, at: Timestamp(seconds: time))
      }
      _ = detector.process(
        acceleration: Vector3(1e-4 * Double(index % 7), 0, -1), at: Timestamp(seconds: time))
      if time > 1.1, time < 3.4 { #expect(detector.isContradicted(at: Timestamp(seconds: time))) }
      if time < 3.4 { #expect(detector.state == nil) }
    }
    #expect(detector.state == .stationary)
  }

  @Test func invalidReceiverSpeedsDecideNothing() {
    var detector = StationaryDetector()
    detector.observe(speed: .nan, accuracy: nil, at: Timestamp(seconds: 1))
    detector.observe(speed: .infinity, accuracy: .nan, at: Timestamp(seconds: 1))
    #expect(!detector.isContradicted(at: Timestamp(seconds: 1)))
    detector.observe(speed: 0.3, accuracy: .nan, at: Timestamp(seconds: 1))
    #expect(!detector.isContradicted(at: Timestamp(seconds: 1)))
  }

  /// A recorded drive of nine minutes with a centimetre-accurate GNSS receiver as the reference of the speed.
  @Test(.needs(.recordings("gnss-imu-drive")), arguments: [false, true])
  func matchesARecordedDrive(useGyro: Bool) throws {
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
      // Seconds around each stop and start are excluded because of the detection delay.
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
