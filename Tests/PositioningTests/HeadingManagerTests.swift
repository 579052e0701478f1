import Motion
import Positioning
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

@Suite struct HeadingManagerTests {
  private func time(_ seconds: Double) -> Timestamp { Timestamp(seconds: seconds) }

  @Test(arguments: [
    (0.0, CardinalPoint.north), (22.4, .north), (22.5, .northEast), (90, .east), (179, .south),
    (225, .southWest),
    (337.4, .northWest), (337.5, .north), (359.9, .north), (-90, .west), (720, .north),
  ])
  func cardinalPoints(direction: Double, point: CardinalPoint) {
    #expect(CardinalPoint(direction: direction) == point)
  }

  /// A flat device with its top to 30° magnetic, in each orientation; `OrientationHeadingTests` covers tilts.
  @Test(arguments: [
    (DeviceOrientation.portrait, 30.0), (.landscapeLeft, 120), (.portraitUpsideDown, 210),
    (.landscapeRight, 300), (.faceUp, 30),
  ])
  func orientationRotatesTheReference(orientation: DeviceOrientation, expected: Double) throws {
    var manager = HeadingManager(headingOrientation: orientation)
    let flat = Attitude(eulerAngles: EulerAngles(roll: 0, pitch: 0, yaw: (270.0 - 30).radians))
    let candidate = manager.process(attitude: flat, accuracy: 3, at: time(0))
    let heading = try #require(candidate)
    #expect(abs(heading.magneticHeading - expected) < 1e-9)
    #expect(heading.trueHeading == nil && heading.headingAccuracy == 3)
  }

  @Test func trueHeadingRequiresADeclination() throws {
    var manager = HeadingManager(headingFilter: 5)
    let magnetic = manager.process(magneticHeading: 358, accuracy: nil, at: time(0))
    #expect(magnetic?.trueHeading == nil && magnetic?.cardinalPoint == .north)
    manager.declination = 26
    // A newly available true heading is reported although the device has not turned.
    let candidate = manager.process(magneticHeading: 358, accuracy: nil, at: time(1))
    let heading = try #require(candidate)
    #expect(heading.trueHeading == 24 && heading.cardinalPoint == .northEast)
    #expect(heading.magneticHeading == 358)
  }

  @Test func filterCountsFromTheLastReportedHeading() {
    var manager = HeadingManager(headingFilter: 5)
    let turns = [350.0, 354.9, 355.1, 359, 0.2, 4, 356, 355]
    let told = turns.enumerated().compactMap { step, degrees in
      manager.process(magneticHeading: degrees, accuracy: 2, at: time(Double(step)))?.magneticHeading
    }
    #expect(told == [350, 355.1, 0.2, 355])
  }

  @Test(
    arguments: [
      (3.0, MagneticFieldCalibrationAccuracy.high, false), (26, .high, true), (nil, .high, false),
      (nil, nil, false), (3, .uncalibrated, true), (nil, .uncalibrated, true),
    ] as [(Double?, MagneticFieldCalibrationAccuracy?, Bool)])
  func calibrationIsRequested(accuracy: Double?, level: MagneticFieldCalibrationAccuracy?, wanted: Bool)
    throws
  {
    var manager = HeadingManager()
    let candidate = manager.process(magneticHeading: 0, accuracy: accuracy, calibration: level, at: time(0))
    let heading = try #require(candidate)
    #expect(heading.isCalibrationWanted == wanted)
  }

  // MARK: Course and magnetometer

  /// A drive to the east with one fix and one heading per second.
  private func drive(
    _ manager: inout HeadingManager, _ seconds: Range<Int>, heading: Double, course: Double = 90,
    speed: Double = 15
  ) -> Heading? {
    var last: Heading?
    for second in seconds {
      var location = Place.location(Double(second), speed * Double(second), speed: speed)
      location.course = course
      manager.process(location)
      last = manager.process(magneticHeading: heading, accuracy: 3, at: time(Double(second) + 0.1))
    }
    return last
  }

