import Spatial
import TestSupport
import Testing

@Suite struct AttitudeTests {
  private static let quarter = Double.pi / 2

  /// Each elementary rotation changes its own Euler angle and no other.
  @Test(arguments: [
    (Vector3(1, 0, 0), 0.3, 0.0, 0.0),
    (Vector3(0, 1, 0), 0.0, 0.3, 0.0),
    (Vector3(0, 0, 1), 0.0, 0.0, 0.3),
    (Vector3(-1, 0, 0), -0.3, 0.0, 0.0),
    (Vector3(0, -1, 0), 0.0, -0.3, 0.0),
    (Vector3(0, 0, -1), 0.0, 0.0, -0.3),
  ])
  func elementaryTurns(axis: Vector3, pitch: Double, roll: Double, yaw: Double) {
    let attitude = Attitude(quaternion: Quaternion(angle: 0.3, axis: axis))
    #expect(abs(attitude.pitch - pitch) < 1e-12)
    #expect(abs(attitude.roll - roll) < 1e-12)
    #expect(abs(attitude.yaw - yaw) < 1e-12)
  }

  /// Direction in which each rotation moves an axis of the device.
  @Test(arguments: [
    // Positive pitch raises the top.
    (EulerAngles(roll: 0, pitch: 0.3, yaw: 0), Vector3(0, 1, 0), Vector3(0, 0, 1)),
    // Positive roll lowers the right side.
    (EulerAngles(roll: 0.3, pitch: 0, yaw: 0), Vector3(1, 0, 0), Vector3(0, 0, -1)),
    // Positive yaw swings the top to the left, counter-clockwise from above.
    (EulerAngles(roll: 0, pitch: 0, yaw: 0.3), Vector3(0, 1, 0), Vector3(-1, 0, 0)),
  ])
  func turnsMoveTheAxesAsDocumented(angles: EulerAngles, axis: Vector3, towards: Vector3) {
    let moved = Attitude(eulerAngles: angles).quaternion.rotate(axis)
    #expect(moved.dot(towards) > 0.2)
    #expect(axis.dot(towards) == 0)
  }

  /// Six positions of a device at rest, and the direction of gravity in the device frame.
  @Test(arguments: [
    (EulerAngles(roll: 0, pitch: 0, yaw: 0), Vector3(0, 0, -1)),  // face up
    (EulerAngles(roll: .pi, pitch: 0, yaw: 0), Vector3(0, 0, 1)),  // face down
    (EulerAngles(roll: 0, pitch: quarter, yaw: 0), Vector3(0, -1, 0)),  // top up
    (EulerAngles(roll: 0, pitch: -quarter, yaw: 0), Vector3(0, 1, 0)),  // top down
    (EulerAngles(roll: quarter, pitch: 0, yaw: 0), Vector3(1, 0, 0)),  // right side down
    (EulerAngles(roll: -quarter, pitch: 0, yaw: 0), Vector3(-1, 0, 0)),  // left side down
  ])
  func matrixTimesDownIsGravityInTheDeviceFrame(angles: EulerAngles, gravity: Vector3) {
    for yaw in stride(from: -3.0, through: 3, by: 0.5) {
      var angles = angles
      angles.yaw = yaw
      let attitude = Attitude(eulerAngles: angles)
      #expect((attitude.rotationMatrix * Vector3(0, 0, -1) - gravity).length < 1e-12)
      #expect((attitude.gravity - gravity).length < 1e-12)
      #expect(attitude.pitch.isFinite && attitude.roll.isFinite && attitude.yaw.isFinite)
    }
  }

