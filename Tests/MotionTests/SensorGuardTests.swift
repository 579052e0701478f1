import Motion
import Sensors
import Spatial
import TestSupport
import Testing

@Suite struct SensorGuardTests {
  /// A device that turns about x at 0.5 rad/s from 2 s on; the named sensor keeps its value from 2 s on.
  private func run(stuck: SensorKind?, turning: Bool = true) -> SensorGuards {
    var guards = SensorGuards()
    var truth = Quaternion.identity
    for index in 0..<1000 {
      let time = Timestamp(seconds: Double(index) / 100)
      let isMoving = turning && index >= 200
      if isMoving { truth = truth * Quaternion(angle: 0.005, axis: Vector3(1, 0, 0)) }
      func kept(_ kind: SensorKind, _ value: Vector3, _ rest: Vector3) -> Vector3 {
        stuck == kind ? rest : value
      }
      let down = truth.conjugate.rotate(Vector3(0, 0, -1))
      let field = truth.conjugate.rotate(Vector3(0, 24, -41))
      let rate = Vector3(isMoving ? 0.5 + Double(index % 7) * 1e-3 : 0, 0, 0)
      _ = guards.admit(
        AccelerometerData(timestamp: time, acceleration: kept(.accelerometer, down, Vector3(0, 0, -1))))
      _ = guards.admit(GyroData(timestamp: time, rotationRate: kept(.gyroscope, rate, .zero)))
      _ = guards.admit(
        MagnetometerData(timestamp: time, magneticField: kept(.magnetometer, field, Vector3(0, 24, -41))))
    }
    return guards
  }

  @Test(arguments: [SensorKind.accelerometer, .gyroscope, .magnetometer])
  func aStuckSensorIsFoundAndTheOthersAreNotBlamed(kind: SensorKind) throws {
    let guards = run(stuck: kind)
    let health = try #require(guards.health(of: kind))
    #expect(health.state == .stuck)
    #expect(health.stuck > 200)
    for other in [SensorKind.accelerometer, .gyroscope, .magnetometer] where other != kind {
      #expect(guards.health(of: other)?.state == .healthy)
      #expect(guards.health(of: other)?.refused == 0)
    }
  }

  @Test func nothingIsStuckAtRestOrInMotion() {
    for guards in [run(stuck: nil), run(stuck: nil, turning: false)] {
      for kind in [SensorKind.accelerometer, .gyroscope, .magnetometer] {
        #expect(guards.health(of: kind)?.refused == 0)
      }
    }
  }

  @Test func aSensorRecovers() {
    var guardian = SampleGuard(limits: .accelerometer)
    for index in 0..<200 {
      _ = guardian.admit(Vector3(0, 0, -1), at: Timestamp(seconds: Double(index) / 100))
      guardian.expectChange(by: 0.01)
    }
    #expect(guardian.health.state == .stuck)
    let isAdmitted = guardian.admit(Vector3(0, 0.1, -1), at: Timestamp(seconds: 3))
    #expect(isAdmitted)
    #expect(guardian.health.state == .healthy)
  }

  @Test func theEndOfTheRangeShows() {
    var guardian = SampleGuard(limits: .accelerometer)
    let values = [0.5, 1.5, 2, 2, 2, 2, 1.2, 0.3, 2, 2, 2]
    var flags: [Bool] = []
    for (index, value) in values.enumerated() {
      let isAdmitted = guardian.admit(Vector3(value, 0, -1), at: Timestamp(seconds: Double(index) / 100))
      #expect(isAdmitted)
      flags.append(guardian.health.isSaturated)
    }
    #expect(flags == [false, false, false, false, true, true, false, false, false, false, true])
    #expect(guardian.health.saturated == 3)
  }
}

@Suite struct FilterTests {
  @Test func theCutoffDoesNotMoveWithTheSampleTimes() {
    var generator = SplitMix.announced()
    var (even, jittered) = (LowPassFilter(cutoff: 0.5), LowPassFilter(cutoff: 0.5))
    even.process(.zero, at: Timestamp(seconds: 0))
    jittered.process(.zero, at: Timestamp(seconds: 0))
    for index in 1...100 { even.process(Vector3(1, 0, 0), at: Timestamp(seconds: Double(index) / 100)) }
    var time = 0.0
    while time < 1 {
      time = min(1, time + generator.uniform(0.001...0.05))
      jittered.process(Vector3(1, 0, 0), at: Timestamp(seconds: time))
    }
    // One second of a step: 1 - exp(-π).
    #expect(abs((even.value?.x ?? 0) - 0.956786) < 1e-5)
    #expect(abs((jittered.value?.x ?? 0) - 0.956786) < 1e-5)
  }

  @Test func highAndLowMakeTheWhole() {
    var generator = SplitMix.announced()
    var (low, high) = (LowPassFilter(cutoff: 2), HighPassFilter(cutoff: 2))
    for index in 0..<200 {
      let sample = Vector3(generator.normal(), generator.normal(), generator.normal())
      let time = Timestamp(seconds: Double(index) / 50)
      let sum = low.process(sample, at: time) + high.process(sample, at: time)
      #expect((sum - sample).length < 1e-12)
    }
    let before = (low.value, high.value)
    low.process(Vector3(.nan, 0, 0), at: Timestamp(seconds: 9))
    high.process(Vector3(.nan, 0, 0), at: Timestamp(seconds: 9))
    #expect(low.value == before.0 && high.value == before.1)
  }

  @Test func thePairSeparatesGravityFromABump() throws {
    var separator = GravitySeparator()
    for index in 0..<1000 {
      let time = Double(index) / 100
      let bump = (5..<5.1).contains(time) ? 0.8 : 0
      separator.process(
        AccelerometerData(timestamp: Timestamp(seconds: time), acceleration: Vector3(0, 0.6 + bump, -0.8)))
      let gravity = try #require(separator.gravity)
      #expect(abs(gravity.length - 1) < 1e-12)
      #expect(Quaternion.shortest(from: gravity, to: Vector3(0, 0.6, -0.8)).angle < 0.05)
      if bump > 0 { #expect((separator.userAcceleration?.y ?? 0) > 0.75) }
    }
  }
}
