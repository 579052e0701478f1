import Spatial
import Testing

@Suite struct AttitudeTests {
  private static let quarter = Double.pi / 2

  /// Each elementary turn changes its own Euler angle and no other.
  @Test(arguments: [
    (Vector3(1, 0, 0), 0.3, 0.0, 0.0),
    (Vector3(0, 1, 0), 0.0, 0.3, 0.0),
    (Vector3(0, 0, 1), 0.0, 0.0, 0.3),
  ])
  func elementaryTurns(axis: Vector3, pitch: Double, roll: Double, yaw: Double) {
    let attitude = Attitude(quaternion: Quaternion(angle: 0.3, axis: axis))
    #expect(abs(attitude.pitch - pitch) < 1e-12)
    #expect(abs(attitude.roll - roll) < 1e-12)
    #expect(abs(attitude.yaw - yaw) < 1e-12)
  }

  @Test func matrixTimesDownIsGravityInTheDeviceFrame() {
    // Top raised by 90°: gravity pulls towards the bottom edge, the device's -y.
    let upright = Attitude(quaternion: Quaternion(angle: Self.quarter, axis: Vector3(1, 0, 0)))
    let gravity = upright.rotationMatrix * Vector3(0, 0, -1)
    #expect((gravity - Vector3(0, -1, 0)).length < 1e-12)
    #expect(upright.pitch.isFinite && upright.roll.isFinite && upright.yaw.isFinite)
  }

  @Test func eulerAnglesRebuildTheAttitude() {
    for yaw in stride(from: -3.0, through: 3, by: 0.7) {
      for pitch in stride(from: -1.5, through: 1.5, by: 0.5) {
        for roll in stride(from: -3.0, through: 3, by: 0.6) {
          let quaternion =
            Quaternion(angle: yaw, axis: Vector3(0, 0, 1)) * Quaternion(angle: pitch, axis: Vector3(1, 0, 0))
            * Quaternion(angle: roll, axis: Vector3(0, 1, 0))
          let attitude = Attitude(quaternion: quaternion)
          #expect(abs(attitude.yaw - yaw) < 1e-9)
          #expect(abs(attitude.pitch - pitch) < 1e-9)
          #expect(abs(attitude.roll - roll) < 1e-9)
          #expect(abs(attitude.rotationMatrix.determinant - 1) < 1e-12)
        }
      }
    }
  }

  @Test func multiplyByInverseOfItselfIsNoTurn() {
    let start = Attitude(quaternion: Quaternion(angle: 1.1, axis: Vector3(1, 2, 3)))
    var later = start
    later.multiply(byInverseOf: start)
    #expect(later.quaternion.angle < 1e-12)
  }
}