  /// Level devices in a frame whose x axis points north, see the table of `AttitudeReferenceFrame`.
  @Test(arguments: [(270.0, 0.0), (0, -quarter), (90, .pi), (180, quarter), (315, -quarter / 2)])
  func cardinalDirections(heading: Double, yaw: Double) throws {
    let attitude = Attitude(eulerAngles: EulerAngles(roll: 0, pitch: 0, yaw: yaw))
    #expect(abs(signedDegrees(from: heading, to: try #require(attitude.heading()))) < 1e-9)
    // The right side points 90° clockwise from the top.
    let right = try #require(attitude.heading(of: Vector3(1, 0, 0)))
    #expect(abs(signedDegrees(from: heading + 90, to: right)) < 1e-9)
    #expect(attitude.heading(of: Vector3(0, 0, 1)) == nil)
    // In that frame north is x, west is y.
    let north = attitude.rotationMatrix * Vector3(1, 0, 0)
    let expected = Vector3(sinDegrees(90 - (heading + 90)), sinDegrees(90 - heading), 0)
    #expect((north - expected).length < 1e-9, "\(north) \(expected)")
  }

  private func sinDegrees(_ degrees: Double) -> Double {
    Quaternion(angle: degrees.radians, axis: Vector3(0, 0, 1)).rotate(Vector3(1, 0, 0)).y
  }

  @Test func eulerAnglesRebuildTheAttitude() {
    for yaw in stride(from: -3.0, through: 3, by: 0.7) {
      for pitch in stride(from: -1.5, through: 1.5, by: 0.5) {
        for roll in stride(from: -3.0, through: 3, by: 0.6) {
          let attitude = Attitude(eulerAngles: EulerAngles(roll: roll, pitch: pitch, yaw: yaw))
          #expect(abs(attitude.yaw - yaw) < 1e-9)
          #expect(abs(attitude.pitch - pitch) < 1e-9)
          #expect(abs(attitude.roll - roll) < 1e-9)
          #expect(abs(attitude.rotationMatrix.determinant - 1) < 1e-12)
        }
      }
    }
  }

  @Test func anglesStayInTheirRanges() {
    var generator = SplitMix.announced()
    for _ in 0..<3000 {
      let axis = Vector3(generator.uniform(-1...1), generator.uniform(-1...1), generator.uniform(-1...1))
      let attitude = Attitude(quaternion: Quaternion(angle: generator.uniform(-10...10), axis: axis))
      let angles = attitude.eulerAngles
      #expect(abs(angles.pitch) <= Self.quarter && abs(angles.roll) <= .pi && abs(angles.yaw) <= .pi)
      #expect(Self.difference(Attitude(eulerAngles: angles), attitude) < 3e-4)
    }
  }

  @Test func multiplyByInverseOfItselfIsNoTurn() {
    let start = Attitude(quaternion: Quaternion(angle: 1.1, axis: Vector3(1, 2, 3)))
    var later = start
    later.multiply(byInverseOf: start)
    #expect(later.quaternion.angle < 1e-12)
  }

  /// The result is the rotation since the start, about the axes of the device at the start.
  @Test func multiplyByInverseIsTheTurnInBetween() {
    let start = Attitude(quaternion: Quaternion(angle: 1.1, axis: Vector3(1, 2, 3)))
    let turn = Quaternion(angle: 0.4, axis: Vector3(0, 1, 0))
    var later = Attitude(quaternion: start.quaternion * turn)
    later.multiply(byInverseOf: start)
    #expect(abs(later.roll - 0.4) < 1e-12 && abs(later.pitch) < 1e-12 && abs(later.yaw) < 1e-12)
  }

  @Test func gravityGivesTheTilt() throws {
    for pitch in stride(from: -1.5, through: 1.5, by: 0.3) {
      for roll in stride(from: -3.0, through: 3, by: 0.4) {
        let attitude = Attitude(eulerAngles: EulerAngles(roll: roll, pitch: pitch, yaw: 0))
        let back = try #require(Attitude(gravity: attitude.gravity * 0.97))
        #expect(Self.difference(back, attitude) < 1e-9)
      }
    }
    #expect(Attitude(gravity: .zero) == nil)
    #expect(Attitude(gravity: Vector3(.nan, 0, 1)) == nil)
  }

  static func difference(_ a: Attitude, _ b: Attitude) -> Double {
    (a.quaternion.conjugate * b.quaternion).angle
  }
}
