import Foundation
import Motion
import Sensors
import Spatial
import TestSupport
import Testing

@Suite struct MotionManagerTests {
  /// A device at rest in an attitude (rotation of the sensor axes relative to east, north, up), in a field with a dip of 60°.
  private func rest(
    _ turn: Quaternion, frame: AttitudeReferenceFrame, kinds: Set<SensorKind>, declination: Double? = nil,
    seconds: Double = 1
  ) -> MotionManager {
    var manager = MotionManager(frame: frame)
    manager.declination = declination
    let down = turn.conjugate.rotate(Vector3(0, 0, -1))
    let field = turn.conjugate.rotate(Vector3(0, 24, -41.6))
    for index in 0...Int(seconds * 100) {
      let time = Timestamp(seconds: Double(index) / 100)
      if kinds.contains(.accelerometer) {
        manager.process([InertialScan(timestamp: time, acceleration: down)])
      }
      if kinds.contains(.gyroscope) { manager.process([InertialScan(timestamp: time, rotationRate: .zero)]) }
      if kinds.contains(.magnetometer) {
        manager.process([InertialScan(timestamp: time, magneticField: field)])
      }
    }
    return manager
  }

  private static let all: Set<SensorKind> = [.accelerometer, .gyroscope, .magnetometer]

  /// A flat device whose top points to a magnetic heading: the yaw in the north frames agrees with the documentation.
  @Test(arguments: [(0.0, -90.0), (90, 180), (180, 90), (270, 0), (45, -135)])
  func yawAndHeadingInTheNorthFrames(heading: Double, yaw: Double) throws {
    let turn = Quaternion(angle: -heading.radians, axis: Vector3(0, 0, 1))
    let magnetic = try #require(rest(turn, frame: .xMagneticNorthZVertical, kinds: Self.all).deviceMotion)
    #expect(abs(signedDegrees(from: heading, to: try #require(magnetic.heading))) < 0.1)
    #expect(abs(signedDegrees(from: yaw, to: try #require(magnetic.attitude).yaw.degrees)) < 0.1)
    // Magnetic north is 10° east of true north, so the true heading is 10° larger.
    let manager = rest(turn, frame: .xTrueNorthZVertical, kinds: Self.all, declination: 10)
    let motion = try #require(manager.deviceMotion)
    #expect(abs(signedDegrees(from: heading + 10, to: try #require(motion.heading))) < 0.1)
    #expect(abs(signedDegrees(from: yaw - 10, to: try #require(motion.attitude).yaw.degrees)) < 0.1)
    #expect(abs(signedDegrees(from: heading, to: try #require(manager.magneticHeading))) < 0.1)
  }

