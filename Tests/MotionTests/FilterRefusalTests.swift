import Motion
import Sensors
import Spatial
import Testing

@Suite struct FilterRefusalTests {
  private func time(_ milliseconds: Int64) -> Timestamp { Timestamp(nanoseconds: milliseconds * 1_000_000) }

  @Test(arguments: [
    Vector3(.nan, 0, 0), Vector3(0, .infinity, 0), Vector3(0, 0, -.infinity),
    Vector3(repeating: .greatestFiniteMagnitude),
  ])
  func nonFiniteSamplesAreCounted(_ value: Vector3) {
    var filter = ScreenedFilter()
    filter.update(gyroscope: value, at: time(1))
    filter.update(accelerometer: value, at: time(1))
    filter.update(magnetometer: value, at: time(1))
    #expect(filter.count(\.notFinite) + filter.count(\.implausible) == 3)
    #expect(filter.quaternion6D == .identity)
    #expect(filter.quaternion9D == nil)
  }

  @Test func samplesOutOfOrderAreCounted() {
    var filter = ScreenedFilter()
    for t: Int64 in [10, 20, 20, 15, 30] {
      filter.update(gyroscope: Vector3(0, 0, Double(t)) * 1e-6, at: time(t))
      filter.update(accelerometer: Vector3(0, 0, 9.8), at: time(t))
      filter.update(magnetometer: Vector3(0, 20, -40 + Double(t)), at: time(t))
    }
    #expect(filter.count(\.outOfOrder) == 6)
  }

  @Test func repeatedMagnetometerValueIsUsedOnce() {
    var filter = ScreenedFilter()
    for i in 0..<100 {
      let t = time(Int64(i) * 5)
      filter.update(gyroscope: .zero, at: t)
      filter.update(accelerometer: Vector3(0, 0, 9.8), at: t)
      filter.update(magnetometer: Vector3(0, 20, -40 - Double(i / 10) * 0.01), at: t)
    }
    #expect(filter.screen.health(of: .magnetometer)?.repeated == 90)
    #expect(!filter.flags.isMagnetometerStuck && filter.count(\.stuck) == 0)
  }

  /// Constant samples count as stuck only while other sensors vary; a simulated device at rest is not stuck.
  @Test func stuckSensorsAreExcluded() {
    var filter = ScreenedFilter()
    func run(_ range: Range<Int>, varying: Bool) {
      for i in range {
        let t = time(Int64(i) * 10)
        let wiggle = varying ? 0.01 * Double(i % 7) : 0
        filter.update(gyroscope: Vector3(0.1, 0, 0), at: t)
        filter.update(accelerometer: Vector3(0, wiggle, 9.8), at: t)
        filter.update(magnetometer: Vector3(0, 20, -40), at: t)
      }
    }
    run(0..<500, varying: false)
    #expect(!filter.flags.isGyroscopeStuck && !filter.flags.isMagnetometerStuck)
    run(500..<1000, varying: true)
    #expect(filter.flags.isGyroscopeStuck)
    #expect(filter.flags.isMagnetometerStuck)
    #expect(!filter.flags.isAccelerometerStuck)
  }

  @Test func longGapRestartsTheFilter() {
    var filter = ScreenedFilter()
    for i in 0..<400 {
      let t = time(Int64(i) * 10 + (i < 200 ? 0 : 60_000))
      let force = i < 200 ? Vector3(0, 0, 9.8) : Vector3(9.8, 0, 0)
      filter.update(gyroscope: Vector3(0, 0, Double(i % 2) * 1e-6), at: t)
      filter.update(accelerometer: force, at: t)
    }
    #expect(filter.counters.realignments == 1)
    let up = filter.quaternion6D.rotate(Vector3(1, 0, 0))
    #expect((up - Vector3(0, 0, 1)).length < 0.01)
  }
}
