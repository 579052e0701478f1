import Motion
import Spatial
import Testing

@Suite struct FilterConventionTests {
  /// The attitude of a device at rest: the rotation from lying flat with the top to the north (device axes east, north, up).
  struct Pose: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var attitude: Quaternion
  }

  static let poses: [Pose] = [
    Pose(testDescription: "flat, top to the north", attitude: .identity),
    Pose(testDescription: "flat, top to the west", attitude: turn(90, Vector3(0, 0, 1))),
    Pose(testDescription: "flat, top to the south", attitude: turn(180, Vector3(0, 0, 1))),
    Pose(testDescription: "flat, top to the east", attitude: turn(-90, Vector3(0, 0, 1))),
    Pose(testDescription: "face down", attitude: turn(180, Vector3(0, 1, 0))),
    Pose(testDescription: "portrait", attitude: turn(90, Vector3(1, 0, 0))),
    Pose(testDescription: "upside down", attitude: turn(-90, Vector3(1, 0, 0))),
    Pose(testDescription: "landscape left", attitude: turn(-90, Vector3(0, 1, 0))),
    Pose(testDescription: "landscape right", attitude: turn(90, Vector3(0, 1, 0))),
    Pose(testDescription: "tilted", attitude: turn(37, Vector3(1, -2, 0.5))),
  ]

  static func turn(_ degrees: Double, _ axis: Vector3) -> Quaternion {
    Quaternion(angle: degrees * Double.pi / 180, axis: axis)
  }

  static let field = Vector3(0, 20, -43)

  private func settle(_ pose: Pose, gyroscope: Bool = true) -> ScreenedFilter {
    var filter = ScreenedFilter()
    for i in 0..<400 {
      let time = Timestamp(nanoseconds: 1_000_000_000 + Int64(i) * 10_000_000)
      if gyroscope { filter.update(gyroscope: .zero, at: time) }
      // The last digits vary, so that no sample counts as repeated.
      let wiggle = Vector3(repeating: Double(i % 2) * 1e-9)
      filter.update(
        accelerometer: pose.attitude.conjugate.rotate(Vector3(0, 0, 9.806_65)) + wiggle, at: time)
      filter.update(magnetometer: pose.attitude.conjugate.rotate(Self.field) + wiggle, at: time)
    }
    return filter
  }

  /// The attitude rotates device coordinates to east, magnetic north, up.
  @Test(arguments: poses) func restingPose(_ pose: Pose) throws {
    let filter = settle(pose)
    let attitude = try #require(filter.quaternion9D)
    #expect((attitude * pose.attitude.conjugate).angle < 1e-4)
    let up = filter.quaternion6D.rotate(pose.attitude.conjugate.rotate(Vector3(0, 0, 1)))
    #expect((up - Vector3(0, 0, 1)).length < 1e-4)
    #expect(filter.flags.isAtRest)
    #expect(!filter.flags.isAligning)
  }

  @Test(arguments: poses) func restingPoseWithoutGyroscope(_ pose: Pose) throws {
    let attitude = try #require(settle(pose, gyroscope: false).quaternion9D)
    #expect((attitude * pose.attitude.conjugate).angle < 1e-4)
  }

  /// Without a magnetometer, inclination is available and north is not.
  @Test func noMagnetometer() {
    var filter = ScreenedFilter()
    for i in 0..<100 {
      let time = Timestamp(nanoseconds: Int64(i) * 10_000_000)
      filter.update(gyroscope: .zero, at: time)
      filter.update(accelerometer: Vector3(0, 0, 9.8), at: time)
    }
    #expect(filter.quaternion9D == nil)
    #expect(filter.state.field == nil)
    #expect(filter.state.headingDeviation == nil)
    #expect(filter.quaternion6D.angle < 1e-6)
  }

  /// A positive rate about an axis is a right-handed rotation about it.
  @Test(arguments: [Vector3(1, 0, 0), Vector3(0, 1, 0), Vector3(0, 0, 1)])
  func senseOfRotation(_ axis: Vector3) throws {
    var parameters = AttitudeFilter.Parameters()
    parameters.gyroscopeLatency = 0
    var filter = ScreenedFilter(parameters)
    var truth = Quaternion.identity
    for i in 0..<300 {
      let time = Timestamp(nanoseconds: Int64(i) * 10_000_000)
      let rate = i > 200 ? 0.5 * axis : .zero
      if i > 200 { truth = truth * Quaternion(rotationVector: rate * (i == 201 ? 0.005 : 0.01)) }
      let wiggle = Vector3(repeating: Double(i % 2) * 1e-9)
      filter.update(gyroscope: rate + wiggle, at: time)
      filter.update(accelerometer: truth.conjugate.rotate(Vector3(0, 0, 9.806_65)) + wiggle, at: time)
      filter.update(magnetometer: truth.conjugate.rotate(Self.field) + wiggle, at: time)
    }
    let attitude = try #require(filter.quaternion9D)
    #expect((attitude * truth.conjugate).angle < 0.3 * Double.pi / 180)
    #expect(truth.angle > 0.4)
  }
}
