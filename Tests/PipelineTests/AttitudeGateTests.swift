import Spatial
import Telemetry
import Testing

@testable import Pipeline

/// Selection of the attitudes to publish.
@Suite struct AttitudeGateTests {
  private static let down = Vector3(0, 0, -1)
  private static let plain = AttitudeGate.State(frame: .xMagneticNorthZVertical, axes: .device)

  private func yaw(_ degrees: Double) -> Attitude {
    Attitude(quaternion: Quaternion(angle: degrees.radians, axis: Vector3(0, 0, 1)))
  }

  private func time(_ seconds: Double) -> Timestamp { Timestamp(seconds: seconds) }

  @Test func filterCountsFromTheLastPublishedAttitude() {
    var gate = AttitudeGate(interval: 1, filter: 5)
    // Columns: second, yaw in degrees, true if the attitude is published.
    for (second, degrees, isOpen) in [
      (0.0, 0.0, true), (1, 0, false), (2, 4.9, false), (3, -4.9, false), (4, 5.1, true), (5, 9.9, false),
      (6, 10.2, true), (6.5, 30, false), (7.1, 30, true), (8, 30, false), (100, 391, false),
      (101, 35.5, true),
    ] {
      let passes = gate.isOpen(at: time(second), attitude: yaw(degrees), gravity: Self.down, Self.plain)
      #expect(passes == isOpen, "\(second) s")
    }
  }

  @Test func everyAxisIsCompared() {
    for axis in [Vector3(1, 0, 0), Vector3(0, 1, 0), Vector3(0, 0, 1)] {
      var gate = AttitudeGate(interval: 1, filter: 5)
      let isFirst = gate.isOpen(at: time(0), attitude: yaw(40), gravity: Self.down, Self.plain)
      #expect(isFirst)
      for (second, degrees, isOpen) in [(1.0, 4.9, false), (2, 5.1, true)] {
        let turn = Quaternion(angle: degrees.radians, axis: axis)
        let attitude = Attitude(quaternion: yaw(40).quaternion * turn)
        let passes = gate.isOpen(at: time(second), attitude: attitude, gravity: Self.down, Self.plain)
        #expect(passes == isOpen, "\(axis) \(degrees)°")
      }
    }
  }

  @Test func changedStateAlwaysPasses() {
    var gate = AttitudeGate(interval: 1, filter: 5)
    var state = Self.plain
    func isOpen(_ second: Double) -> Bool {
      gate.isOpen(at: time(second), attitude: yaw(0), gravity: Self.down, state)
    }
    #expect(isOpen(0) && !isOpen(1))
    state.frame = .xTrueNorthZVertical
    #expect(isOpen(2) && !isOpen(3))
    state.axes = .vehicle
    #expect(isOpen(4) && !isOpen(5))
    state.degradation = "no magnetometer"
    #expect(isOpen(6) && !isOpen(7))
    state.degradation = nil
    #expect(isOpen(8) && !isOpen(9))
    gate.reopen()
    #expect(isOpen(10) && !isOpen(11))
  }

  @Test func gravityWithoutAttitudeIsFilteredByAngle() {
    var gate = AttitudeGate(interval: 1, filter: 5)
    let state = AttitudeGate.State(frame: nil, axes: .device, degradation: "no gyroscope")
    for (second, degrees, isOpen) in [(0.0, 0.0, true), (1, 4.9, false), (2, 5.1, true), (3, 9, false)] {
      let gravity = Quaternion(angle: degrees.radians, axis: Vector3(0, 1, 0)).rotate(Self.down)
      let passes = gate.isOpen(at: time(second), attitude: nil, gravity: gravity, state)
      #expect(passes == isOpen, "\(degrees)°")
    }
  }

  @Test func everyIntervalPassesWithoutFilter() {
    var gate = AttitudeGate(interval: 1, filter: 0)
    let open = (0..<100).count {
      gate.isOpen(at: time(Double($0) / 10), attitude: yaw(0), gravity: Self.down, Self.plain)
    }
    #expect(open == 10)
  }
}
