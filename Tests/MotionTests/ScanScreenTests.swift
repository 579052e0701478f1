import Sensors
import Spatial
import TestSupport
import Testing

@testable import Motion

@Suite struct ScanScreenTests {
  /// A device that rotates about x at 0.5 rad/s from 2 s on; the value of the stuck sensor is constant from then on.
  private func run(stuck: SensorKind?, turning: Bool = true) -> ScanScreen {
    var screen = ScanScreen()
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
      var scan = InertialScan(
        timestamp: time,
        specificForce: kept(.accelerometer, down, Vector3(0, 0, -1)) * -standardGravity,
        rotationRate: kept(.gyroscope, rate, .zero),
        magneticField: kept(.magnetometer, field, Vector3(0, 24, -41)))
      _ = screen.admit(&scan)
    }
    return screen
  }

  @Test(arguments: [SensorKind.accelerometer, .gyroscope, .magnetometer])
  func stuckSensorIsDetectedAndOthersAreNot(kind: SensorKind) throws {
    let screen = run(stuck: kind)
    let health = try #require(screen.health(of: kind))
    #expect(health.state == .stuck)
    #expect(health.stuck > 200)
    for other in [SensorKind.accelerometer, .gyroscope, .magnetometer] where other != kind {
      #expect(screen.health(of: other)?.state == .healthy)
      #expect(screen.health(of: other)?.refused == 0)
    }
  }

  @Test func workingSensorsAreNotStuckAtRestOrInMotion() {
    for screen in [run(stuck: nil), run(stuck: nil, turning: false)] {
      for kind in [SensorKind.accelerometer, .gyroscope, .magnetometer] {
        #expect(screen.health(of: kind)?.refused == 0)
      }
    }
  }

  @Test func sensorRecovers() {
    var guardian = SensorScreen(plausible: 1000)
    for index in 0..<200 {
      _ = guardian.admit(Vector3(0, 0, -1), at: Timestamp(seconds: Double(index) / 100))
      guardian.expectChange(by: 0.01)
    }
    #expect(guardian.health.state == .stuck)
    let isAdmitted = guardian.admit(Vector3(0, 0.1, -1), at: Timestamp(seconds: 3))
    #expect(isAdmitted)
    #expect(guardian.health.state == .healthy)
  }
}

@Suite struct FilterTests {
  @Test func cutoffIsIndependentOfTheSampleTimes() {
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
    // Step response after one second: 1 - exp(-π).
    #expect(abs((even.value?.x ?? 0) - 0.956786) < 1e-5)
    #expect(abs((jittered.value?.x ?? 0) - 0.956786) < 1e-5)
  }

  @Test func invalidSamplesChangeNothing() {
    var low = LowPassFilter(cutoff: 2)
    low.process(Vector3(1, 2, 3), at: Timestamp(seconds: 1))
    low.process(Vector3(2, 2, 3), at: Timestamp(seconds: 2))
    let before = low
    low.process(Vector3(.nan, 0, 0), at: Timestamp(seconds: 9))
    low.process(Vector3(9, 0, 0), at: Timestamp(seconds: 2))
    #expect(low == before)
  }

  @Test func lowAndHighPassSeparateGravityFromABump() throws {
    var separator = GravitySeparator()
    for index in 0..<1000 {
      let time = Double(index) / 100
      let bump = (5..<5.1).contains(time) ? 0.8 : 0
      separator.process(
        InertialScan(timestamp: Timestamp(seconds: time), acceleration: Vector3(0, 0.6 + bump, -0.8)))
      let gravity = try #require(separator.gravity)
      #expect(abs(gravity.length - 1) < 1e-12)
      #expect(Quaternion.shortest(from: gravity, to: Vector3(0, 0.6, -0.8)).angle < 0.05)
      if bump > 0 { #expect((separator.userAcceleration?.y ?? 0) > 0.75) }
    }
  }
}
