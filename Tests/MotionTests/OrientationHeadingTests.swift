import Foundation
import Motion
import Spatial
import Testing

/// Heading of the upper side in each of the six orientations, at various tilts.
@Suite struct OrientationHeadingTests {
  /// Attitude of a flat device with its top at a heading, after pitch and then roll.
  private func attitude(_ heading: Double, pitch: Double, roll: Double) -> Attitude {
    Attitude(
      eulerAngles: EulerAngles(
        roll: roll.radians, pitch: pitch.radians, yaw: remainder((270 - heading).radians, 2 * .pi)))
  }

  /// Degrees clockwise from the heading of the flat device's top to the projection of its right side.
  private func rightSide(pitch: Double, roll: Double) -> Double {
    let (p, r) = (pitch.radians, roll.radians)
    return 90 - atan2(sin(p) * sin(r), cos(r)).degrees
  }

  @Test(arguments: DeviceOrientation.allCases)
  func sideIsProjectedHorizontally(orientation: DeviceOrientation) throws {
    for heading in [0.0, 77, 200, 359] {
      for pitch in stride(from: -60.0, through: 60, by: 15) {
        for roll in stride(from: -60.0, through: 60, by: 15) {
          let turn: Double =
            switch orientation {
            case .portrait, .faceUp, .faceDown: 0
            case .portraitUpsideDown: 180
            case .landscapeLeft: rightSide(pitch: pitch, roll: roll)
            case .landscapeRight: rightSide(pitch: pitch, roll: roll) + 180
            }
          let told = try #require(attitude(heading, pitch: pitch, roll: roll).heading(for: orientation))
          #expect(
            abs(signedDegrees(from: heading + turn, to: told)) < 1e-6,
            "\(orientation) at \(heading), pitch \(pitch), roll \(roll): \(told)")
        }
      }
    }
  }

  /// With a pitch of 45° and a roll of 40°, the right side differs by 31° from the fixed offset of 90° that was used previously.
  @Test func fixedOffsetWouldBeWrong() {
    #expect(abs(rightSide(pitch: 45, roll: 40) - 90) > 27)
  }

  /// The heading of an upright device is that of its back, the same as that of the upper side while it lay flat.
  @Test(arguments: [
    (DeviceOrientation.portrait, 90.0, 0.0, 0.0), (.portraitUpsideDown, -90, 0, 180),
    (.landscapeLeft, 0, -90, 90), (.landscapeRight, 0, 90, 270),
    // With that side down, the heading is that of the face.
    (.portrait, -90, 0, 0), (.portraitUpsideDown, 90, 0, 180), (.landscapeLeft, 0, 90, 90),
    (.landscapeRight, 0, -90, 270),
  ])
  func uprightDeviceUsesItsBack(
    orientation: DeviceOrientation, pitch: Double, roll: Double, turn: Double
  )
    throws
  {
    for heading in [0.0, 77, 200, 359] {
      // Deviations of 3° from upright do not change the result.
      for error in [-3.0, 0, 3] {
        let device = attitude(
          heading, pitch: pitch + (roll == 0 ? error : 0), roll: roll + (roll == 0 ? 0 : error))
        let told = try #require(device.heading(for: orientation))
        #expect(abs(signedDegrees(from: heading + turn, to: told)) < 1e-6, "\(heading) \(error): \(told)")
      }
    }
  }

  @Test func faceDownDeviceUsesItsTop() throws {
    let told = try #require(attitude(120, pitch: 0, roll: 180).heading(for: .faceDown))
    #expect(abs(signedDegrees(from: 120, to: told)) < 1e-6)
  }

  /// While a slightly skewed device is raised to upright, the heading is always available and has no jumps.
  @Test(arguments: DeviceOrientation.allCases, [-8.0, 0, 8])
  func headingIsContinuousWhileTheDeviceIsRaised(orientation: DeviceOrientation, askew: Double) throws {
    let isSideways = orientation == .landscapeLeft || orientation == .landscapeRight
    let sign: Double = orientation == .portraitUpsideDown || orientation == .landscapeLeft ? -1 : 1
    var last: Double?
    for step in stride(from: 0.0, through: 90, by: 0.5) {
      let (pitch, roll) = isSideways ? (askew, sign * step) : (sign * step, askew)
      let told = try #require(attitude(50, pitch: pitch, roll: roll).heading(for: orientation))
      if let last { #expect(abs(signedDegrees(from: last, to: told)) < 6, "\(step): \(last), \(told)") }
      last = told
    }
  }
}