  /// In every frame, the rotation matrix times down equals gravity, and a device at rest has no user acceleration.
  @Test(arguments: AttitudeReferenceFrame.allCases)
  func gravityIsEqualInEveryFrame(frame: AttitudeReferenceFrame) throws {
    for turn in [
      Quaternion.identity, Quaternion(angle: 1, axis: Vector3(1, 0, 0)),
      Quaternion(angle: 2, axis: Vector3(1, 2, 3)),
      Quaternion(angle: .pi / 2, axis: Vector3(1, 0, 0)), Quaternion(angle: .pi, axis: Vector3(0, 1, 0)),
    ] {
      let motion = try #require(rest(turn, frame: frame, kinds: Self.all, declination: -3).deviceMotion)
      let attitude = try #require(motion.attitude)
      #expect((attitude.rotationMatrix * Vector3(0, 0, -1) - motion.gravity).length < 1e-9)
      #expect((motion.gravity - turn.conjugate.rotate(Vector3(0, 0, -1))).length < 1e-3)
      #expect(motion.userAcceleration.length < 1e-3)
      #expect(
        (motion.heading != nil) == frame.hasNorth
          || abs(attitude.quaternion.rotate(Vector3(0, 1, 0)).z) > 0.99)
    }
  }

  private static let frameTable: [(Set<SensorKind>, Double?, Set<AttitudeReferenceFrame>)] = [
    ([.accelerometer], nil, []),
    (
      [.accelerometer, .magnetometer], 3,
      [.xArbitraryCorrectedZVertical, .xMagneticNorthZVertical, .xTrueNorthZVertical]
    ),
    ([.accelerometer, .gyroscope], 3, [.xArbitraryZVertical]),
    (all, nil, [.xArbitraryZVertical, .xArbitraryCorrectedZVertical, .xMagneticNorthZVertical]),
    (all, 3, Set(AttitudeReferenceFrame.allCases)),
  ]

  @Test(arguments: frameTable)
  func framesFollowFromTheSensors(
    kinds: Set<SensorKind>, declination: Double?, frames: Set<AttitudeReferenceFrame>
  ) {
    let manager = rest(.identity, frame: .xArbitraryZVertical, kinds: kinds, declination: declination)
    #expect(manager.availableAttitudeReferenceFrames == frames)
  }

  @Test(arguments: [AttitudeReferenceFrame.xTrueNorthZVertical, .xMagneticNorthZVertical])
  func anotherFrameHasItsReason(frame: AttitudeReferenceFrame) throws {
    let motion = try #require(
      rest(.identity, frame: frame, kinds: [.accelerometer, .gyroscope], declination: 3, seconds: 7)
        .deviceMotion)
    #expect(motion.frame == .xArbitraryZVertical)
    #expect(motion.degradation?.contains("no magnetometer") == true)
    let complete = rest(.identity, frame: frame, kinds: Self.all, declination: 3).deviceMotion
    #expect(complete?.frame == frame && complete?.degradation == nil)
  }

  @Test func trueNorthUsesTheLocalDeclination() throws {
    var manager = rest(.identity, frame: .xTrueNorthZVertical, kinds: Self.all)
    #expect(manager.deviceMotion?.frame == .xMagneticNorthZVertical)
    #expect(manager.deviceMotion?.degradation?.contains("no position") == true)
    let time = try #require(UTCTime(rfc3339: "2026-11-21T00:00:00Z"))
    manager.update(location: Coordinate(latitude: 37.4, longitude: -122.1), time: time)
    #expect(abs(try #require(manager.declination) - 12.8) < 0.5)
    #expect(manager.geomagneticField?.isExpired == false)
    #expect(manager.deviceMotion?.frame == .xTrueNorthZVertical && manager.deviceMotion?.degradation == nil)
    #expect(abs(try #require(manager.deviceMotion?.heading) - (manager.declination ?? 0)) < 0.1)
    manager.update(location: Coordinate(latitude: .nan, longitude: 0), time: time)
    #expect(manager.declination != nil)
    let late = try #require(UTCTime(rfc3339: "2031-01-01T00:00:00Z"))
    manager.update(location: Coordinate(latitude: 37.4, longitude: -122.1), time: late)
    #expect(manager.geomagneticField?.isExpired == true && manager.declination != nil)
  }

  @Test func missingGyroscopeIsReported() throws {
    let turn = Quaternion(angle: 0.5, axis: Vector3(1, 0, 0))
    let motion = try #require(
      rest(turn, frame: .xMagneticNorthZVertical, kinds: [.accelerometer], seconds: 5).deviceMotion)
    #expect(motion.attitude == nil && motion.rotationRate == nil && motion.heading == nil)
    #expect((motion.gravity - turn.conjugate.rotate(Vector3(0, 0, -1))).length < 1e-9)
    #expect(motion.unavailableOutputs == [.attitude, .rotationRate, .magneticField, .magneticHeading])
  }

  /// Accelerating, braking, a left curve and an upward motion have the documented signs.
  @Test(arguments: [
    (Vector3(0, 3, 0), Vector3(0, -1, 0)), (Vector3(0, -3, 0), Vector3(0, 1, 0)),
    (Vector3(-3, 0, 0), Vector3(1, 0, 0)), (Vector3(0, 0, 3), Vector3(0, 0, -1)),
  ])
  func userAccelerationHasTheSignOfCoreMotion(kinematic: Vector3, sign: Vector3) throws {
    var manager = rest(
      .identity, frame: .xArbitraryZVertical, kinds: [.accelerometer, .gyroscope], seconds: 5)
    let force = kinematic + Vector3(0, 0, standardGravity)
    manager.process([InertialScan(timestamp: Timestamp(seconds: 5.01), specificForce: force)])
    manager.process([InertialScan(timestamp: Timestamp(seconds: 5.01), rotationRate: .zero)])
    let user = try #require(manager.deviceMotion).userAcceleration
    #expect((user - sign * (3 / standardGravity)).length < 0.01)
  }

  /// A right-handed rotation about each axis changes the Euler angles as documented.
  @Test(arguments: [
    (Vector3(1, 0, 0), EulerAngles(roll: 0, pitch: 0.5, yaw: 0)),
    (Vector3(0, 1, 0), EulerAngles(roll: 0.5, pitch: 0, yaw: 0)),
    (Vector3(0, 0, 1), EulerAngles(roll: 0, pitch: 0, yaw: 0.5)),
  ])
  func gyroscopeAxes(axis: Vector3, expected: EulerAngles) throws {
    var manager = MotionManager(frame: .xArbitraryZVertical)
    var truth = Quaternion.identity
    for index in 0...100 {
      let time = Timestamp(seconds: Double(index) / 100)
      if index > 0 { truth = truth * Quaternion(angle: 0.005, axis: axis) }
      manager.process([InertialScan(timestamp: time, rotationRate: axis * 0.5)])
      manager.process([
        InertialScan(timestamp: time, acceleration: truth.conjugate.rotate(Vector3(0, 0, -1)))
      ])
    }
    let angles = try #require(manager.deviceMotion?.attitude).eulerAngles
    #expect(abs(angles.roll - expected.roll) < 0.02)
    #expect(abs(angles.pitch - expected.pitch) < 0.02)
    #expect(abs(angles.yaw - expected.yaw) < 0.02)
  }

  /// Two chips at 6 Hz, the gyroscope sampled just after the accelerometer (previously gravity was never available).
  @Test func slowGyroscopeProvidesGravity() {
    var manager = MotionManager(frame: .xArbitraryZVertical)
    var withGravity = 0
    for index in 0..<60 {
      let (time, noise) = (Double(index) / 6, Double(index % 5) * 1e-4)
      for scan in [
        InertialScan(timestamp: Timestamp(seconds: time), acceleration: Vector3(noise, 0, -1)),
        InertialScan(timestamp: Timestamp(seconds: time + 0.005), rotationRate: Vector3(noise, 0, 0)),
      ] {
        manager.admit([scan])
        while let next = manager.nextScan {
          manager.fuseNext()
          if next.contains(.accelerometer), manager.gravity != nil { withGravity += 1 }
        }
      }
    }
    #expect(withGravity > 40)
  }

  /// A timestamp far in the future, from which the clock steps back, does not disable a sensor permanently.
  @Test func clockStepBackRestarts() throws {
    var manager = rest(.identity, frame: .xMagneticNorthZVertical, kinds: Self.all)
    let future = Timestamp(seconds: 1e9)
    manager.process([InertialScan(timestamp: future, rotationRate: .zero)])
    for index in 101...400 {
      let time = Timestamp(seconds: Double(index) / 100)
      let noise = Double(index % 5) * 1e-5
      manager.process([InertialScan(timestamp: time, acceleration: Vector3(noise, 0, -1))])
      manager.process([InertialScan(timestamp: time, magneticField: Vector3(noise, 24, -41.6))])
      manager.process([InertialScan(timestamp: time, rotationRate: Vector3(noise, 0, 0))])
      if index == 250 { #expect(manager.gyroData?.timestamp == future) }
    }
    #expect(manager.gyroData?.timestamp == Timestamp(seconds: 4))
    #expect(abs(signedDegrees(from: 0, to: try #require(manager.deviceMotion?.heading))) < 1)
    #expect((200...201).contains(manager.health(of: .gyroscope)?.outOfOrder ?? 0))
  }

  @Test func invalidSamplesAreRejectedAndCounted() throws {
    var manager = rest(.identity, frame: .xMagneticNorthZVertical, kinds: Self.all)
    let before = try #require(manager.deviceMotion)
    for (index, bad) in [Double.nan, .infinity, -.infinity, 1e300].enumerated() {
      let time = Timestamp(seconds: 1.1 + Double(index) / 100)
      manager.process([InertialScan(timestamp: time, acceleration: Vector3(0, bad, -1))])
      manager.process([InertialScan(timestamp: time, rotationRate: Vector3(bad, 0, 0))])
      manager.process([InertialScan(timestamp: time, magneticField: Vector3(0, 0, bad))])
    }
    manager.process([InertialScan(timestamp: Timestamp(seconds: 0.5), rotationRate: Vector3(1, 0, 0))])
    #expect(manager.deviceMotion == before)
    for kind in Self.all {
      let health = try #require(manager.health(of: kind))
      #expect(health.notFinite == 3 && health.implausible == 1 && health.accepted == 101)
    }
    #expect(manager.health(of: .gyroscope)?.outOfOrder == 1)
    #expect(manager.refusals["gyroscope.outOfOrder"] == 1 && manager.refusals["magnetometer.notFinite"] == 3)
    #expect(manager.refusals["magnetometer.outOfOrder"] == nil)
    #expect(manager.health(of: .positioning) == nil)
  }
}