  private func manager() -> HeadingManager {
    var manager = HeadingManager(followsCourse: true)
    manager.declination = 0
    return manager
  }

  @Test func disturbanceIsFlaggedAndReducesTheAccuracy() throws {
    var manager = manager()
    #expect(drive(&manager, 0..<60, heading: 91)?.contradictsCourse == false)
    // A disturbance of less than five seconds, such as a bridge, is ignored.
    #expect(drive(&manager, 60..<64, heading: 131)?.contradictsCourse == false)
    #expect(drive(&manager, 64..<100, heading: 91)?.contradictsCourse == false)
    let disturbedDrive = drive(&manager, 100..<110, heading: 131)
    let disturbed = try #require(disturbedDrive)
    #expect(disturbed.contradictsCourse && manager.contradictionCount == 1)
    #expect(try abs(#require(disturbed.headingAccuracy) - 40) < 1 && disturbed.isCalibrationWanted)
    let soundDrive = drive(&manager, 110..<120, heading: 91)
    let sound = try #require(soundDrive)
    #expect(!sound.contradictsCourse && sound.headingAccuracy == 3 && !sound.isCalibrationWanted)
  }

  @Test(arguments: [
    ("slow", 3.0, 90.0, false), ("reversing", 8, 270, false), ("fast", 15, 90, true),
  ])
  func onlyDrivingContradictsTheHeading(name: String, speed: Double, course: Double, contradicts: Bool) {
    var manager = manager()
    let heading = name == "reversing" ? 92.0 : 140
    #expect(
      drive(&manager, 0..<60, heading: heading, course: course, speed: speed)?.contradictsCourse
        == contradicts)
  }

  @Test func turnsAreNotCompared() {
    var manager = manager()
    for second in 0..<60 {
      var location = Place.location(Double(second), 0, speed: 10)
      location.course = normalizedDegrees(Double(second) * 12)
      manager.process(location)
      // The course lags behind in a turn.
      let heading = normalizedDegrees(Double(second) * 12 + 40)
      #expect(
        manager.process(magneticHeading: heading, accuracy: 3, at: time(Double(second)))?.contradictsCourse
          == false)
    }
  }

  @Test func constantDifferenceIsLearnedAndSubtracted() throws {
    var manager = manager()
    _ = drive(&manager, 0..<20, heading: 98)
    #expect(manager.courseBias == 0)
    let headingDrive = drive(&manager, 20..<300, heading: 98)
    let heading = try #require(headingDrive)
    #expect(abs(manager.courseBias - 8) < 0.1)
    #expect(try abs(heading.magneticHeading - 90) < 0.1 && abs(#require(heading.trueHeading) - 90) < 0.1)
    // The heading of a hand-held device is independent of the course.
    manager.followsCourse = false
    #expect(drive(&manager, 300..<301, heading: 98)?.magneticHeading == 98)
  }

  /// A tablet in a passenger's hand reports the direction of its top, in every drive.
  @Test(arguments: [15.0, 90, 180]) func headingOfAHandHeldDeviceIsItsTop(offset: Double) throws {
    var manager = HeadingManager()
    manager.declination = 0
    let driven = drive(&manager, 0..<120, heading: 90 + offset)
    let heading = try #require(driven)
    #expect(heading.magneticHeading == 90 + offset && heading.headingAccuracy == 3)
    #expect(!heading.contradictsCourse && !heading.isCalibrationWanted && manager.courseBias == 0)
  }

  @Test func noiseAveragesOut() {
    var manager = manager()
    var random = SeededGenerator.announced()
    for second in 0..<600 {
      let noise = (0..<12).reduce(-6.0) { sum, _ in sum + .random(in: 0...1, using: &random) }
      _ = drive(&manager, second..<(second + 1), heading: 95 + 4 * noise)
    }
    #expect(abs(manager.courseBias - 5) < 2.5)
    #expect(manager.contradictionCount == 0)
  }
}
