import Motion
import Spatial
import TestSupport
import Testing

@Suite struct OrientationTests {
  /// The six orientations, with gravity as in Core Motion.
  static let table: [(DeviceOrientation, gravity: Vector3)] = [
    (.portrait, Vector3(0, -1, 0)),
    (.portraitUpsideDown, Vector3(0, 1, 0)),
    (.landscapeLeft, Vector3(-1, 0, 0)),
    (.landscapeRight, Vector3(1, 0, 0)),
    (.faceUp, Vector3(0, 0, -1)),
    (.faceDown, Vector3(0, 0, 1)),
  ]

  private func settle(_ detector: inout OrientationDetector, _ gravity: Vector3, at start: Double)
    -> DeviceOrientation?
  {
    var change: DeviceOrientation?
    for index in 0...5 {
      change =
        detector.process(gravity: gravity, at: Timestamp(seconds: start + 0.1 * Double(index))) ?? change
    }
    return change
  }

  @Test(arguments: table)
  func sixOrientationsAreDetected(orientation: DeviceOrientation, gravity: Vector3) {
    var detector = OrientationDetector()
    #expect(settle(&detector, gravity, at: 0) == orientation)
    #expect(detector.orientation == orientation)
    #expect(orientation.gravity == gravity)
  }

  @Test func rotatedDeviceMatchesItsOrientation() throws {
    // Upright, then turned counter-clockwise by 90° as seen from the front: the top points left.
    let upright = Attitude(eulerAngles: EulerAngles(roll: 0, pitch: .pi / 2, yaw: 0))
    let turned = Attitude(
      quaternion: upright.quaternion * Quaternion(angle: .pi / 2, axis: Vector3(0, 0, 1)))
    var detector = OrientationDetector()
    #expect(settle(&detector, turned.gravity, at: 0) == .landscapeLeft)
  }

  @Test func orientationHasHysteresisAt45Degrees() {
    var detector = OrientationDetector()
    _ = settle(&detector, Vector3(0, 0, -1), at: 0)
    func tilted(_ degrees: Double) -> Vector3 {
      Attitude(eulerAngles: EulerAngles(roll: 0, pitch: degrees.radians, yaw: 0)).gravity
    }
    #expect(settle(&detector, tilted(51), at: 1) == nil)
    #expect(settle(&detector, tilted(53), at: 2) == .portrait)
    #expect(settle(&detector, tilted(39), at: 3) == nil)
    #expect(settle(&detector, tilted(37), at: 4) == .faceUp)
  }

  @Test func shortSwingIsNoOrientation() {
    var detector = OrientationDetector()
    _ = settle(&detector, Vector3(0, 0, -1), at: 0)
    #expect(detector.process(gravity: Vector3(0, -1, 0), at: Timestamp(seconds: 1)) == nil)
    #expect(detector.process(gravity: Vector3(0, -1, 0), at: Timestamp(seconds: 1.2)) == nil)
    #expect(detector.process(gravity: Vector3(0, 0, -1), at: Timestamp(seconds: 1.3)) == nil)
    #expect(detector.process(gravity: Vector3(0, -1, 0), at: Timestamp(seconds: 1.4)) == nil)
    #expect(detector.process(gravity: Vector3(0, -1, 0), at: Timestamp(seconds: 1.64)) == nil)
    #expect(detector.process(gravity: Vector3(0, -1, 0), at: Timestamp(seconds: 1.66)) == .portrait)
  }

  @Test func orientationIsUnknownWithoutGravity() {
    var detector = OrientationDetector()
    #expect(settle(&detector, .zero, at: 0) == nil)
    #expect(settle(&detector, Vector3(.nan, 0, -1), at: 1) == nil)
    #expect(detector.orientation == nil)
  }
}
